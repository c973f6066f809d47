//! Verdicts of kernels on layouts.

use super::claims::{Rows, few, verdict};
use super::table::Table;

pub fn figure_3_7(table: &Table) -> String {
    let rows = Rows::of(table);
    let ms = |floats: &str, layout: &str| {
        rows.with("floats", floats).with("layout", layout).mean("milliseconds")
    };
    let over = |layout: &str| ms("32", "AoS") / ms("32", layout);
    let longer = ms("32", "AoS") / ms("8", "AoS");
    verdict(&[
        (
            longer > 2.0,
            format!("on AoS 32 floats take {} times as long as 8 (nearly 4 there)", few(longer)),
        ),
        (
            over("SoA").min(over("ASTA")) > 1.1,
            format!(
                "with 32 floats AoS takes {} times as long as SoA and {} times as long as ASTA",
                few(over("SoA")),
                few(over("ASTA"))
            ),
        ),
    ])
}

pub fn figure_5_2(table: &Table) -> String {
    let rows = Rows::of(table);
    let of = |application: &str| rows.with("application", application);
    let gain =
        |application: &str, layout: &str| of(application).with("layout", layout).most("speedup");
    let [asta, soa] = ["ASTA", "SoA"].map(|layout| gain("LBM", layout));
    let options = gain("Black-Scholes", "ASTA");
    let (sparse, all) =
        (rows.those("application", |name| name.starts_with("SpMV")), rows.cells("application"));
    let net = |layout: &str, iterations: &str| {
        let of_all = rows.with("layout", layout).with("iterations", iterations);
        of_all.all("net_speedup").into_iter().filter(|&net| net >= 1.0).count()
    };
    let (early, late) = (net("ASTA", "4"), net("SoA", "30"));
    verdict(&[
        (
            asta > 4.0,
            format!("LBM is {} times as fast on ASTA as on AoS (above 4 there)", few(asta)),
        ),
        (asta >= soa, format!("on SoA it is {} times as fast", few(soa))),
        (
            options > 1.0,
            format!("Black-Scholes is {} times as fast on ASTA (little there)", few(options)),
        ),
        (
            early == all.len(),
            format!(
                "converting in place to ASTA has paid by iteration 4 in {early} of {}",
                all.len()
            ),
        ),
        (
            late < all.len(),
            format!(
                "to SoA it has paid by iteration 30 in {late} of {} (not in all there)",
                all.len()
            ),
        ),
        (
            sparse.with("layout", "ASTA").least("speedup") > 1.0,
            format!(
                "SpMV-ELL is {} times as fast on ASTA",
                sparse.with("layout", "ASTA").range("speedup")
            ),
        ),
    ])
}

pub fn chapter_6(table: &Table) -> String {
    let rows = Rows::of(table);
    let of = |application: &str, layout: &str| {
        rows.with("application", application).those("layout", |name| name.ends_with(layout))
    };
    const SELECTED: [&str; 2] = ["selected for a T10", "selected for an H200"];
    let mut claims = Vec::new();
    let mut gain = |what: &str, application: &str, over: &str, there: f64, all: &[&str]| {
        let first = of(application, over).mean("speedup");
        let mut best = f64::NEG_INFINITY;
        let mut texts = Vec::new();
        for layout in all {
            let those = of(application, layout);
            if !those.is_empty() {
                let times = those.mean("speedup") / first;
                let more = layout.ends_with("more");
                let as_good = if more && times >= 0.95 * best { ", as good" } else { "" };
                if !more {
                    best = best.max(times);
                }
                let net = few(those.mean("net_speedup") / first);
                texts.push(format!("{} {layout}{as_good} (net {net})", few(times)));
            }
        }
        let held = best - 1.0 >= (there - 1.0) / 2.0;
        claims.push((held, format!("{what}: {} times, {there} there", texts.join(", "))));
    };
    gain("LBM over row-major", "LBM", "row-major", 7.2, &["SoA"]);
    let [t10, h200] = SELECTED;
    gain("LBM over SoA", "LBM", "SoA", 1.52, &[t10, h200, "SoA, a line more"]);
    let more = "row-major, a line more";
    gain("heat over row-major", "heat", "row-major", 2.74, &[t10, more]);
    gain("red-black over row-major", "red-black", "row-major", 1.16, &[t10, h200, more]);
    // The longest time of a cell over the shortest.
    let varies = |layout: &str| {
        let cells = of("LBM", layout).pairs("step_us", "side");
        let times = cells.into_iter().map(|(step, side)| step / side.powi(3));
        let [least, most] = times.fold([f64::INFINITY, 0.0], |[a, b], t| [a.min(t), b.max(t)]);
        most / least
    };
    let [soa, strips] = ["SoA", t10].map(varies);
    claims.push((
        strips <= soa,
        format!(
            "over sizes LBM's time a cell varies by {} {t10}, by {} on SoA",
            few(strips),
            few(soa)
        ),
    ));
    verdict(&claims)
}
