//! `turntile-lab records`: records between AoS, ASTA and SoA where they lie, every word compared and timed beside a copy.

use anyhow::Result;
use serde::Serialize;
use turntile::layout::{RecordConversion, RecordOrder};
use turntile_cli::bench::{csv, short};
use turntile_cli::device::BenchDevice;
use turntile_cli::measure::{Figures, How, gb_per_s, measure};
use turntile_cli::values::joined;

use crate::command::RecordsArgs;

/// Records, and bytes of their fields: equal words and others, with a tail and without, packed and with their gap.
const SHAPES: [(usize, &[usize]); 12] = [
    (9_999_991, &[4; 3]),
    (5_999_993, &[4; 8]),
    (6_000_000, &[4; 8]),
    (2_499_997, &[4; 19]),
    (2_499_999, &[8; 6]),
    (749_977, &[4; 64]),
    (4_999_999, &[12, 4, 8]),
    (2_499_997, &[16, 8, 24]),
    (4_999_999, &[4, 12, 1, 8]),
    (4_999_999, &[4, 12, 1, 7, 8]),
    (7_499_981, &[8, 2, 2, 4]),
    (29_999_989, &[1; 4]),
];

/// Records of a tile: a line of floats.
const TILE: usize = 32;

#[derive(Serialize)]
struct Row {
    fields: String,
    /// Bytes that fields are counted in.
    word_bytes: usize,
    records: usize,
    /// Records of a tile before and after: one in AoS, all in SoA.
    from: usize,
    to: usize,
    threads: usize,
    ways: String,
    workspace_bytes: usize,
    megabytes: f64,
    seconds: f64,
    gb_per_s: f64,
    copy_gb_per_s: f64,
    percent_of_copy: f64,
}

/// Runs the command and returns what to print: CSV.
///
/// # Errors
/// Words that are not where they should be; what planning and running may end with.
pub fn run(args: &RecordsArgs) -> Result<String> {
    let how = How { threads: args.threads, pages: args.pages, runs: args.runs };
    let (aos, asta, soa) = (RecordOrder::Aos, RecordOrder::Asta(TILE), RecordOrder::Soa);
    let ways = [(aos, asta), (asta, aos), (aos, soa), (soa, aos), (soa, asta), (asta, soa)];
    let own = args.records.map(|records| (records, &args.fields[..]));
    let shapes = if own.is_none() { &SHAPES[..] } else { &[] };
    let mut rows = Vec::new();
    for shape in own.into_iter().chain(shapes.iter().copied()) {
        for way in ways {
            rows.push(row(how, shape, way)?);
        }
    }
    Ok(csv(&rows))
}

fn row(
    how: How,
    (records, fields): (usize, &[usize]),
    (from, to): (RecordOrder, RecordOrder),
) -> Result<Row> {
    let transpose =
        RecordConversion::new(records, fields).from(from).to(to).threads(how.threads()).dynamic();
    let Figures { plan, workspace_bytes, seconds, copy_seconds_per_byte, .. } =
        measure(&BenchDevice::Cpu, &transpose, how)?;
    let bytes = plan.problem.bytes() as f64;
    let tile = |layout| match layout {
        RecordOrder::Aos => 1,
        RecordOrder::Asta(tile) => tile,
        RecordOrder::Soa => records,
    };
    Ok(Row {
        fields: joined(fields, "+"),
        word_bytes: 1,
        records,
        from: tile(from),
        to: tile(to),
        threads: how.threads(),
        ways: joined(plan.stages().map(|stage| stage.implementation.name()), " -> "),
        workspace_bytes,
        megabytes: short(bytes / 1e6),
        seconds: short(seconds),
        gb_per_s: short(gb_per_s(bytes, seconds)),
        copy_gb_per_s: short(gb_per_s(1.0, copy_seconds_per_byte)),
        percent_of_copy: short(100.0 * copy_seconds_per_byte * bytes / seconds),
    })
}
