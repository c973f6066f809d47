//! A table moved to what was measured.

use std::collections::BTreeMap;

use turntile_plan::CostTable;
use turntile_plan::cost_table::{Curve, Factor, FactorOp, Sample, Value};

/// What distinguishes measures, beside what decides: a curve that scales an operation.
#[derive(Clone, Debug)]
pub struct Correction {
    /// The number of the quantity that it is over.
    pub over: usize,
    /// Places of the curve, each above 0: measures of quantities that round alike are at one.
    pub place: fn(f64) -> f64,
    /// The number of a quantity and its range, of the measures that it is for.
    pub when: Vec<(usize, f64, f64)>,
}

/// Measures that a place of a correction is taken to have had beside its own, of what the table says.
const BELIEF: f64 = 2.0;

impl Correction {
    /// Moves the curve by the mean of what is left of the measures at each of its places, and what is left of them.
    fn fit(&self, samples: &[&Sample], left: &mut [f64], curve: &mut BTreeMap<u64, f64>) {
        let within = |one: &Sample| {
            self.when.iter().all(|&(which, from, to)| (from..=to).contains(&one.quantities[which]))
        };
        let place = |one: &Sample| (self.place)(one.quantities[self.over]).to_bits();
        let mut sums: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
        for (one, left) in samples.iter().zip(left.iter()).filter(|(one, _)| within(one)) {
            let (sum, count) = sums.entry(place(one)).or_default();
            (*sum, *count) = (*sum + left, *count + 1.0);
        }
        let shift = |place| {
            // What was moved in rounds before is believed as little.
            let (sum, count) = sums[&place];
            let moved = curve.get(&place).copied().unwrap_or(0.0);
            (sum + count * moved) / (count + BELIEF) - moved
        };
        let shifts: BTreeMap<u64, f64> = sums.keys().map(|&place| (place, shift(place))).collect();
        for (one, left) in samples.iter().zip(left).filter(|(one, _)| within(one)) {
            *left -= shifts[&place(one)];
        }
        for (place, shift) in shifts {
            *curve.entry(place).or_default() += shift;
        }
    }
}

/// What a factor's value is multiplied by at most, and divided by.
const MOST: f64 = 16.0;
/// The factor that decides a measure may be another once the first has moved.
const ROUNDS: usize = 6;
/// Weight of the measures near a point from which on they alone decide.
const ENOUGH: f64 = 0.3;

/// What was measured over what the table says.
pub fn over(costs: &CostTable, sample: &Sample) -> f64 {
    sample.fraction / costs.fraction(sample.operation, |k| sample.quantities[k])
}

/// The table with every curve and number moved to what was measured, each by those measures that it decides: a point of a
/// curve by the measures near it, and where there are none as its nearest neighbour. What no measure is of stays as it
/// is. `from` says where what is changed was measured.
pub fn fitted(costs: &CostTable, samples: &[Sample], from: &str) -> CostTable {
    let was = costs;
    let mut costs = was.clone();
    for _ in 0..ROUNDS {
        let mut next = costs.clone();
        for which in 0..costs.names().operations.len() {
            let mut factors = costs.factors(which).to_vec();
            let mut votes = vec![Vec::new(); factors.len()];
            for one in samples.iter().filter(|one| one.operation == which) {
                let (fraction, decider) = costs.decided(which, |k| one.quantities[k]);
                if let Some(number) = decider {
                    votes[number].push((one, (one.fraction / fraction).ln()));
                }
            }
            for ((factor, votes), was) in factors.iter_mut().zip(votes).zip(was.factors(which)) {
                if !votes.is_empty() {
                    moved(factor, &votes, was);
                    factor.from = from.to_owned();
                }
            }
            next = next.with_factors(which, factors);
        }
        costs = next;
    }
    costs
}

/// The table with every operation scaled, in turn over each of `kinds`, by what the measures still are over what the
/// table says: the mean of the logarithms at each place, counted for less the fewer measures it is of.
pub fn corrected(
    was: &CostTable,
    samples: &[Sample],
    kinds: &[Correction],
    from: &str,
) -> CostTable {
    let mut costs = was.clone();
    for which in 0..was.names().operations.len() {
        let all: Vec<&Sample> = samples.iter().filter(|one| one.operation == which).collect();
        let mut left: Vec<f64> = all.iter().map(|one| over(was, one).ln()).collect();
        let mut curves = vec![BTreeMap::<u64, f64>::new(); kinds.len()];
        for _ in 0..ROUNDS {
            for (kind, curve) in kinds.iter().zip(&mut curves) {
                kind.fit(&all, &mut left, curve);
            }
        }
        let mut factors = was.factors(which).to_vec();
        for (kind, curve) in kinds.iter().zip(curves) {
            let points = curve.iter().map(|(place, shift)| (f64::from_bits(*place), shift.exp()));
            if points.clone().any(|point| rounded(point.1) != 1.0) {
                let mut when = kind.when.clone();
                // As a file has them.
                when.sort_by_key(|&(which, ..)| which);
                factors.push(Factor {
                    when,
                    ..curved(FactorOp::Times, kind.over, false, points, from)
                });
            }
        }
        costs = costs.with_factors(which, factors);
    }
    costs
}

