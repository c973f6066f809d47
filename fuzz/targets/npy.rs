//! Headers of .npy files: any bytes are a header or an error, and a header that is read can be rewritten and read again.
#![no_main]
#![allow(dead_code, reason = "only a part of the command's modules is used")]

// They are private to the command.
#[path = "../../crates/cli/src/dtype.rs"]
mod dtype;
#[path = "../../crates/cli/src/npy.rs"]
mod npy;
#[path = "../../crates/cli/src/values.rs"]
mod values;

use libfuzzer_sys::fuzz_target;
use npy::{Header, Order, volume};

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    let Ok(header) = Header::read(&mut rest, None) else { return };
    assert_eq!(volume(&header.shape).unwrap() * header.item_bytes, header.data_bytes);
    // With the file's length it is the same header, and data that are too short an error.
    let start = (bytes.len() - rest.len()) as u64;
    let whole = start + header.data_bytes as u64;
    assert_eq!(Header::read(&mut &bytes[..], whole).unwrap(), header);
    assert!(Header::read(&mut &bytes[..], whole + 1).is_err());
    let _ = (header.type_name(), header.is_utf8());

    let reversed: Vec<usize> = header.shape.iter().rev().copied().collect();
    let headers = [
        header.rewritten(&reversed, Order::Fortran).map(|bytes| (bytes, Order::Fortran)),
        header.of_type(header.descr(), &reversed).map(|bytes| (bytes, Order::C)),
    ];
    for (written, order) in headers.into_iter().flatten() {
        let mut rest = &written[..];
        let again = Header::read(&mut rest, None).unwrap();
        assert!(rest.is_empty(), "bytes behind the header");
        assert_eq!((&again.shape, again.order), (&reversed, order));
        assert_eq!((again.descr(), again.item_bytes), (header.descr(), header.item_bytes));
    }
});
