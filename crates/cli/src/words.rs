//! What a plan does to the data, for people.

use turntile::plan::{Plan, Problem};
use turntile_plan::{Direction, StageMap};

use crate::values::joined;

/// What it comes to, then what becomes of the array, stage after stage, in sentences: a line each.
pub fn of_plan(plan: &Plan) -> String {
    let mut text = format!("{}\n{}", plan.summary(), of_problem(&plan.problem));
    let several = plan.stages().count() > 1;
    for (k, stage) in plan.stages().enumerate() {
        let stage = of_stage(&stage.map);
        text += "\n";
        text += &match (several, k) {
            (false, _) => sentence(&stage),
            (true, 0) => format!("First {stage}."),
            (true, _) => format!("Then {stage}."),
        };
    }
    text
}

/// With a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map(|first| first.to_ascii_uppercase())
        .into_iter()
        .chain(letters)
        .collect::<String>()
        + "."
}

fn of_problem(problem: &Problem) -> String {
    if problem.records().is_some() {
        return format!("The array holds {problem}.");
    }
    let from = problem.extents();
    let to: Vec<usize> = problem.order().map(|axis| from[axis]).collect();
    let place = if problem.is_out_of_place() { "in another buffer" } else { "where it lies" };
    let what = if problem.order().eq([1, 0]) { "matrix" } else { "array" };
    format!(
        "The {} {what} of {}-byte elements becomes {} {place}.",
        by_x(from),
        problem.itemsize(),
        by_x(&to)
    )
}

fn by_x(extents: &[usize]) -> String {
    match extents {
        [] => "0-axis".to_string(),
        all => joined(all, " x "),
    }
}

fn of_stage(shape: &StageMap) -> String {
    let back = |direction| direction == Direction::Backward;
    match *shape {
        StageMap::Axes(_) => of_axes(shape),
        StageMap::SlotGather { direction, .. } if back(direction) => {
            "the pieces are scattered to their rows".to_string()
        }
        StageMap::SlotGather { .. } => {
            "some rows at a time are turned into pieces of columns".to_string()
        }
        StageMap::SlotMove { .. } => "the pieces are moved to their places".to_string(),
        StageMap::Cut { direction, .. } if back(direction) => {
            "the rows and columns that were set apart are put back".to_string()
        }
        StageMap::Cut { .. } => "the columns that no tile covers are set apart".to_string(),
        StageMap::Slide(slide) if slide.is_up() => "the rows are moved apart".to_string(),
        StageMap::Slide(_) => "the rows are moved together again".to_string(),
        StageMap::Reshape(_) => "the elements are moved to rows of the new length".to_string(),
        StageMap::RecordTiles(_) => "the fields of each tile of records are brought together, \
             or its records are"
            .to_string(),
        StageMap::RecordGather { direction, .. } if back(direction) => {
            "the pieces are scattered to their records".to_string()
        }
        StageMap::RecordGather { .. } => {
            "some records at a time are turned into pieces of their fields".to_string()
        }
        StageMap::RecordMove { .. } => "the pieces are moved to their places".to_string(),
        // In its own notation.
        ref other => other.to_string(),
    }
}

fn of_axes(shape: &StageMap) -> String {
    let Some(axes) = shape.elementary() else {
        return "the axes are brought into their order at once".to_string();
    };
    let grid = format!("{} x {}", axes.rows, axes.cols);
    let each =
        if axes.batch > 1 { format!(" in each of {} parts", axes.batch) } else { String::new() };
    match (axes.mid, axes.unit) {
        (1, 1) if axes.batch > 1 => {
            format!("{} blocks of {grid} are transposed, each where it lies", axes.batch)
        }
        (1, 1) => "all elements are moved to their places".to_string(),
        (1, unit) => {
            format!("runs of {unit} elements are transposed as wholes, as a grid of {grid}{each}")
        }
        (mid, 1) if axes.rows == axes.cols => {
            format!(
                "square tiles of {grid}, {mid} side by side, are transposed, each where it lies{each}"
            )
        }
        (_, unit) => format!("runs of {unit} elements change places across a grid of {grid}{each}"),
    }
}
