//! `turntile-lab report`: the sources' figures and tables, measured on this machine beside what they
//! report, on one page with tables, CSV files and pictures.
//!
//! | module | holds |
//! |---|---|
//! | `item`, `items` | what an item is; the table of them: what each shows, and from where (`chapter4`, `chapter5`, `literature`) |
//! | `claims`, `verdicts`, `verdicts_more`, `verdicts_layouts` | what each item says of its source, from its numbers |
//! | `bench`, `host`, `timing` | a device to verify and to time on: the host or a GPU |
//! | `squares`, `padding`, `cycles`, `conflicts`, `tiles`, `moves`, `plans`, `stages`, `asta`, `applications`, `grids`, `names`, `ladder`, `strides`, `naive`, `passes` | what the items measure |
//! | `table` | a CSV file, which is also the record that an item is done |
//! | `views` | tables of it, and which pictures |
//! | `plot`, `dots`, `map`, `strips` | pictures of it: marks over an axis, tables, numbers of pairs, passes |
//! | `charts` | what each picture shows, in words |
//! | `scale`, `svg`, `style.css` | axes; shapes; their look |
//! | `page` | the page |

mod applications;
mod asta;
mod bench;
mod chapter4;
mod chapter5;
mod charts;
mod claims;
mod conflicts;
mod cycles;
mod dots;
mod grids;
mod host;
mod item;
mod items;
mod ladder;
mod literature;
mod map;
mod moves;
mod naive;
mod names;
mod padding;
mod page;
mod passes;
mod plans;
mod plot;
mod scale;
mod squares;
mod stages;
mod strides;
mod strips;
mod svg;
mod table;
mod tiles;
mod timing;
#[cfg(test)]
mod verdict_cases;
#[cfg(test)]
mod verdict_tests;
mod verdicts;
mod verdicts_layouts;
mod verdicts_more;
mod views;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Result, bail};
use turntile_cli::device::BenchDevice;
use turntile_cli::error::On as _;
use turntile_cli::progress::Progress;

use crate::command::ReportArgs;
use bench::Bench;
use item::{Item, On};
use page::Entry;
use table::Table;

/// In place of a device, of items that need none.
const COMPUTED: &str = "computed";

/// Runs the command and returns what to print.
///
/// # Errors
/// An item that is not known or cannot be measured, files that cannot be written, somebody else's page.
pub fn run(args: &ReportArgs) -> Result<String> {
    for id in &args.items {
        if !items::all().any(|item| item.id == id) {
            bail!("no item is named {id:?}; there are {}", items::ids());
        }
    }
    let path = args.out.join("README.md");
    // Found out before hours of measuring, not after.
    if fs::read(&path).is_ok_and(|bytes| !page::is_page(&bytes)) {
        bail!(
            "{} was not made by `turntile-lab report` and would be lost; name another folder with --out",
            path.display()
        );
    }
    let (entries, about) = if args.draw { drawn(args) } else { measured(args)? };
    fs::write(&path, page::page(&entries, &about)).on("write", &path)?;
    let summary = summary(&entries, &path);
    if entries.iter().any(|entry| entry.result.is_err()) {
        bail!(summary);
    }
    Ok(summary)
}

/// Every item that is wanted, measured or kept, and of the others what is there; and the device's name.
fn measured(args: &ReportArgs) -> Result<(Vec<Entry>, String)> {
    let device = BenchDevice::find(&args.device, args.threads)?;
    let on_gpu = matches!(device, BenchDevice::Gpu(_));
    let asked = |item: &&Item| args.items.iter().any(|id| id == item.id);
    if let Some(item) = items::all().filter(asked).find(|item| !item.runs_on(on_gpu)) {
        bail!("{} is measured on a GPU alone (--device cuda)", item.id);
    }
    fs::create_dir_all(&args.out).on("make the folder", &args.out)?;
    let mut bench = Bench::new(device, args.threads, args.quick);
    let items: Vec<&Item> = items::all().filter(|item| item.runs_on(on_gpu)).collect();
    let progress = Progress::new(!args.quiet, "");
    progress.items("measuring", items.len());
    let mut entries = Vec::new();
    for (number, item) in items.into_iter().enumerate() {
        progress.set(number);
        progress.say(item.id);
        if args.items.is_empty() || args.items.iter().any(|id| id == item.id) {
            entries.push(entry(item, args, |table| measure(item, &mut bench, args, table)));
        } else {
            entries.extend(kept(item, args));
        }
    }
    Ok((entries, bench.about()))
}

