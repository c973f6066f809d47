//! What a plan does to the data, for people.

use turntile::plan::{Plan, Problem};
use turntile_plan::{Direction, StageShape};

use crate::report::{bytes, duration};

/// What becomes of the array, stage after stage, in sentences: a line each.
pub fn of_plan(plan: &Plan) -> String {
    let mut text = of_problem(&plan.problem);
    if plan.passes() == 0 {
        return text + "\nNo element has to move.";
    }
    for (k, stage) in plan.stages().enumerate() {
        let first = if k == 0 { "First" } else { "Then" };
        text += &format!("\n{first} {}.", of_stage(&stage.shape));
    }
    let times =
        if plan.passes() == 1 { "once".to_string() } else { format!("{} times", plan.passes()) };
    text += &format!(
        "\nAll is read and written {times}, with {} of memory beside the data, in about {}.",
        bytes(plan.workspace_bytes),
        duration(plan.seconds)
    );
    text
}

fn of_problem(problem: &Problem) -> String {
    let from = problem.extents();
    let to: Vec<usize> = problem.order().map(|axis| from[axis]).collect();
    let place = if problem.is_out_of_place() { "in another buffer" } else { "where it lies" };
    let matrices = problem.order().eq([0, 2, 1]);
    // A single matrix without the batch.
    let single = usize::from(matrices && problem.batch() == 1);
    let of = |extents: &[usize]| by_x(&extents[single..]);
    let what = if single == 1 { "matrix" } else { "array" };
    format!(
        "The {} {what} of elements of {} B, {} in all, becomes {} {place}.",
        of(from),
        problem.elem_bytes(),
        bytes(problem.bytes()),
        of(&to)
    )
}

fn by_x(extents: &[usize]) -> String {
    match extents {
        [] => "0-axis".to_string(),
        all => all.iter().map(usize::to_string).collect::<Vec<_>>().join(" x "),
    }
}

fn of_stage(shape: &StageShape) -> String {
    let back = |direction| direction == Direction::Backward;
    match *shape {
        StageShape::Axes(_) => of_axes(shape),
        StageShape::SlotGather { direction, .. } if back(direction) => {
            "the pieces are scattered to their rows".to_string()
        }
        StageShape::SlotGather { .. } => {
            "some rows at a time are turned into pieces of columns".to_string()
        }
        StageShape::SlotMove { .. } => "the pieces are moved to their places".to_string(),
        StageShape::Cut { direction, .. } if back(direction) => {
            "the rows and columns that were set apart are put back".to_string()
        }
        StageShape::Cut { .. } => "the columns that no tile covers are set apart".to_string(),
        StageShape::Slide(slide) if slide.is_up() => "the rows are moved apart".to_string(),
        StageShape::Slide(_) => "the rows are moved together again".to_string(),
        // In its own notation.
        ref other => other.to_string(),
    }
}

fn of_axes(shape: &StageShape) -> String {
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
