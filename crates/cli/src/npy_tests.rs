//! Headers of every kind, the hostile ones as a table, and `npyz` as an independent reader.

use super::*;

/// A file with this dictionary, padded as NumPy does, and `data` bytes of data.
fn file(version: u8, text: &[u8], data: usize) -> Vec<u8> {
    let start = prefix_bytes((version, 0));
    let len = (start + text.len() + 1).next_multiple_of(64) - start;
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&[version, 0]);
    bytes.extend_from_slice(&(len as u32).to_le_bytes()[..start - 8]);
    bytes.extend_from_slice(text);
    bytes.resize(start + len - 1, b' ');
    bytes.push(b'\n');
    bytes.resize(start + len + data, 7);
    bytes
}

fn read(bytes: &[u8]) -> Result<Header, HeaderError> {
    Header::read(&mut &bytes[..], bytes.len() as u64).expect("a slice reads")
}

fn dict(descr: &str, fortran: bool, shape: &str) -> String {
    let fortran = if fortran { "True" } else { "False" };
    format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}")
}

#[test]
fn plain_headers_of_all_versions() {
    for version in 1..=3 {
        let bytes = file(version, dict("'<f8'", version == 2, "(3, 4)").as_bytes(), 96);
        let mut rest = &bytes[..];
        let header = Header::read(&mut rest, bytes.len() as u64).unwrap().unwrap();
        assert_eq!((header.shape(), header.item_bytes()), (&[3, 4][..], 8));
        assert_eq!(header.order(), if version == 2 { Order::Fortran } else { Order::C });
        assert_eq!((header.data_bytes(), rest.len()), (96, 96));
        assert_eq!(header.type_name(), "f8");
    }
}

#[test]
fn rewriting_changes_shape_and_order_alone() {
    for descr in [
        "'<f4'",
        "[('a', '|u1'), ('', '|V3')]",
        "[(('a title', 'a'),'|u1'),  (\"b\", '<M8[25s]', (2, 3))]",
        "[('\u{e9}', '<i4')]",
        "[('shape', '<i4'), ('fortran_order', '<i4')]",
    ] {
        for (version, fortran) in [(1, true), (2, false), (3, true)] {
            let before = dict(descr, fortran, "(0, 123, 4)");
            let before = file(version, before.as_bytes(), 0);
            let header = read(&before).unwrap();
            assert_eq!(header.rewritten(&[0, 123, 4], header.order()).unwrap(), before, "{descr}");
            let want = file(version, dict(descr, true, "(0, 4, 123)").as_bytes(), 0);
            assert_eq!(header.rewritten(&[0, 4, 123], Order::Fortran).unwrap(), want, "{descr}");
        }
    }
}

#[test]
fn entries_in_any_order_and_spacing() {
    for text in [
        "{\"shape\":(3L,4),\"fortran_order\":True,\"descr\":\"<f4\"}",
        "{ 'shape' : ( 3, 4 ) , 'descr' : '<f4' , 'fortran_order' : True }\n\n",
    ] {
        let header = read(&file(1, text.as_bytes(), 48)).unwrap();
        assert_eq!((header.shape(), header.order()), (&[3, 4][..], Order::Fortran));
        let again = [header.rewritten(&[4, 3], Order::C).unwrap(), vec![0; 48]].concat();
        let again = read(&again).unwrap();
        assert_eq!((again.shape(), again.order()), (&[4, 3][..], Order::C));
    }
}

#[test]
fn a_header_without_room_grows() {
    let text = dict("'<f4'", true, "(10, 0)");
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&[1, 0, text.len() as u8, 0]);
    bytes.extend_from_slice(text.as_bytes());
    let grown = read(&bytes).unwrap().rewritten(&[0, 10], Order::C).unwrap();
    assert!(grown.len().is_multiple_of(64) && grown.ends_with(b" \n"));
    assert_eq!(read(&grown).unwrap().shape(), &[0, 10]);

    // The longest header of version 1.0, full to the last byte.
    let name = "n".repeat(usize::from(u16::MAX) - dict("[('', '<f4')]", true, "(10, 0)").len());
    let text = dict(&format!("[('{name}', '<f4')]"), true, "(10, 0)");
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&[1, 0, 0xff, 0xff]);
    bytes.extend_from_slice(text.as_bytes());
    let header = read(&bytes).unwrap();
    let grown = header.rewritten(&[0, 10], Order::C).unwrap();
    assert_eq!(&grown[6..8], &[2, 0]);
    assert_eq!(read(&grown).unwrap().shape(), &[0, 10]);
}

