//! Permutations of axes: how the axes lie in memory after each pass of a plan.

use anyhow::Result;
use turntile::plan::{Plan, Problem, Stage};
use turntile_plan::StageMap;

use super::bench::{Bench, cells};
use super::table::Table;

pub const COLUMNS: &[&str] =
    &["problem", "pass", "stage", "memory", "gb_per_s", "copy_gb_per_s", "percent_of_copy"];

/// Extents, the order of the axes, bytes of an element: one of each kind in `docs/explanation/how-it-works.md`.
pub const EXAMPLES: [(&str, &[usize], &[usize], usize); 8] = [
    ("heads", &[4096, 16, 32, 128], &[0, 2, 1, 3], 2),
    ("blocks", &[16384, 200, 128], &[1, 0, 2], 1),
    ("reversed", &[512, 640, 1024], &[2, 1, 0], 4),
    ("two moves", &[128, 96, 160, 144], &[2, 0, 3, 1], 4),
    ("NCHW to NHWC", &[64, 256, 112, 112], &[0, 2, 3, 1], 4),
    ("five axes", &[32, 64, 24, 48, 96], &[4, 3, 2, 1, 0], 4),
    ("cube", &[704, 704, 704], &[2, 1, 0], 4),
    ("primes", &[509, 641, 1021], &[2, 1, 0], 4),
];

/// The plan of each example, how its axes lie before and after every pass, and the speed of the whole.
pub fn permutations(bench: &mut Bench, table: &mut Table) -> Result<()> {
    for (name, extents, axes, elem_bytes) in EXAMPLES {
        let extents: Vec<usize> = match bench.quick() {
            true => extents.iter().map(|&extent| extent.div_ceil(8)).collect(),
            false => extents.to_vec(),
        };
        let problem = Problem::permuted(&extents, axes, elem_bytes)?;
        let plan = bench.planner().plan(&problem)?;
        let speed = cells(bench.plan(&plan))?;
        let title = format!("{name}: {problem}");
        let first = memory(&given(&problem));
        table
            .push([vec![title.clone(), "0".into(), String::new(), first], speed.to_vec()].concat());
        for (pass, (stage, factors)) in stages(&plan).into_iter().enumerate() {
            let lies = factors.map_or(String::new(), |factors| memory(&factors));
            let cells = [title.clone(), (pass + 1).to_string(), stage.to_string(), lies];
            table.push([&cells[..], &[const { String::new() }; 3]].concat());
        }
    }
    Ok(())
}

/// A part of an axis: all its indices where `of` is its whole extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Factor {
    /// The problem's fused axis.
    axis: usize,
    /// Indices.
    extent: usize,
    /// Elements of the axis from one of these indices to the next.
    step: usize,
}

/// As a cell has it: `axis:extent` outermost first, with `/step` where it is not the axis's last part.
fn memory(factors: &[Factor]) -> String {
    let cell = |&Factor { axis, extent, step }: &Factor| match step {
        1 => format!("{axis}:{extent}"),
        _ => format!("{axis}:{extent}/{step}"),
    };
    factors.iter().map(cell).collect::<Vec<_>>().join(" ")
}

/// The fused axes as the source has them.
fn given(problem: &Problem) -> Vec<Factor> {
    let fused = problem.fused();
    let extents = fused.extents().iter().enumerate();
    extents.map(|(axis, &extent)| Factor { axis, extent, step: 1 }).collect()
}

/// Every stage with the factors as they lie after it; none where it moves no whole axes.
fn stages(plan: &Plan) -> Vec<(&Stage, Option<Vec<Factor>>)> {
    let whole = given(&plan.problem);
    let mut lies = Some(whole.clone());
    let mut all = Vec::new();
    for leg in &plan.phases {
        for (number, stage) in leg.stages.iter().enumerate() {
            lies = lies.and_then(|factors| permuted(factors, stage));
            if number + 1 == leg.stages.len() {
                // What a leg comes to is known, whatever its stages did on the way.
                lies = Some(leg.order.iter().map(|&axis| whole[axis]).collect());
            }
            all.push((stage, lies.clone()));
        }
    }
    all
}

