//! Checks of plans against their requests, and of runs: first invalid ones, which must change no
//! data, then a valid one.

use std::collections::HashSet;
use std::mem::MaybeUninit;

use turntile::mode::{Dynamic, InPlace, Leading, Mode, OutOfPlace};
use turntile::plan::Route;
use turntile::run::RunOptions;
use turntile::{Error, RawElements, Transposer};

use crate::draw::Draw;
use crate::guarded::{Guarded, Words};
use crate::panicking;
use crate::wishes::{Moved, What, Wish, kind};

/// Evaluates `$act` with `$data` as elements of `$elem_bytes` bytes, or as [`RawElements`] if no
/// arm has that size.
macro_rules! as_elements {
    ($elem_bytes:expr, $bytes:expr, $data:ident => $act:expr) => {{
        let bytes: &mut [u8] = $bytes;
        match $elem_bytes {
            1 => as_elements!(@of 1, bytes, $data => $act),
            2 => as_elements!(@of 2, bytes, $data => $act),
            3 => as_elements!(@of 3, bytes, $data => $act),
            4 => as_elements!(@of 4, bytes, $data => $act),
            8 => as_elements!(@of 8, bytes, $data => $act),
            12 => as_elements!(@of 12, bytes, $data => $act),
            16 => as_elements!(@of 16, bytes, $data => $act),
            _ => {
                let $data = &mut RawElements(bytes);
                $act
            }
        }
    }};
    (@of $n:literal, $bytes:ident, $data:ident => $act:expr) => {{
        let $data = $bytes.as_chunks_mut::<$n>().0;
        $act
    }};
}

/// Checks that a plan is valid and fits its request.
pub fn check_plan(planned: &Transposer<Dynamic>, wish: &Wish, host: bool) {
    let plan = planned.plan();
    let problem = &plan.problem;
    assert_eq!(plan.check(), Ok(()), "{plan:#}");
    assert_eq!(problem.is_out_of_place(), wish.out_of_place, "{plan:#}");
    assert_eq!((problem.cap(), problem.itemsize()), (wish.cap, wish.elem_bytes), "{plan:#}");
    assert_eq!(problem.span_bytes(), wish.span_bytes(), "{plan:#}");
    let need = planned.workspace_bytes();
    if let Some(cap) = wish.cap {
        assert!(plan.workspace_bytes <= cap, "{cap}: {plan:#}");
        assert!(!host || need <= cap, "{need} of {cap} bytes: {plan:#}");
    }
    if wish.out_of_place {
        assert_eq!((plan.workspace_bytes, need), (0, 0), "{plan:#}");
    }
}

/// Checks that a plan uses the requested route, unless nothing moves.
pub fn check_route(planned: &Transposer<Dynamic>, wish: &Wish, route: Option<Route>) {
    let plan = planned.plan();
    let Some(route) = route.filter(|_| plan.route() != Route::NOTHING) else { return };
    let leg = plan.phases.iter().any(|leg| leg.route == route);
    let honoured = match (wish.leading, &wish.what) {
        // The route applies to the dense transposition, which a single row or column does not need.
        (Some(_), What::Axes { shape, .. }) => leg || shape.contains(&1),
        (None, What::Axes { .. }) => plan.route() == route,
        (_, What::Records(_)) => leg,
    };
    assert!(honoured, "not {route}: {planned:#}");
}

/// Checks the destinations that the plan computes for all elements, or for a random sample.
pub fn check_dest(draw: &mut Draw, planned: &Transposer<Dynamic>, wish: &Wish) {
    let plan = planned.plan();
    let span = plan.problem.span();
    let most = if wish.is_runnable() { 300 } else { 40 };
    for k in 0..span.min(most) {
        let offset = if span <= most { k } else { draw.below(span) };
        let want = wish.dest(offset);
        let got = plan.problem.dest(offset);
        assert!(want.is_none_or(|want| got == want), "{offset} to {got}, not {want:?}: {plan:#}");
        let got = plan.dest(offset);
        // The stages also move gap elements, for which the oracle has no destination.
        assert!(want.is_none_or(|want| got == want), "{offset} to {got}, not {want:?}: {plan:#}");
    }
}

/// Runs a plan on this host and checks the result, after up to two invalid calls.
pub fn run(draw: &mut Draw, planned: &Transposer<Dynamic>, wish: &Wish) {
    let moved = wish.moved();
    for _ in 0..draw.below(3) {
        run_wrongly(draw, planned, wish, &moved);
    }
    if wish.out_of_place {
        return run_into(draw, planned, &moved);
    }
    run_in_place(draw, planned, wish, &moved);
}

