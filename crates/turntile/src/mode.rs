//! Modes of operation: types that decide which data a plan runs on.
//!
//! [`Transpose`](crate::Transpose) starts in mode [`InPlace`]. Its methods `leading`,
//! `out_of_place` and `dynamic` change the mode, and the plan has the same mode.

use turntile_plan::{InvalidPlan, Problem};

/// Mode that permutes elements of any type in place.
#[derive(Clone, Copy, Debug)]
pub struct InPlace;

/// Mode that permutes `Copy` elements in place, with or without leading dimensions. With them, some
/// source elements may exist twice afterwards.
#[derive(Clone, Copy, Debug)]
pub struct Leading;

/// Mode that writes `Copy` elements of one buffer into another.
#[derive(Clone, Copy, Debug)]
pub struct OutOfPlace;

/// Mode that is decided at run time: any of the other modes, on raw bytes. For bindings to other
/// languages and tools.
#[derive(Clone, Copy, Debug)]
pub struct Dynamic;

/// Mode of operation. The trait is sealed.
pub trait Mode: sealed::Mode {}

impl<M: sealed::Mode> Mode for M {}

/// Mode of operation that writes the result over the source. The trait is sealed.
pub trait InPlaceMode: Mode {}

impl InPlaceMode for InPlace {}
impl InPlaceMode for Leading {}
impl InPlaceMode for Dynamic {}

pub(crate) mod sealed {
    use super::{InvalidPlan, Problem};

    pub trait Mode {
        /// Checks that a plan for `problem` can run in this mode.
        fn check(problem: &Problem) -> Result<(), InvalidPlan>;
    }
}

fn check_destination(problem: &Problem, out_of_place: bool) -> Result<(), InvalidPlan> {
    if problem.is_out_of_place() == out_of_place {
        return Ok(());
    }
    Err(InvalidPlan::WrongDestination { out_of_place: !out_of_place })
}

impl sealed::Mode for InPlace {
    fn check(problem: &Problem) -> Result<(), InvalidPlan> {
        check_destination(problem, false)?;
        if problem.leading().is_some() { Err(InvalidPlan::RequiresCopy) } else { Ok(()) }
    }
}

impl sealed::Mode for Leading {
    fn check(problem: &Problem) -> Result<(), InvalidPlan> {
        check_destination(problem, false)
    }
}

impl sealed::Mode for OutOfPlace {
    fn check(problem: &Problem) -> Result<(), InvalidPlan> {
        check_destination(problem, true)
    }
}

impl sealed::Mode for Dynamic {
    fn check(_: &Problem) -> Result<(), InvalidPlan> {
        Ok(())
    }
}
