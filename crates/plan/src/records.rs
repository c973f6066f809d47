//! Planning of changes of record layout: from tiles of one length to tiles of another. AoS has
//! tiles of one record, or is [`AOS`](turntile_perm::AOS); SoA is one tile of all records.
//!
//! | route | passes | feasible if |
//! |---|---|---|
//! | routes of matrices and axes | as that route | every field is one word, and the tile lengths divide one another and the number of records |
//! | on-chip | 1 | a multiple of both tile lengths, or all records, fits on chip |
//! | long-runs | 1 | the shorter tile length divides the longer one and the number of records, and a piece of every unit of a tile fits on chip |
//! | one-stage | 1 | cycles of units of `T` words: the shorter tile length `T` divides the longer one and the number of records |
//! | aligned-slots | 2 | source or result is SoA, with any number of records |
//! | two of these | | from tiles to AoS, then from AoS to tiles |

use turntile_perm::{FieldSlots, LayoutChange, RecordSchema};

use crate::device::{Device, MethodFilter, StageRequest};
use crate::implementation::Stage;
use crate::infeasible::{Infeasible, least_short};
use crate::plan::{Phase, RejectedRoute};
use crate::planner::{Candidate, Planner, TileRule};
use crate::problem::Problem;
use crate::routes::{Route, TileSize};
use crate::stage_map::{Direction, StageMap};

/// Planner of one change of record layout.
pub struct RecordPlanner<'a> {
    pub planner: &'a Planner,
    pub problem: &'a Problem,
    pub retile: &'a LayoutChange,
    /// Plans an axis permutation, by any route.
    pub dense: &'a dyn Fn(&Problem) -> Result<Candidate, RejectedRoute>,
}

/// Bytes of the shortest and of the longest slots to try. Moves of longer slots gain nothing: 4 KiB
/// reach the speed of a copy.
const SLOT_BYTES: [usize; 2] = [32, 4096];
/// Target number of chunks if records are gathered in sections: enough to balance threads.
const MIN_CHUNKS: usize = 64;
/// Slot bytes from which sections bring no benefit. From ASTA to SoA, records of 64 words reach 1.3
/// GB/s with sections and slots of 4 KiB, and 4.4 GB/s by way of AoS with slots of 512 bytes (one
/// core of a Zen 3).
const LONG_SLOT_BYTES: usize = 512;
/// Maximum ratio of the bytes of two sections to the on-chip capacity. Two-field records of 64 KiB
/// go from AoS to SoA in 87 ms with slots of 4 KiB, compared with 1,450 ms with the 32-byte slots
/// that otherwise fit (268 MB, one core of an EPYC under other load).
const MAX_SECTION_RATIO: usize = 8;
/// Minimum number of slots of a one-word field in each chunk, for the longest slots to try.
const MIN_CHUNK_SLOTS: usize = 4;
/// Minimum bytes of a unit that follows cycles, if other routes are feasible. For shorter units,
/// computing the positions takes most of the time. Fields of 12, 12 and 4 bytes, tiles of 32: from
/// and to ASTA, units of 128 bytes reach 27% and 24% of a copy; slots of 4 KiB reach 28% and 51%
/// (an EPYC under other load).
const MIN_UNIT_BYTES: usize = 512;

type Found = (Vec<Candidate>, Vec<RejectedRoute>);