/// Tries to convert the plan to mode `M`, which the caller expects to fail.
fn retyped<M: Mode>(planned: &Transposer<Dynamic>) -> Result<(), Error> {
    Transposer::<M>::new(planned.plan().clone(), planned.threads()).map(drop)
}

/// Returns the plan converted to mode `M`, which must succeed.
fn of_kind<M: Mode>(planned: &Transposer<Dynamic>) -> Transposer<M> {
    Transposer::new(planned.plan().clone(), planned.threads()).unwrap()
}

fn run_in_place(draw: &mut Draw, planned: &Transposer<Dynamic>, wish: &Wish, moved: &Moved) {
    // A matrix with leading dimensions may be at the start of a larger array.
    let more = if wish.leading.is_some() { draw.below(3) * moved.elem_bytes } else { 0 };
    let skip = draw.below(64);
    let mut before = moved.before.clone();
    before.extend((0..more).map(|k| k as u8));
    let mut data = Guarded::new(&before, skip);
    let passes = planned.plan().passes();
    let mut reported = Vec::new();
    let panics_at = draw.maybe(30, |draw| draw.within(1..=passes.max(1)));
    let mut tell = |stages| {
        reported.push(stages);
        assert!(panics_at.is_none_or(|at| stages < at), "on purpose");
    };
    let mut guarded = Words::new(planned.workspace_bytes(), draw.below(256) as u8);
    let mut workspace;
    let mut options = RunOptions::new();
    match draw.below(3) {
        0 => {}
        1 => {
            workspace = planned.workspace().unwrap();
            workspace.poison(draw.below(256) as u8);
            options = options.workspace(&mut workspace);
        }
        _ => options = options.workspace_in(guarded.words()),
    }
    let tells = draw.one_in(3) || panics_at.is_some();
    if tells {
        options = options.progress(&mut tell);
    }
    let leading = wish.leading.is_some();
    let typed = if draw.one_in(2) { moved.elem_bytes } else { 0 };
    let bytes = data.data();
    let run = || {
        as_elements!(typed, bytes, data => {
            if leading {
                of_kind::<Leading>(planned).run_with(data, options)
            } else {
                of_kind::<InPlace>(planned).run_with(data, options)
            }
        })
    };
    match panics_at.filter(|_| passes > 0) {
        Some(_) => drop(panicking(run).expect_err("it panicked")),
        None => run().unwrap_or_else(|error| panic!("{error}: {planned:#}")),
    }
    if tells {
        // The reported numbers of completed passes rise to the total, or to the report that panics.
        let rises = reported.is_sorted_by(|a, b| a < b);
        let last = reported.last().copied().unwrap_or(0);
        let stopped = reported.iter().position(|&at| panics_at.is_some_and(|end| at >= end));
        let ended = stopped.map_or(last == passes, |at| at + 1 == reported.len());
        assert!(rises && ended, "{reported:?} of {passes}: {planned:#}");
    }
    guarded.check();
    check_moved(planned, &mut data, moved, &before[moved.before.len()..]);
}

/// Checks the data after an in-place run. Where contents are unspecified, they must be original
/// elements, and are otherwise ignored.
fn check_moved(planned: &Transposer<Dynamic>, data: &mut Guarded, moved: &Moved, behind: &[u8]) {
    let e = moved.elem_bytes;
    if !moved.free.is_empty() {
        let all: HashSet<&[u8]> = moved.before.chunks(e).collect();
        for &at in &moved.free {
            let element = &mut data.data()[at * e..][..e];
            assert!(all.contains(&*element), "{at} holds no element of before: {planned:#}");
            element.copy_from_slice(&moved.after[at * e..][..e]);
        }
    }
    let want = [&moved.after, behind].concat();
    if data.bytes() != want {
        data.check(&want, &format!("{planned:#}"));
    }
    data.check_guards(&format!("{planned:#}"));
}

fn run_into(draw: &mut Draw, planned: &Transposer<Dynamic>, moved: &Moved) {
    let [skip, other] = [draw.below(64), draw.below(64)];
    let mut from = Guarded::new(&moved.before, skip);
    let mut to = Guarded::new(&vec![0x5A; moved.before.len()], other);
    let typed = if draw.one_in(2) { moved.elem_bytes } else { 0 };
    let source = from.data();
    let target = to.data();
    let done = as_elements!(typed, target, target => target.run_into(planned, source));
    done.unwrap_or_else(|error| panic!("{error}: {planned:#}"));
    from.check(&moved.before, "the source");
    to.check(&moved.after, &format!("{planned:#}"));
}

