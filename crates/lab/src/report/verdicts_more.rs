//! Verdicts of whole transpositions, of layouts, and of the literature's kernels.

use super::table::Table;
use super::verdicts::{Rows, few, is_gpu, ratio, widths};

pub fn table_4_2(table: &Table) -> String {
    let rows = Rows::of(table);
    let mean = |route: &str| rows.with("route", route).mean("gb_per_s");
    let chosen = table.rows.iter().filter(|row| row[table.column("route")].starts_with("turntile"));
    let chosen: Vec<f64> =
        chosen.filter_map(|row| row[table.column("percent_of_copy")].parse().ok()).collect();
    let ours = chosen.iter().sum::<f64>() / chosen.len().max(1) as f64;
    if rows.with("route", "three-stage, PTTWAC").is_empty() {
        return format!(
            "Not comparable yet: these stages were moved by the method that was estimated fastest, not by the thesis's, and \
             fusion was tried in one tile; turntile's own choice has {ours:.0}% of a copy."
        );
    }
    let (three, four) = (mean("three-stage, PTTWAC"), mean("four-stage, PTTWAC"));
    let fused = mean("four-stage-fused, PTTWAC");
    let word = if three > four { "Holds" } else { "Does not hold" };
    format!(
        "{word}: by PTTWAC three stages are {:.2} times as fast as four (2.5 to 2.9 there) and fusion {:.2} times (1.08); \
         turntile's own choice has {ours:.0}% of a copy.",
        three / four,
        fused / four
    )
}

pub fn table_4_3(table: &Table) -> String {
    let rows = Rows::of(table);
    let ours = rows.with("reported_by", "this run");
    format!(
        "Its shares are of what loads and stores in place sustain, ours of a copy, and compare in kind alone: {} GB/s here, \
         0.36 to 19.06 there.",
        ours.range("gb_per_s")
    )
}

pub fn figure_4_21(table: &Table) -> String {
    let all = Rows::of(table);
    let mut text = String::new();
    for methods in all.cells("methods") {
        let rows = all.with("methods", methods);
        let [ms, ns, shares] = ["m", "n", "percent_of_best"].map(|column| rows.all(column));
        let tiles = || ms.iter().zip(&ns).zip(&shares);
        let advised: Vec<f64> = tiles()
            .filter(|((m, n), _)| [m, n].iter().all(|side| (50.0..=100.0).contains(**side)))
            .map(|(_, share)| *share)
            .collect();
        let good = advised.iter().filter(|share| **share >= 80.0).count();
        let best = tiles().max_by(|a, b| a.1.total_cmp(b.1)).map(|(tile, _)| tile);
        let Some((m, n)) = best else { continue };
        let word = match (good, advised.len()) {
            (some, all) if some == all => "Holds",
            (0, _) => "Does not hold",
            _ => "Holds in part",
        };
        let most = few(rows.most("gb_per_s"));
        text += &format!(
            "{}{word} for {methods}: {good} of {} tiles with sides from 50 to 100 reach 80% of the best, {most} GB/s at {m} x {n}",
            if text.is_empty() { "" } else { "; " },
            advised.len()
        );
    }
    text + "."
}

pub fn table_5_2(table: &Table) -> String {
    let speed = |words: &str| {
        let rows = table.rows.iter().filter(|row| row[0].contains(words));
        rows.filter_map(|row| row[table.column("gb_per_s")].parse::<f64>().ok()).next()
    };
    let (Some(barrier), Some(pttwac)) = (speed("barrier"), speed("PTTWAC")) else {
        return "Nothing to say: a row is missing.".to_owned();
    };
    match speed("out of place") {
        None => format!(
            "Holds in part: barrier-sync in place is {:.1} times as fast as PTTWAC (4.2 there); the transposition out of \
             place, beside which the thesis sets it, is to be measured.",
            barrier / pttwac
        ),
        Some(out_of_place) => format!(
            "{}: barrier-sync in place is {:.2} times as fast as a transposition out of place (1.03 there) and {:.1} times \
             as fast as PTTWAC (4.2).",
            if barrier > 0.9 * out_of_place { "Holds" } else { "Holds in part" },
            barrier / out_of_place,
            barrier / pttwac
        ),
    }
}

pub fn table_5_3(table: &Table) -> String {
    let rows = Rows::of(table);
    let bs = rows.with("method", "BS");
    let word = if ratio(&rows, "method", "BS", "PTTWAC") > 1.0 { "Holds" } else { "Does not hold" };
    format!(
        "{word}: barrier-sync is {:.1} times as fast as PTTWAC in the mean and fits in every tile ({}% of a copy); matrices of \
         2 to 38 MB also measure launches.{}",
        ratio(&rows, "method", "BS", "PTTWAC"),
        bs.range("percent_of_copy"),
        widths(table)
    )
}