/// Every item that is there, whatever device measured it, and that device's name.
fn drawn(args: &ReportArgs) -> (Vec<Entry>, String) {
    let entries: Vec<Entry> = items::all().filter_map(|item| kept(item, args)).collect();
    let tables = entries.iter().filter_map(|entry| entry.result.as_ref().ok());
    let about = tables.map(|(table, _)| table.device()).find(|device| device != COMPUTED);
    let about = about.unwrap_or_else(|| "no device: nothing has been measured".to_owned());
    (entries, about)
}

/// What is there of an item, measured now unless an earlier run has.
fn entry(
    item: &'static Item,
    args: &ReportArgs,
    measure: impl FnOnce(&mut Table) -> Result<()>,
) -> Entry {
    let start = Instant::now();
    let path = args.out.join(format!("{}.csv", item.id));
    let table = || -> Result<(Table, bool)> {
        if !args.again
            && let Some(table) = Table::load(&path, item.columns)?
            // What was measured to try the command out is no result.
            && (args.quick || !table.is_quick())
        {
            return Ok((table, false));
        }
        let mut table = Table::new(item.columns);
        measure(&mut table)?;
        table.save(&path)?;
        Ok((table, true))
    };
    let result = table().and_then(|(table, new)| {
        draw(item, &table, &args.out)?;
        Ok((table, new))
    });
    Entry { item, result, took: start.elapsed() }
}

/// An item that is there; none if it is not.
fn kept(item: &'static Item, args: &ReportArgs) -> Option<Entry> {
    let path = args.out.join(format!("{}.csv", item.id));
    let table = Table::load(&path, item.columns).transpose()?;
    let result = table.and_then(|table| {
        draw(item, &table, &args.out)?;
        Ok((table, false))
    });
    Some(Entry { item, result, took: Duration::ZERO })
}

fn measure(item: &Item, bench: &mut Bench, args: &ReportArgs, table: &mut Table) -> Result<()> {
    (item.measure)(bench, table)?;
    let date = humantime::format_rfc3339_seconds(SystemTime::now());
    let quick = if args.quick { " --quick" } else { "" };
    let command =
        format!("turntile-lab report --device {}{quick} --items {}", args.device, item.id);
    let device = if item.on == On::Nowhere { COMPUTED.to_owned() } else { bench.about() };
    table.origin = format!("{device}; {date}; {command}");
    Ok(())
}

fn draw(item: &Item, table: &Table, out: &Path) -> Result<()> {
    for view in item.views {
        if let (Some(name), Some(svg)) = (view.picture(), view.svg(table)?) {
            #[cfg(feature = "png")]
            fs::write(out.join(format!("{}{name}.png", item.id)), svg::png(&svg)?)?;
            fs::write(out.join(format!("{}{name}.svg", item.id)), svg)?;
        }
    }
    Ok(())
}

fn summary(entries: &[Entry], path: &Path) -> String {
    let count = |of: fn(&Entry) -> bool| entries.iter().filter(|entry| of(entry)).count();
    let mut text = format!(
        "{}: {} items measured, {} there already, {} failed",
        path.display(),
        count(|entry| matches!(entry.result, Ok((_, true)))),
        count(|entry| matches!(entry.result, Ok((_, false)))),
        count(|entry| entry.result.is_err())
    );
    for entry in entries {
        if let Err(why) = &entry.result {
            text += &format!("\n  {} failed: {why}", entry.item.id);
        }
    }
    text
}
