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
