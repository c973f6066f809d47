//! Kinds of operation: types that decide which data a plan runs on.
//!
//! [`Transpose`](crate::Transpose) starts as [`InPlace`]. Its methods `leading`, `out_of_place` and
//! `dynamic` change the kind, and the plan keeps it.

use turntile_plan::{InvalidPlan, Problem};

/// In place, on elements of any type.
#[derive(Clone, Copy, Debug)]
pub struct InPlace;

/// In place, with or without leading dimensions, on `Copy` elements: those of overwritten padding
/// are lost.
#[derive(Clone, Copy, Debug)]
pub struct Leading;

/// From one buffer into another, on `Copy` elements.
#[derive(Clone, Copy, Debug)]
pub struct OutOfPlace;

/// Any of the other kinds, decided at run time, on raw bytes. For bindings to other languages and
/// tools.
#[derive(Clone, Copy, Debug)]
pub struct Dynamic;

/// A kind of operation. The trait is sealed.
pub trait Mode: sealed::Mode {}

impl<M: sealed::Mode> Mode for M {}

/// A kind of operation that leaves the result where the data are. The trait is sealed.
pub trait InPlaceMode: Mode {}

impl InPlaceMode for InPlace {}
impl InPlaceMode for Leading {}
impl InPlaceMode for Dynamic {}

pub(crate) mod sealed {
    use super::{InvalidPlan, Problem};

    pub trait Mode {
        /// Checks that a plan for `problem` is of this kind.
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
