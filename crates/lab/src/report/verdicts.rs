//! What each item of squares, of single stages and of flags says of its source, from its own numbers.

use super::claims::{Rows, few, is_gpu, mean, verdict};
use super::padding;
use super::table::Table;

pub fn figure_2_2(table: &Table) -> String {
    let rows = Rows::of(table);
    let [unit, fifteen, longest] =
        ["1", "15", "32"].map(|stride| rows.with("stride", stride).mean("gb_per_s"));
    let speeds = rows.pairs("stride", "gb_per_s");
    // The first stride from which on nothing falls by more than a fifth.
    let level = speeds.iter().find(|at| at.1 * 0.8 <= longest).map_or(f64::NAN, |at| at.0);
    verdict(&[
        (
            fifteen < unit / 4.0,
            format!(
                "{} GB/s at stride 1, {} at 15 and {} at 32",
                few(unit),
                few(fifteen),
                few(longest)
            ),
        ),
        (
            (12.0..=18.0).contains(&level),
            format!("from stride {level} on it falls by less than a fifth (from 15 there)"),
        ),
    ])
}

pub fn figure_4_1(table: &Table) -> String {
    let rows = Rows::of(table);
    let largest = rows.with("side", &format!("{:.0}", rows.most("side")));
    let share = largest.mean("percent_of_copy");
    verdict(&[(
        share >= 50.0,
        format!(
            "{share:.0}% of a copy at side {:.0}, where the thesis has about half of its card's peak",
            largest.most("side")
        ),
    )])
}

pub fn figure_4_4(table: &Table) -> String {
    let rows = Rows::of(table);
    let (steps, moved) = (table.rows.len() - 1, rows.most("rows_moved"));
    let left = padding::FIGURE_4_4.0 as f64 - moved;
    let mut claims = vec![
        (left == 99.0, format!("{left} rows are left then (99 there)")),
        (
            steps.abs_diff(181) <= 5,
            format!("rows move one by one after {steps} steps (after some 181 there)"),
        ),
    ];
    let speeds = rows.all("gb_per_s");
    if let (Some(first), least) = (speeds.first(), rows.least("gb_per_s")) {
        claims.push((
            *first > 2.0 * least,
            format!("speed falls with the rows of a step, from {} GB/s", few(*first)),
        ));
        claims.push((
            least < 10.0,
            format!("the slowest step has {} GB/s (below 10 there)", few(least)),
        ));
    }
    verdict(&claims)
}

pub fn padding(table: &Table) -> String {
    let rows = Rows::of(table);
    let by = |name: &str| rows.those("method", |method| method.split(' ').next() == Some(name));
    let steps = by("rounds");
    // By the columns that are added, the fewest first.
    let mut added: Vec<(usize, f64)> = Vec::new();
    for [shape, share] in steps.each(["shape", "percent_of_copy"]) {
        let sides: Vec<usize> = shape.split('x').filter_map(|side| side.parse().ok()).collect();
        let (&[rows, cols], Ok(share)) = (&sides[..], share.parse()) else { continue };
        added.push((rows.abs_diff(cols), share));
    }
    added.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let falls = added.is_sorted_by(|a, b| a.1 <= b.1);
    let least = added.first().map_or(0, |one| one.0);
    let most = added.last().map_or(0, |one| one.0);
    let mut text = verdict(&[
        (
            steps.mean("percent_of_copy") < 36.0,
            format!(
                "by rows in steps, the thesis's way, padding has {}% of a copy (18% of its card's peak there)",
                steps.range("percent_of_copy")
            ),
        ),
        (
            falls,
            format!(
                "it {} the fewer columns are added, from {most} to {least}",
                if falls { "slows down" } else { "does not always slow down" }
            ),
        ),
    ]);
    for (name, how) in [("blocks", "block by block"), ("shares", "in shares of threads")] {
        let rows = by(name);
        if !rows.is_empty() {
            text += &format!(" The thesis has not: {how}, {}%.", rows.range("percent_of_copy"));
        }
    }
    text
}

