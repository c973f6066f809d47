//! Buffers that know how their records lie: every event in every state, and the thesis's trace.

use turntile::layout::{RecordConversion, RecordOrder, Tracked};
use turntile::{Error, RawElements};

const LAYOUTS: [RecordOrder; 4] =
    [RecordOrder::Aos, RecordOrder::Soa, RecordOrder::Asta(2), RecordOrder::Asta(4)];

fn in_layout(records: &RecordConversion, layout: RecordOrder, aos: &[u8]) -> Vec<u8> {
    let mut data = aos.to_vec();
    let planned = records.clone().from(RecordOrder::Aos).to(layout).plan().unwrap();
    planned.run(&mut RawElements(&mut data[..])).unwrap();
    data
}

/// Section 5.5: a kernel wants 1024 items as ASTA, another the same, the host reads them.
#[test]
fn the_trace_of_1024_items() {
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
    // An output that is written as a whole is not converted.
    f.fill(&foo, asta).0.copy_from_slice(&in_layout(&foo, asta, &host));
    assert_eq!((f.layout(), f.marshals()), (Some((&foo, asta)), 2));
    assert_eq!(f.into_inner().unwrap().0, host);
}

/// Conversions from what is known to what is wanted: none, one, or back and then there.
#[test]
fn every_event_in_every_state() {
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
            let lies = (after != RecordOrder::Aos).then_some((wanted, after));
            assert_eq!(buffer.bind(wanted, after).unwrap().0, in_layout(wanted, after, &host));
            assert_eq!(buffer.marshals(), transformed + conversions, "{before} to {after}");
            assert_eq!(buffer.layout(), lies);

            let mut buffer = begin();
            buffer.fill(wanted, after);
            assert_eq!((buffer.layout(), buffer.marshals()), (lies, transformed));
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
fn what_cannot_be_leaves_everything_as_it_is() {
    let (records, host) = (RecordConversion::new(3, &[1, 2]), b"aA1bB2cC3");
    let mut buffer = Tracked::new(RawElements(host.to_vec()));
    buffer.bind(&records, RecordOrder::Soa).unwrap();
    let lies = buffer.write().0.clone();
    buffer.fill(&records, RecordOrder::Soa);
    for (other, layout) in [
        (RecordConversion::new(3, &[0, 3]), RecordOrder::Soa),
        (RecordConversion::new(3, &[3]), RecordOrder::Asta(0)),
    ] {
        assert!(matches!(buffer.bind(&other, layout), Err(Error::Layout(_))));
        assert_eq!(buffer.layout(), Some((&records, RecordOrder::Soa)));
    }
    assert_eq!(buffer.fill(&records, RecordOrder::Soa).0, lies);
    // Records of another length: untransformed, and no more than that.
    assert!(matches!(
        buffer.bind(&RecordConversion::new(9, &[1, 2]), RecordOrder::Soa),
        Err(Error::Run(_))
    ));
    assert_eq!(buffer.layout(), None);
    assert_eq!(buffer.read().unwrap().0, host);
}
