//! Grids from one layout to another.

use turntile::layout::{Flattening, Grid};

use crate::about;
use crate::draw::Draw;

pub fn draw(draw: &mut Draw) -> &'static str {
    let most = if cfg!(miri) { 30 } else { 3000 };
    let mut dims = draw.extents(most);
    dims.truncate(4);
    let [from, to] = [(); 2].map(|()| layout(draw, &dims));
    about(format_args!("a grid of {dims:?} from {from:?} to {to:?}"));
    let (Some(from), Some(to)) = (from, to) else { return "refused" };
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
        assert!(Grid::new(&mut data, from).is_err(), "a buffer too short");
        return "refused";
    }
    (0..len).for_each(|k| data[from.offset(&index(k)).unwrap()] = k as u32);
    let before = data.clone();
    let mut grid = Grid::new(&mut data, from.clone()).unwrap();
    let result = grid.convert(&to);
    if short {
        assert!(result.is_err(), "a buffer too short");
        assert_eq!(*grid.layout(), from);
        assert!(data == before, "refused, and touched");
        return "refused";
    }
    result.unwrap();
    for k in 0..len {
        assert_eq!(grid.get(&index(k)), Some(&(k as u32)), "{:?}", index(k));
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