pub fn near_square(table: &Table) -> String {
    let rows = Rows::of(table);
    let shapes = rows.cells("shape");
    // On how many shapes a padded square is slower than the route without room, and the squares' shares of a copy.
    let loses = |how: [&str; 2]| {
        let padded = |plan: &str| plan.split([' ', ')']).any(|word| how.contains(&word));
        let slower = shapes.iter().filter(|shape| {
            let here = rows.with("shape", shape);
            let plain = here.those("route", |route| route != "padded-square").most("gb_per_s");
            let squares = here.with("route", "padded-square").those("plan", padded);
            squares.most("gb_per_s") < plain
        });
        let squares = rows.with("route", "padded-square").those("plan", padded);
        (slower.count(), squares)
    };
    let mut claims = Vec::new();
    // What a stage is called now, and what it was in older records.
    for (how, called) in [
        (["rounds", "rows"], "by rows in steps, the thesis's way,"),
        (["blocks", "slide"], "block by block, which the thesis has not,"),
        (["shares"; 2], "by shares of threads, which the thesis has not,"),
    ] {
        let (lost, squares) = loses(how);
        if !squares.is_empty() {
            claims.push((
                2 * lost > shapes.len(),
                format!(
                    "{called} a padded square is slower than the route without room on {lost} of {} shapes ({}% of a copy)",
                    shapes.len(),
                    squares.range("percent_of_copy")
                ),
            ));
        }
    }
    verdict(&claims)
}

pub fn figure_4_6(table: &Table) -> String {
    let of = |square: bool| -> f64 {
        let cells = Rows::of(table).each(["rows", "cols", "cycles"]);
        let numbers = cells.iter().filter_map(|[rows, cols, cycles]| {
            let lone = *rows == "1" || *cols == "1";
            (!lone && (rows == cols) == square).then(|| cycles.parse::<f64>().ok())?
        });
        let mut all: Vec<f64> = numbers.collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or(0.0)
    };
    let (square, other) = (of(true), of(false));
    verdict(&[(
        square > 4.0 * other,
        format!("in the median a square has {square} cycles, another shape {other}"),
    )])
}

pub fn table_4_1(table: &Table) -> String {
    let names = Rows::of(table).each(["name", "thesis"]);
    let theirs: Vec<_> = names.iter().filter(|names| !names[1].is_empty()).collect();
    let same = theirs.iter().filter(|names| names[0] == names[1]).count();
    verdict(&[(
        same == theirs.len(),
        format!("{same} of its {} names are those that arithmetic gives", theirs.len()),
    )])
}

pub fn permutations(table: &Table) -> String {
    let rows = Rows::of(table);
    let problems = rows.cells("problem");
    // Axes that a pass leaves in a row are one in the memory after it.
    let arrived = problems.iter().filter(|problem| {
        let asked = problem.split("axes ").nth(1).and_then(|rest| rest.split(' ').next());
        let asked: Vec<&str> = asked.unwrap_or_default().split(',').collect();
        let memory = rows.with("problem", problem).each(["memory"]);
        let last = memory.last().map_or("", |[last]| last);
        let mut places = last
            .split(' ')
            .map(|axis| asked.iter().position(|wanted| axis.split(':').next() == Some(*wanted)));
        let first = places.next().flatten();
        first == Some(0)
            && places.try_fold(first, |before, at| (at > before).then_some(at)).is_some()
    });
    let arrived = arrived.count();
    verdict(&[(
        arrived == problems.len(),
        format!(
            "{arrived} of {} orders lie as asked after at most {} passes, at {}% of a copy",
            problems.len(),
            rows.most("pass"),
            rows.range("percent_of_copy")
        ),
    )])
}

