//! What a command did, in words or in JSON.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::json;
use turntile::Transposer;
use turntile::plan::Plan;
use turntile::stored::OutOfCore;
use turntile_plan::units::{bytes, duration};

use crate::args::DASH;
use crate::error;
use crate::measure::gb_per_s;
use crate::npy::{AxisOrder, Header};
use crate::say::{notify, shown};
use crate::values::joined;
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
    pub order: Option<AxisOrder>,
    /// The layout of its records, where that changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
}

impl Array {
    /// The array that a header describes.
    pub fn of(header: &Header) -> Self {
        Array {
            shape: header.shape.clone(),
            type_name: Some(header.type_name()),
            elem_bytes: header.item_bytes,
            order: Some(header.order),
            layout: None,
        }
    }

    /// The array of a headerless file.
    pub fn of_raw(shape: Vec<usize>, elem_bytes: usize) -> Self {
        Array { shape, type_name: None, elem_bytes, order: None, layout: None }
    }

    fn extents(&self) -> String {
        match &self.shape[..] {
            [] => "scalar".to_string(),
            [one] => format!("{one} items"),
            all => joined(all, "x"),
        }
    }

    fn element(&self) -> String {
        match &self.type_name {
            Some(name) => name.clone(),
            None => format!("elements of {} bytes", self.elem_bytes),
        }
    }
}

/// What a command did.
#[derive(Debug)]
pub struct Report {
    /// The command.
    pub operation: &'static str,
    /// What was changed.
    pub file: PathBuf,
    /// The array of an archive.
    pub member: Option<String>,
    /// Where the result went.
    pub output: PathBuf,
    /// Whether the file already was as it should be, and nothing was done.
    pub unchanged: bool,
    /// The array as it was.
    pub before: Array,
    /// The array as it is.
    pub after: Array,
    /// Bytes of the data.
    pub bytes: usize,
    /// How, and how long it took.
    pub done: Done,
}

impl Report {
    fn plan(&self) -> Option<&Plan> {
        self.done.plan.as_ref().map(Transposer::plan)
    }

    /// 2 x bytes / seconds of the transposition / 1e9; none when nothing had to move.
    fn gb_per_s(&self) -> Option<f64> {
        let moved = self.plan().is_some_and(|plan| plan.passes() > 0) || self.done.blocks.is_some();
        let seconds = self.done.transpose.as_secs_f64();
        (moved && seconds > 0.0).then(|| gb_per_s(self.bytes as f64, seconds))
    }

    fn workspace_bytes(&self) -> usize {
        self.done.plan.as_ref().map_or(0, Transposer::workspace_bytes)
    }

    /// What the wisdom file has for the transposition, and why it was not used.
    fn rejected_wisdom(&self) -> Option<String> {
        let planned = self.done.plan.as_ref()?;
        Some(format!("{}: {}", planned.plan().problem, planned.rejected_wisdom()?))
    }

    /// Prints notes and warnings on standard error; if `quiet`, warnings alone.
    pub fn print_notes(&self, quiet: bool) {
        if let Some(error) = &self.done.unsynced {
            let error = error::line(error);
            notify(&format_args!("warning: the new file is in place, but {error}"));
        }
        for refused in self.rejected_wisdom().iter().filter(|_| !quiet) {
            notify(&format_args!("note: wisdom not used for {refused}"));
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
        let Report { before, after, done, .. } = self;
        let order = |array: &Array| array.order.map_or("", AxisOrder::name);
        let layout = |array: &Array| array.layout.clone().unwrap_or_default();
        let mut text = format!("{}: {} {}", self.named(), before.extents(), before.element());
        if done.dry {
            let how = match (&done.blocks, self.plan()) {
                (Some(blocks), _) => {
                    format!("in {}, by blocks of {}", passes(blocks), bytes(blocks.buffer_bytes()))
                }
                _ if done.split => "some records at a time".to_string(),
                (None, Some(plan)) => format!("in memory, {plan}"),
                (None, None) => "as they lie".to_string(),
            };
            let to = self.to();
            return format!(
                "{text} would become {} in {to}: {} moved {how}",
                after.extents(),
                bytes(self.bytes)
            );
        }
        if self.unchanged {
            return format!("{text} is in {} order already; nothing to do", order(after));
        }
        text += &match self.operation {
            "reorder" if order(before) == order(after) => {
                format!(" is in {} order already; copied", order(after))
            }
            "reorder" => format!(", {} order -> {} order", order(before), order(after)),
            "layout" => format!(", {} -> {}", layout(before), layout(after)),
            _ => format!(" -> {}", after.extents()),
        };
        match self.gb_per_s() {
            _ if done.split => {
                let time = duration(done.transpose.as_secs_f64());
                text += &format!(" in {time}, with reading and writing");
            }
            Some(rate) => {
                let by = match &done.blocks {
                    Some(blocks) => format!("blocks of {}", bytes(blocks.buffer_bytes())),
                    None => self.plan().map(Plan::route_name).unwrap_or_default(),
                };
                let time = duration(done.transpose.as_secs_f64());
                text += &format!(" in {time} ({rate:.2} GB/s) by {by}");
            }
            None if before.order == after.order && self.operation == "reorder" => {}
            None => text += "; no element had to move",
        }
        if self.output != self.file {
            text += &format!(", written to {}", self.to());
        }
        if done.split {
            return text + &format!(", {}", after.element());
        }
        if let Some(blocks) = &done.blocks {
            let passes = passes(blocks);
            text += &format!(
                "\n{} data in {} of memory, {passes}, runs of {} and more; synced in {}",
                bytes(self.bytes),
                bytes(done.memory),
                bytes(blocks.shortest_run() as usize),
                duration(done.write.as_secs_f64())
            );
        } else if self.bytes >= 16 << 20 {
            // Small files need no bookkeeping.
            text += &format!(
                "\n{} data, {} workspace; read in {}, written and synced in {}",
                bytes(self.bytes),
                bytes(self.workspace_bytes()),
                duration(done.read.as_secs_f64()),
                duration(done.write.as_secs_f64())
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

    /// The same for machines, on one line. `blocks` is how it was moved where it did not fit in memory; `seconds.transpose` is
    /// then of reading and writing too, as it is of `--split`. Names that are not UTF-8 are shown as far as they can be.
    pub fn json(&self) -> String {
        let blocks = |blocks: &OutOfCore| {
            json!({
                "memory": self.done.memory,
                "block_bytes": blocks.buffer_bytes(),
                "passes": blocks.passes(),
                "shortest_run": blocks.shortest_run(),
            })
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
            "routes": Vec::from_iter(self.plan().map(Plan::route_name)),
            "plans": Vec::from_iter(self.plan().map(Plan::to_string)),
            "blocks": self.done.blocks.as_ref().map(blocks),
            "workspace_bytes": self.workspace_bytes(),
            "wisdom_refused": Vec::from_iter(self.rejected_wisdom()),
        });
        if let Some(member) = &self.member {
            all["member"] = json!(member);
        }
        all.to_string()
    }
}

fn passes(blocks: &OutOfCore) -> &'static str {
    if blocks.passes() == 1 { "1 pass" } else { "2 passes" }
}

/// GB/s; where nothing moved there is no number.
pub fn rate(gb_per_s: Option<f64>) -> String {
    gb_per_s.map_or_else(|| "-".to_string(), |rate| format!("{rate:.2}"))
}
