//! The structures of `kernels/` and their mirrors: the same names, types, order and sizes.

use std::collections::BTreeSet;
use std::path::Path;

use turntile_cuda::args::{Args, Layout, PARTS};

use crate::declared::Kernels;

fn kernels() -> Kernels {
    Kernels(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels"))
}

fn layouts() -> Vec<Layout> {
    Args::LAYOUTS.iter().chain(PARTS).copied().collect()
}

#[test]
fn declarations_agree() {
    kernels().declare(&layouts());
}

#[test]
fn the_device_code_asserts_sizes() {
    kernels().assert_sizes(&layouts());
}

/// Every structure that a kernel takes as its one parameter has a mirror, and each mirror is taken.
#[test]
fn every_parameter_is_mirrored() {
    let kernels = kernels();
    // `MoveArgs<MAP>` of a macro whose uses say which.
    let mut taken: BTreeSet<String> = kernels.taken().into_iter().collect();
    taken.retain(|kind| !kind.contains("MAP"));
    for file in kernels.files() {
        for (entry, kinds) in [("MOVE(slots", "SlotMap"), ("MOVE(axes", "Axes")] {
            for width in ["32", "64"] {
                let used = format!("{entry}{width}, {kinds}<u{width}>, ");
                if kernels.source(&file).contains(&used) {
                    taken.insert(format!("MoveArgs<{kinds}<u{width}>>"));
                }
            }
        }
    }
    let mirrored = Args::LAYOUTS.iter().map(|layout| layout.name.to_string()).collect();
    assert_eq!(taken, mirrored);
}