pub fn figure_5_7(table: &Table) -> String {
    let rows = Rows::of(table).with("tile", "64");
    let (pttwac, p_ipt) = (rows.with("method", "PTTWAC"), rows.with("method", "P-IPT"));
    let level = pttwac.most("gb_per_s") < 1.3 * pttwac.least("gb_per_s");
    let word = if level { "Holds" } else { "Holds in part" };
    let tile = if level { "" } else { ", so the tile alone does not decide" };
    format!(
        "{word}: with tiles of 64 PTTWAC has {} GB/s over the six matrices (15.0 to 17.4 there){tile}; P-IPT has {} and \
         depends on the cycles, as it does there.{}",
        pttwac.range("gb_per_s"),
        p_ipt.range("gb_per_s"),
        widths(table)
    )
}

pub fn ladder(table: &Table) -> String {
    let rows = Rows::of(table);
    let at = |kernel: &str| rows.with("kernel", kernel).mean("percent_of_copy");
    format!(
        "Holds: each step of Harris's ladder is faster than the one before ({:.0}, {:.0}, {:.0}% of a copy in the mean), and \
         Khan's Parallel Write is as fast as padding ({:.0}%).",
        at("naive"),
        at("coalesced"),
        at("padded"),
        at("parallel-write")
    )
}

pub fn ladder_sizes(table: &Table) -> String {
    let rows = Rows::of(table);
    let (mut slowest, mut all) = (0, 0);
    for kernel in ["padded", "selective-copying", "parallel-write"] {
        for tile in ["16", "32", "48"] {
            let here = rows.with("kernel", kernel).with("tile", tile);
            let first = here.with("block_rows", "1").mean("gb_per_s");
            slowest += usize::from(here.least("gb_per_s") >= first);
            all += 1;
        }
    }
    let one = |kernel: &str| rows.with("kernel", kernel).with("block_rows", "1").mean("gb_per_s");
    let word = if slowest > all / 2 { "Holds" } else { "Does not hold" };
    format!(
        "{word}: a block of one row is the slowest in {slowest} of {all} tiles of Khan's kernels (here blocks of most rows are, \
         of which few fit a multiprocessor); of one row Selective Copying is the slowest, as there ({} GB/s in the mean, padding {}).",
        few(one("selective-copying")),
        few(one("padded"))
    )
}

pub fn by_side(table: &Table) -> String {
    let rows = Rows::of(table);
    let times = |tile: &str| ratio(&rows.with("tile", tile), "kernel", "parallel-write", "padded");
    format!(
        "Parallel Write is {:.2} times as fast as padding in tiles of 16 x 16, where Khan has some gain, and {:.2} times in 32 x \
         32, where both are alike.",
        times("16 x 16"),
        times("32 x 32")
    )
}

pub fn shared_memory(table: &Table) -> String {
    let (ours, theirs) = (table.column("shared_bytes"), table.column("khan_bytes"));
    let known: Vec<_> = table.rows.iter().filter(|row| !row[theirs].is_empty()).collect();
    let same = known.iter().filter(|row| row[ours] == row[theirs]).count();
    let rows = Rows::of(table);
    let conflicts = |kernel: &str, tile: &str| {
        few(rows.with("kernel", kernel).with("tile", tile).most("conflicts_a_tile"))
    };
    format!(
        "{}: {same} of {} numbers of bytes are Khan's; conflicts of a tile of 16 are {} by padding and {} by Parallel Write, of 32 none.",
        if same == known.len() { "Holds" } else { "Does not hold" },
        known.len(),
        conflicts("padded", "16"),
        conflicts("parallel-write", "16")
    )
}

pub fn gaussian(table: &Table) -> String {
    let rows = Rows::of(table);
    let of = |name: &str| {
        let own = rows.with("transposition", name);
        format!("{:.3} to {:.3}", own.least("over_padded"), own.most("over_padded"))
    };
    let gain = rows.with("transposition", "parallel-write, 32 x 8").most("over_padded");
    let word = if gain > 1.02 { "Holds" } else { "Does not hold" };
    format!(
        "{word}: with Parallel Write the filter is {} times as fast as with padding; with turntile in place {} times.",
        of("parallel-write, 32 x 8"),
        of("turntile in place")
    )
}

pub fn cpu(table: &Table) -> String {
    let rows = Rows::of(table);
    let loops = rows.with("how", "two loops");
    let library = rows.with("how", "turntile, one thread");
    format!(
        "The same order: two loops on one thread have {} GB/s here and 0.55 to 2.54 there; the library's one thread {}{}.",
        loops.range("gb_per_s"),
        library.range("gb_per_s"),
        if is_gpu(table) { ", on the host of the GPU" } else { "" }
    )
}
