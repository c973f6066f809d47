//! Flips and quarter turns on the host, compared with an element-by-element reference.

use proptest::prelude::*;
use turntile::plan::{CpuDevice, Plan, Planner, Problem, Route, TileRule};
use turntile::{Transpose, bytes, flip_in_place, rot90_in_place};

use crate::common::{check_against, oracle};
use crate::permutations::orders;

fn sets(rank: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..1usize << rank).map(move |set| (0..rank).filter(|axis| set >> axis & 1 == 1).collect())
}

/// Returns the elements of `flip(transpose(a, order), axes)`, where element `k` of `a` is `k`.
fn flipped(shape: &[usize], order: &[usize], axes: &[usize]) -> Vec<u32> {
    let problem = Problem::permuted(shape, order, 4).unwrap();
    let after: Vec<usize> = order.iter().map(|&axis| shape[axis]).collect();
    let mut plain = vec![0; problem.len()];
    (0..problem.len()).for_each(|k| plain[problem.dest(k)] = k as u32);
    let source = |k: usize| {
        let (mut rest, mut at, mut stride) = (k, 0, 1);
        for (axis, &extent) in after.iter().enumerate().rev() {
            let index = rest % extent;
            at += stride * if axes.contains(&axis) { extent - 1 - index } else { index };
            (rest, stride) = (rest / extent, stride * extent);
        }
        plain[at]
    };
    (0..plain.len()).map(source).collect()
}

/// Runs plans of one problem, and compares the results with the elements `expected`, by number.
fn check(plans: impl IntoIterator<Item = Plan>, expected: &[u32], threads: usize) {
    for plan in plans {
        let elem_bytes = plan.problem.itemsize();
        let data = oracle::numbered(plan.problem.len(), elem_bytes);
        let element = |&k: &u32| data[k as usize * elem_bytes..][..elem_bytes].to_vec();
        let want: Vec<u8> = expected.iter().flat_map(element).collect();
        check_against(plan, threads, &want);
    }
}

/// Checks every plan of the host for every order and every set of reversed axes.
#[test]
fn all_plans_reverse_all_sets_of_axes() {
    let planner =
        Planner::new(CpuDevice::new(2).with_scratch(512)).with_tiles(TileRule::Exhaustive);
    let (mut fused, mut turned) = (0, 0);
    for shape in [&[12][..], &[8, 12], &[9, 9], &[7, 5], &[4, 6, 5], &[3, 8, 8], &[2, 4, 3, 4]] {
        for order in orders(shape.len()) {
            for axes in sets(shape.len()) {
                let problem = Problem::permuted(shape, &order, 4).unwrap();
                let problem = problem.with_flip(&axes).unwrap();
                let expected = flipped(shape, &order, &axes);
                assert!((0..problem.len()).all(|k| expected[problem.dest(k)] == k as u32));
                let found = planner.candidates(&problem).candidates;
                assert!(!found.is_empty(), "{problem}");
                fused += found
                    .iter()
                    .filter(|plan| {
                        plan.phases.iter().all(|phase| {
                            phase.route == Route::SQUARE_TILE && phase.stages.len() == 2
                        }) && problem.is_flipped()
                    })
                    .count();
                turned += found.iter().filter(|plan| plan.route() == Route::SQUARE).count();
                check(found, &expected, 2);
            }
        }
    }
    assert!(fused > 0 && turned > 0, "{fused} {turned}");
}

