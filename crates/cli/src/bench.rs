//! `turntile bench`: each shape verified, then timed next to a copy of the same bytes in the same run.

use std::num::NonZeroUsize;
use std::time::Duration;

use anyhow::{Result, anyhow};
use clap::Args;
use serde::Serialize;
use serde_json::json;
use turntile::Transpose;
use turntile::plan::Plan;
use turntile_plan::units::bytes;

use crate::args::Settings;
use crate::device::BenchDevice;
use crate::measure::{Figures, How, gb_per_s, measure};
use crate::memory::Pages;
use crate::progress::Progress;
use crate::say;
use crate::values::{Axes, Dtype, Extents, axes, dtype, extents, joined, permutation, positive};

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Shapes, for example 7200x1800 4000x3200 [default: some of each kind]
    #[arg(value_name = "SHAPE", value_parser = extents)]
    shapes: Vec<Extents>,
    /// Permutation of the axes of each shape, for example 0,2,3,1 [default: reversed]
    #[arg(long, value_name = "I,J,...", value_parser = axes, allow_hyphen_values = true)]
    axes: Option<Axes>,
    /// Device: cpu, cuda (the first GPU) or cuda:N
    #[arg(long, value_name = "NAME", default_value = "cpu")]
    device: String,
    /// Element types
    #[arg(long, value_name = "TYPE,...", value_parser = dtype, value_delimiter = ',', default_value = "f4")]
    dtype: Vec<Dtype>,
    /// Number of contiguous arrays
    #[arg(long, value_name = "K", value_parser = positive, allow_negative_numbers = true, default_value = "1")]
    batch: NonZeroUsize,
    /// Write the result to another buffer
    #[arg(long)]
    out_of_place: bool,
    /// Runs per shape; the median counts [default: 7, on a GPU 21]
    #[arg(long, value_name = "N", value_parser = positive, allow_negative_numbers = true)]
    runs: Option<NonZeroUsize>,
    /// Print as CSV
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub settings: Settings,
}

/// Shapes measured by default: sides that tiles divide and that none divides, tall and wide, square, long and thin.
const SHAPES: [&str; 11] = [
    "7200x1800",
    "5100x2500",
    "1800x7200",
    "20000x12000",
    "4096x8192",
    "7919x3001",
    "8192x8192",
    "10000x10000",
    "1000000x8",
    "8x1000000",
    "500000x19",
];

/// Runs the command and prints each row when it is measured.
pub(crate) fn run(args: &mut BenchArgs) -> Result<()> {
    args.settings.find_wisdom(false, false)?;
    let settings = &args.settings;
    let device = BenchDevice::find(&args.device, settings.threads)?;
    let how = How { threads: settings.threads, pages: Pages::Huge, runs: args.runs };
    let some: Vec<Extents> = SHAPES.iter().filter_map(|text| extents(text).ok()).collect();
    let shapes = if args.shapes.is_empty() { &some } else { &args.shapes };
    let mut all = Vec::new();
    for shape in shapes {
        let order = match &args.axes {
            Some(axes) => permutation(axes, shape.len()).map_err(|what| anyhow!(what))?,
            None => (0..shape.len()).rev().collect(),
        };
        for dtype in &args.dtype {
            let transpose = Transpose::permute::<u8>(shape, &order).itemsize(dtype.itemsize);
            let transpose = transpose.batch(args.batch.get()).dynamic();
            let transpose = if args.out_of_place { transpose.out_of_place() } else { transpose };
            let transpose = settings.apply(transpose);
            anyhow::ensure!(
                transpose.problem()?.bytes() > 0,
                "{} has no elements to measure",
                joined(shape, "x")
            );
            if let BenchDevice::Cpu = device {
                // Errors of planning are reported before any row.
                transpose.plan()?;
            }
            all.push(transpose);
        }
    }
    let progress = Progress::new(true, "");
    progress.items("measuring", all.len());
    for (number, transpose) in all.iter().enumerate() {
        progress.set(number);
        progress.say(transpose.problem()?.to_string());
        let row = Row::new(&device, how, measure(&device, transpose, how)?);
        let text = match (args.csv, args.json, number) {
            (true, ..) => csv_of(&[row], number == 0),
            // One array, an element per line.
            (_, true, _) => format!("{}{}", if number == 0 { "[" } else { "," }, json!(row)),
            (.., 0) => format!("{}\n{}", heading(), row.text()),
            _ => row.text(),
        };
        progress.aside(|| say::print(&text, false))?;
    }
    if args.json { say::print("]", false) } else { Ok(()) }
}