pub fn conflicts(table: &Table) -> String {
    let rows = Rows::of(table);
    let at = |layout, spreading, column| {
        rows.with("layout", layout).with("spreading", spreading).mean(column)
    };
    let [packed, spread] =
        ["1", "32"].map(|spreading| at("spread", spreading, "position_conflicts"));
    let mut claims = vec![(
        spread < 1.1 && packed > spread,
        format!("spreading by 32 takes position conflicts from {} to {}", few(packed), few(spread)),
    )];
    let [packed, spread] =
        ["1", "32"].map(|spreading| at("spread", spreading, "divergent_percent"));
    claims.push((
        spread < packed / 2.0,
        format!("it takes divergent branches from {packed:.0}% to {spread:.0}%"),
    ));
    for (name, column) in [("bank", "bank_conflicts"), ("lock", "lock_conflicts")] {
        let [packed, spread] = ["1", "32"].map(|spreading| at("spread", spreading, column));
        let padded = at("padded", "32", column);
        claims.push((
            spread > 1.1 * packed,
            format!("brings {name} conflicts from {} to {}", few(packed), few(spread)),
        ));
        claims.push((
            padded - 1.0 < (spread - 1.0) / 2.0,
            format!("padding takes {name} conflicts to {}", few(padded)),
        ));
    }
    verdict(&claims)
}

pub fn figure_4_16(table: &Table) -> String {
    let rows = Rows::of(table);
    let keys = ["problem", "tile"];
    let plain = rows.with("layout", "spread");
    let spreading = plain.speedup(&keys, "spreading", "32", "1");
    let padding = rows.with("spreading", "32").speedup(&keys, "layout", "padded", "spread");
    verdict(&[
        (spreading > 1.2, format!("spreading by 32 brings {spreading:.2} times (1.77 there)")),
        (padding > 1.05, format!("padding brings {padding:.2} times more (1.12 there)")),
    ])
}

pub fn figure_4_17(table: &Table) -> String {
    let rows = Rows::of(table);
    if !is_gpu(table) {
        let most = format!("{:.0}", rows.most("workers"));
        let gain = rows.speedup(&["tile", "width"], "workers", &most, "1");
        return format!(
            "Not comparable: a host has threads and no groups; {most} are {gain:.2} times as fast as one."
        );
    }
    // The best group of every tile, of small tiles and of large ones.
    let mut best: Vec<(f64, f64)> = Vec::new();
    for tile in rows.cells("tile") {
        for width in rows.cells("width") {
            let here = rows.with("tile", tile).with("width", width);
            let pairs = here.pairs("gb_per_s", "workers").into_iter();
            if let Some((_, workers)) = pairs.max_by(|a, b| a.0.total_cmp(&b.0)) {
                best.push((here.most("elements"), workers));
            }
        }
    }
    best.sort_by(|a, b| a.0.total_cmp(&b.0));
    let workers: Vec<f64> = best.iter().map(|one| one.1).collect();
    let third = workers.len().div_ceil(3);
    let (small, large) = (mean(&workers[..third]), mean(&workers[workers.len() - third..]));
    verdict(&[(
        large > 1.2 * small,
        format!(
            "the best group has {small:.0} work-items on average for the smallest third of the tiles and {large:.0} for the \
             largest"
        ),
    )])
}

pub fn figure_4_18(table: &Table) -> String {
    let rows = Rows::of(table);
    let widths = rows.cells("width");
    let ahead_of = |version: &str| {
        let times = rows.speedups(&["width"], "method", "P-IPT", version);
        times.iter().filter(|times| **times > 1.0).count()
    };
    let (packed, improved) = (ahead_of("PTTWAC packed"), ahead_of("PTTWAC spread and padded"));
    let gain = rows.speedup(&["width"], "method", "PTTWAC spread and padded", "PTTWAC packed");
    let mut claims = vec![
        (
            packed > 0,
            format!(
                "P-IPT is faster than the original PTTWAC at {packed} of {} widths",
                widths.len()
            ),
        ),
        (
            gain > 1.2,
            format!(
                "spread and padded flags are {gain:.2} times as fast as packed ones (1.78 there)"
            ),
        ),
    ];
    // Without a width to switch for there is no switching to end.
    if packed > 0 {
        let text = format!(
            "P-IPT is faster than the improved PTTWAC at {improved} of {} widths",
            widths.len()
        );
        claims.push((2 * improved < packed, text));
    }
    let barrier = rows.speedup(&["width"], "method", "barrier", "PTTWAC packed");
    verdict(&claims)
        + &format!(
            " Barrier-sync, where a tile fits, is {barrier:.0} times as fast as the original."
        )
}

