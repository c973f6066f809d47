use proptest::prelude::*;

use super::*;

/// Listing 6.1's grid of `ny` x `nx` cells of four fields, 32 blocks of 128 threads.
fn listing(ny: usize, nx: usize) -> Flattening {
    let cut = Flattening::row_major(&[ny, nx, 4]).unwrap();
    let cut = cut.strip_mined(1, 128).unwrap().strip_mined(0, 32).unwrap();
    cut.permuted(&[0, 2, 4, 1, 3]).unwrap()
}

fn told(layout: &Flattening) -> Vec<String> {
    layout.steps().unwrap().iter().map(GridStep::to_string).collect()
}

/// Moves numbered elements step by step, and looks where each went.
fn follow(layout: &Flattening) {
    let mut cells: Vec<Option<usize>> = (0..layout.len()).map(Some).collect();
    cells.resize(layout.span(), None);
    for step in layout.steps().unwrap() {
        let mut after = vec![None; cells.len()];
        match step {
            GridStep::Permute(axes) => {
                assert_eq!(axes.len(), cells.len(), "{layout:?}: {step}");
                assert!(axes.elementary().is_some_and(|e| e.mid == 1), "{layout:?}: {step}");
                (0..cells.len()).for_each(|at| after[axes.dest(at)] = cells[at]);
            }
            GridStep::Pad(rows) => {
                assert!(rows.span() <= cells.len());
                (0..rows.len()).for_each(|k| after[rows.offset(k)] = cells[k]);
            }
        }
        cells = after;
    }
    let plain = Flattening::row_major(layout.dims()).unwrap();
    let mut met = 0;
    for (at, cell) in cells.iter().enumerate() {
        let index = layout.index(at);
        if let Some(index) = &index {
            assert_eq!(layout.offset(index), Some(at), "{layout:?}");
            assert_eq!(*cell, plain.offset(index), "{layout:?}: {index:?}");
            met += 1;
        }
    }
    assert_eq!(met, layout.len(), "{layout:?}");
}

#[test]
fn listing_6_1() {
    let layout = listing(64, 256);
    let extents: Vec<usize> = layout.parts().iter().map(|part| part.extent).collect();
    assert_eq!(extents, [2, 2, 4, 32, 128]);
    for (index, at) in [
        ([33, 130, 2], 57474),
        ([0, 0, 1], 4096),
        ([1, 0, 0], 128),
        ([0, 128, 0], 16384),
        ([32, 0, 0], 32768),
    ] {
        assert_eq!(layout.offset(&index), Some(at));
        assert_eq!(layout.index(at).unwrap(), index);
    }
    assert_eq!(told(&layout), ["010!(128*128x4)", "0100!(2*32x8, unit 128)"]);
    follow(&layout);
    // The formula, at sides that do not divide.
    let (ny, nx) = (70usize, 300usize);
    let (layout, across) = (listing(ny, nx), nx.div_ceil(128));
    for (j, i, f) in [(0, 0, 0), (69, 299, 3), (31, 128, 1), (64, 255, 2)] {
        let at = (((j >> 5) * across + (i >> 7)) * 4 + f) * 32 * 128 + (j & 31) * 128 + (i & 127);
        assert_eq!(layout.offset(&[j, i, f]), Some(at));
    }
    assert_eq!(
        told(&layout),
        ["pad(70x1200 to 1536)", "010!(288*128x4)", "0100!(3*32x12, unit 128)"]
    );
    follow(&layout);
}

#[test]
fn figure_6_5() {
    for (dj, di) in [(16, 1), (48, 5), (160, 100)] {
        let cut = Flattening::row_major(&[dj, di]).unwrap().strip_mined(0, 16).unwrap();
        let layout = cut.permuted(&[0, 2, 1]).unwrap();
        let batch = if dj > 16 { format!("{}*", dj / 16) } else { String::new() };
        let wanted = [format!("010!({batch}16x{di})")];
        // A single column does not move.
        assert_eq!(told(&layout), wanted[usize::from(di == 1)..]);
        // The high part of j has the bits from 4 to log2 of j's own dimension, not i's.
        assert_eq!(layout.parts()[0], LayoutAxis { dim: 0, over: 16, extent: dj / 16 });
        follow(&layout);
    }
}