#[test]
fn npyz_reads_what_is_written() {
    for (descr, items) in [("'<f8'", 8), ("'|S5'", 5), ("[('a', '<i2'), ('b', '>f4', (2, 3))]", 26)]
    {
        let header =
            read(&file(1, dict(descr, false, "(2, 3, 5)").as_bytes(), 30 * items)).unwrap();
        let bytes = header.rewritten(&[2, 5, 3], Order::Fortran).unwrap();
        let theirs = npyz::NpyHeader::from_reader(&bytes[..]).unwrap();
        assert_eq!(theirs.shape(), &[2, 5, 3]);
        assert_eq!(theirs.order(), npyz::Order::Fortran);
        assert_eq!(theirs.dtype().num_bytes(), Some(items));
    }
}

#[test]
fn hostile_headers_are_errors() {
    use HeaderError as E;
    type Check = fn(&HeaderError) -> bool;
    let plain = |shape: &str| dict("'<f4'", false, shape);
    let cases: Vec<(String, usize, Check)> = vec![
        (plain("(3, 4)"), 47, |e| matches!(e, E::DataLength { expected: 48, got: 47, .. })),
        (plain("(3, 4)"), 49, |e| matches!(e, E::DataLength { expected: 48, got: 49, .. })),
        (plain("(3, 4)"), 0, |e| matches!(e, E::DataLength { expected: 48, got: 0, .. })),
        (plain("(0, 4)"), 1, |e| matches!(e, E::DataLength { expected: 0, got: 1, .. })),
        (plain("(1000000000, 1000000000)"), 48, |e| matches!(e, E::DataLength { .. })),
        (plain("(4294967296, 4294967296)"), 48, |e| matches!(e, E::SizeOverflow { .. })),
        (plain("(2305843009213693952, 2)"), 0, |e| matches!(e, E::SizeOverflow { .. })),
        (plain("(4611686018427387904, 1)"), 0, |e| matches!(e, E::SizeOverflow { .. })),
        (plain("(99999999999999999999999, 2)"), 0, |e| matches!(e, E::SizeOverflow { .. })),
        (plain("(3, -4)"), 48, |e| matches!(e, E::NegativeAxis { axis: 1, got: -4 })),
        (plain("(3, '4')"), 48, |e| matches!(e, E::Shape { .. })),
        (plain("(3, True)"), 48, |e| matches!(e, E::Shape { .. })),
        (plain("12"), 48, |e| matches!(e, E::Shape { .. })),
        (plain("[3, 4]"), 48, |e| matches!(e, E::Shape { .. })),
        (plain("(3, 4.0)"), 48, |e| matches!(e, E::Syntax { .. })),
        (dict("'|O'", false, "(3, 4)"), 48, |e| matches!(e, E::Object)),
        (dict("'<f5'", false, "(3, 4)"), 48, |e| matches!(e, E::UnknownType { .. })),
        (dict("7", false, "(3, 4)"), 48, |e| matches!(e, E::Descr { .. })),
        (dict("'|V9223372036854775807'", false, "(3, 4)"), 0, |e| matches!(e, E::ItemOverflow)),
        (dict("'|V2147483647'", false, "(4611686018427387904, 4)"), 0, |e| {
            matches!(e, E::SizeOverflow { .. })
        }),
        (plain("(0, 99999999999999999999999)"), 0, |e| matches!(e, E::SizeOverflow { .. })),
        (dict(&"[".repeat(9999), false, "()"), 0, |e| matches!(e, E::Depth { .. })),
        ("{'descr': '<f4', 'shape': (3, 4)}".into(), 48, |e| {
            matches!(e, E::MissingKey { key: "fortran_order" })
        }),
        ("{'descr': '<f4', 'fortran_order': False}".into(), 48, |e| {
            matches!(e, E::MissingKey { key: "shape" })
        }),
        ("{'fortran_order': False, 'shape': (3, 4)}".into(), 48, |e| {
            matches!(e, E::MissingKey { key: "descr" })
        }),
        ("{'descr': '<f4', 'fortran_order': 0, 'shape': (3, 4)}".into(), 48, |e| {
            matches!(e, E::Order { .. })
        }),
        ("{'shape': (1, 2), 'shape': (3, 4)}".into(), 48, |e| {
            matches!(e, E::RepeatedKey { key: "shape" })
        }),
        ("{'more': 1}".into(), 48, |e| matches!(e, E::UnknownKey { .. })),
        ("{1: 1}".into(), 48, |e| matches!(e, E::UnknownKey { .. })),
        ("(3, 4)".into(), 48, |e| matches!(e, E::NotADict)),
        ("".into(), 48, |e| matches!(e, E::Syntax { .. })),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4)} + 1".into(), 48, |e| {
            matches!(e, E::Syntax { .. })
        }),
    ];
    for (text, data, check) in cases {
        let error = read(&file(1, text.as_bytes(), data)).unwrap_err();
        assert!(check(&error), "{text}: {error:?}");
    }
}

