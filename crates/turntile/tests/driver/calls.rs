//! Random test cases of calls that need no plan, with elements of any type, bytes and patterns.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, LazyLock, Mutex};

use rayon::{ThreadPool, ThreadPoolBuilder};
use turntile::{
    Error, RawElements, Transpose, bytes, permute_in_place, rearrange, transpose_in_place,
    transpose_into,
};

use crate::about;
use crate::draw::Draw;
use crate::guarded::Guarded;
use crate::naive;
use crate::wishes::{axes_dest, kind};

/// Runs `work` in a rayon pool of `threads` threads.
pub fn in_pool<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    static POOLS: LazyLock<Mutex<HashMap<usize, Arc<ThreadPool>>>> = LazyLock::new(Mutex::default);
    let make = || Arc::new(ThreadPoolBuilder::new().num_threads(threads).build().unwrap());
    let pool = POOLS.lock().unwrap().entry(threads).or_insert_with(make).clone();
    pool.install(work)
}

pub fn draw(draw: &mut Draw) -> &'static str {
    let threads = draw.threads();
    in_pool(threads, || match draw.below(4) {
        0 => bytes_in_place(draw),
        1 => into(draw),
        2 => patterns(draw),
        _ => of_a_type(draw),
    })
}

/// Returns a random shape and order of axes, and `true` if the shape has at most 64 axes and the
/// order is a permutation of them.
fn problem(draw: &mut Draw, elem_bytes: usize) -> (Vec<usize>, Vec<usize>, bool) {
    let most = (draw.most() * 8 / elem_bytes.max(8)).max(4);
    let (shape, axes) = match draw.one_in(2) {
        true => (draw.sides(most).to_vec(), vec![1, 0]),
        false => {
            let shape = draw.extents(most);
            let axes = draw.order(shape.len());
            (shape, axes)
        }
    };
    let mut sorted = axes.clone();
    sorted.sort();
    let valid = shape.len() <= 64 && sorted.into_iter().eq(0..shape.len());
    (shape, axes, valid)
}

/// Returns the length of data to pass to a call: `len`, or rarely one more or less.
fn given(draw: &mut Draw, len: usize) -> usize {
    match draw.below(16) {
        0 => len + 1,
        1 => len.saturating_sub(1),
        _ => len,
    }
}

fn bytes_in_place(draw: &mut Draw) -> &'static str {
    let elem_bytes = draw.itemsize();
    let (shape, axes, valid) = problem(draw, elem_bytes);
    let len = shape.iter().product::<usize>() * elem_bytes;
    let got = given(draw, len);
    about(format_args!("bytes {shape:?} {axes:?} of {elem_bytes}, {got} bytes"));
    let before = naive::numbered(got, 1);
    let mut data = Guarded::new(&before, draw.below(64));
    let result = match (&shape[..], &axes[..]) {
        (&[rows, cols], [1, 0]) if draw.one_in(2) => {
            bytes::transpose_in_place(data.data(), rows, cols, elem_bytes)
        }
        _ => bytes::permute_in_place(data.data(), &shape, &axes, elem_bytes),
    };
    if !valid || elem_bytes == 0 || got != len {
        let kind = kind(&result.expect_err("no such problem"));
        assert!(["axes", "no bytes", "run"].contains(&kind), "{kind}");
        data.check(&before, "refused");
        return "refused";
    }
    result.unwrap();
    data.check(&naive::permuted(&before, &shape, &axes, elem_bytes), "moved");
    "ran"
}

