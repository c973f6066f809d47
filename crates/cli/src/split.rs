//! `turntile layout --split`: a file for each field, some records at a time.

use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};
use turntile::layout::RecordOrder;
use turntile::{RawElements, Transposer};

use crate::args::{Common, DASH};
use crate::dtype::DtypeField;
use crate::error::On;
use crate::file::{self, Asking, Folder};
use crate::input::Input;
use crate::memory::{self, AnonymousMap, Pages};
use crate::npy::Header;
use crate::progress::Progress;
use crate::records::StructuredArray;
use crate::report::{Array, Report};
use crate::say::shown;
use crate::transfer::{CHUNK, copy, unwritten};
use crate::work::{self, COPIED, Done};

/// Makes the folder, with the fields of the file's records in it.
pub fn run(
    common: &Common,
    (path, folder): (&Path, &Path),
    from: RecordOrder,
    label: &str,
) -> Result<Report> {
    let asking = Asking::new(common.lock, common.quiet);
    let (source, _) =
        file::open(Some(path).filter(|path| *path != Path::new(DASH)), None, &asking)?;
    let member = common.member.as_deref();
    let mut input = match source {
        Some(source) => Input::of_file(source, member, false)?,
        None => Input::stdin(path, member)?,
    };
    let header = input.header()?;
    let in_file = || shown(path).to_string();
    let records = StructuredArray::of(&header, from, true).with_context(in_file)?;
    let names = records.fields.iter().map(|field| name_of(&header, field));
    let names = names.collect::<Result<Vec<_>>>().with_context(in_file)?;
    let mut columns = Vec::new();
    for (field, name) in records.fields.iter().zip(&names) {
        let shape = [&records.shape[..], &field.shape, &field.base.shape].concat();
        let kind = &header.descr()[field.base.span.clone()];
        columns.push((field.bytes(), name.as_deref(), header.of_type(kind, &shape)?));
    }
    let most = work::allowed(path, header.data_bytes, common.memory)?;
    let mut done = Done { dry: common.dry_run, split: true, memory: most, ..Done::default() };
    file::refuse_existing(folder, folder)?;
    let start = Instant::now();
    let record_bytes: usize = columns.iter().map(|column| column.0).sum();
    let room = memory::less_the_command(most);
    let chunk = chunk_of(&records, record_bytes, from, room);
    let plan = |count: usize| -> Result<Option<Transposer>> {
        let moves = count > 0 && header.data_bytes > 0 && from != RecordOrder::Soa;
        let step = || common.settings.apply(records.step(count, RecordOrder::Soa))?.plan();
        Ok(if moves { Some(step()?) } else { None })
    };
    done.plan = plan(chunk)?;
    if let Some(plan) = &done.plan {
        let (bytes, workspace) = (chunk * record_bytes, plan.workspace_bytes());
        if bytes + workspace > room {
            let what = ("some records are moved", "");
            return Err(work::too_large(path, what, (bytes, workspace), most));
        }
    }
    if !done.dry {
        let progress = Progress::new(!common.quiet, label);
        let mut made = Folder::begin(folder, common.quiet)?;
        let mut files = Vec::new();
        for (bytes, name, header) in &columns {
            let length = (header.len() + bytes * records.count) as u64;
            let mut make = |name: &str| -> Result<_> {
                let number = made.add(name, input.source(), length)?;
                made.file(number).write_all(header).on("write", &folder.join(name))?;
                Ok(number)
            };
            files.push(name.map(&mut make).transpose()?);
        }
        let (whole, rest) = (done.plan.as_ref(), plan(records.count % chunk.max(1))?);
        let mut memory = AnonymousMap::new(chunk * record_bytes, Pages::Huge)?;
        progress.bytes("writing", header.data_bytes);
        let mut failed = None;
        let taken = input.data(header.data_bytes, |data| {
            if from == RecordOrder::Soa {
                // Column after column, as they are to be.
                for ((bytes, ..), file) in columns.iter().zip(&files) {
                    let bytes = bytes * records.count;
                    progress.bytes("writing", bytes);
                    let mut own = BufReader::with_capacity(COPIED, data.take(bytes as u64));
                    match file {
                        Some(file) => copy(&mut own, &mut made.file(*file), bytes, &progress)?,
                        None => copy(&mut own, &mut io::sink(), bytes, &progress)?,
                    }
                }
                return Ok(());
            }
            for first in (0..records.count).step_by(chunk.max(1)) {
                let count = chunk.min(records.count - first);
                let part = &mut memory.bytes()[..count * record_bytes];
                data.read_exact(part)?;
                let plan = if count == chunk { whole } else { rest.as_ref() };
                if let Some(Err(error)) = plan.map(|plan| plan.run(&mut RawElements(&mut *part))) {
                    failed = Some(error);
                    return Err(io::ErrorKind::OutOfMemory.into());
                }
                let mut column = &*part;
                for ((bytes, ..), file) in columns.iter().zip(&files) {
                    let (own, others) = column.split_at(bytes * count);
                    column = others;
                    let write = |file| made.file(file).write_all(own);
                    file.map_or(Ok(()), write).map_err(unwritten)?;
                }
                progress.set(first * record_bytes);
            }
            Ok(())
        });
        if let Some(error) = failed {
            return Err(error.into());
        }
        taken?;
        progress.waiting("syncing");
        done.unsynced = made.commit(input.source())?;
    }
    done.transpose = start.elapsed();
    let array = Array { layout: Some(from.to_string()), ..Array::of(&header) };
    let kind = format!("{} files", files_of(&columns));
    let after = Array {
        shape: records.shape.clone(),
        type_name: Some(kind),
        layout: Some(RecordOrder::Soa.to_string()),
        ..array.clone()
    };
    Ok(Report {
        operation: "layout",
        file: path.to_path_buf(),
        member: input.member().map(String::from),
        output: folder.to_path_buf(),
        unchanged: false,
        before: array,
        after,
        bytes: header.data_bytes,
        done,
    })
}

fn files_of(columns: &[(usize, Option<&str>, Vec<u8>)]) -> usize {
    columns.iter().filter(|column| column.1.is_some()).count()
}

/// Records that are moved at a time: whole tiles, and none where no more is to be done than to copy.
fn chunk_of(records: &StructuredArray, bytes: usize, from: RecordOrder, room: usize) -> usize {
    // As much is left for the workspace.
    let held = CHUNK.min(room / 2).checked_div(bytes).unwrap_or(records.count);
    match from {
        RecordOrder::Aos => held.clamp(1, records.count.max(1)),
        RecordOrder::Asta(tile) => (held / tile * tile).clamp(tile, records.count.max(tile)),
        RecordOrder::Soa => 0,
    }
}

/// The name of a field's file; none of a gap.
fn name_of(header: &Header, field: &DtypeField) -> Result<Option<String>> {
    let bytes = &header.descr()[field.label.clone()];
    if field.is_gap(header.descr()) {
        return Ok(None);
    }
    let name = match std::str::from_utf8(bytes) {
        Ok(name) if header.is_utf8() => name.to_string(),
        _ => bytes.iter().copied().map(char::from).collect(),
    };
    let is_name = !name.is_empty() && !name.contains(['/', '\\', '\0']);
    ensure!(is_name, anyhow!("a field named '{}' has no file's name", bytes.escape_ascii()));
    Ok(Some(format!("{name}.npy")))
}
