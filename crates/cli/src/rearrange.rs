//! What each command makes of a file: a new header, and a permutation of the data.

use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use turntile::plan::Problem;

use crate::common::{Common, Goal};
use crate::file::Asking;
use crate::npy::{self, Header, Order};
use crate::output;
use crate::progress::Progress;
use crate::report::{Array, Report};
use crate::say::shown;
use crate::work::{self, Change, Done};

/// A file to change, and how.
pub struct Asked<'a> {
    /// The file.
    pub file: &'a Path,
    /// Where its result goes.
    pub goal: &'a Goal,
    /// All else.
    pub common: &'a Common,
    /// Which of how many it is, for the progress bar; nothing if it is alone.
    pub label: String,
}

/// What is done to an array.
#[derive(Clone, Copy, Debug)]
pub enum Operation<'a> {
    /// Its last two axes change places.
    Transpose,
    /// Axis `i` of the result is the axis of that number.
    Permute(&'a [usize]),
    /// It is stored in this order.
    Reorder(Order),
}

impl Operation<'_> {
    fn name(self) -> &'static str {
        match self {
            Operation::Transpose => "transpose",
            Operation::Permute(_) => "permute",
            Operation::Reorder(_) => "reorder",
        }
    }

    /// Shape and order afterwards.
    fn after(self, header: &Header) -> Result<(Vec<usize>, Order)> {
        let (mut shape, order) = (header.shape.clone(), header.order);
        match self {
            Operation::Reorder(order) => return Ok((shape, order)),
            Operation::Transpose => {
                let axes = shape.len();
                ensure!(axes >= 2, "a transposition needs at least 2 axes, the array has {axes}");
                shape.swap(axes - 2, axes - 1);
            }
            Operation::Permute(axes) => {
                let (got, have) = (axes.len(), shape.len());
                ensure!(got == have, "--axes names {got} axes, the array has {have}");
                shape = axes.iter().map(|&axis| header.shape[axis]).collect();
            }
        }
        Ok((shape, order))
    }

    /// How the data are permuted as they lie in memory, if they are, be there any or not.
    fn problem(self, header: &Header) -> Result<Option<Problem>> {
        self.after(header)?;
        let is_fortran = header.order == Order::Fortran;
        let (rank, item) = (header.shape.len(), header.item_bytes.max(1));
        let mut extents = header.shape.clone();
        if is_fortran {
            extents.reverse();
        }
        let axes = match self {
            Operation::Transpose => return transposition(header).map(Some),
            Operation::Reorder(order) if order == header.order => return Ok(None),
            Operation::Reorder(_) => (0..rank).rev().collect(),
            Operation::Permute(axes) if !is_fortran => axes.to_vec(),
            // In memory the last axis comes first, before and after.
            Operation::Permute(axes) => axes.iter().rev().map(|axis| rank - 1 - axis).collect(),
        };
        Ok(Some(Problem::permuted(&extents, &axes, item)?))
    }
}

/// The leading axes are a batch, or in Fortran order, where they run fastest, an element.
fn transposition(header: &Header) -> Result<Problem> {
    let [leading @ .., rows, cols] = &header.shape[..] else { unreachable!("it was counted") };
    // Each divides a product that the header's check has found to fit, but where that is zero.
    let leading = npy::volume(leading).unwrap_or(usize::MAX);
    let item = header.item_bytes.max(1);
    Ok(match header.order {
        Order::C => Problem::with_batch(leading, *rows, *cols, item)?,
        Order::Fortran if leading > 0 => Problem::new(*cols, *rows, leading.saturating_mul(item))?,
        Order::Fortran => Problem::with_batch(0, *cols, *rows, item)?,
    })
}

/// What `transpose`, or with axes `permute`, does to the array of a .npy file, be it empty.
pub fn problem(header: &Header, axes: Option<&[usize]>, path: &Path) -> Result<Problem> {
    let operation = axes.map_or(Operation::Transpose, Operation::Permute);
    let problem = operation.problem(header).with_context(|| shown(path).to_string())?;
    problem.ok_or_else(|| anyhow!("nothing has to move"))
}

/// Changes a file: a headerless one by `raw`, the array of a .npy file as the operation does.
pub fn run(asked: &Asked<'_>, operation: Operation<'_>, raw: Option<Problem>) -> Result<Report> {
    let Common { member, lock, quiet, .. } = asked.common;
    let asking = Asking::new(*lock, *quiet);
    let from = (member.as_deref(), raw.is_some());
    let (mut input, target) = output::open(asked.file, asked.goal, from, &asking)?;
    let in_file = || shown(asked.file).to_string();
    let (change, before, after) = match raw {
        Some(problem) => of_raw(problem, input.bytes()?).with_context(in_file)?,
        None => of_npy(&input.header()?, operation).with_context(in_file)?,
    };
    let member = input.member().map(String::from);
    let is_same = before.order == after.order && matches!(operation, Operation::Reorder(_));
    let is_done = is_same && *asked.goal == Goal::InPlace;
    let done = if is_done {
        Done::default()
    } else {
        let progress = Progress::labelled(!quiet, &asked.label);
        work::apply((input, target), &change, asked.common, &progress)?
    };
    Ok(Report {
        operation: operation.name(),
        file: asked.file.to_path_buf(),
        member,
        output: asked.goal.path().unwrap_or(asked.file).to_path_buf(),
        unchanged: is_done,
        before,
        after,
        bytes: change.data_bytes,
        done,
    })
}