#[test]
fn strips_have_an_index_at_least() {
    let plain = Flattening::row_major(&[6, 10]).unwrap();
    assert_eq!(
        plain.clone().strip_mined(0, 0),
        Err(FlatteningError::Strip { strip: 0, extent: 6 }),
        "the thesis says 0 <= T"
    );
    // Longer than the dimension: one strip, with padding.
    let long = plain.clone().strip_mined(1, 16).unwrap();
    assert_eq!((long.span(), long.offset(&[1, 0])), (96, Some(16)));
    follow(&long);
    // A strip is cut evenly, the outermost part anyhow.
    let cut = plain.clone().strip_mined(1, 4).unwrap();
    assert_eq!(cut.clone().strip_mined(2, 3), Err(FlatteningError::Strip { strip: 3, extent: 4 }));
    follow(&cut.clone().strip_mined(2, 2).unwrap());
    follow(&cut.clone().strip_mined(1, 2).unwrap());
    assert_eq!(cut.strip_mined(3, 2), Err(FlatteningError::Axis { axis: 3, axes: 3 }));
    assert!(matches!(plain.permuted(&[1, 1]), Err(FlatteningError::Axes(_))));
    let long = Flattening::row_major(&[3, 2]).unwrap();
    for (axis, strip) in [(0, usize::MAX), (1, usize::MAX / 2)] {
        let cut = long.clone().strip_mined(axis, strip);
        assert_eq!(cut, Err(FlatteningError::TooLarge { dims: vec![3, 2] }));
    }
    assert!(Flattening::row_major(&[usize::MAX, 0, 2]).is_err());
}

#[test]
fn grids_of_nothing_and_of_one() {
    let none = Flattening::row_major(&[3, 0, 5]).unwrap().strip_mined(2, 4).unwrap();
    assert!(none.is_empty() && none.offset(&[0, 0, 0]).is_none() && none.index(0).is_none());
    assert!(none.steps().unwrap().is_empty());
    let one = Flattening::row_major(&[]).unwrap();
    assert_eq!((one.offset(&[]), one.index(0), one.index(1)), (Some(0), Some(vec![]), None));
    assert_eq!((one.offset(&[0]), one.span()), (None, 1));
}

/// Section 6.3.4: rank, dimensions and flattening make a layout.
#[test]
fn the_meet_is_the_layout_where_equal() {
    let plain = Flattening::row_major(&[64, 256, 4]).unwrap();
    let layout = listing(64, 256);
    assert_eq!(layout.meet(&layout.clone()), Some(layout.clone()));
    // Other dimensions, another order, and another rank with the same offsets.
    for other in [plain.clone(), listing(64, 512), plain.clone().strip_mined(0, 32).unwrap()] {
        assert_eq!(layout.meet(&other), None);
        assert_eq!(other.meet(&layout), None);
    }
    let cut = plain.clone().strip_mined(0, 32).unwrap();
    assert!((0..cut.span()).all(|at| cut.index(at) == plain.index(at)));
    assert_eq!(plain.meet(&cut), None);
    assert!(plain.is_row_major() && !cut.is_row_major() && !layout.is_row_major());
}

#[test]
fn all_small_grids_in_all_layouts_of_one_cut() {
    for (a, b) in (1..8).flat_map(|a| (1..8).map(move |b| (a, b))) {
        for (axis, strip) in (0..2).flat_map(|axis| (1..6).map(move |strip| (axis, strip))) {
            let cut = Flattening::row_major(&[a, b]).unwrap().strip_mined(axis, strip).unwrap();
            for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
                follow(&cut.clone().permuted(&order).unwrap());
            }
        }
    }
}

proptest! {
    #[test]
    fn any_layout_is_reached(
        dims in prop::collection::vec(1usize..12, 1..5),
        cuts in prop::collection::vec((0usize..6, 1usize..9), 0..4),
        keys in prop::collection::vec(any::<u32>(), 9),
    ) {
        let mut layout = Flattening::row_major(&dims).unwrap();
        for (axis, strip) in cuts {
            layout = layout.clone().strip_mined(axis, strip).unwrap_or(layout);
        }
        let mut order: Vec<usize> = (0..layout.parts().len()).collect();
        order.sort_by_key(|&axis| keys[axis]);
        follow(&layout.permuted(&order).unwrap());
    }
}