#[test]
fn hostile_prefixes_are_errors() {
    use HeaderError as E;
    let good = file(1, dict("'<f4'", false, "(3, 4)").as_bytes(), 48);
    // Cut anywhere, the file is an error, never a panic.
    for len in 0..good.len() {
        let error = read(&good[..len]).unwrap_err();
        match len {
            0..6 => assert!(matches!(error, E::Magic { .. }), "{len}: {error:?}"),
            6..128 => assert!(matches!(error, E::Truncated { .. }), "{len}: {error:?}"),
            _ => assert!(matches!(error, E::DataLength { .. }), "{len}: {error:?}"),
        }
    }
    // One byte changed at a time: an error or another array, never a panic.
    for at in 0..128 {
        for byte in 0..=255 {
            let mut bytes = good.clone();
            bytes[at] = byte;
            if let Ok(header) = read(&bytes) {
                let again = header.rewritten(header.shape(), header.order()).unwrap();
                let again = read(&[&again[..], &[0; 48]].concat()).unwrap();
                assert_eq!((again.shape(), again.order()), (header.shape(), header.order()));
                assert_eq!(again.item_bytes(), header.item_bytes());
            }
        }
    }
    for (major, minor) in [(0, 0), (1, 1), (4, 0), (255, 255)] {
        let mut bytes = good.clone();
        (bytes[6], bytes[7]) = (major, minor);
        assert_eq!(read(&bytes), Err(E::Version { major, minor }));
    }
    let claims = |len: u32| [&b"\x93NUMPY\x02\x00"[..], &len.to_le_bytes(), b"{}"].concat();
    assert_eq!(read(&claims(u32::MAX)), Err(E::Truncated { need: (1 << 32) + 11, have: 14 }));
    // A file that is as long as it claims, but no header is.
    let claim = claims(1 << 30);
    let error = Header::read(&mut &claim[..], 1 << 40).unwrap().unwrap_err();
    assert_eq!(error, E::TooLong { len: 1 << 30, max: 1 << 20 });
    // A file that shrinks while it is read.
    let error = Header::read(&mut &good[..50], good.len() as u64).unwrap().unwrap_err();
    assert_eq!(error, E::Truncated { need: 128, have: 50 });
    let utf8 =
        file(3, b"{'descr': [('\xe9', '<f4')], 'fortran_order': False, 'shape': (3, 4)}", 48);
    assert_eq!(read(&utf8), Err(E::Encoding { at: 13 }));
    let latin =
        file(1, b"{'descr': [('\xe9', '<f4')], 'fortran_order': False, 'shape': (3, 4)}", 48);
    assert!(read(&latin).is_ok());
}
