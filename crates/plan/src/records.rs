//! Records that go from one layout to another: tiles of one length before, of another after. AoS is tiles of one record,
//! or [`AOS`](turntile_perm::AOS), SoA one tile of all.
//!
//! | route | passes | where |
//! |---|---|---|
//! | routes of matrices and axes | theirs | every field is a word, and tiles divide one another and the records |
//! | on-chip | 1 | whole tiles of both lengths are held at once |
//! | one-stage | 1 | cycles of units of `T` words, where the shorter tiles' `T` divides the longer's and the records |
//! | aligned-slots | 2 | from or to SoA, any records |
//! | two of these | | from tiles to AoS, and from there |

use turntile_perm::{FieldSlots, LayoutChange, RecordSchema};

use crate::device::{Device, MethodFilter, StageRequest};
use crate::implementation::Stage;
use crate::infeasible::{Infeasible, least_short};
use crate::plan::{Phase, RejectedRoute};
use crate::planner::{Candidate, Planner, TileRule};
use crate::problem::Problem;
use crate::routes::{Route, TileSize};
use crate::stage_map::{Direction, StageMap};

/// Plans one problem of records.
pub struct RecordPlanner<'a> {
    pub planner: &'a Planner,
    pub problem: &'a Problem,
    pub retile: LayoutChange,
    /// Plans axes, by any route.
    pub dense: &'a dyn Fn(&Problem) -> Result<Candidate, RejectedRoute>,
}

/// Bytes of the shortest and of the longest slots: from there on moves are as fast as a copy.
const SLOT_BYTES: [usize; 2] = [32, 4096];
/// Chunks that there are at least of records that are gathered in sections: enough to be shared out.
const CHUNKS: usize = 64;
/// Bytes of slots that leave nothing to sections: 64 words a record go from ASTA to SoA at 1.3 GB/s by sections with slots of 4 KiB, by way of
/// AoS with those of 512 bytes at 4.4 (a core of a Zen 3).
const LONG_BYTES: usize = 512;
/// Sections that are so many times as long as what is held: 64 KiB a record, of two fields, go from AoS to SoA in 87 ms with
/// slots of 4 KiB, and in 1,450 with those of 32 bytes that are left otherwise (268 MB, a core of an EPYC beside other work).
const BEYOND: usize = 8;
/// Slots of a field of one word in a chunk that are worth longer slots.
const CHUNK_SLOTS: usize = 4;
/// Bytes of units that are worth following along cycles. Shorter ones wait for what finds their places: of 12, 12 and 4 bytes in
/// tiles of 32, from ASTA and to it, units of 128 bytes reach 27 and 24% of a copy, slots of 4 KiB 28 and 51 (an EPYC
/// beside other work).
const UNIT_BYTES: usize = 512;

type Found = (Vec<Candidate>, Vec<RejectedRoute>);

