//! Verdicts of whole transpositions, of layouts, and of the literature's kernels.

use super::claims::{Claim, Rows, few, is_gpu, mean, verdict};
use super::table::Table;

pub fn table_4_2(table: &Table) -> String {
    let rows = Rows::of(table);
    let mut claims = Vec::new();
    let chosen = rows.those("route", |route| route.starts_with("turntile"));
    for methods in rows.with("route", "three-stage").cells("methods") {
        let rows = rows.with("methods", methods);
        for (of, over, words, there) in [
            (
                "three-stage",
                "four-stage-fused",
                "three stages have {} times the speed of four with two fused",
                "2.3 to 2.7",
            ),
            ("three-stage", "four-stage", "three stages {} times that of four", "2.5 to 2.9"),
            ("four-stage-fused", "four-stage", "fusion brings {} times", "1.08"),
        ] {
            let times = rows.speedup(&["shape"], "route", of, over);
            let words = words.replace("{}", &format!("{times:.2}"));
            claims.push((times > 1.0, format!("by {methods} {words} ({there} there)")));
        }
    }
    verdict(&claims)
        + &format!(" Turntile's own choice has {} GB/s in the mean.", few(chosen.mean("gb_per_s")))
}

pub fn table_4_3(table: &Table) -> String {
    let ours = Rows::of(table).with("reported_by", "this run");
    let theirs = Rows::of(table).those("reported_by", |by| by != "this run");
    let cpus = theirs.those("processor", |name| name.contains("cores")).most("gb_per_s");
    let mut claims = Vec::new();
    for [route, speed, share] in ours.each(["route", "gb_per_s", "percent"]) {
        let (Some(methods), Ok(speed), Ok(share)) =
            (route.strip_prefix("three-stage, "), speed.parse::<f64>(), share.parse::<f64>())
        else {
            continue;
        };
        // The thesis has no other methods than its own.
        if methods == "any method" {
            continue;
        }
        claims.push((
            (6.0..=24.0).contains(&share),
            format!("three stages by {methods} have {share:.0}% of a copy (roughly 12 there)"),
        ));
        claims.push((
            speed > 20.0 * cpus,
            format!(
                "they are {} times as fast as its CPUs (more than 20 there)",
                few(speed / cpus)
            ),
        ));
    }
    verdict(&claims)
        + " The table's own percentages are of what loads and stores in place sustain, and compare with none here."
}

pub fn figure_4_21(table: &Table) -> String {
    let all = Rows::of(table);
    let mut methods = all.cells("methods");
    // The thesis's first.
    methods.sort_by_key(|methods| *methods == "any method");
    let mut texts = Vec::new();
    for methods in methods {
        let rows = all.with("methods", methods);
        let sides = rows.pairs("m", "n");
        let shares = rows.all("percent_of_best");
        let tiles = || sides.iter().zip(&shares);
        let advised =
            tiles().filter(|((m, n), _)| [m, n].iter().all(|side| (50.0..=100.0).contains(*side)));
        let advised: Vec<f64> = advised.map(|(_, share)| *share).collect();
        let good = advised.iter().filter(|share| **share >= 80.0).count();
        let Some(((m, n), _)) = tiles().max_by(|a, b| a.1.total_cmp(b.1)) else { continue };
        let word = match good {
            some if some == advised.len() => "Holds",
            some if 2 * some >= advised.len() => "Holds in part",
            _ => "Does not hold",
        };
        texts.push(format!(
            "{word} by {methods}: {good} of {} tiles with sides from 50 to 100 reach 80% of the best, {} GB/s at {m} x {n} \
             (sides about 60 there)",
            advised.len(),
            few(rows.most("gb_per_s"))
        ));
    }
    texts.join("; ") + "."
}

pub fn table_5_2(table: &Table) -> String {
    let rows = Rows::of(table);
    let speed = |words: &str| rows.those("kernel", |name| name.contains(words)).mean("gb_per_s");
    let barrier = speed("barrier");
    let (out_of_place, pttwac) = (barrier / speed("out of place"), barrier / speed("PTTWAC"));
    verdict(&[
        (
            out_of_place > 0.95,
            format!(
                "barrier-sync in place is {out_of_place:.2} times as fast as out of place (1.03 there)"
            ),
        ),
        (pttwac > 1.2, format!("barrier-sync is {pttwac:.1} times as fast as PTTWAC (4.2 there)")),
    ])
}

pub fn table_5_3(table: &Table) -> String {
    let rows = Rows::of(table);
    let times = rows.speedups(&["problem", "tile"], "method", "BS", "PTTWAC");
    let wins = times.iter().filter(|times| **times > 1.0).count();
    let pttwac = rows.with("method", "PTTWAC");
    let narrow = pttwac.speedup(&["problem"], "tile", "16", "64");
    // Where the thesis has NA a tile did not fit.
    let fitted = rows.with("thesis_gb_per_s", "NA").all("gb_per_s").len();
    verdict(&[
        (
            2 * wins > times.len(),
            format!(
                "barrier-sync is faster than PTTWAC in {wins} of {} tiles, {:.1} times in the mean (5.6 there)",
                times.len(),
                mean(&times)
            ),
        ),
        (
            narrow > 1.2,
            format!("PTTWAC is {narrow:.1} times as fast in tiles of 16 as of 64 (2.2 there)"),
        ),
        (fitted == 0, format!("{fitted} tiles fit barrier-sync here that did not fit there")),
    ])
}

