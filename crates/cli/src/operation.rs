//! What each command makes of a file: a new header, and a permutation of the data.

use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use turntile::Transpose;
use turntile::layout::Rearrangement;

use crate::args::{Common, Goal, Raw};
use crate::file::Asking;
use crate::npy::{self, AxisOrder, Header};
use crate::output;
use crate::progress::Progress;
use crate::records::Layouts;
use crate::report::{Array, Report};
use crate::say::shown;
use crate::split;
use crate::values::{PatternArg, joined, order_of};
use crate::work::{self, Change, Done};

/// What is done to an array.
#[derive(Clone, Copy, Debug)]
pub enum Operation<'a> {
    /// Its last two axes change places.
    Transpose,
    /// Axis `i` of the result is the axis of that number.
    Permute(&'a [isize]),
    /// Its axes are split, permuted and joined.
    Rearrange(PatternArg<'a>),
    /// It is stored in this order.
    Reorder(AxisOrder),
    /// Its records are brought into another layout.
    Layout(&'a Layouts),
}

impl Operation<'_> {
    fn name(self) -> &'static str {
        match self {
            Operation::Transpose => "transpose",
            Operation::Permute(_) => "permute",
            Operation::Rearrange(_) => "rearrange",
            Operation::Reorder(_) => "reorder",
            Operation::Layout(_) => "layout",
        }
    }

    /// What becomes of the axes of an array of that shape.
    fn axes(self, shape: &[usize]) -> Result<Rearrangement> {
        let rank = shape.len();
        let mut all: Vec<usize> = (0..rank).collect();
        match self {
            Operation::Reorder(_) | Operation::Layout(_) => {}
            Operation::Transpose => {
                ensure!(rank >= 2, "a transposition needs at least 2 axes, the array has {rank}");
                all.swap(rank - 2, rank - 1);
            }
            Operation::Permute(axes) => {
                all = order_of(axes, rank).map_err(|what| anyhow!("--axes {what}"))?;
            }
            Operation::Rearrange(pattern) => return Ok(pattern.of(shape)?),
        }
        Ok(Rearrangement::of_axes(shape, &all))
    }

    /// Shape and order of the result.
    fn after(self, header: &Header) -> Result<(Vec<usize>, AxisOrder)> {
        let order = if let Operation::Reorder(order) = self { order } else { header.order };
        Ok((self.axes(&header.shape)?.shape(), order))
    }

    /// How the data are permuted as they lie in memory.
    fn transpose(self, header: &Header) -> Result<Transpose> {
        let item = header.item_bytes.max(1);
        let (axes, (shape, order)) = (self.axes(&header.shape)?, self.after(header)?);
        if let Operation::Transpose = self {
            return Ok(transposition(header, item));
        }
        // In Fortran order the last axis comes first in memory, before or after.
        let lie = |rank: usize, order| -> Vec<usize> {
            if order == AxisOrder::C { (0..rank).collect() } else { (0..rank).rev().collect() }
        };
        let axes = axes.in_memory(&lie(header.shape.len(), header.order), &lie(shape.len(), order));
        Ok(Transpose::permute::<u8>(axes.extents(), axes.order()).itemsize(item))
    }

    /// The same of a file's array, be it empty.
    pub fn in_file(self, header: &Header, path: &Path) -> Result<Transpose> {
        self.transpose(header).with_context(|| shown(path).to_string())
    }

    /// Whether the array is in the order that is asked for.
    fn is_done(self, header: &Header) -> bool {
        matches!(self, Operation::Reorder(order) if order == header.order)
    }
}

/// The leading axes are a batch, or in Fortran order, where they run fastest, an element.
fn transposition(header: &Header, item: usize) -> Transpose {
    let [leading @ .., rows, cols] = &header.shape[..] else { unreachable!("it was counted") };
    // Each divides a product that the header's check has found to fit, but where that is zero.
    let leading = npy::volume(leading).unwrap_or(usize::MAX);
    match header.order {
        _ if leading == 0 => {
            Transpose::permute::<u8>(&[0, *rows, *cols], &[0, 2, 1]).itemsize(item)
        }
        AxisOrder::C => Transpose::new::<u8>(*rows, *cols).itemsize(item).batch(leading),
        AxisOrder::Fortran => {
            Transpose::new::<u8>(*cols, *rows).itemsize(leading.saturating_mul(item))
        }
    }
}

