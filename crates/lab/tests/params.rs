//! The structures of `crates/lab/kernels` and their mirrors: the same names, types, order and sizes.

use std::collections::BTreeSet;
use std::path::Path;

use turntile_lab::params::Params;

use crate::declared::Kernels;

fn kernels() -> Kernels {
    Kernels(Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels"))
}

#[test]
fn declarations_agree() {
    kernels().declare(&Params::LAYOUTS);
}

#[test]
fn the_device_code_asserts_sizes() {
    kernels().assert_sizes(&Params::LAYOUTS);
}

#[test]
fn every_parameter_is_mirrored() {
    let taken: BTreeSet<String> = kernels().taken().into_iter().collect();
    let mirrored = Params::LAYOUTS.iter().map(|layout| layout.name.to_string()).collect();
    assert_eq!(taken, mirrored);
}