/// The factors after a stage that permutes axes, each of which is made of whole factors or of parts of one.
fn permuted(factors: Vec<Factor>, stage: &Stage) -> Option<Vec<Factor>> {
    let StageMap::Axes(axes) = stage.map else { return None };
    let mut left = factors.into_iter().rev().collect::<Vec<_>>();
    let mut groups = Vec::new();
    let joined = Some(stage.elems_per_unit).filter(|&joined| joined > 1);
    for &extent in axes.extents().iter().chain(&joined) {
        groups.push(taken(&mut left, extent)?);
    }
    let last = joined.map(|_| groups.len() - 1);
    let order = axes.order().chain(last);
    Some(merged(order.flat_map(|axis| groups[axis].clone())))
}

/// Factors from the end of `left` on that together have `extent` indices; one that has too many is parted.
fn taken(left: &mut Vec<Factor>, extent: usize) -> Option<Vec<Factor>> {
    let (mut need, mut group) = (extent, Vec::new());
    while need > 1 {
        let factor = left.pop()?;
        if need % factor.extent == 0 {
            need /= factor.extent;
            group.push(factor);
        } else if factor.extent % need == 0 {
            let inner = factor.extent / need;
            group.push(Factor { extent: need, step: factor.step * inner, ..factor });
            left.push(Factor { extent: inner, ..factor });
            need = 1;
        } else {
            return None;
        }
    }
    Some(group)
}

/// Parts of an axis that lie beside each other in order, as one.
fn merged(factors: impl Iterator<Item = Factor>) -> Vec<Factor> {
    let mut all: Vec<Factor> = Vec::new();
    for factor in factors {
        match all.last_mut() {
            Some(last) if last.axis == factor.axis && last.step == factor.extent * factor.step => {
                *last = Factor { extent: last.extent * factor.extent, ..factor };
            }
            _ => all.push(factor),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use turntile::plan::{CpuDevice, GpuDevice, Planner};

    use super::*;

    /// Where the source's element at `offset` lies, as the factors say.
    fn place(factors: &[Factor], extents: &[usize], offset: usize) -> usize {
        let index = |axis: usize| {
            let inner: usize = extents[axis + 1..].iter().product();
            offset / inner % extents[axis]
        };
        factors.iter().fold(0, |at, factor| {
            at * factor.extent + index(factor.axis) / factor.step % factor.extent
        })
    }

    #[test]
    fn factors_say_where_elements_are_after_each_stage() {
        let mut told = 0;
        for planner in
            [Planner::new(GpuDevice::preset("h200").unwrap()), Planner::new(CpuDevice::here(1))]
        {
            for (_, extents, axes, elem_bytes) in EXAMPLES {
                let problem = Problem::permuted(extents, axes, elem_bytes).unwrap();
                let plan = planner.plan(&problem).unwrap();
                let fused = problem.fused();
                let all = stages(&plan);
                let offsets = (0..1000).map(|k| k * 7919 * 31 % problem.len());
                let places =
                    all.iter().scan(offsets.clone().collect::<Vec<_>>(), |at, (stage, _)| {
                        at.iter_mut().for_each(|at| *at = stage.dest(*at));
                        Some(at.clone())
                    });
                for ((_, factors), places) in all.iter().zip(places) {
                    let Some(factors) = factors else { continue };
                    told += 1;
                    let want = offsets.clone().map(|from| place(factors, fused.extents(), from));
                    assert_eq!(want.collect::<Vec<_>>(), places, "{plan}");
                }
                assert_eq!(
                    all.last().unwrap().1.as_deref().map(memory),
                    Some(memory(
                        &fused
                            .order()
                            .iter()
                            .map(|&axis| given(&problem)[axis])
                            .collect::<Vec<_>>()
                    ))
                );
            }
        }
        assert!(told >= 20, "{told} of the stages are told");
    }
}
