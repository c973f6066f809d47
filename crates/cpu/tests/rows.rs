//! Tests of row slides by every method: rounds and blocks of many lengths, with fewer and more
//! threads than cores.

use crate::numbered;
use proptest::prelude::*;
use turntile_cpu::kernel_config::{CpuKernel, CpuKernelConfig, KernelLimits, SlideMethod};
use turntile_cpu::{CpuDevice, Executor, RunError, Workspace};
use turntile_perm::RowSlide;
use turntile_plan::{
    Device, Implementation, InvalidPlan, LaunchConfig, Method, MethodFilter, Plan, StageMap,
    StageRequest,
};

fn best(slide: RowSlide, elem_bytes: usize, threads: usize) -> Implementation {
    let (alignment, cap) = (16, usize::MAX);
    let request = StageRequest {
        elem_bytes,
        alignment,
        out_of_place: false,
        cap,
        methods: MethodFilter::Any,
    };
    CpuDevice::new(threads).best(&slide.into(), &request).unwrap()
}

/// Returns every method to slide rows, with limits for blocks and rounds from short to long.
pub fn methods(threads: usize) -> impl Iterator<Item = (Method, KernelLimits)> {
    let limits = move |scratch, round| KernelLimits { threads, scratch, round };
    let blocks = [16, 48, 1000].map(|block| (Method::Blocks, limits(block, 0)));
    let rounds = [0, 20, 100].map(|round| (Method::Rounds, limits(0, round)));
    blocks.into_iter().chain(rounds).chain([(Method::Shares, limits(0, 0))])
}

/// Returns the implementation of `map` by `method` within `limits`.
pub fn by(
    map: &StageMap,
    elem_bytes: usize,
    (method, limits): (Method, KernelLimits),
) -> Implementation {
    let config = CpuKernelConfig::new(map, elem_bytes, method, limits).unwrap();
    Implementation::new(method, LaunchConfig::new(config.clone()), config.resources().bytes(), 1.0)
}

/// Checks that every element is where the closed form puts it, and that no other byte changes.
/// Positions that are only in source rows may have any content.
fn check(slide: RowSlide, implementation: Implementation, elem_bytes: usize, threads: usize) {
    let before = numbered(slide.change().span(), elem_bytes);
    let name = implementation.name();
    let executor = Executor::of_stage(slide.into(), implementation, elem_bytes, threads).unwrap();
    let mut workspace = Workspace::new(executor.workspace_bytes()).unwrap();
    workspace.poison(0xC3);
    let mut data = before.clone();
    executor.run_bytes(&mut data, &mut workspace).unwrap();
    let element = |at: usize| at * elem_bytes..(at + 1) * elem_bytes;
    for at in 0..slide.change().span() {
        let from = match (slide.to().index(at), slide.from().index(at)) {
            (Some(k), _) => slide.from().offset(k),
            (None, Some(_)) => continue,
            (None, None) => at,
        };
        let right = data[element(at)] == before[element(from)];
        assert!(right, "{slide:?} {name} of {elem_bytes}-byte elements on {threads} threads: {at}");
    }
}

#[test]
fn slides_of_all_small_sizes_match_the_closed_form() {
    for (rows, cols) in (1..10).flat_map(|rows| (1..7).map(move |cols| (rows, cols))) {
        for (a, b) in (0..7).flat_map(|a| (0..7).map(move |b| (a, b))) {
            let slide = RowSlide::new(rows, cols, cols + a, cols + b).unwrap();
            for (elem_bytes, threads) in [(1, 1), (3, 2), (4, 3)] {
                for config in methods(threads) {
                    check(slide, by(&slide.into(), elem_bytes, config), elem_bytes, threads);
                }
                check(slide, best(slide, elem_bytes, threads), elem_bytes, 1);
            }
        }
    }
}

/// Checks that a panic between two blocks cannot split an element.
#[test]
fn blocks_contain_whole_elements() {
    let slide = RowSlide::new(9, 5, 6, 8).unwrap();
    for (elem_bytes, scratch, block) in [
        (1, 1 << 20, 256 << 10),
        (4, 1000, 992),
        (12, 1000, 960),
        (3, 16, 15),
        (7, 1 << 20, 112 * 2340),
        (100_001, 1 << 20, 200_002),
        (300_000, 1 << 20, 300_000),
    ] {
        let by = |scratch| {
            CpuKernelConfig::new(
                &slide.into(),
                elem_bytes,
                Method::Blocks,
                KernelLimits::new(2, scratch),
            )
        };
        let config = by(scratch).unwrap();
        assert!(
            matches!(config.kernel(), CpuKernel::Slide(_, SlideMethod::Blocks(got)) if *got == block),
            "{config}"
        );
        assert!(elem_bytes <= 16 || by(elem_bytes - 1).is_none(), "{elem_bytes}");
    }
    check(
        slide,
        by(&slide.into(), 300_000, (Method::Blocks, KernelLimits::new(2, 1 << 20))),
        300_000,
        2,
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Checks slides on up to 8 threads. If they exceed the cores, they are preempted between any
    /// two steps.
    #[test]
    fn slides_of_random_sizes_match_the_closed_form(
        rows in 1usize..300, cols in 1usize..300, a in 0usize..300, b in 0usize..300,
        threads in 1usize..9, elem_bytes in prop::sample::select(&[1usize, 2, 4, 8, 12][..]),
        scratch in 1usize..5000, round in 1usize..20_000,
    ) {
        for (a, b) in [(0, b), (a, 0), (a, b)] {
            let slide = RowSlide::new(rows, cols, cols + a, cols + b).unwrap();
            for method in [Method::Blocks, Method::Rounds, Method::Shares] {
                let config = (method, KernelLimits { threads, scratch, round });
                check(slide, by(&slide.into(), elem_bytes, config), elem_bytes, threads);
            }
        }
    }
}

/// Checks that plans assembled by hand cannot make the contents of gaps part of a matrix.
#[test]
fn plan_is_rejected_when_rows_have_gaps() {
    let apart = RowSlide::new(7, 5, 5, 7).unwrap();
    for slide in [apart, apart.inverse()] {
        let map = StageMap::Slide(slide);
        let plan = Plan::from_stage("any", map.clone(), best(slide, 4, 1), 4).unwrap();
        assert!(matches!(plan.check(), Err(InvalidPlan::Leading { .. })), "{plan:#}");
        let executor = Executor::of_stage(map.clone(), best(slide, 4, 1), 4, 1).unwrap();
        let mut workspace = Workspace::new(executor.workspace_bytes()).unwrap();
        // Elements of rows and gaps, except the last gap; and of rows only.
        let (expected, got) = (47 * 4, 35 * 4);
        let error = executor.run_bytes(&mut vec![0; got], &mut workspace);
        assert_eq!(error, Err(RunError::Length { expected, got }));
        let mut invalid = best(slide, 4, 1);
        invalid.method = Method::TileSwap;
        assert!(Executor::of_stage(map, invalid, 4, 1).is_err());
    }
}