pub fn figure_5_7(table: &Table) -> String {
    let rows = Rows::of(table);
    let pttwac = rows.with("method", "PTTWAC");
    let longer = pttwac.speedup(&["problem"], "tile", "64", "16");
    let wide = rows.with("tile", "64");
    let (pttwac, p_ipt) = (wide.with("method", "PTTWAC"), wide.with("method", "P-IPT"));
    let spread = |rows: &Rows, column: &str| rows.most(column) / rows.least(column);
    verdict(&[
        (
            spread(&pttwac, "percent_of_copy") < 1.3,
            format!(
                "with tiles of 64 PTTWAC has {} GB/s, {}% of a copy, over the matrices (15.0 to 17.4 GB/s there: the tile alone \
                 decides)",
                pttwac.range("gb_per_s"),
                pttwac.range("percent_of_copy")
            ),
        ),
        (longer > 1.0, format!("PTTWAC is {longer:.1} times as fast in tiles of 64 as of 16")),
        (
            spread(&p_ipt, "gb_per_s") > 2.0,
            format!(
                "P-IPT has {} GB/s: the cycles decide (3.33 to 13.65 there)",
                p_ipt.range("gb_per_s")
            ),
        ),
    ])
}

pub fn ladder(table: &Table) -> String {
    let rows = Rows::of(table);
    let shapes = rows.cells("shape").len();
    let step = |of: &str, over: &str, there: &str| -> Claim {
        let times = rows.speedups(&["shape"], "kernel", of, over);
        let faster = times.iter().filter(|times| **times > 1.0).count();
        let text = format!(
            "{of} is {:.2} times as fast as {over} ({there}), faster on {faster} of {shapes} shapes",
            mean(&times)
        );
        (2 * faster > shapes && mean(&times) > 1.0, text)
    };
    let alike = rows.speedup(&["shape"], "kernel", "parallel-write", "padded");
    verdict(&[
        step("coalesced", "naive", "1.8 and 2.7 by Harris"),
        step("padded", "coalesced", "1.5 and 1.9 by Harris"),
        step("unrolled", "parallel-write", "1.03 by report A"),
        (
            (0.95..=1.05).contains(&alike),
            format!("parallel-write is {alike:.2} times as fast as padded (alike by Khan)"),
        ),
    ])
}

pub fn ladder_sizes(table: &Table) -> String {
    let rows = Rows::of(table);
    // Khan's size, where it was measured.
    let side =
        if rows.with("side", "3072").is_empty() { few(rows.most("side")) } else { "3072".into() };
    let rows = rows.with("side", &side);
    let khan = ["padded", "selective-copying", "parallel-write"];
    let slowest_of_all = |block: &str, tiles: &[&str]| {
        let (mut slowest, mut all) = (0, 0);
        for kernel in khan {
            for tile in tiles {
                let here = rows.with("kernel", kernel).with("tile", tile);
                let wanted = here.with("block_rows", block);
                if wanted.is_empty() {
                    continue;
                }
                slowest += usize::from(here.least("gb_per_s") >= wanted.most("gb_per_s"));
                all += 1;
            }
        }
        (slowest, all)
    };
    let one = |kernel: &str, block: &str| {
        let here = rows.with("kernel", kernel).with("block_rows", block);
        here.those("tile", |tile| ["16", "32", "48"].contains(&tile)).mean("gb_per_s")
    };
    let selective_last = |block: &str| {
        let speeds = khan.map(|kernel| one(kernel, block));
        (
            speeds[1] < speeds[0] && speeds[1] < speeds[2],
            format!(
                "{} GB/s by Selective Copying, {} by padding and {} by Parallel Write",
                few(speeds[1]),
                few(speeds[0]),
                few(speeds[2])
            ),
        )
    };
    let ((narrow, all), (square, three)) =
        (slowest_of_all("1", &["16", "32", "48"]), slowest_of_all("32", &["32"]));
    let (last_of_one, speeds_of_one) = selective_last("1");
    let (last_of_square, speeds_of_square) = selective_last("32");
    verdict(&[
        (
            2 * narrow > all,
            format!(
                "at side {side} blocks of one row are the slowest in {narrow} of {all} tiles of Khan's kernels"
            ),
        ),
        (last_of_one, format!("of blocks of one row: {speeds_of_one}")),
        (
            2 * square > three,
            format!(
                "blocks of 32 x 32 are the slowest of their tile by {square} of {three} kernels"
            ),
        ),
        (last_of_square, format!("of blocks of 32 x 32: {speeds_of_square}")),
    ])
}

