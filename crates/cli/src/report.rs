//! What a command did, in words or in JSON.

use std::path::{Path, PathBuf};

use anyhow::Error;
use serde::{Serialize, Serializer};

use turntile::Planned;
use turntile::plan::Problem;

use crate::blocks;
use crate::common::DASH;
use crate::error;
use crate::npy::{Header, Order};
use crate::say::{shown, tell};
use crate::work::Done;

/// An array as a file holds it.
#[derive(Clone, Debug, Serialize)]
pub struct Array {
    /// Extents of its axes.
    pub shape: Vec<usize>,
    /// Its type as a header describes it, in short; none for a headerless file.
    #[serde(rename = "type")]
    pub type_name: Option<String>,
    /// Bytes of an element.
    pub elem_bytes: usize,
    /// Its memory order; none for a headerless file.
    #[serde(serialize_with = "order_name")]
    pub order: Option<Order>,
}

impl Array {
    /// The array that a header describes.
    pub fn of(header: &Header) -> Self {
        Array {
            shape: header.shape.clone(),
            type_name: Some(header.type_name()),
            elem_bytes: header.item_bytes,
            order: Some(header.order),
        }
    }

    /// The array of a headerless file, before and after; a single matrix without the batch.
    pub fn of_raw(problem: &Problem) -> [Self; 2] {
        let after: Vec<usize> = problem.order().map(|axis| problem.extents()[axis]).collect();
        let single = usize::from(problem.order().eq([0, 2, 1]) && problem.batch() == 1);
        [problem.extents(), &after].map(|shape| Array {
            shape: shape[single..].to_vec(),
            type_name: None,
            elem_bytes: problem.elem_bytes(),
            order: None,
        })
    }

    fn extents(&self) -> String {
        match &self.shape[..] {
            [] => "scalar".to_string(),
            [one] => format!("{one} items"),
            all => all.iter().map(usize::to_string).collect::<Vec<_>>().join("x"),
        }
    }

    fn element(&self) -> String {
        match &self.type_name {
            Some(name) => name.clone(),
            None => format!("elements of {} bytes", self.elem_bytes),
        }
    }
}

fn order_name<S: Serializer>(order: &Option<Order>, to: S) -> Result<S::Ok, S::Error> {
    order.map(Order::name).serialize(to)
}

/// Names that are not UTF-8 are shown as far as they can be.
fn shown_path<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    path.to_string_lossy().serialize(to)
}

/// Seconds of each part of the work.
#[derive(Debug, Serialize)]
struct Seconds {
    read: f64,
    transpose: f64,
    write: f64,
}

/// What a command did.
#[derive(Debug, Serialize)]
pub struct Report {
    operation: &'static str,
    #[serde(serialize_with = "shown_path")]
    file: PathBuf,
    /// The array of an archive.
    #[serde(skip_serializing_if = "Option::is_none")]
    member: Option<String>,
    #[serde(serialize_with = "shown_path")]
    output: PathBuf,
    /// Whether a file was written.
    written: bool,
    /// Whether nothing was to be done yet.
    dry_run: bool,
    before: Array,
    after: Array,
    /// Bytes of the data.
    bytes: usize,
    seconds: Seconds,
    /// 2 x bytes / seconds of the transposition / 1e9; null when nothing had to move.
    gb_per_s: Option<f64>,
    /// One for each transposition, none when nothing had to move.
    routes: Vec<String>,
    /// The plans, one line each.
    plans: Vec<String>,
    /// How it was moved where it did not fit in memory: `seconds.transpose` is then of reading and writing too.
    blocks: Option<blocks::Facts>,
    /// Most bytes that a transposition needed beside the data.
    workspace_bytes: usize,
    /// What the wisdom file has for the transpositions, and why it was not used.
    wisdom_refused: Vec<String>,
    /// Why the new file, though in place, may not outlast a power cut.
    #[serde(skip)]
    unsynced: Option<Error>,
}

impl Report {
    /// The report of work that was done on a file, or a member of it, with its output if that is another; the array is given
    /// as it was and as it is.
    pub fn new(
        operation: &'static str,
        (file, member, output): (&Path, Option<String>, Option<&Path>),
        (before, after): (Array, Array),
        bytes: usize,
        done: Done,
    ) -> Self {
        let seconds = done.transpose.as_secs_f64();
        let plans = || done.plan.iter().map(Planned::plan);
        let moved = plans().any(|plan| plan.passes() > 0) || done.blocks.is_some();
        let moved = moved && seconds > 0.0;
        let refused = done.plan.iter().filter_map(|planned| {
            let why = planned.refused_wisdom()?;
            Some(format!("{}: {why}", planned.plan().problem))
        });
        Report {
            operation,
            file: file.to_path_buf(),
            member,
            output: output.unwrap_or(file).to_path_buf(),
            written: !done.dry,
            dry_run: done.dry,
            before,
            after,
            bytes,
            seconds: Seconds {
                read: done.read.as_secs_f64(),
                transpose: seconds,
                write: done.write.as_secs_f64(),
            },
            gb_per_s: moved.then(|| 2.0 * bytes as f64 / seconds / 1e9),
            routes: plans().map(|plan| plan.route_name()).collect(),
            plans: plans().map(ToString::to_string).collect(),
            blocks: done.blocks,
            workspace_bytes: done.plan.as_ref().map_or(0, Planned::workspace_bytes),
            wisdom_refused: refused.collect(),
            unsynced: done.unsynced,
        }
    }