/// A shape's figures; times are medians.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    batch: usize,
    rows: usize,
    cols: usize,
    /// Extents of an array, and the order of its axes.
    shape: String,
    axes: String,
    elem_bytes: usize,
    device: String,
    threads: Option<usize>,
    pages: Option<Pages>,
    out_of_place: bool,
    route: String,
    mirrored: bool,
    tile_m: usize,
    tile_n: usize,
    passes: usize,
    workspace_bytes: usize,
    seconds: f64,
    /// 2 x bytes / seconds / 1e9.
    gb_per_s: f64,
    copy_gb_per_s: f64,
    percent_of_copy: f64,
    /// `None` if nothing moves.
    estimated_gb_per_s: Option<f64>,
    planning_us: f64,
    queueing_us: Option<f64>,
    plan: String,
}

impl Row {
    /// Creates the row of a measurement.
    pub fn new(device: &BenchDevice, how: How, figures: Figures) -> Self {
        let Figures { workspace_bytes, seconds, copy_seconds_per_byte, plan, .. } = figures;
        let problem = &plan.problem;
        let on_host = matches!(device, BenchDevice::Cpu);
        let bytes = problem.bytes() as f64;
        let micros = |time: Duration| short(time.as_secs_f64() * 1e6);
        Row {
            batch: problem.batch(),
            rows: problem.rows(),
            cols: problem.cols(),
            shape: joined(problem.extents(), "x"),
            axes: joined(problem.order(), "-"),
            elem_bytes: problem.itemsize(),
            device: plan.device.to_string(),
            threads: on_host.then(|| how.threads()),
            pages: on_host.then_some(how.pages),
            out_of_place: problem.is_out_of_place(),
            route: routes(&plan),
            mirrored: plan.mirrored(),
            tile_m: plan.tile().m,
            tile_n: plan.tile().n,
            passes: plan.passes(),
            workspace_bytes,
            seconds: short(seconds),
            gb_per_s: short(gb_per_s(bytes, seconds)),
            copy_gb_per_s: short(gb_per_s(1.0, copy_seconds_per_byte)),
            percent_of_copy: short(100.0 * copy_seconds_per_byte * bytes / seconds),
            estimated_gb_per_s: (plan.seconds > 0.0).then(|| short(gb_per_s(bytes, plan.seconds))),
            planning_us: micros(figures.planning),
            queueing_us: figures.queueing.map(micros),
            plan: plan.to_string(),
        }
    }

    /// Formats the row for people.
    fn text(&self) -> String {
        let batch = if self.batch == 1 { String::new() } else { format!("{} x ", self.batch) };
        let shape = match self.axes.as_str() {
            "1-0" | "0-2-1" => format!("{batch}{}x{}", self.rows, self.cols),
            axes => format!("{} ({axes})", self.shape),
        };
        format!(
            "{shape:<20} {:>5} {:>8.2} {:>7.2} {:>7.1}%  {:<20} {:>11} {:>9}",
            self.elem_bytes,
            self.gb_per_s,
            self.copy_gb_per_s,
            self.percent_of_copy,
            format!("{}{}", self.route, if self.mirrored { " mirrored" } else { "" }),
            format!("{}x{}", self.tile_m, self.tile_n),
            bytes(self.workspace_bytes),
        )
    }
}

/// Returns the route, or the routes of several legs.
pub fn routes(plan: &Plan) -> String {
    if plan.phases.len() > 1 { plan.route_name() } else { plan.route().to_string() }
}

/// Rounds to four digits, more than times are good for.
pub fn short(figure: f64) -> f64 {
    format!("{figure:.3e}").parse().unwrap_or(figure)
}

/// Formats rows as CSV with a header.
///
/// # Panics
/// If a row has lists or maps.
pub fn csv(rows: &[impl Serialize]) -> String {
    csv_of(rows, true)
}

fn csv_of(rows: &[impl Serialize], named: bool) -> String {
    let mut writer = csv::WriterBuilder::new().has_headers(named).from_writer(Vec::new());
    for row in rows {
        writer.serialize(row).expect("a row is flat, and memory takes all of it");
    }
    let bytes = writer.into_inner().expect("as above");
    let text = String::from_utf8(bytes).expect("the fields are strings and numbers");
    text.trim_end().to_string()
}

/// Returns the heading of the table.
fn heading() -> String {
    format!(
        "{:<20} {:>5} {:>8} {:>7} {:>8}  {:<20} {:>11} {:>9}",
        "shape", "bytes", "GB/s", "copy", "of copy", "route", "tile", "workspace"
    )
}
