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

fn read(bytes: &[u8]) -> Result<Header, String> {
    Header::read(&mut &bytes[..], bytes.len() as u64).map_err(|error| error.to_string())
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
        let header = Header::read(&mut rest, bytes.len() as u64).unwrap();
        assert_eq!((&header.shape[..], header.item_bytes), (&[3, 4][..], 8));
        assert_eq!(header.order, if version == 2 { AxisOrder::F } else { AxisOrder::C });
        assert_eq!((header.data_bytes, rest.len()), (96, 96));
        assert_eq!(header.array().dtype, "f8");
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
            assert_eq!(header.rewritten(&[0, 123, 4], header.order).unwrap(), before, "{descr}");
            let want = file(version, dict(descr, true, "(0, 4, 123)").as_bytes(), 0);
            assert_eq!(header.rewritten(&[0, 4, 123], AxisOrder::F).unwrap(), want, "{descr}");
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
        assert_eq!((&header.shape[..], header.order), (&[3, 4][..], AxisOrder::F));
        let again = [header.rewritten(&[4, 3], AxisOrder::C).unwrap(), vec![0; 48]].concat();
        let again = read(&again).unwrap();
        assert_eq!((&again.shape[..], again.order), (&[4, 3][..], AxisOrder::C));
    }
}

#[test]
fn a_header_without_room_grows() {
    let text = dict("'<f4'", true, "(10, 0)");
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&[1, 0, text.len() as u8, 0]);
    bytes.extend_from_slice(text.as_bytes());
    let grown = read(&bytes).unwrap().rewritten(&[0, 10], AxisOrder::C).unwrap();
    assert!(grown.len().is_multiple_of(64) && grown.ends_with(b" \n"));
    assert_eq!(read(&grown).unwrap().shape, &[0, 10]);

    // The longest header of version 1.0, full to the last byte.
    let name = "n".repeat(usize::from(u16::MAX) - dict("[('', '<f4')]", true, "(10, 0)").len());
    let text = dict(&format!("[('{name}', '<f4')]"), true, "(10, 0)");
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&[1, 0, 0xff, 0xff]);
    bytes.extend_from_slice(text.as_bytes());
    let header = read(&bytes).unwrap();
    let grown = header.rewritten(&[0, 10], AxisOrder::C).unwrap();
    assert_eq!(&grown[6..8], &[2, 0]);
    assert_eq!(read(&grown).unwrap().shape, &[0, 10]);
}

#[test]
fn npyz_reads_what_is_written() {
    for (descr, items) in [("'<f8'", 8), ("'|S5'", 5), ("[('a', '<i2'), ('b', '>f4', (2, 3))]", 26)]
    {
        let header =
            read(&file(1, dict(descr, false, "(2, 3, 5)").as_bytes(), 30 * items)).unwrap();
        let bytes = header.rewritten(&[2, 5, 3], AxisOrder::F).unwrap();
        let theirs = npyz::NpyHeader::from_reader(&bytes[..]).unwrap();
        assert_eq!(theirs.shape(), &[2, 5, 3]);
        assert_eq!(theirs.order(), npyz::Order::Fortran);
        assert_eq!(theirs.dtype().num_bytes(), Some(items));
    }
}