pub fn blocks(table: &Table) -> String {
    let rows = Rows::of(table);
    let best = |source: &str| {
        let of = rows.with("source", source);
        let most = of.most("gb_per_s");
        let rows = of.each(["tile", "block_rows", "gb_per_s"]).into_iter();
        let mut best = rows.filter(|row| row[2].parse() == Ok(most));
        (best.next().map(|row| [row[0], row[1]]).unwrap_or_default(), most)
    };
    let mut claims: Vec<Claim> = Vec::new();
    for (source, [tile, block_rows]) in
        [("Shared", ["16", "16"]), ("SharedwBC", ["16", "16"]), ("Unrolled", ["32", "16"])]
    {
        let (ours, speed) = best(source);
        claims.push((
            ours == [tile, block_rows],
            format!(
                "{source} is best at {} x {}, {} GB/s ({tile} x {block_rows} there)",
                ours[0],
                ours[1],
                few(speed)
            ),
        ));
    }
    let times =
        rows.with("tile", "32").speedup(&["tile", "block_rows"], "source", "SharedwBC", "Shared");
    claims.push((
        times > 1.2,
        format!(
            "without conflicts a block of 32 x 32 is {times:.2} times as fast (much faster there)"
        ),
    ));
    verdict(&claims)
}

pub fn by_side(table: &Table) -> String {
    let rows = Rows::of(table);
    let times = |tile: &str| {
        rows.with("tile", tile).speedup(&["side"], "kernel", "parallel-write", "padded")
    };
    let (small, large) = (times("16 x 16"), times("32 x 32"));
    verdict(&[
        (
            small > 1.01,
            format!(
                "parallel-write is {small:.2} times as fast as padded in 16 x 16 (some gain there)"
            ),
        ),
        ((0.95..=1.05).contains(&large), format!("{large:.2} times in 32 x 32 (alike there)")),
    ])
}

pub fn shared_memory(table: &Table) -> String {
    let rows = Rows::of(table);
    // The same number for every block and both of Khan's kernels.
    let mut known: Vec<[&str; 3]> = rows.each(["tile", "khan_bytes", "shared_bytes"]);
    known.retain(|known| !known[1].is_empty());
    known.sort_unstable();
    known.dedup();
    let same = known.iter().filter(|known| known[1] == known[2]).count();
    let most = |kernel: &str, tile: &str| {
        rows.with("kernel", kernel).with("tile", tile).most("conflicts_a_tile")
    };
    let by = |tile: &str| ["padded", "parallel-write"].map(|kernel| most(kernel, tile));
    let ([padded_16, write_16], [padded_32, write_32], [padded_48, write_48]) =
        (by("16"), by("32"), by("48"));
    verdict(&[
        (same == known.len(), format!("{same} of {} numbers of bytes are Khan's", known.len())),
        (
            padded_16 > 0.0 && write_16 == 0.0,
            format!(
                "in tiles of 16 padding has {padded_16} conflicts and Parallel Write {write_16}"
            ),
        ),
        (
            padded_32 == 0.0 && write_32 == 0.0,
            format!(
                "in tiles of 32 padding has {padded_32} and Parallel Write {write_32} (none there)"
            ),
        ),
        (
            write_48 == 0.0,
            format!(
                "in tiles of 48, no multiple of 32 either, Parallel Write has {write_48} (none claimed) and padding {padded_48}"
            ),
        ),
    ])
}

pub fn gaussian(table: &Table) -> String {
    let rows = Rows::of(table);
    let of = |name: &str| {
        let own = rows.with("transposition", name);
        format!("{:.3} to {:.3}", own.least("over_padded"), own.most("over_padded"))
    };
    let gain = rows.with("transposition", "parallel-write, 32 x 8").most("over_padded");
    verdict(&[(
        gain > 1.02,
        format!(
            "with Parallel Write the filter is {} times as fast as with padding (up to 1.06 there)",
            of("parallel-write, 32 x 8")
        ),
    )]) + &format!(" With turntile in place {} times.", of("turntile in place"))
}

pub fn cpu(table: &Table) -> String {
    let rows = Rows::of(table);
    let loops = rows.with("how", "two loops");
    let times: Vec<f64> =
        loops.pairs("gb_per_s", "source_gb_per_s").iter().map(|pair| pair.0 / pair.1).collect();
    let near = times.iter().filter(|times| (1.0 / 3.0..=3.0).contains(*times)).count();
    verdict(&[(
        near == times.len(),
        format!(
            "two loops on one thread have {} GB/s here and {} there, {near} of {} within three times",
            loops.range("gb_per_s"),
            loops.range("source_gb_per_s"),
            times.len()
        ),
    )]) + &format!(
        " The library's one thread has {}{}.",
        rows.with("how", "turntile, one thread").range("gb_per_s"),
        if is_gpu(table) { ", on the host of the GPU" } else { "" }
    )
}
