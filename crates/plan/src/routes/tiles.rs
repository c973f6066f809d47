//! Which tiles a route looks at.

use turntile_perm::divisors::divisors;

use super::{Ask, Infeasible, something_moves};
use crate::limits::{DeviceKind, Limits};
use crate::problem::Problem;
use crate::runs;

/// The sides of a route's tile; what they are is the route's to say.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct Tile {
    /// Rows of a tile, or elements of a slot.
    pub m: usize,
    /// Columns of a tile, or rows of a chunk.
    pub n: usize,
}

/// How tiles are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TileRule {
    /// The tiles that could be best under the cost model, which then ranks them.
    #[default]
    CostModel,
    /// Sides from 50 to 100 whose product fits on chip, the largest of them (thesis section 4.8.4).
    Thesis,
    /// Every feasible tile, for a tuner to measure; slots of a power of two of elements.
    Exhaustive,
}

/// All divisors of `side`, ascending.
pub(super) fn divisors_of(side: usize) -> Vec<usize> {
    divisors(side as u64).into_iter().map(|d| d as usize).collect()
}

/// Those of a side's `divisors` that lie from `least` to `most`.
pub(super) fn between(
    divisors: &[usize],
    least: usize,
    most: usize,
) -> Result<impl Iterator<Item = usize> + Clone, Infeasible> {
    let all = divisors.iter().copied().filter(move |d| (least..=most).contains(d));
    if all.clone().next().is_none() {
        let side = divisors.last().copied().unwrap_or(0);
        return Err(Infeasible::NoDivisor { side, least, most });
    }
    Ok(all)
}

const THESIS_SIDES: std::ops::RangeInclusive<usize> = 50..=100;

/// The tiles among `tiles` that fit on chip and that `rule` would have.
///
/// `held` is the elements of a tile that must be on chip at once.
pub(super) fn choose(
    ask: &Ask,
    tiles: impl Iterator<Item = Tile>,
    held: impl Fn(Tile) -> usize,
) -> Result<Vec<Tile>, Infeasible> {
    let Ask { problem, limits, rule, .. } = *ask;
    // A cluster may hold what a group cannot; which of them does is the method's choice.
    let have = limits.group_bytes * limits.cluster_groups;
    let bytes = |tile| held(tile) * problem.elem_bytes();
    let (fitting, over): (Vec<Tile>, Vec<Tile>) = tiles.partition(|&tile| bytes(tile) <= have);
    if fitting.is_empty() {
        let need = over.into_iter().map(bytes).min().unwrap_or(0);
        return Err(Infeasible::OnChip { need, have });
    }
    if rule == TileRule::Thesis {
        return thesis(fitting, problem, limits);
    }
    Ok(fitting)
}

/// Bytes of the widest word that devices move.
const WORD_BYTES: usize = 16;

/// All pairs of proper divisors whose tile fits on chip, as the staged routes use them.
///
/// Under the cost model, for each `n`, only the largest `m` whose tile fits on chip once and the
/// largest whose tile fits twice, as moving it takes, of all and of those that wide words divide: longer
/// super-elements of as wide words never cost more.
pub(super) fn pairs(ask: &Ask) -> Result<Vec<Tile>, Infeasible> {
    let Ask { problem, limits, rule, .. } = *ask;
    something_moves(problem)?;
    let down = between(&ask.row_divisors, 2, problem.rows() - 1)?;
    let across = between(&ask.col_divisors, 2, problem.cols() - 1)?;
    let fitting = |n: usize, copies: usize| {
        let most = limits.group_bytes / (copies * n * problem.elem_bytes());
        down.clone().take_while(move |&m| m <= most)
    };
    let tiles: Vec<Tile> = match rule {
        TileRule::CostModel => across
            .flat_map(|n| {
                let wide = |m: &usize| (m * problem.elem_bytes()).is_multiple_of(WORD_BYTES);
                let mut largest: Vec<usize> = [1, 2]
                    .map(|copies| {
                        [fitting(n, copies).last(), fitting(n, copies).filter(wide).last()]
                    })
                    .into_iter()
                    .flatten()
                    .flatten()
                    .collect();
                largest.sort_unstable();
                largest.dedup();
                largest.into_iter().map(move |m| Tile { m, n })
            })
            .collect(),
        TileRule::Thesis | TileRule::Exhaustive => {
            across.flat_map(|n| fitting(n, 1).map(move |m| Tile { m, n })).collect()
        }
    };
    if tiles.is_empty() {
        let have = limits.group_bytes;
        return Err(Infeasible::OnChip { need: 4 * problem.elem_bytes(), have });
    }
    if rule == TileRule::Thesis { thesis(tiles, problem, limits) } else { Ok(tiles) }
}