impl RecordPlanner<'_> {
    /// Returns the candidate with the least estimated time.
    ///
    /// # Errors
    /// The reason why the requested route, or every route, is infeasible.
    pub fn fastest(&self) -> Result<Candidate, RejectedRoute> {
        let (found, rejected) = self.all();
        let best = found.into_iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let unknown = || {
            let reason = Infeasible::NoImplementation { shape: self.problem.to_string() };
            RejectedRoute { route: self.planner.route.unwrap_or(Route::NOTHING), reason }
        };
        best.ok_or_else(|| rejected.into_iter().next().unwrap_or_else(unknown))
    }

    /// Returns all candidates, and the infeasible routes.
    pub fn all(&self) -> Found {
        if self.retile.is_identity() {
            return (vec![Candidate::default()], Vec::new());
        }
        let (mut found, mut rejected) = self.between(self.retile);
        let ([from, to], fields) = ([self.retile.from(), self.retile.to()], self.retile.schema());
        if from.min(to) > 1 {
            let best = |from, to| {
                let (found, _) = self.between(&LayoutChange::new(fields.clone(), from, to));
                found.into_iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds))
            };
            let both = best(from, 1).zip(best(1, to));
            found.extend(both.map(|(first, last)| first.then(last)));
        }
        if let Some(mirrored) = self.planner.mirrored {
            found.retain(|candidate| candidate.legs.iter().any(|phase| phase.mirrored) == mirrored);
        }
        if let Some(route) = self.planner.route {
            found.retain(|candidate| candidate.legs.iter().any(|phase| phase.route == route));
            rejected.retain(|other| other.route == route);
        }
        (found, rejected)
    }

    /// Returns the candidates that do not go by way of AoS, and the routes that were tried and are
    /// infeasible, except `one-stage`.
    fn between(&self, retile: &LayoutChange) -> Found {
        if retile.is_identity() {
            return (vec![Candidate::default()], Vec::new());
        }
        let (mut found, mut rejected) = (Vec::new(), Vec::new());
        let mut add = |route, candidate: Result<Candidate, Infeasible>| match candidate {
            Ok(candidate) => found.push(candidate),
            Err(reason) => rejected.push(RejectedRoute { route, reason }),
        };
        if let Some(axes) = self.as_axes(retile) {
            match (self.dense)(&axes) {
                Ok(candidate) => add(Route::NOTHING, Ok(candidate.with_result_order(&[]))),
                Err(RejectedRoute { route, reason }) => add(route, Err(reason)),
            }
        }
        let on_chip =
            self.phase(Route::ON_CHIP, &[(retile.clone().into(), MethodFilter::Barrier)], 1);
        add(Route::ON_CHIP, on_chip);
        if retile.from().max(retile.to()) == retile.schema().records() {
            add(Route::ALIGNED_SLOTS, self.with_aligned_slots(retile));
        }
        if let Some((units, elems_per_unit)) = as_units(retile) {
            let long = elems_per_unit * self.problem.itemsize() >= MIN_UNIT_BYTES;
            if long {
                let pieces = &[(units.clone().into(), MethodFilter::Pieces)];
                found.extend(self.phase(Route::LONG_RUNS, pieces, elems_per_unit));
            }
            let wanted = self.planner.rule == TileRule::Exhaustive || self.planner.route.is_some();
            if long || wanted || found.is_empty() {
                let by_units = self.phase(
                    Route::ONE_STAGE,
                    &[(units.into(), MethodFilter::Cycles)],
                    elems_per_unit,
                );
                found.extend(by_units);
            }
        }
        (found, rejected)
    }

    /// Returns the change as an axis permutation between `[n/T][T/t][K][t]` and `[n/T][K][T/t][t]`,
    /// for `n` records of `K` words and tiles of `t` and `T` records, `t <= T`.
    ///
    /// Returns `None` unless every field is one word and `t` divides `T`, which divides `n`.
    fn as_axes(&self, retile: &LayoutChange) -> Option<Problem> {
        let (fields, [t, tile]) = (retile.schema(), tile_lengths(retile));
        if !fields.is_matrix() || !tile.is_multiple_of(t) || !fields.records().is_multiple_of(tile)
        {
            return None;
        }
        let (tiles, parts, words) = (fields.records() / tile, tile / t, fields.words());
        let middle = if retile.from() == t { [parts, words] } else { [words, parts] };
        self.problem.as_axes(&[tiles, middle[0], middle[1], t], &[0, 2, 1, 3])
    }

    /// Returns the candidate of route `aligned-slots` with the fastest slot and chunk lengths.
    fn with_aligned_slots(&self, retile: &LayoutChange) -> Result<Candidate, Infeasible> {
        let (fields, tile) = (retile.schema(), retile.from().min(retile.to()));
        let forward = retile.from() == tile;
        let word_bytes = self.problem.itemsize();
        let (mut best, mut reason): (Option<Candidate>, _) = (None, None);
        for slots in self.slots(fields, tile) {
            let direction = if forward { Direction::Forward } else { Direction::Backward };
            let mut specs = [
                (StageMap::RecordGather { slots: slots.clone(), direction }, MethodFilter::Any),
                (StageMap::RecordMove { slots, direction }, MethodFilter::Cycles),
            ];
            if !forward {
                specs.reverse();
            }
            match self.phase(Route::ALIGNED_SLOTS, &specs, 1) {
                Ok(candidate)
                    if best.as_ref().is_none_or(|best| candidate.seconds < best.seconds) =>
                {
                    best = Some(candidate);
                }
                Ok(_) => {}
                Err(why) => reason = Some(least_short(reason, why)),
            }
        }
        let too_few = || Infeasible::OnChip {
            need: 2 * fields.words() * word_bytes,
            have: self.device().on_chip_bytes()[0],
        };
        best.ok_or_else(|| reason.unwrap_or_else(too_few))
    }

    /// Returns the index maps to try, with slots of a power of two words.
    ///
    /// Takes the longest slots with at least [`MIN_CHUNK_SLOTS`] per chunk and field, so that the
    /// halo of the chunk is comparatively small, else the shortest. If these are short, adds slots
    /// in sections of a chunk. Returns all lengths if every tile is wanted, or if the device sets
    /// [`Device::record_chunk_bytes`].
    fn slots(&self, fields: &RecordSchema, tile: usize) -> Vec<FieldSlots> {
        let word_bytes = self.problem.itemsize();
        let runs = self.device().record_chunk_bytes();
        let capacity = runs.map_or(self.device().on_chip_bytes()[0], |[bytes, _]| bytes);
        let capacity = capacity / (fields.words() * word_bytes);
        let [least, most] = [SLOT_BYTES[0], runs.map_or(SLOT_BYTES[1], |[_, slot]| slot)];
        let [least, most] =
            [least, most].map(|bytes| (bytes / word_bytes).max(2).next_power_of_two());
        let with_slot = |slot: usize| {
            let step = FieldSlots::least_chunk(tile, slot)?;
            let chunk = capacity.min(fields.records()) / step * step;
            let slots = FieldSlots::new(fields.clone(), tile, slot, chunk.max(step))?;
            Some((slots, chunk / slot))
        };
        let lengths = std::iter::successors(Some(least), |slot| Some(slot * 2));
        let all = lengths.take_while(|&slot| slot <= most).filter_map(with_slot);
        if runs.is_some() || self.planner.rule == TileRule::Exhaustive {
            return all.map(|(slots, _)| slots).collect();
        }
        let [first, longest] = all.fold([None, None], |[first, longest], (slots, times)| {
            let enough = (times >= MIN_CHUNK_SLOTS).then(|| slots.clone());
            [first.or(Some(slots)), enough.or(longest)]
        });
        let long = longest
            .as_ref()
            .is_some_and(|slots: &FieldSlots| slots.slot() * word_bytes >= LONG_SLOT_BYTES);
        let sections = (!long).then(|| self.sectioned_slots(fields, tile));
        longest.or(first).into_iter().chain(sections.flatten()).collect()
    }

    /// Returns the index map to try for records so long that whole chunks have only short slots.
    ///
    /// Chunks are then gathered in sections that have at least one slot of every field. Takes the
    /// longest slots for which two sections have at most [`MAX_SECTION_RATIO`] times the on-chip
    /// capacity. They may exceed the capacity because short slots cost more.
    fn sectioned_slots(&self, fields: &RecordSchema, tile: usize) -> Option<FieldSlots> {
        let word_bytes = self.problem.itemsize();
        let most = (SLOT_BYTES[1] / word_bytes).max(2).next_power_of_two();
        let (least, capacity) = (fields.widths().min()?, self.device().on_chip_bytes()[0]);
        let with_slot = |slot: usize| {
            let step = FieldSlots::least_chunk(tile, slot)?;
            let chunk = (fields.records() / MIN_CHUNKS / step).max(1) * step;
            let section = slot.div_ceil(least).next_multiple_of(tile.max(1));
            let slots = FieldSlots::new(fields.clone(), tile, slot, chunk)?.in_sections(section)?;
            let bytes = 2 * (slots.longest_section() * fields.words() + fields.count() * slot);
            slots.section().filter(|_| bytes * word_bytes <= MAX_SECTION_RATIO * capacity)?;
            // Use more records per section if two sections of them fit on chip.
            let times = (capacity / (bytes * word_bytes)).max(1);
            slots
                .in_sections(section * times)
                .filter(|slots| slots.section().is_some())
                .or(Some(slots))
        };
        std::iter::successors(Some(most), |slot| (*slot > 2).then(|| slot / 2)).find_map(with_slot)
    }

    fn device(&self) -> &dyn Device {
        &*self.planner.device
    }

    /// Returns a candidate of one phase. Elements of its stages have `elems_per_unit` words.
    fn phase(
        &self,
        route: Route,
        specs: &[(StageMap, MethodFilter)],
        elems_per_unit: usize,
    ) -> Result<Candidate, Infeasible> {
        let stage = |(map, methods): &(StageMap, MethodFilter)| {
            let request = StageRequest::new(self.problem, self.device(), *methods);
            let request =
                StageRequest { elem_bytes: request.elem_bytes * elems_per_unit, ..request };
            let implementation = self.device().best(map, &request)?;
            Ok(Stage { map: map.clone(), elems_per_unit, implementation })
        };
        let moving = specs.iter().filter(|(map, _)| !map.is_identity());
        let stages = moving.map(stage).collect::<Result<Vec<_>, Infeasible>>()?;
        let seconds = stages.iter().map(|stage| stage.implementation.seconds).sum();
        let tile = stages.iter().find_map(|stage| match &stage.map {
            StageMap::RecordGather { slots, .. } => {
                Some(TileSize { m: slots.slot(), n: slots.longest_chunk() })
            }
            _ => None,
        });
        let whole = TileSize { m: self.retile.from(), n: self.retile.to() };
        let (order, mirrored, tile) = (Vec::new(), false, tile.unwrap_or(whole));
        Ok(Candidate { legs: vec![Phase { order, route, mirrored, tile, stages }], seconds })
    }
}