fn into(draw: &mut Draw) -> &'static str {
    let elem_bytes = draw.itemsize();
    if draw.one_in(2) {
        return axes_into(draw, elem_bytes);
    }
    let most = (draw.most() * 8 / elem_bytes.max(8)).max(4);
    let [rows, cols] = draw.sides(most);
    let len = rows * cols * elem_bytes;
    let [source, target] = [(); 2].map(|()| given(draw, len));
    about(format_args!("into {rows} x {cols} of {elem_bytes}, {source} to {target} bytes"));
    let before = naive::numbered(source, 1);
    let mut from = Guarded::new(&before, draw.below(64));
    let mut to = Guarded::new(&vec![0x5A; target], draw.below(64));
    let typed = source == target && draw.one_in(2);
    let result = match elem_bytes {
        4 if typed => into_of::<4>(from.data(), to.data(), rows, cols),
        8 if typed => into_of::<8>(from.data(), to.data(), rows, cols),
        _ => bytes::transpose_into(from.data(), to.data(), rows, cols, elem_bytes),
    };
    from.check(&before, "the source");
    let valid = elem_bytes > 0 && source == len && target == len;
    // The typed call ignores a partial last element, so the number of elements may be right even if
    // that of bytes is not.
    let cut = typed && [4, 8].contains(&elem_bytes) && source / elem_bytes == rows * cols;
    match result {
        Ok(()) if valid => {
            to.check(&naive::transposed(&before, 1, rows, cols, elem_bytes), "moved");
            "ran"
        }
        Ok(()) if cut => "ran",
        Ok(()) => panic!("not refused"),
        Err(error) => {
            assert!(!valid, "{error}");
            assert!(["no bytes", "run", "length"].contains(&kind(&error)), "{error}");
            to.check(&vec![0x5A; target], "refused");
            "refused"
        }
    }
}

fn axes_into(draw: &mut Draw, elem_bytes: usize) -> &'static str {
    let (shape, axes, valid) = problem(draw, elem_bytes);
    let len = shape.iter().product::<usize>() * elem_bytes;
    let [source, target] = [(); 2].map(|()| given(draw, len));
    about(format_args!("{shape:?} {axes:?} of {elem_bytes}, {source} to {target} bytes"));
    let before = naive::numbered(source, 1);
    let mut from = Guarded::new(&before, draw.below(64));
    let mut to = Guarded::new(&vec![0x5A; target], draw.below(64));
    let result = bytes::permute_into(from.data(), to.data(), &shape, &axes, elem_bytes);
    from.check(&before, "the source");
    if !valid || elem_bytes == 0 || source != len || target != len {
        let kind = kind(&result.expect_err("no such problem"));
        assert!(["axes", "no bytes", "run"].contains(&kind), "{kind}");
        to.check(&vec![0x5A; target], "refused");
        return "refused";
    }
    result.unwrap();
    to.check(&naive::permuted(&before, &shape, &axes, elem_bytes), "moved");
    "ran"
}

fn into_of<const N: usize>(
    from: &[u8],
    to: &mut [u8],
    rows: usize,
    cols: usize,
) -> Result<(), Error> {
    transpose_into(from.as_chunks::<N>().0, to.as_chunks_mut::<N>().0, rows, cols)
}

/// Draws and checks a call with elements that own memory, have padding or are zero-sized. Returns
/// the outcome.
fn of_a_type(draw: &mut Draw) -> &'static str {
    let (shape, axes, valid) = problem(draw, 24);
    match draw.below(6) {
        0 => typed(draw, &shape, &axes, valid, |k| k.to_string()),
        1 => typed(draw, &shape, &axes, valid, Box::new),
        2 => typed(draw, &shape, &axes, valid, |k| (k as u8, k as u32)),
        3 => typed(draw, &shape, &axes, valid, |k| Some(k as u64)),
        4 => typed(draw, &shape, &axes, valid, |_| ()),
        _ => typed(draw, &shape, &axes, valid, |k| k as u128),
    }
}

fn typed<T: PartialEq + Debug + Clone + Send>(
    draw: &mut Draw,
    shape: &[usize],
    axes: &[usize],
    valid: bool,
    element: impl Fn(usize) -> T,
) -> &'static str {
    let len = shape.iter().product();
    let got = given(draw, len);
    about(format_args!("{shape:?} {axes:?} of {}, {got}", std::any::type_name::<T>()));
    let mut data: Vec<T> = (0..got).map(&element).collect();
    let result = match (shape, axes) {
        (&[rows, cols], [1, 0]) if draw.one_in(2) => transpose_in_place(&mut data, rows, cols),
        _ => permute_in_place(&mut data, shape, axes),
    };
    if !valid || got != len {
        let kind = kind(&result.expect_err("no such problem"));
        assert!(["axes", "length"].contains(&kind), "{kind}");
        assert!(data.into_iter().eq((0..got).map(element)), "refused, and moved");
        return "refused";
    }
    result.unwrap();
    let mut want: Vec<T> = (0..len).map(&element).collect();
    (0..len).for_each(|k| want[axes_dest(shape, axes, k)] = element(k));
    assert!(data == want, "moved wrongly");
    "ran"
}