pub fn figure_4_19(table: &Table) -> String {
    let rows = Rows::of(table);
    let mut wins: Vec<String> = Vec::new();
    for unit in rows.cells("super_element") {
        let here = rows.with("super_element", unit);
        let p_ipt_ahead = |width: &&&str| {
            let here = here.with("width", width);
            let rest = here.those("version", |name| name != "P-IPT").most("gb_per_s");
            here.with("version", "P-IPT").most("gb_per_s") > rest
        };
        let all = here.cells("width");
        let ahead: Vec<&str> = all.iter().filter(p_ipt_ahead).copied().collect();
        if !ahead.is_empty() {
            wins.push(format!("{} at {unit} floats", ahead.join(", ")));
        }
    }
    let behind = match &wins[..] {
        [] => "P-IPT is never the fastest".to_owned(),
        some => {
            format!("P-IPT, always behind there, is the fastest at widths {}", some.join(" and "))
        }
    };
    if !is_gpu(table) {
        return format!("Not comparable: a host has one version of PTTWAC; {behind}.");
    }
    let times = |rows: &Rows, version: &str| {
        rows.speedup(&["super_element", "width"], "version", version, "block with barriers")
    };
    let short = rows.with("super_element", "16");
    let [shared, registers] =
        ["shared-memory tiling", "register tiling"].map(|version| times(&rows, version));
    let [shared_short, registers_short] =
        ["shared-memory tiling", "register tiling"].map(|version| times(&short, version));
    verdict(&[
        (
            shared > 1.2,
            format!(
                "shared-memory tiling is {shared:.2} times the original in the mean, {shared_short:.2} at 16 floats (3.35 and \
                 3.05 there)"
            ),
        ),
        (
            registers > shared,
            format!(
                "register tiling {registers:.2} times, {registers_short:.2} at 16 (3.87 and 3.74)"
            ),
        ),
        (wins.is_empty(), behind),
    ])
}

pub fn figure_4_20(table: &Table) -> String {
    let rows = Rows::of(table);
    // The thesis's figure is of shared-memory tiling, a host has one version.
    let tiled = rows.with("version", "shared-memory tiling");
    let rows = if tiled.is_empty() { rows } else { tiled };
    let speeds =
        ["8", "16", "32", "64"].map(|unit| rows.with("super_element", unit).most("gb_per_s"));
    let gain = speeds[3] / speeds[0];
    verdict(&[(
        gain > 2.0 && speeds.is_sorted(),
        format!(
            "{} GB/s for 8, 16, 32 and 64 floats, {gain:.1} times from the shortest to the longest (5.5 there)",
            speeds.map(few).join(", ")
        ),
    )])
}

pub fn said(table: &Table) -> String {
    let rows = Rows::of(table);
    let known = rows.pairs("thesis_gb_per_s", "gb_per_s");
    let named = rows.each(["what", "thesis_gb_per_s", "gb_per_s"]);
    let names: Vec<&str> = named
        .iter()
        .filter(|row| row[1..].iter().all(|cell| cell.parse::<f64>().is_ok()))
        .map(|row| row[0])
        .collect();
    let (mut pairs, mut turned) = (0, Vec::new());
    for (slow, (theirs, ours)) in known.iter().enumerate() {
        for (fast, (more, than)) in known.iter().enumerate() {
            if more > theirs {
                pairs += 1;
                if than <= ours {
                    turned.push(format!(
                        "\"{}\" has {} GB/s and \"{}\" {} ({more} and {theirs} there)",
                        names[fast],
                        few(*than),
                        names[slow],
                        few(*ours)
                    ));
                }
            }
        }
    }
    let same =
        format!("{} of {pairs} pairs of speeds are in the thesis's order", pairs - turned.len());
    let told = if turned.is_empty() { same } else { format!("{same}; {}", turned.join("; ")) };
    verdict(&[(turned.is_empty(), told)])
}