fn thesis(tiles: Vec<Tile>, problem: &Problem, limits: &Limits) -> Result<Vec<Tile>, Infeasible> {
    let in_range = |side: usize| THESIS_SIDES.contains(&side);
    // A panel's or a chunk's other side is the matrix's own and not the rule's to choose.
    let own = |side: usize| side == problem.rows() || side == problem.cols();
    tiles
        .into_iter()
        .filter(|tile| (in_range(tile.m) || own(tile.m)) && (in_range(tile.n) || own(tile.n)))
        .filter(|tile| in_range(tile.m) || in_range(tile.n))
        .max_by_key(|tile| tile.m * tile.n)
        .map(|tile| vec![tile])
        .ok_or(Infeasible::ThesisRule { have: limits.group_bytes })
}

/// Longest slot worth trying: moves are as fast as a copy from here on.
const LONGEST_SLOT_BYTES: usize = 4096;

/// Longest slot of a chunk that a group of a GPU holds: longer ones move no faster by much (`moves.csv`).
const GROUP_SLOT_BYTES: usize = 512;

/// Slots of a power of two of elements (every length for sides up to 64; a single element would be
/// the one-stage route), and chunks of one slot's rows up to what fits.
pub(super) fn slot_tiles(ask: &Ask) -> Result<Vec<Tile>, Infeasible> {
    let Ask { problem, limits, rule, .. } = *ask;
    let long = problem.rows().max(problem.cols());
    let row_bytes = problem.rows().min(problem.cols()) * problem.elem_bytes();
    let longest = (LONGEST_SLOT_BYTES / problem.elem_bytes()).clamp(2, long);
    let slots: Vec<usize> = match rule {
        TileRule::Thesis => THESIS_SIDES.filter(|&slot| slot <= long).collect(),
        TileRule::Exhaustive if long <= 64 => (2..=long).collect(),
        _ => std::iter::successors(Some(2), |slot| Some(slot * 2))
            .take_while(|&slot| slot <= longest)
            .collect(),
    };
    let held = limits.group_bytes.max(limits.gather_bytes());
    let largest_chunk =
        |slot: usize| (held / row_bytes / slot * slot).clamp(slot, long / slot * slot);
    let tiles = slots.into_iter().flat_map(|slot| {
        let most = largest_chunk(slot);
        let doubled = std::iter::successors(Some(slot), |chunk| Some(chunk * 2))
            .take_while(move |&chunk| chunk < most);
        // The halo is read besides the chunk: leave it room.
        let roomy = most.saturating_sub(2 * slot).max(slot);
        // A chunk that a group of a GPU holds with two more.
        let group = match limits.kind {
            DeviceKind::Host => 0,
            DeviceKind::Gpu if slot * problem.elem_bytes() > GROUP_SLOT_BYTES => 0,
            DeviceKind::Gpu => {
                let short = problem.rows().min(problem.cols());
                let most = runs::chunk_slots(slot, short, problem.elem_bytes(), limits);
                most.min(long / slot) * slot
            }
        };
        let mut chunks: Vec<usize> = match rule {
            TileRule::Exhaustive => doubled.chain([roomy, most]).collect(),
            _ if limits.kind == DeviceKind::Gpu => {
                [1, 2].map(|k| (k * slot).min(long / slot * slot)).to_vec()
            }
            TileRule::CostModel | TileRule::Thesis => vec![slot, roomy],
        };
        chunks.extend(Some(group).filter(|&chunk| chunk > slot));
        chunks.sort_unstable();
        chunks.dedup();
        chunks.into_iter().map(move |chunk| Tile { m: slot, n: chunk })
    });
    let tiles: Vec<Tile> = tiles.collect();
    if tiles.is_empty() {
        return Err(Infeasible::ThesisRule { have: limits.group_bytes });
    }
    Ok(tiles)
}