/// Checks the calls against the reference on shapes on both sides of the limit for plans.
#[test]
fn flips_and_quarter_turns_are_numpys() {
    for shape in [
        &[][..],
        &[5],
        &[0, 3],
        &[1, 4],
        &[6, 4],
        &[3, 5, 2],
        &[130, 70],
        &[90, 90],
        &[2, 70, 50],
        &[301, 301],
        &[2, 260, 260],
    ] {
        let rank = shape.len();
        let data: Vec<u32> = (0..shape.iter().product::<usize>() as u32).collect();
        let order: Vec<usize> = (0..rank).collect();
        for axes in sets(rank) {
            let (mut typed, expected) = (data.clone(), flipped(shape, &order, &axes));
            flip_in_place(&mut typed, shape, &axes).unwrap();
            assert_eq!(typed, expected, "{shape:?} {axes:?}");
        }
        for (k, from, to) in
            (-5..6).flat_map(|k| (0..rank).flat_map(move |a| (0..rank).map(move |b| (k, a, b))))
        {
            let turned = rot90_in_place(&mut data.clone(), shape, k, [from, to]);
            if from == to {
                let why = turned.unwrap_err().to_string();
                assert_eq!(
                    why,
                    format!(
                        "flip [{from}, {from}]: each axis must be in 0..{rank}, and occur once"
                    )
                );
                continue;
            }
            // By the definition: a turn moves the last index of the second axis to the front of
            // the first.
            let mut swapped = order.clone();
            swapped.swap(from, to);
            let (order, axes) = match i64::rem_euclid(k, 4) {
                0 => (&order, vec![]),
                1 => (&swapped, vec![from]),
                2 => (&order, vec![from, to]),
                _ => (&swapped, vec![to]),
            };
            let mut raw: Vec<u8> = data.iter().flat_map(|element| element.to_ne_bytes()).collect();
            bytes::rot90_in_place(&mut raw, shape, k, [from, to], 4).unwrap();
            let expected = flipped(shape, order, &axes);
            let expected: Vec<u8> =
                expected.iter().flat_map(|element| element.to_ne_bytes()).collect();
            assert!(raw == expected, "{shape:?} {k} {from} {to}");
            if shape == [301, 301] {
                let mut both = data.clone();
                let transposed = Transpose::permute::<u32>(shape, &swapped).flip(&[0, 1]);
                transposed.plan().unwrap().run(&mut both[..]).unwrap();
                assert!(both == flipped(shape, &swapped, &[0, 1]), "both axes reversed");
            }
        }
    }
}

#[test]
fn wrong_flips_are_rejected() {
    let of = |axes: &[usize]| Transpose::permute::<u8>(&[2, 3], &[1, 0]).flip(axes);
    let problem = |transpose: Transpose| transpose.problem().unwrap_err().to_string();
    assert_eq!(problem(of(&[2])), "flip [2]: each axis must be in 0..2, and occur once");
    assert_eq!(
        problem(of(&[0, 0]).batch(3)),
        "flip [0, 0]: each axis must be in 0..2, and occur once"
    );
    let into = of(&[0]).out_of_place().plan().unwrap_err().to_string();
    assert!(into.contains("reversed axes cannot run out of place"), "{into}");
    let pitched = of(&[0]).leading(4, 4).plan().unwrap_err().to_string();
    assert!(
        pitched.contains("leading dimensions cannot be combined with reversed axes"),
        "{pitched}"
    );
    let short = flip_in_place(&mut [0u8; 5], &[2, 3], &[0]).unwrap_err().to_string();
    assert!(short.contains('5') && short.contains('6'), "{short}");
    // Axes of one element are not reversed, so the result may be in another buffer.
    assert!(
        Transpose::permute::<u8>(&[1, 3], &[1, 0])
            .flip(&[1])
            .problem()
            .unwrap()
            .out_of_place()
            .is_ok()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Checks the plan of drawn arrays of any rank, element size, order and flips.
    #[test]
    fn drawn_flips_are_right(
        shape in prop::collection::vec(1usize..40, 1..5),
        keys in prop::collection::vec(0u32..1000, 4),
        set in 0usize..16,
        elem_bytes in prop::sample::select(vec![1usize, 2, 3, 4, 8, 16, 20]),
        threads in 1usize..4,
    ) {
        let rank = shape.len();
        let mut order: Vec<usize> = (0..rank).collect();
        order.sort_by_key(|&axis| keys[axis]);
        let axes: Vec<usize> = (0..rank).filter(|axis| set >> axis & 1 == 1).collect();
        let problem = Problem::permuted(&shape, &order, elem_bytes).unwrap();
        let problem = problem.with_flip(&axes).unwrap();
        let plan = Planner::new(CpuDevice::new(threads)).plan(&problem).unwrap();
        check([plan], &flipped(&shape, &order, &axes), threads);
    }
}