/// Destination buffer of an out-of-place run, which also decides the element type of the source.
trait Target {
    fn run_into(&mut self, planned: &Transposer<Dynamic>, source: &[u8]) -> Result<(), Error>;
}

impl<const N: usize> Target for [[u8; N]] {
    fn run_into(&mut self, planned: &Transposer<Dynamic>, source: &[u8]) -> Result<(), Error> {
        of_kind::<OutOfPlace>(planned).run(source.as_chunks::<N>().0, self)
    }
}

impl Target for RawElements<&mut [u8]> {
    fn run_into(&mut self, planned: &Transposer<Dynamic>, source: &[u8]) -> Result<(), Error> {
        planned.run_into(source, self.0)
    }
}

/// Makes an invalid call, which must return an error and change no data.
fn run_wrongly(draw: &mut Draw, planned: &Transposer<Dynamic>, wish: &Wish, moved: &Moved) {
    let e = moved.elem_bytes;
    let leading = wish.leading.is_some();
    let other = vec![0x33; moved.before.len()];
    let mut longer = moved.before.clone();
    longer.extend(vec![0x77; 2 * e + 2]);
    let skip = draw.below(64);
    let mut data = Guarded::new(&longer, skip);
    let whole = moved.before.len();
    let (name, wanted, result): (_, &[&str], _) = match draw.below(6) {
        // Pass data that are an element or a byte too short or too long. With leading dimensions,
        // longer data are allowed.
        0 | 1 => {
            let by = if draw.one_in(2) { e } else { 1 };
            let len = match draw.one_in(2) && !leading {
                true => whole + by,
                false if whole >= by => whole - by,
                false => return,
            };
            let typed = if by == e { e } else { 0 };
            let bytes = &mut data.data()[..len];
            let result = match wish.out_of_place {
                true if draw.one_in(2) => {
                    let source = &other;
                    as_elements!(typed, bytes, data => data.run_into(planned, source))
                }
                true => {
                    // Only the source has the wrong length.
                    let source = &vec![0x33; len];
                    let bytes = &mut data.data()[..whole];
                    as_elements!(typed, bytes, data => data.run_into(planned, source))
                }
                false if leading => {
                    as_elements!(typed, bytes, data => of_kind::<Leading>(planned).run(data))
                }
                false => as_elements!(typed, bytes, data => of_kind::<InPlace>(planned).run(data)),
            };
            ("length", &["length", "run"], result)
        }
        2 => {
            let bytes = &mut data.data()[..whole];
            let source = &other;
            // Pass elements of a wrong size: 3 bytes, or 2 if 3 is right.
            let result = as_elements!(if e == 3 { 2 } else { 3 }, bytes, data => {
                if wish.out_of_place {
                    data.run_into(planned, source)
                } else if leading {
                    of_kind::<Leading>(planned).run(data)
                } else {
                    of_kind::<InPlace>(planned).run(data)
                }
            });
            ("elements of another size", &["element"], result)
        }
        3 => {
            let bytes = &mut data.data()[..whole];
            // Run in-place plans out-of-place, and vice versa.
            let result = match wish.out_of_place {
                true if draw.one_in(2) => retyped::<InPlace>(planned),
                true => planned.run(bytes, RunOptions::new()),
                false if draw.one_in(2) => retyped::<OutOfPlace>(planned),
                false => planned.run_into(&other, bytes),
            };
            ("the other place", &["run"], result)
        }
        4 => {
            let words = planned.workspace_bytes().div_ceil(8);
            if words == 0 || wish.out_of_place {
                return;
            }
            let mut few = vec![MaybeUninit::new(0x99); words - 1 - draw.below(words)];
            let options = RunOptions::new().workspace_in(&mut few);
            let bytes = &mut data.data()[..whole];
            let result = match leading {
                true => planned.run(bytes, options),
                false => of_kind::<InPlace>(planned).run_with(&mut RawElements(bytes), options),
            };
            ("too little workspace", &["run"], result)
        }
        _ => {
            if !leading {
                return;
            }
            ("elements that may not be copied", &["run"], retyped::<InPlace>(planned))
        }
    };
    let error = match result {
        Ok(()) => panic!("{name}: no error: {planned:#}"),
        Err(error) => kind(&error),
    };
    assert!(wanted.contains(&error), "{name}: {error}: {planned:#}");
    data.check(&longer, name);
}