/// Changes a file: a headerless one by `raw`, the array of a .npy file as the operation does. `label` stands before the
/// progress.
pub fn run(
    common: &Common,
    (path, goal): (&Path, &Goal),
    (operation, raw): (Operation<'_>, Option<&Raw>),
    label: &str,
) -> Result<Report> {
    let asking = Asking::new(common.lock, common.quiet);
    let mut is_raw = raw.is_some();
    if let Operation::Layout(args) = operation {
        if let Some(folder) = &args.split {
            return split::run(common, (path, folder), args.from, label);
        }
        is_raw = args.raw;
    }
    let from = (common.member.as_deref(), is_raw);
    let (mut input, target) = output::open(path, goal, from, &asking)?;
    let in_file = || shown(path).to_string();
    let (change, before, after) = match (operation, raw) {
        (Operation::Layout(args), _) => args.change(&mut input).with_context(in_file)?,
        (_, Some(raw)) => of_raw(raw, input.bytes()?).with_context(in_file)?,
        (_, None) => of_npy(&input.header()?, operation).with_context(in_file)?,
    };
    let member = input.member().map(String::from);
    let is_done = before.order == after.order && matches!(operation, Operation::Reorder(_));
    let unchanged = is_done && *goal == Goal::InPlace;
    let done = if unchanged {
        Done::default()
    } else {
        let progress = Progress::new(!common.quiet, label);
        work::apply((input, target), &change, common, &progress)?
    };
    Ok(Report {
        operation: operation.name(),
        file: path.to_path_buf(),
        member,
        output: goal.path().unwrap_or(path).to_path_buf(),
        unchanged,
        before,
        after,
        bytes: change.data_bytes,
        done,
    })
}

fn of_npy(header: &Header, operation: Operation<'_>) -> Result<(Change, Array, Array)> {
    let (shape, order) = operation.after(header)?;
    let moves = header.data_bytes > 0 && !operation.is_done(header);
    let change = Change {
        header: header.rewritten(&shape, order)?,
        data_bytes: header.data_bytes,
        step: if moves { Some(operation.transpose(header)?) } else { None },
    };
    let before = Array::of(header);
    let after = Array { shape, order: Some(order), ..before.clone() };
    Ok((change, before, after))
}

/// The change of a headerless file, whose length must be the problem's.
fn of_raw(raw: &Raw, got: Option<u64>) -> Result<(Change, Array, Array)> {
    let problem = raw.transpose.problem()?;
    let data_bytes = problem.bytes();
    if let Some(got) = got.filter(|&got| got != data_bytes as u64) {
        let shape = format!("{} x {}", joined(&raw.shapes[0], " x "), problem.itemsize());
        return Err(anyhow!("expected {data_bytes} bytes ({shape}), got {got}"));
    }
    let step = Some(raw.transpose.clone()).filter(|_| !problem.is_empty());
    let [before, after] = raw.shapes.clone().map(|shape| Array::of_raw(shape, problem.itemsize()));
    Ok((Change { header: Vec::new(), data_bytes, step }, before, after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use turntile::plan::Problem;

    fn step_of(operation: Operation<'_>, shape: &str, order: &str, data: usize) -> Result<Change> {
        let text = format!("{{'descr': '<f4', 'fortran_order': {order}, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
        bytes.resize(bytes.len() + data, 0);
        let header = Header::read(&mut &bytes[..], bytes.len() as u64).unwrap();
        of_npy(&header, operation).map(|(change, ..)| change)
    }

    fn problem_of(
        operation: Operation<'_>,
        shape: &str,
        order: &str,
        data: usize,
    ) -> Option<Problem> {
        let step = step_of(operation, shape, order, data).unwrap().step;
        step.map(|step| step.problem().unwrap())
    }

    #[test]
    fn leading_axes_are_a_batch_or_an_element() {
        let step =
            |shape: &str, order: &str, data| problem_of(Operation::Transpose, shape, order, data);
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
        let permuted =
            |order: &str| problem_of(Operation::Permute(&[1, 2, 0]), "(2, 3, 5)", order, 120);
        assert_eq!(permuted("False"), want(&[2, 3, 5], &[1, 2, 0]));
        // [5][3][2] in memory; the result, 3 x 5 x 2, lies as [2][5][3].
        assert_eq!(permuted("True"), want(&[5, 3, 2], &[2, 0, 1]));
        let reordered = |to, shape: &str, order: &str, data| {
            problem_of(Operation::Reorder(to), shape, order, data)
        };
        assert_eq!(
            reordered(AxisOrder::Fortran, "(3, 5)", "False", 60),
            Problem::new(3, 5, 4).ok()
        );
        assert_eq!(reordered(AxisOrder::C, "(2, 3, 5)", "True", 120), want(&[5, 3, 2], &[2, 1, 0]));
        assert_eq!(reordered(AxisOrder::Fortran, "()", "False", 4), want(&[], &[]));
        assert_eq!(reordered(AxisOrder::C, "(3, 5)", "False", 60), None);
        assert_eq!(reordered(AxisOrder::Fortran, "(3, 0, 5)", "False", 0), None);
    }

    #[test]
    fn patterns_of_fortran_arrays_lie_the_other_way_round() {
        let sizes = [("c".to_string(), 3)];
        let pattern = PatternArg { text: "a (b c) d -> (d b) c a", sizes: &sizes };
        let problem = |order| problem_of(Operation::Rearrange(pattern), "(2, 6, 5)", order, 240);
        let want = |extents: &[usize], axes: &[usize]| Problem::permuted(extents, axes, 4).ok();
        assert_eq!(problem("False"), want(&[2, 2, 3, 5], &[3, 1, 2, 0]));
        // [d][b][c][a] in memory; the result lies as [a][c][d][b].
        assert_eq!(problem("True"), want(&[5, 2, 3, 2], &[3, 2, 0, 1]));
    }

    #[test]
    fn raw_lengths_are_checked() {
        let raw = |rows| Raw {
            transpose: Transpose::new::<u8>(rows, 5).itemsize(12).batch(2),
            shapes: [vec![2, rows, 5], vec![2, 5, rows]],
        };
        assert!(of_raw(&raw(3), Some(360)).unwrap().0.step.is_some());
        let error = of_raw(&raw(3), Some(361)).unwrap_err().to_string();
        assert_eq!(error, "expected 360 bytes (2 x 3 x 5 x 12), got 361");
        assert!(of_raw(&raw(0), Some(0)).unwrap().0.step.is_none());
    }
}
