//! The thesis's verdicts on its own GPU, as the planner comes to them; nothing is measured.

use turntile::plan::{Plan, Planner, Problem, Route, TileRule};
use turntile_lab::k20::k20;
use turntile_lab::staged::{FOUR_STAGE, FOUR_STAGE_FUSED, FOUR_STAGES};
use turntile_lab::wider::Wider;

use crate::common::check;

/// Of plans with every tile, the one whose tile the thesis's rule takes: sides from 50 to 100 whose product fits on chip, the
/// largest of them.
fn by_the_thesis(plans: &[Plan], most: usize) -> &Plan {
    let allowed = plans.iter().filter(|plan| {
        let tile = plan.tile();
        (50..=100).contains(&tile.m) && (50..=100).contains(&tile.n) && tile.m * tile.n <= most
    });
    allowed.max_by_key(|plan| plan.tile().m * plan.tile().n).expect("a tile by the rule")
}

/// Thesis section 4.8.3: the three-stage method beats the four-stage one on a K20, which fusion
/// does not change; section 4.8.4: its tiles have sides from 50 to 100.
#[test]
fn the_thesis_on_its_own_gpu() {
    for (rows, cols) in
        [(7200, 1800), (5100, 2500), (4000, 3200), (3300, 3900), (2500, 5100), (1800, 7200)]
    {
        let problem = Problem::new(rows, cols, 4).unwrap();
        let k20 = || Planner::new(Wider::gpu(k20())).with_routes(&FOUR_STAGES);
        let on_chip = self::k20().limits().shared_bytes;
        let staged = [Route::THREE_STAGE, FOUR_STAGE_FUSED, FOUR_STAGE];
        let seconds = staged.map(|route| k20().with_route(route).plan(&problem).unwrap().seconds);
        assert!(seconds.is_sorted(), "{problem}: {seconds:?}");
        let all = k20()
            .with_tiles(TileRule::Exhaustive)
            .with_route(Route::THREE_STAGE)
            .with_mirrored(false)
            .candidates(&problem)
            .candidates;
        let by_rule = by_the_thesis(&all, on_chip / 4);
        let tile = by_rule.tile();
        assert!(tile.m * tile.n * 4 <= on_chip, "{by_rule}");
        // The largest of all tiles that the rule allows, and never better than an exhaustive search.
        assert!(all.len() > 20);
        assert!(all[0].seconds <= by_rule.seconds);
        assert!(seconds[0] <= all[0].seconds * 1.0001, "the cost model's tiles miss the best");
    }
}

/// What is planned for it moves every element where it should, on the host.
#[test]
fn its_plans_are_right() {
    let planner = Planner::new(Wider::gpu(k20())).with_routes(&FOUR_STAGES);
    for (rows, cols) in (1..=20).flat_map(|rows| (1..=20).map(move |cols| (rows, cols))) {
        for elem_bytes in [1, 4, 12] {
            let problem = Problem::new(rows, cols, elem_bytes).unwrap();
            planner.candidates(&problem).candidates.into_iter().for_each(|plan| check(plan, 2));
        }
    }
    for (batch, rows, cols, elem_bytes) in
        [(1, 720, 180, 4), (1, 499, 251, 2), (3, 64, 48, 4), (1, 640, 384, 4), (1, 7, 9_973, 8)]
    {
        let problem = Problem::with_batch(batch, rows, cols, elem_bytes).unwrap();
        planner.candidates(&problem).candidates.into_iter().for_each(|plan| check(plan, 2));
    }
}