/// The table with no operation faster than the fastest of its measures: factors that were measured one by one may make
/// more together.
pub fn limited(mut costs: CostTable, samples: &[Sample], from: &str) -> CostTable {
    for which in 0..costs.names().operations.len() {
        let of = samples.iter().filter(|one| one.operation == which);
        if let Some(most) = of.map(|one| one.fraction).max_by(f64::total_cmp) {
            let (value, from) = (Value::Number(rounded(most)), from.to_owned());
            let mut factors = costs.factors(which).to_vec();
            factors.push(Factor { how: FactorOp::AtMost, value, when: Vec::new(), from });
            costs = costs.with_factors(which, factors);
        }
    }
    costs
}

/// A curve over a quantity, as a factor.
pub fn curved(
    how: FactorOp,
    over: usize,
    linear: bool,
    points: impl Iterator<Item = (f64, f64)>,
    from: &str,
) -> Factor {
    let points = points.map(|(quantity, value)| (quantity, rounded(value)));
    let value = Value::Curve(Curve::new(over, linear, points));
    Factor { how, value, when: Vec::new(), from: from.to_owned() }
}

/// Moves the value by the logarithms of what was measured over what the table says.
fn moved(factor: &mut Factor, votes: &[(&Sample, f64)], was: &Factor) {
    match (&mut factor.value, &was.value) {
        (Value::Number(number), Value::Number(was)) => {
            let mean = votes.iter().map(|vote| vote.1).sum::<f64>() / votes.len() as f64;
            *number = within(*number * mean.exp(), *was);
        }
        (Value::Curve(curve), Value::Curve(was)) => {
            let places: Vec<f64> = curve.points.iter().map(|point| point.place).collect();
            let at = |one: &Sample| curve.place(one.quantities[curve.over]);
            let votes: Vec<_> = votes.iter().map(|(one, shift)| (at(one), *shift)).collect();
            let shifts = shifts(&places, &votes);
            for ((point, was), shift) in curve.points.iter_mut().zip(&was.points).zip(shifts) {
                point.value = within(point.value * shift.exp(), was.value);
            }
        }
        _ => unreachable!("a factor stays what it is"),
    }
}

fn within(value: f64, was: f64) -> f64 {
    rounded(value.clamp(was / MOST, was * MOST))
}