/// Draws and checks a rearrangement by a pattern that groups axes at random on both sides. Returns
/// the outcome.
fn patterns(draw: &mut Draw) -> &'static str {
    let elem_bytes = draw.of(&[1, 4, 8]);
    let (shape, axes, valid) = problem(draw, elem_bytes);
    if !valid || shape.len() > 20 {
        return "nothing drawn";
    }
    let name = |axis: usize| char::from(b'a' + axis as u8).to_string();
    // Returns random groups of consecutive axes; each group is one axis of a side.
    let groups = |draw: &mut Draw, order: &[usize]| {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for &axis in order {
            match groups.last_mut() {
                Some(last) if draw.one_in(3) => last.push(axis),
                _ => groups.push(vec![axis]),
            }
        }
        groups
    };
    let write = |groups: &[Vec<usize>]| {
        let group = |group: &Vec<usize>| {
            let names: Vec<String> = group.iter().map(|&axis| name(axis)).collect();
            if group.len() == 1 { names[0].clone() } else { format!("({})", names.join(" ")) }
        };
        groups.iter().map(group).collect::<Vec<_>>().join(" ")
    };
    let whole: Vec<usize> = (0..shape.len()).collect();
    let before = groups(draw, &whole);
    let after = groups(draw, &axes);
    let pattern = format!("{} -> {}", write(&before), write(&after));
    let extents = |groups: &[Vec<usize>]| -> Vec<usize> {
        groups.iter().map(|group| group.iter().map(|&axis| shape[axis]).product()).collect()
    };
    // Give the sizes of all parts of an axis except one, or of all parts if one has extent 0. If
    // `wrong`, each is 1 too large.
    let mut sizes: Vec<(String, usize)> = Vec::new();
    let wrong = draw.one_in(20);
    for group in &before {
        let left = if group.iter().any(|&axis| shape[axis] == 0) {
            group.len()
        } else {
            draw.below(group.len())
        };
        let given = group.iter().enumerate().filter(|(at, _)| *at != left);
        sizes.extend(given.map(|(_, &axis)| (name(axis), shape[axis] + usize::from(wrong))));
    }
    let sizes: Vec<(&str, usize)> = sizes.iter().map(|(name, size)| (&name[..], *size)).collect();
    let given = extents(&before);
    about(format_args!("{pattern:?} of {given:?} with {sizes:?}, {elem_bytes} bytes"));
    let len: usize = shape.iter().product();
    let from = naive::numbered(len, elem_bytes);
    let want = naive::permuted(&from, &shape, &axes, elem_bytes);
    let mut data = Guarded::new(&from, draw.below(64));
    let result = match elem_bytes {
        4 => rearrange(data.data().as_chunks_mut::<4>().0, &given, &pattern, &sizes),
        8 => rearrange(data.data().as_chunks_mut::<8>().0, &given, &pattern, &sizes),
        _ => {
            let planned = Transpose::rearrange::<u8>(&given, &pattern, &sizes)
                .and_then(|transpose| transpose.itemsize(elem_bytes).plan());
            planned
                .and_then(|plan| plan.run(&mut RawElements(data.data())))
                .map(|()| extents(&after))
        }
    };
    match result {
        Ok(shape) => {
            // Wrong sizes may also divide the extents of the axes. The call then succeeds with
            // another result.
            if wrong && !sizes.is_empty() {
                return "ran";
            }
            assert_eq!(shape, extents(&after));
            data.check(&want, "rearranged");
            "ran"
        }
        Err(error) => {
            assert!(wrong && kind(&error) == "pattern", "{error}");
            data.check(&from, "refused");
            "refused"
        }
    }
}