    /// The same, of a file that already was as it should be.
    pub fn unchanged(self) -> Self {
        Report { written: false, ..self }
    }

    /// Tells standard error what the user should know beside the result; to be quiet, only what went
    /// wrong.
    pub fn tell_notes(&self, quiet: bool) {
        if let Some(error) = &self.unsynced {
            let error = error::line(error);
            tell(&format_args!("warning: the new file is in place, but {error}"));
        }
        for refused in self.wisdom_refused.iter().filter(|_| !quiet) {
            tell(&format_args!("note: wisdom not used for {refused}"));
        }
    }

    /// The file's name without its directories, and the member's.
    fn named(&self) -> String {
        let name = match self.file.file_name() {
            _ if self.file == Path::new(DASH) => "standard input".to_string(),
            Some(name) => shown(Path::new(name)).to_string(),
            None => shown(&self.file).to_string(),
        };
        match &self.member {
            Some(member) => format!("{name}, {}", shown(Path::new(member))),
            None => name,
        }
    }

    /// What was done, in a line or two.
    pub fn text(&self) -> String {
        let Report { before, after, .. } = self;
        let order = |array: &Array| array.order.map_or("", Order::name);
        let mut text = format!("{}: {} {}", self.named(), before.extents(), before.element());
        if self.dry_run {
            let how = match &self.blocks {
                Some(blocks) => {
                    format!("in {}, by blocks of {}", passes(blocks), bytes(blocks.block_bytes))
                }
                None if self.plans.is_empty() => "as they lie".to_string(),
                None => format!("in memory, {}", self.plans.join(", then ")),
            };
            let to = self.to();
            return format!(
                "{text} would become {} in {to}: {} moved {how}",
                after.extents(),
                bytes(self.bytes)
            );
        }
        if !self.written {
            return format!("{text} is in {} order already; nothing to do", order(after));
        }
        text += &match self.operation {
            "reorder" if order(before) == order(after) => {
                format!(" is in {} order already; copied", order(after))
            }
            "reorder" => format!(", {} order -> {} order", order(before), order(after)),
            _ => format!(" -> {}", after.extents()),
        };
        match self.gb_per_s {
            Some(rate) => {
                let by = match &self.blocks {
                    Some(blocks) => format!("blocks of {}", bytes(blocks.block_bytes)),
                    None => self.routes.join(", then "),
                };
                let time = duration(self.seconds.transpose);
                text += &format!(" in {time} ({rate:.2} GB/s) by {by}");
            }
            None if before.order == after.order && self.operation == "reorder" => {}
            None => text += "; no element had to move",
        }
        if self.output != self.file {
            text += &format!(", written to {}", self.to());
        }
        if let Some(blocks) = &self.blocks {
            let passes = passes(blocks);
            text += &format!(
                "\n{} data in {} of memory, {passes}, runs of {} and more; synced in {}",
                bytes(self.bytes),
                bytes(blocks.memory),
                bytes(blocks.shortest_run as usize),
                duration(self.seconds.write)
            );
        } else if self.bytes >= 16 << 20 {
            // Small files need no bookkeeping.
            text += &format!(
                "\n{} data, {} workspace; read in {}, written and synced in {}",
                bytes(self.bytes),
                bytes(self.workspace_bytes),
                duration(self.seconds.read),
                duration(self.seconds.write)
            );
        }
        text
    }

    fn to(&self) -> String {
        match &*self.output {
            output if output == Path::new(DASH) => "standard output".to_string(),
            output => shown(output).to_string(),
        }
    }

    /// The same for machines, on one line.
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("strings and numbers always serialise")
    }
}

fn passes(blocks: &blocks::Facts) -> &'static str {
    if blocks.passes == 1 { "1 pass" } else { "2 passes" }
}

/// Seconds in the unit that suits them.
pub fn duration(seconds: f64) -> String {
    if seconds >= 1.0 {
        format!("{seconds:.1} s")
    } else if seconds >= 1e-3 {
        format!("{:.1} ms", seconds * 1e3)
    } else {
        format!("{:.0} us", seconds * 1e6)
    }
}

/// GB/s; where nothing moved there is no number.
pub fn rate(gb_per_s: Option<f64>) -> String {
    gb_per_s.map_or_else(|| "-".to_string(), |rate| format!("{rate:.2}"))
}

/// A number of bytes in the unit that suits it.
pub fn bytes(count: usize) -> String {
    match count {
        0..1_000 => format!("{count} B"),
        1_000..1_000_000 => format!("{:.1} KB", count as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", count as f64 / 1e6),
        _ => format!("{:.2} GB", count as f64 / 1e9),
    }
}
