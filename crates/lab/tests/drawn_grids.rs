//! Drawn conversions of grids, valid and not.

use std::collections::BTreeMap;

use turntile_lab::layout::{Flattening, Grid};

use crate::draw::Draw;

#[test]
fn drawn_grids_are_converted_or_rejected_unchanged() {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    (0..300).for_each(|number| *seen.entry(convert(&mut Draw::new(1, number))).or_default() += 1);
    assert!(seen.contains_key("ran") && seen.contains_key("rejected"), "{seen:?}");
}

fn convert(draw: &mut Draw) -> &'static str {
    let mut dims = draw.extents(3000);
    dims.truncate(4);
    let [from, to] = [(); 2].map(|()| layout(draw, &dims));
    let (Some(from), Some(to)) = (from, to) else { return "rejected" };
    let span = from.span().max(to.span());
    if span > 1 << 20 {
        return "too large";
    }
    let short = span > 0 && draw.one_in(10);
    let mut data = vec![u32::MAX; if short { span - 1 } else { span + draw.below(3) }];
    let len = from.len();
    let index = |mut k: usize| {
        let mut index = vec![0; dims.len()];
        for (at, dim) in dims.iter().enumerate().rev() {
            (index[at], k) = (k % dim, k / dim);
        }
        index
    };
    if short && data.len() < from.span() {
        assert!(Grid::new(&mut data, from).is_err(), "{dims:?} to {to:?}: buffer too short");
        return "rejected";
    }
    (0..len).for_each(|k| data[from.offset(&index(k)).unwrap()] = k as u32);
    let before = data.clone();
    let mut grid = Grid::new(&mut data, from.clone()).unwrap();
    let result = grid.convert(&to);
    if short {
        assert!(result.is_err(), "{from:?} to {to:?}: buffer too short");
        assert_eq!(*grid.layout(), from);
        assert!(data == before, "rejected, but changed: {dims:?} from {from:?} to {to:?}");
        return "rejected";
    }
    result.unwrap();
    for k in 0..len {
        assert_eq!(grid.get(&index(k)), Some(&(k as u32)), "{:?}, {from:?} to {to:?}", index(k));
    }
    "ran"
}

fn layout(draw: &mut Draw, dims: &[usize]) -> Option<Flattening> {
    let mut layout = Flattening::row_major(dims).ok()?;
    for _ in 0..draw.below(3) {
        let axes = layout.parts().len();
        let (axis, strip) = (draw.below(axes + 1), draw.of(&[0, 1, 2, 3, 4, 8, 16]));
        if let Ok(mined) = layout.clone().strip_mined(axis, strip) {
            layout = mined;
        }
    }
    let order = draw.order(layout.parts().len());
    layout.permuted(&order).ok()
}