fn of_npy(header: &Header, operation: Operation<'_>) -> Result<(Change, Array, Array)> {
    let (shape, order) = operation.after(header)?;
    let data_bytes = header.data_bytes;
    let step = if data_bytes > 0 { operation.problem(header)? } else { None };
    let change = Change { header: header.rewritten(&shape, order)?, data_bytes, step };
    let before = Array::of(header);
    let after = Array { shape, order: Some(order), ..before.clone() };
    Ok((change, before, after))
}

/// The change of a headerless file, whose length must be the problem's.
fn of_raw(problem: Problem, got: Option<u64>) -> Result<(Change, Array, Array)> {
    let data_bytes = problem.bytes();
    if let Some(got) = got.filter(|&got| got != data_bytes as u64) {
        let extents: Vec<_> = problem.extents().iter().map(usize::to_string).collect();
        let shape = format!("{} x {}", extents.join(" x "), problem.elem_bytes());
        return Err(anyhow!("expected {data_bytes} bytes ({shape}), got {got}"));
    }
    let step = Some(problem).filter(|problem| !problem.is_empty());
    let [before, after] = Array::of_raw(&problem);
    Ok((Change { header: Vec::new(), data_bytes, step }, before, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step_of(operation: Operation<'_>, shape: &str, order: &str, data: usize) -> Result<Change> {
        let text = format!("{{'descr': '<f4', 'fortran_order': {order}, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
        bytes.resize(bytes.len() + data, 0);
        let header = Header::read(&mut &bytes[..], bytes.len() as u64).unwrap();
        of_npy(&header, operation).map(|(change, ..)| change)
    }

    #[test]
    fn leading_axes_are_a_batch_or_an_element() {
        let step = |shape: &str, order: &str, data| {
            step_of(Operation::Transpose, shape, order, data).unwrap().step
        };
        let want = |batch, rows, cols, elem_bytes| {
            Some(Problem::with_batch(batch, rows, cols, elem_bytes).unwrap())
        };
        assert_eq!(step("(3, 5)", "False", 60), want(1, 3, 5, 4));
        assert_eq!(step("(3, 5)", "True", 60), want(1, 5, 3, 4));
        assert_eq!(step("(2, 7, 3, 5)", "False", 840), want(14, 3, 5, 4));
        assert_eq!(step("(2, 7, 3, 5)", "True", 840), want(1, 5, 3, 56));
        assert_eq!(step("(0, 3, 5)", "True", 0), None);
        for (shape, data, words) in [("()", 4, "has 0"), ("(3,)", 12, "has 1")] {
            let error = step_of(Operation::Transpose, shape, "False", data).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        }
    }

    #[test]
    fn axes_of_fortran_arrays_lie_the_other_way_round() {
        let want = |extents: &[usize], axes: &[usize]| Problem::permuted(extents, axes, 4).ok();
        let permuted = |order: &str| {
            step_of(Operation::Permute(&[1, 2, 0]), "(2, 3, 5)", order, 120).unwrap().step
        };
        assert_eq!(permuted("False"), want(&[2, 3, 5], &[1, 2, 0]));
        // [5][3][2] in memory; the result, 3 x 5 x 2, lies as [2][5][3].
        assert_eq!(permuted("True"), want(&[5, 3, 2], &[2, 0, 1]));
        let reordered = |to, shape: &str, order: &str, data| {
            step_of(Operation::Reorder(to), shape, order, data).unwrap().step
        };
        assert_eq!(reordered(Order::Fortran, "(3, 5)", "False", 60), want(&[3, 5], &[1, 0]));
        assert_eq!(reordered(Order::C, "(2, 3, 5)", "True", 120), want(&[5, 3, 2], &[2, 1, 0]));
        assert_eq!(reordered(Order::Fortran, "()", "False", 4), want(&[], &[]));
        assert_eq!(reordered(Order::C, "(3, 5)", "False", 60), None);
        assert_eq!(reordered(Order::Fortran, "(3, 0, 5)", "False", 0), None);
    }

    #[test]
    fn raw_lengths_are_checked() {
        let problem = Problem::with_batch(2, 3, 5, 12).unwrap();
        assert_eq!(of_raw(problem, Some(360)).unwrap().0.step, Some(problem));
        let error = of_raw(problem, Some(361)).unwrap_err().to_string();
        assert_eq!(error, "expected 360 bytes (2 x 3 x 5 x 12), got 361");
        let empty = Problem::with_batch(0, 3, 5, 12).unwrap();
        assert_eq!(of_raw(empty, Some(0)).unwrap().0.step, None);
    }
}
