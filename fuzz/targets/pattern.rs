//! Patterns of axes: any text is a pattern or an error, and what is read permutes the parts of as many elements.
#![no_main]

use libfuzzer_sys::fuzz_target;
use turntile::layout::Rearrangement;

// As in `8 64 7;k=32 b=8;b (c k) h -> b c h k`.
fuzz_target!(|text: &str| {
    let [shape, sizes, pattern] = text.splitn(3, ';').collect::<Vec<_>>()[..] else { return };
    let shape: Vec<usize> = shape.split(' ').filter_map(|extent| extent.parse().ok()).collect();
    let sizes = sizes.split(' ').filter_map(|size| size.split_once('='));
    let sizes: Vec<(&str, usize)> =
        sizes.filter_map(|(name, size)| Some((name, size.parse().ok()?))).collect();
    let read = match Rearrangement::new(pattern, &shape, &sizes) {
        Ok(read) => read,
        Err(error) => return assert!(error.to_string().contains(pattern)),
    };
    let elements = |extents: &[usize]| {
        let all = extents.iter().try_fold(1usize, |all, &extent| all.checked_mul(extent));
        if extents.contains(&0) { Some(0) } else { all }
    };
    let mut order = read.order().to_vec();
    order.sort();
    assert!(order.into_iter().eq(0..read.extents().len()), "no permutation");
    assert_eq!(elements(read.extents()), elements(&shape));
    if elements(&shape).is_some() {
        assert_eq!(elements(&read.shape()), elements(&shape));
    }
});