#[test]
fn hostile_headers_are_errors() {
    let plain = |shape: &str| dict("'<f4'", false, shape);
    let (counted, missing) = ("more bytes than can be", "the header has no");
    for (text, data, words) in [
        (plain("(3, 4)"), 47, "expected 48 bytes of data (shape [3, 4], items of 4 bytes), got 47"),
        (plain("(3, 4)"), 49, "got 49"),
        (plain("(3, 4)"), 0, "got 0"),
        (plain("(0, 4)"), 1, "expected 0 bytes"),
        (plain("(1000000000, 1000000000)"), 48, "expected 4000000000000000000 bytes"),
        (plain("(4294967296, 4294967296)"), 48, counted),
        (plain("(2305843009213693952, 2)"), 0, counted),
        (plain("(4611686018427387904, 1)"), 0, counted),
        (plain("(99999999999999999999999, 2)"), 0, counted),
        (plain("(0, 99999999999999999999999)"), 0, counted),
        (dict("'|V2147483647'", false, "(4611686018427387904, 4)"), 0, counted),
        (dict("'|V9223372036854775807'", false, "(3, 4)"), 0, counted),
        (plain(&format!("({})", "1, ".repeat(65))), 4, "65 axes, at most 64"),
        (plain("(3, -4)"), 48, "axis 1 has a negative length, -4"),
        (plain("(3, '4')"), 48, "'shape' is not made of integers"),
        (plain("(3, True)"), 48, "'shape' is not made of integers"),
        (plain("(3, 0x4)"), 48, "expected a comma"),
        (plain("(3, 04)"), 48, "'shape' is not made of integers"),
        (plain("12"), 48, "'shape' is not a tuple"),
        (plain("(12)"), 48, "'shape' is not a tuple"),
        (plain("[3, 4]"), 48, "'shape' is not a tuple"),
        (plain("(3, 4.0)"), 48, "expected a comma"),
        (dict("'|O'", false, "(3, 4)"), 48, "pickle"),
        (dict("[('a\nb', '<f4')]", false, "(3, 4)"), 48, "expected a string that ends"),
        ("{'descr': '<f4', 'shape': (3, 4)}".into(), 48, "no 'fortran_order'"),
        ("{'descr': '<f4', 'fortran_order': False}".into(), 48, "no 'shape'"),
        ("{'fortran_order': False, 'shape': (3, 4)}".into(), 48, missing),
        ("{'descr': '<f4', 'fortran_order': 0, 'shape': (3, 4)}".into(), 48, "True or False"),
        ("{'shape': (1, 2), 'shape': (3, 4)}".into(), 48, "'shape' twice"),
        ("{'more': 1}".into(), 48, "unknown entry 'more'"),
        ("{1: 1}".into(), 48, "expected a string at byte 1"),
        ("(3, 4)".into(), 48, "expected '{' at byte 0"),
        ("".into(), 48, "expected '{'"),
        (plain("(3, 4)") + " + 1", 48, "expected the end"),
    ] {
        let error = read(&file(1, text.as_bytes(), data)).unwrap_err();
        assert!(error.contains(words), "{text}: {error}");
    }
}

#[test]
fn hostile_prefixes_are_errors() {
    let good = file(1, dict("'<f4'", false, "(3, 4)").as_bytes(), 48);
    // Cut anywhere, the file is an error, never a panic.
    for len in 0..good.len() {
        let error = read(&good[..len]).unwrap_err();
        let words = match len {
            0 => "empty",
            1..6 => "not a .npy file",
            6..128 => "truncated",
            _ => "expected 48 bytes",
        };
        assert!(error.contains(words), "{len}: {error}");
    }
    // One byte changed at a time: an error or another array, never a panic.
    for at in 0..128 {
        for byte in 0..=255 {
            let mut bytes = good.clone();
            bytes[at] = byte;
            if let Ok(header) = read(&bytes) {
                let again = header.rewritten(&header.shape, header.order).unwrap();
                let again = read(&[&again[..], &[0; 48]].concat()).unwrap();
                assert_eq!((again.shape, again.order), (header.shape, header.order));
                assert_eq!(again.item_bytes, header.item_bytes);
            }
        }
    }
    for (major, minor) in [(0, 0), (1, 1), (4, 0), (255, 255)] {
        let mut bytes = good.clone();
        (bytes[6], bytes[7]) = (major, minor);
        assert!(read(&bytes).unwrap_err().contains(&format!("version {major}.{minor}")));
    }
    let claims = |len: u32| [&b"\x93NUMPY\x02\x00"[..], &len.to_le_bytes(), b"{}"].concat();
    assert!(
        read(&claims(u32::MAX)).unwrap_err().contains("takes 4294967307 bytes, the file has 14")
    );
    // The file has the length that it claims, but no header has that length.
    let claim = claims(1 << 30);
    let error = Header::read(&mut &claim[..], 1 << 40).unwrap_err().to_string();
    assert!(error.contains("takes 1073741824 bytes, at most 1048576 are accepted"), "{error}");
    // A file that shrinks while it is read.
    let error = Header::read(&mut &good[..50], good.len() as u64).unwrap_err().to_string();
    assert!(error.contains("takes 128 bytes, the file has 50"), "{error}");
    let latin = b"{'descr': [('\xe9', '<f4')], 'fortran_order': False, 'shape': (3, 4)}";
    assert!(read(&file(3, latin, 48)).unwrap_err().contains("not UTF-8 from byte 13 on"));
    assert!(read(&file(1, latin, 48)).is_ok());
}
