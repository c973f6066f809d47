//! Buffers that track the layout of their records: every event in every state, and the thesis's
//! trace.

use turntile::layout::{RecordConversion, RecordOrder};
use turntile::{ErrorKind, RawElements};
use turntile_lab::layout::Tracked;

const LAYOUTS: [RecordOrder; 4] =
    [RecordOrder::Aos, RecordOrder::Soa, RecordOrder::Asta(2), RecordOrder::Asta(4)];

fn in_layout(records: &RecordConversion, layout: RecordOrder, aos: &[u8]) -> Vec<u8> {
    let mut data = aos.to_vec();
    let planned = records.clone().from(RecordOrder::Aos).to(layout).plan().unwrap();
    planned.run(&mut RawElements(&mut data[..])).unwrap();
    data
}

/// Section 5.5: two kernels use 1024 items as ASTA, then the host reads them.
#[test]
fn tracked_reproduces_trace_of_thesis() {
    let foo = RecordConversion::new(1024, &[4, 4, 4]);
    let host: Vec<u8> = (0..1024 * 12).map(|k| (k % 251) as u8).collect();
    let mut f = Tracked::new(RawElements(vec![0; host.len()]));
    assert_eq!((f.layout(), f.marshals()), (None, 0));
    f.write().0.copy_from_slice(&host);
    assert_eq!((f.layout(), f.marshals()), (None, 0));
    let asta = RecordOrder::Asta(32);
    assert_eq!(f.bind(&foo, asta).unwrap().0, in_layout(&foo, asta, &host));
    assert_eq!((f.layout(), f.marshals()), (Some((&foo, asta)), 1));
    f.bind(&foo, asta).unwrap();
    assert_eq!((f.layout(), f.marshals()), (Some((&foo, asta)), 1));
    assert_eq!(f.read().unwrap().0, host);
    assert_eq!((f.layout(), f.marshals()), (None, 2));
    // An output that is overwritten completely is not converted.
    f.fill(&foo, asta).0.copy_from_slice(&in_layout(&foo, asta, &host));
    assert_eq!((f.layout(), f.marshals()), (Some((&foo, asta)), 2));
    assert_eq!(f.into_inner().unwrap().0, host);
}

/// Checks the conversions from each state to each request: none, one, or two via AoS.
#[test]
fn tracked_converts_as_needed_in_every_state() {
    let all = [RecordConversion::new(9, &[1, 3]), RecordConversion::new(6, &[2, 4])];
    let host: Vec<u8> = (0..36).collect();
    for (known, before) in all.iter().flat_map(|known| LAYOUTS.map(|layout| (known, layout))) {
        let begin = || {
            let mut buffer = Tracked::new(RawElements(host.clone()));
            buffer.bind(known, before).unwrap();
            assert_eq!(buffer.marshals(), usize::from(before != RecordOrder::Aos));
            buffer
        };
        let transformed = usize::from(before != RecordOrder::Aos);
        for (wanted, after) in all.iter().flat_map(|wanted| LAYOUTS.map(|layout| (wanted, layout)))
        {
            let mut buffer = begin();
            let there = usize::from(after != RecordOrder::Aos);
            let conversions = if known == wanted || before == RecordOrder::Aos {
                usize::from(before != after)
            } else {
                transformed + there
            };
            let expected_layout = (after != RecordOrder::Aos).then_some((wanted, after));
            assert_eq!(buffer.bind(wanted, after).unwrap().0, in_layout(wanted, after, &host));
            assert_eq!(buffer.marshals(), transformed + conversions, "{before} to {after}");
            assert_eq!(buffer.layout(), expected_layout);

            let mut buffer = begin();
            buffer.fill(wanted, after);
            assert_eq!((buffer.layout(), buffer.marshals()), (expected_layout, transformed));
        }
        let mut buffer = begin();
        assert_eq!(buffer.raw().unwrap().0, host);
        assert_eq!((buffer.layout(), buffer.marshals()), (None, 2 * transformed));
        let mut buffer = begin();
        assert_eq!(buffer.write().0, in_layout(known, before, &host));
        assert_eq!((buffer.layout(), buffer.marshals()), (None, transformed));
        let source = begin();
        let mut copy = Tracked::new(RawElements(in_layout(known, before, &host)));
        source.copied_to(&mut copy);
        assert_eq!(copy.layout(), source.layout());
        assert_eq!(copy.into_inner().unwrap().0, host);
    }
}

#[test]
fn tracked_keeps_layout_when_bind_fails() {
    let (records, host) = (RecordConversion::new(3, &[1, 2]), b"aA1bB2cC3");
    let mut buffer = Tracked::new(RawElements(host.to_vec()));
    buffer.bind(&records, RecordOrder::Soa).unwrap();
    let bytes = buffer.write().0.clone();
    buffer.fill(&records, RecordOrder::Soa);
    for (other, layout) in [
        (RecordConversion::new(3, &[0, 3]), RecordOrder::Soa),
        (RecordConversion::new(3, &[3]), RecordOrder::Asta(0)),
    ] {
        assert_eq!(buffer.bind(&other, layout).unwrap_err().kind(), ErrorKind::Records);
        assert_eq!(buffer.layout(), Some((&records, RecordOrder::Soa)));
    }
    assert_eq!(buffer.fill(&records, RecordOrder::Soa).0, bytes);
    // Records of another length: the buffer is converted to AoS, then the error is returned.
    let error = buffer.bind(&RecordConversion::new(9, &[1, 2]), RecordOrder::Soa).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Length { .. }), "{error}");
    assert_eq!(buffer.layout(), None);
    assert_eq!(buffer.read().unwrap().0, host);
}