/// Returns the number of records of the shorter tiles and of the longer tiles.
fn tile_lengths(retile: &LayoutChange) -> [usize; 2] {
    [retile.from().min(retile.to()), retile.from().max(retile.to())]
}

/// Returns the change in units of words that the shorter tiles keep together, and the number of
/// words of a unit.
///
/// Returns `None` unless the shorter tile length divides the longer one and the number of records.
fn as_units(retile: &LayoutChange) -> Option<(LayoutChange, usize)> {
    let (fields, [t, tile]) = (retile.schema(), tile_lengths(retile));
    let t = t.max(1);
    if !tile.is_multiple_of(t) || !fields.records().is_multiple_of(t) {
        return None;
    }
    let units = fields.with_records(fields.records() / t)?;
    Some((LayoutChange::new(units, retile.from() / t, retile.to() / t), t))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Toy;
    use turntile_perm::AOS;

    fn problem(records: usize, widths: &[usize], from: usize, to: usize) -> Problem {
        let fields = RecordSchema::new(records, widths).unwrap();
        Problem::for_records(LayoutChange::new(fields, from, to), 4).unwrap()
    }

    fn checked_candidates(planner: &Planner, problem: &Problem) -> Vec<crate::Plan> {
        let survey = planner.candidates(problem);
        assert!(!survey.candidates.is_empty(), "{problem}: {:?}", survey.rejected);
        for plan in &survey.candidates {
            if !problem.is_empty() {
                assert_eq!(plan.check(), Ok(()), "{plan:#}");
            }
            for offset in 0..problem.len() {
                assert_eq!(plan.dest(offset), problem.dest(offset), "{plan:#}");
            }
            let rebuilt = planner.rebuild(problem, &plan.recipe());
            assert!(matches!(rebuilt, Ok(Some(_))), "{plan}");
        }
        let best = planner.plan(problem).unwrap();
        assert_eq!(best.seconds, survey.candidates[0].seconds, "{problem}");
        survey.candidates
    }

    #[test]
    fn every_candidate_of_every_conversion_reaches_the_result() {
        let planner =
            Planner::new(Toy { held: 300, ..Toy::default() }).with_tiles(TileRule::Exhaustive);
        let mut routes = std::collections::BTreeSet::new();
        for widths in [&[1, 1, 1][..], &[1, 3, 2], &[4, 12, 1, 8], &[5], &[2, 2]] {
            for records in [0, 1, 2, 7, 24, 31, 64] {
                for (from, to) in
                    [1, 2, 8, 64].into_iter().flat_map(|a| [1, 3, 4, 32, 64].map(|b| (a, b)))
                {
                    let problem = problem(records, widths, from, to);
                    let plans = checked_candidates(&planner, &problem);
                    routes.extend(plans.iter().map(|plan| plan.route_name()));
                }
            }
        }
        for route in ["on-chip", "one-stage", "aligned-slots", "square", "on-chip + aligned-slots"]
        {
            assert!(routes.contains(route), "{route}: {routes:?}");
        }
    }

    #[test]
    fn fields_with_offsets_convert_to_columns_and_back() {
        let planner =
            Planner::new(Toy { held: 300, ..Toy::default() }).with_tiles(TileRule::Exhaustive);
        for records in [0, 1, 7, 64, 97] {
            let fields = RecordSchema::new(records, &[4, 2, 1])
                .unwrap()
                .with_aos_offsets(&[2, 0, 6])
                .unwrap();
            for tile in [1, 8, 32, 97] {
                for (from, to) in [(AOS, tile), (tile, AOS)] {
                    let retile = LayoutChange::new(fields.clone(), from, to);
                    checked_candidates(&planner, &Problem::for_records(retile, 4).unwrap());
                }
            }
        }
    }

    #[test]
    fn requested_route_is_used_or_rejected() {
        let planner = Planner::new(Toy { held: 300, ..Toy::default() });
        let mixed = problem(1000, &[1, 3, 2], 1, 1000);
        let by = |route| planner.clone().with_route(route).plan(&mixed);
        assert_eq!(by(Route::ALIGNED_SLOTS).unwrap().route(), Route::ALIGNED_SLOTS);
        assert!(matches!(
            by(Route::PANEL),
            Err(crate::PlanError::Infeasible { route: Route::PANEL, .. })
        ));
    }

    #[test]
    fn problem_is_printed_with_layout_names() {
        let text = problem(100, &[1, 3], 1, 32).to_string();
        assert_eq!(text, "100 records of 1+3, aos to asta:32 w4");
        assert_eq!(
            problem(100, &[1; 19], 100, 1).to_string(),
            "100 records of 19*1, soa to aos w4"
        );
    }
}
