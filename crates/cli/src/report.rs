//! Reports of completed commands, for people or as JSON.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use turntile::Transposer;
use turntile::plan::Plan;
use turntile::stored::OutOfCore;
use turntile_plan::units::{bytes, duration};

use crate::array::Array;
use crate::bench::routes;
use crate::measure::gb_per_s;
use crate::say::{note, shown};
use crate::source::is_dash;
use crate::work::Done;

/// Bytes from which on a speed is printed: below, a call's own time counts.
const TIMED: usize = 1 << 20;

/// Outcome of a command.
#[derive(Debug)]
pub struct Report {
    /// The subcommand.
    pub operation: &'static str,
    /// The input.
    pub file: PathBuf,
    /// Array of an archive.
    pub member: Option<String>,
    /// The output.
    pub output: PathBuf,
    /// Whether the file already had the result, and nothing was written.
    pub unchanged: bool,
    /// The array before.
    pub before: Array,
    /// The array after.
    pub after: Array,
    /// Bytes of the data.
    pub bytes: usize,
    /// Plan and times.
    pub done: Done,
}

impl Report {
    fn plan(&self) -> Option<&Plan> {
        self.done.plan.as_ref().map(Transposer::plan)
    }

    /// 2 x bytes / seconds of the transposition / 1e9; `None` if no element moved.
    fn gb_per_s(&self) -> Option<f64> {
        let moved = self.plan().is_some_and(|plan| plan.passes() > 0)
            || self.done.moves && self.done.blocks.is_some();
        let seconds = self.done.transpose.as_secs_f64();
        (moved && seconds > 0.0).then(|| gb_per_s(self.bytes as f64, seconds))
    }

    fn workspace_bytes(&self) -> usize {
        self.done.plan.as_ref().map_or(0, Transposer::workspace_bytes)
    }

    /// Returns why the plan of the wisdom file was not used.
    fn rejected_wisdom(&self) -> Option<String> {
        let planned = self.done.plan.as_ref()?;
        Some(format!("{}: {}", planned.plan().problem, planned.rejected_wisdom()?))
    }

    /// Prints notes on standard error, unless `quiet`.
    pub fn print_notes(&self, quiet: bool) {
        for rejected in self.rejected_wisdom().iter().filter(|_| !quiet) {
            note(&format_args!("wisdom is not used for {rejected}"));
        }
    }

    /// Returns the name of the file without its directory, and that of the member.
    fn name(&self) -> String {
        let name = match self.file.file_name() {
            Some(name) if !is_dash(&self.file) => shown(Path::new(name)),
            _ => place(&self.file, "standard input"),
        };
        self.member
            .iter()
            .fold(name, |name, member| format!("{name}[{}]", shown(Path::new(member))))
    }

    /// Formats one line for people; `verbose` adds the route, sizes and times.
    pub fn text(&self, verbose: bool) -> String {
        let Report { before, after, done, .. } = self;
        let mut text = format!("{}: {before}", self.name());
        if before.order != after.order {
            text += &format!(" in {:?} order -> {after} in {:?} order", before.order, after.order);
        } else if self.operation == "split" {
            text += &format!(" -> {} files", done.files);
        } else if !self.unchanged {
            text += &format!(" -> {after}");
        }
        if self.unchanged {
            text += ", unchanged";
        } else if done.dry {
            text += ", not written";
        } else if let Some(rate) = self.gb_per_s().filter(|_| self.bytes >= TIMED) {
            text += &format!(", {} ({rate:.2} GB/s)", duration(done.transpose.as_secs_f64()));
        }
        if self.output != self.file {
            text += &format!(" -> {}", place(&self.output, "standard output"));
        }
        if !verbose {
            return text;
        }
        if let Some(blocks) = &done.blocks {
            text += &format!("\n{}", in_blocks(blocks));
        }
        if let Some(plan) = self.plan() {
            text += &format!("\n{plan}");
        }
        let [read, write] = [done.read, done.write].map(|time| duration(time.as_secs_f64()));
        let [data, workspace, limit] = [self.bytes, self.workspace_bytes(), done.memory].map(bytes);
        text += &format!("\n{data} of data, {workspace} of workspace, memory limit {limit}");
        // `split` reads and writes while it moves.
        if done.write.is_zero() {
            text
        } else {
            text + &format!("\nread in {read}, written and synced in {write}")
        }
    }

    /// Formats one line of JSON. `blocks` describes a move in blocks, for which `seconds.transpose` includes reading and writing,
    /// as it does for `split`. Names that are not UTF-8 are replaced in part.
    pub fn json(&self) -> String {
        let blocks = |blocks: &OutOfCore| {
            let mut blocks = of_blocks(blocks);
            blocks["memory"] = json!(self.done.memory);
            blocks
        };
        let mut all = json!({
            "operation": self.operation,
            "file": self.file.to_string_lossy(),
            "output": self.output.to_string_lossy(),
            "written": !self.done.dry && !self.unchanged,
            "dry_run": self.done.dry,
            "before": &self.before,
            "after": &self.after,
            "bytes": self.bytes,
            "seconds": {
                "read": self.done.read.as_secs_f64(),
                "transpose": self.done.transpose.as_secs_f64(),
                "write": self.done.write.as_secs_f64(),
            },
            "gb_per_s": self.gb_per_s(),
            "route": self.plan().map(routes),
            "plan": self.plan().map(Plan::to_string),
            "blocks": self.done.blocks.as_ref().map(blocks),
            "workspace_bytes": self.workspace_bytes(),
            "wisdom_rejected": self.rejected_wisdom(),
        });
        if let Some(member) = &self.member {
            all["member"] = json!(member);
        }
        all.to_string()
    }
}

/// Formats a move in blocks for people.
pub fn in_blocks(blocks: &OutOfCore) -> String {
    let passes = if blocks.passes() == 1 { "1 pass" } else { "2 passes" };
    let [block, run] = [blocks.buffer_bytes(), blocks.shortest_run() as usize].map(bytes);
    format!("{passes} in blocks of {block}, runs of at least {run}")
}

/// Formats a move in blocks as JSON.
pub fn of_blocks(blocks: &OutOfCore) -> Value {
    json!({
        "block_bytes": blocks.buffer_bytes(),
        "passes": blocks.passes(),
        "shortest_run": blocks.shortest_run(),
    })
}

/// Formats a path, or the stream that `-` stands for.
fn place(path: &Path, stream: &str) -> String {
    if is_dash(path) { stream.to_string() } else { shown(path) }
}

/// Formats a speed in GB/s, `-` if nothing moved.
pub fn rate(gb_per_s: Option<f64>) -> String {
    gb_per_s.map_or_else(|| "-".to_string(), |rate| format!("{rate:.2}"))
}