/// Four digits, which is more than a stopwatch knows.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// How far each of ascending places is shifted by votes at others: each counts at the two places that it is between,
/// the more the nearer.
fn shifts(places: &[f64], votes: &[(f64, f64)]) -> Vec<f64> {
    let weight = |number: usize, x: f64| {
        let beside = if x < places[number] { number.checked_sub(1) } else { Some(number + 1) };
        match beside.and_then(|beside| places.get(beside)) {
            Some(beside) => {
                (1.0 - (x - places[number]).abs() / (beside - places[number]).abs()).max(0.0)
            }
            None => 1.0,
        }
    };
    let told: Vec<Option<f64>> = (0..places.len())
        .map(|number| {
            let all = votes.iter().map(|&(x, shift)| (weight(number, x), shift));
            let (sum, total) = all.fold((0.0, 0.0), |(s, t), (w, shift)| (s + w, t + w * shift));
            (sum >= ENOUGH).then(|| total / sum)
        })
        .collect();
    let mean = votes.iter().map(|vote| vote.1).sum::<f64>() / votes.len() as f64;
    (0..places.len())
        .map(|number| {
            let near = (0..places.len()).filter(|&other| told[other].is_some());
            let distance = |other: &usize| (places[*other] - places[number]).abs();
            near.min_by(|a, b| distance(a).total_cmp(&distance(b)))
                .and_then(|other| told[other])
                .unwrap_or(mean)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::table::text;
    use turntile_plan::cost_table::CostSchema;

    const NAMES: CostSchema = CostSchema {
        operations: &["move", "turn"],
        quantities: &["bytes", "short"],
        constants: &["copy"],
    };
    const TABLE: &str = r#"{
  "device": "toy",
  "about": "of no machine",
  "constants": {"copy": 2.5},
  "operations": {
    "move": [
      {"set":[[4.0,0.2],[16.0,0.4],[64.0,0.8]],"over":"bytes","from":"moves"},
      {"times":0.5,"when":{"short":[1.0,1.0]},"from":"short"},
      {"at_most":[[4.0,0.5],[64.0,0.5]],"over":"bytes","linear":true,"from":"cap"}
    ],
    "turn": []
  }
}
"#;

    fn table() -> CostTable {
        CostTable::parse(TABLE, NAMES).unwrap()
    }

    #[test]
    fn a_table_is_written_as_it_is_read() {
        assert_eq!(text(&table()), TABLE);
        assert_eq!(CostTable::parse(&text(&table()), NAMES).unwrap(), table());
    }

    fn sample(bytes: f64, short: f64, fraction: f64) -> Sample {
        Sample { operation: 0, quantities: vec![bytes, short], fraction }
    }

    #[test]
    fn a_table_comes_to_say_what_was_measured() {
        let all = [
            sample(4.0, 0.0, 0.3),
            sample(16.0, 0.0, 0.3),
            sample(64.0, 0.0, 0.7),
            sample(16.0, 1.0, 0.15),
        ];
        let fitted = super::fitted(&table(), &all, "here");
        for one in &all {
            assert!((over(&fitted, one) - 1.0).abs() < 0.02, "{one:?}: {}", over(&fitted, one));
        }
        assert!(text(&fitted).contains(r#""from":"here""#));
        assert!(text(&fitted).contains(r#"{"times":0.5,"when""#), "what scales stays");
        assert_eq!(fitted.fraction(1, |_| 1.0), 1.0);
        assert!(fitted.most(0) >= 0.7, "the cap has moved");
    }

    #[test]
    fn places_without_measures_move_as_their_neighbours() {
        let fitted = super::fitted(&table(), &[sample(4.0, 0.0, 0.4)], "here");
        let at = |bytes: f64| fitted.fraction(0, |k| [bytes, 0.0][k]);
        assert!(
            (at(4.0) - 0.4).abs() < 1e-9 && at(16.0) == 0.5 && at(64.0) == 0.5,
            "up to the cap"
        );
        assert_eq!(super::fitted(&table(), &[], "here"), table());
        let absurd = super::fitted(&table(), &[sample(4.0, 0.0, 1e9)], "here");
        assert!(absurd.fraction(0, |k| [4.0, 0.0][k]) <= 0.5 * MOST);
    }

    #[test]
    fn corrections_tell_measures_apart_that_curves_do_not() {
        let kinds = [
            Correction { over: 0, place: |bytes| bytes, when: vec![(1, 0.0, 0.0)] },
            Correction { over: 0, place: |bytes| bytes, when: vec![(1, 1.0, 1.0)] },
        ];
        let says = |bytes: f64, short: f64| table().fraction(0, |k| [bytes, short][k]);
        let twice = sample(16.0, 0.0, 2.0 * says(16.0, 0.0));
        let half = sample(16.0, 1.0, 0.5 * says(16.0, 1.0));
        let all = [vec![twice.clone(); 198], vec![half.clone()]].concat();
        let corrected = super::corrected(&table(), &all, &kinds, "here");
        assert!((over(&corrected, &twice) - 1.0).abs() < 0.01, "{}", over(&corrected, &twice));
        // One beside the two of belief: a third of the way.
        assert!((over(&corrected, &half) - 0.5f64.powf(2.0 / 3.0)).abs() < 0.01);
        assert_eq!(
            corrected.fraction(0, |k| [64.0, 0.0][k]),
            corrected.most(0),
            "as fast as measured"
        );
        assert_eq!(super::corrected(&table(), &[], &kinds, "here"), table());
    }

    #[test]
    fn what_is_between_two_places_moves_both() {
        assert_eq!(shifts(&[0.0, 1.0, 2.0], &[(0.5, 1.0)]), [1.0, 1.0, 1.0]);
        assert_eq!(shifts(&[0.0, 1.0, 4.0], &[(0.0, 1.0), (1.0, 3.0)]), [1.0, 3.0, 3.0]);
        assert_eq!(
            shifts(&[0.0, 2.0], &[(-5.0, 1.0), (9.0, 2.0), (0.5, 5.0)])[0],
            (1.0 + 0.75 * 5.0) / 1.75
        );
    }
}