impl RecordPlanner<'_> {
    /// What takes least by estimate.
    ///
    /// # Errors
    /// Why there is no way, of the route that was asked for.
    pub fn fastest(&self) -> Result<Candidate, RejectedRoute> {
        let (found, declined) = self.all();
        let best = found.into_iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let unknown = || {
            let why = Infeasible::NoWay { shape: self.problem.to_string() };
            RejectedRoute { route: self.planner.route.unwrap_or(Route::NOTHING), reason: why }
        };
        best.ok_or_else(|| declined.into_iter().next().unwrap_or_else(unknown))
    }

    /// All ways, and the routes that there are none by.
    pub fn all(&self) -> Found {
        if self.retile.is_identity() {
            return (vec![Candidate::default()], Vec::new());
        }
        let (mut found, mut declined) = self.between(self.retile);
        let ([from, to], fields) = ([self.retile.from(), self.retile.to()], self.retile.fields());
        if from.min(to) > 1 {
            let best = |retile| {
                let (found, _) = self.between(retile);
                found.into_iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds))
            };
            let both = best(LayoutChange::new(fields, from, 1))
                .zip(best(LayoutChange::new(fields, 1, to)));
            found.extend(both.map(|(first, last)| first.then(last)));
        }
        if let Some(mirrored) = self.planner.mirrored {
            found.retain(|way| way.legs.iter().any(|leg| leg.mirrored) == mirrored);
        }
        if let Some(route) = self.planner.route {
            found.retain(|way| way.legs.iter().any(|leg| leg.route == route));
            declined.retain(|other| other.route == route);
        }
        (found, declined)
    }

    /// The ways without another layout between.
    fn between(&self, retile: LayoutChange) -> Found {
        if retile.is_identity() {
            return (vec![Candidate::default()], Vec::new());
        }
        let (mut found, mut declined) = (Vec::new(), Vec::new());
        let mut take = |route, way: Result<Candidate, Infeasible>| match way {
            Ok(way) => found.push(way),
            Err(why) => declined.push(RejectedRoute { route, reason: why }),
        };
        if let Some(axes) = self.as_axes(&retile) {
            match (self.dense)(&axes) {
                Ok(way) => take(Route::NOTHING, Ok(way.leading_to(&[]))),
                Err(RejectedRoute { route, reason: why }) => take(route, Err(why)),
            }
        }
        let on_chip = self.leg(Route::ON_CHIP, &[(retile.into(), MethodFilter::Barrier)], 1);
        take(Route::ON_CHIP, on_chip);
        if retile.from().max(retile.to()) == retile.fields().records() {
            take(Route::ALIGNED_SLOTS, self.by_slots(&retile));
        }
        if let Some((units, words)) = in_units(&retile) {
            let long = words * self.problem.elem_bytes() >= UNIT_BYTES;
            let asked = self.planner.rule == TileRule::Exhaustive || self.planner.route.is_some();
            if long || asked || found.is_empty() {
                let by_units =
                    self.leg(Route::ONE_STAGE, &[(units.into(), MethodFilter::Cycles)], words);
                found.extend(by_units);
            }
        }
        (found, declined)
    }

    /// The same as axes: `[n/T][T/t][K][t]` and `[n/T][K][T/t][t]`, where every field is a word.
    fn as_axes(&self, retile: &LayoutChange) -> Option<Problem> {
        let (fields, [t, tile]) = (retile.fields(), lengths(retile));
        if !fields.is_matrix() || !tile.is_multiple_of(t) || !fields.records().is_multiple_of(tile)
        {
            return None;
        }
        let (tiles, parts, words) = (fields.records() / tile, tile / t, fields.words());
        let middle = if retile.from() == t { [parts, words] } else { [words, parts] };
        self.problem.as_axes(&[tiles, middle[0], middle[1], t], &[0, 2, 1, 3])
    }

    /// The fastest slots and chunks.
    fn by_slots(&self, retile: &LayoutChange) -> Result<Candidate, Infeasible> {
        let (fields, tile) = (retile.fields(), retile.from().min(retile.to()));
        let forward = retile.from() == tile;
        let word_bytes = self.problem.elem_bytes();
        let (mut best, mut reason): (Option<Candidate>, _) = (None, None);
        for slots in self.slots(fields, tile) {
            let direction = if forward { Direction::Forward } else { Direction::Backward };
            let mut steps = [
                (StageMap::RecordGather { slots, direction }, MethodFilter::Any),
                (StageMap::RecordMove { slots, direction }, MethodFilter::Cycles),
            ];
            if !forward {
                steps.reverse();
            }
            match self.leg(Route::ALIGNED_SLOTS, &steps, 1) {
                Ok(way) if best.as_ref().is_none_or(|best| way.seconds < best.seconds) => {
                    best = Some(way);
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

    /// Slots of a power of two of words, the longest of which a chunk holds several of every field: what a chunk reads beyond
    /// its own is then little. All that there are, where every tile is asked for.
    fn slots(&self, fields: RecordSchema, tile: usize) -> Vec<FieldSlots> {
        let word_bytes = self.problem.elem_bytes();
        let in_runs = self.device().record_chunk_bytes();
        let held = in_runs.map_or(self.device().on_chip_bytes()[0], |[bytes, _]| bytes);
        let held = held / (fields.words() * word_bytes);
        let [least, most] = [SLOT_BYTES[0], in_runs.map_or(SLOT_BYTES[1], |[_, slot]| slot)];
        let [least, most] =
            [least, most].map(|bytes| (bytes / word_bytes).max(2).next_power_of_two());
        let of_slot = |slot: usize| {
            let step = FieldSlots::least_chunk(tile, slot)?;
            let chunk = held.min(fields.records()) / step * step;
            FieldSlots::new(fields, tile, slot, chunk.max(step)).map(|slots| (slots, chunk / slot))
        };
        let lengths = std::iter::successors(Some(least), |slot| Some(slot * 2));
        let all = lengths.take_while(|&slot| slot <= most).filter_map(of_slot);
        if in_runs.is_some() || self.planner.rule == TileRule::Exhaustive {
            return all.map(|(slots, _)| slots).collect();
        }
        let [first, longest] = all.fold([None; 2], |[first, longest], (slots, times)| {
            let enough = Some(slots).filter(|_| times >= CHUNK_SLOTS);
            [first.or(Some(slots)), enough.or(longest)]
        });
        let long = longest.is_some_and(|slots| slots.slot() * word_bytes >= LONG_BYTES);
        let sections = (!long).then(|| self.slots_in_sections(fields, tile));
        longest.or(first).into_iter().chain(sections.flatten()).collect()
    }

    /// Records so long that chunks of them hold short slots alone: chunks gathered in sections, with the longest slots that two sections
    /// have of every field. They may be longer than what is held at best, since short slots cost more.
    fn slots_in_sections(&self, fields: RecordSchema, tile: usize) -> Option<FieldSlots> {
        let word_bytes = self.problem.elem_bytes();
        let most = (SLOT_BYTES[1] / word_bytes).max(2).next_power_of_two();
        let (least, held) = (fields.widths().min()?, self.device().on_chip_bytes()[0]);
        let of_slot = |slot: usize| {
            let step = FieldSlots::least_chunk(tile, slot)?;
            let chunk = (fields.records() / CHUNKS / step).max(1) * step;
            let section = slot.div_ceil(least).next_multiple_of(tile.max(1));
            let slots = FieldSlots::new(fields, tile, slot, chunk)?.in_sections(section)?;
            let bytes = 2 * (slots.longest_section() * fields.words() + fields.count() * slot);
            slots.section().filter(|_| bytes * word_bytes <= BEYOND * held)?;
            // More records at a time, as long as two sections of them are held.
            let times = (held / (bytes * word_bytes)).max(1);
            slots
                .in_sections(section * times)
                .filter(|slots| slots.section().is_some())
                .or(Some(slots))
        };
        std::iter::successors(Some(most), |slot| (*slot > 2).then(|| slot / 2)).find_map(of_slot)
    }

    fn device(&self) -> &dyn Device {
        &*self.planner.device
    }

    /// Steps of elements of so many words.
    fn leg(
        &self,
        route: Route,
        steps: &[(StageMap, MethodFilter)],
        words: usize,
    ) -> Result<Candidate, Infeasible> {
        let stage = |&(shape, want): &(StageMap, MethodFilter)| {
            let request = StageRequest::new(self.problem, self.device(), want);
            let request = StageRequest { elem_bytes: request.elem_bytes * words, ..request };
            let offer = self.device().best(&shape, &request)?;
            Ok(Stage { map: shape, elems_per_unit: words, implementation: offer })
        };
        let moving = steps.iter().filter(|(shape, _)| !shape.is_identity());
        let stages = moving.map(stage).collect::<Result<Vec<_>, Infeasible>>()?;
        let seconds = stages.iter().map(|stage| stage.implementation.seconds).sum();
        let tile = stages.iter().find_map(|stage| match stage.map {
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

/// Records of the shorter tiles and of the longer.
fn lengths(retile: &LayoutChange) -> [usize; 2] {
    [retile.from().min(retile.to()), retile.from().max(retile.to())]
}

/// The same of units of so many words, those that the shorter tiles keep together.
fn in_units(retile: &LayoutChange) -> Option<(LayoutChange, usize)> {
    let (fields, [t, tile]) = (retile.fields(), lengths(retile));
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
        Problem::of_records(LayoutChange::new(fields, from, to), 4).unwrap()
    }

    fn planned_as_asked(planner: &Planner, problem: &Problem) -> Vec<crate::Plan> {
        let survey = planner.survey(problem);
        assert!(!survey.candidates.is_empty(), "{problem}: {:?}", survey.declined);
        for plan in &survey.candidates {
            if !problem.is_empty() {
                assert_eq!(plan.check(), Ok(()), "{plan:#}");
            }
            for offset in 0..problem.len() {
                assert_eq!(plan.dest(offset), problem.dest(offset), "{plan:#}");
            }
            let remade = planner.remake(problem, &plan.recipe());
            assert!(matches!(remade, Ok(Some(_))), "{plan}");
        }
        let best = planner.plan(problem).unwrap();
        assert_eq!(best.seconds, survey.candidates[0].seconds, "{problem}");
        survey.candidates
    }

    #[test]
    fn every_way_of_every_conversion_ends_where_it_should() {
        let planner =
            Planner::new(Toy { held: 300, ..Toy::default() }).with_tiles(TileRule::Exhaustive);
        let mut routes = std::collections::BTreeSet::new();
        for widths in [&[1, 1, 1][..], &[1, 3, 2], &[4, 12, 1, 8], &[5], &[2, 2]] {
            for records in [0, 1, 2, 7, 24, 31, 64] {
                for (from, to) in
                    [1, 2, 8, 64].into_iter().flat_map(|a| [1, 3, 4, 32, 64].map(|b| (a, b)))
                {
                    let problem = problem(records, widths, from, to);
                    let plans = planned_as_asked(&planner, &problem);
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
    fn fields_go_between_their_places_and_their_columns() {
        let planner =
            Planner::new(Toy { held: 300, ..Toy::default() }).with_tiles(TileRule::Exhaustive);
        for records in [0, 1, 7, 64, 97] {
            let fields =
                RecordSchema::new(records, &[4, 2, 1]).unwrap().with_places(&[2, 0, 6]).unwrap();
            for tile in [1, 8, 32, 97] {
                for (from, to) in [(AOS, tile), (tile, AOS)] {
                    let retile = LayoutChange::new(fields, from, to);
                    planned_as_asked(&planner, &Problem::of_records(retile, 4).unwrap());
                }
            }
        }
    }

    #[test]
    fn a_route_that_is_asked_for_is_taken_or_says_why_not() {
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
    fn layouts_are_printed_by_their_names() {
        let text = problem(100, &[1, 3], 1, 32).to_string();
        assert_eq!(text, "100 records of 1+3, aos to asta:32 w4");
        assert_eq!(
            problem(100, &[1; 19], 100, 1).to_string(),
            "100 records of 19*1, soa to aos w4"
        );
    }
}
