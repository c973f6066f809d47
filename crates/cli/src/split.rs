//! `turntile split`: writes each field of a file's records to a separate .npy file, in blocks of records.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueHint};
use turntile::layout::{RecordConversion, RecordOrder};
use turntile::{RawElements, Transposer};

use crate::args::{Common, Place};
use crate::array::AxisOrder;
use crate::dtype::{self, DtypeField};
use crate::error::On;
use crate::file::{self, LockRequest, NewFile, Target};
use crate::memory::{self, AnonymousMap, Pages};
use crate::npy::new_header;
use crate::progress::Progress;
use crate::report::Report;
use crate::say::shown;
use crate::source::{Source, is_dash};
use crate::stored::StoredArray;
use crate::transfer::{CHUNK, unwritten};
use crate::values::{Dtype, byte_count, field};
use crate::work::{self, Done};

#[derive(Debug, Args)]
pub struct SplitArgs {
    /// .npy or .npz file of records (a structured array), or - for standard input
    #[arg(value_name = "INPUT")]
    input: PathBuf,
    /// Directory for the results, DIR/FIELD.npy; it is created and must not exist
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    into: PathBuf,
    /// The input has no .npy header: --fields describes the records
    #[arg(
        long,
        requires = "fields",
        conflicts_with = "member",
        help_heading = "Data without a .npy header"
    )]
    raw: bool,
    /// Fields of a record in order, by type or by bytes, for example 240,f4,385*i2; they are named f0, f1, ...
    #[arg(long, value_name = "TYPE,...", value_parser = field, value_delimiter = ',', requires = "raw", help_heading = "Data without a .npy header")]
    fields: Vec<(usize, Dtype)>,
    /// Bytes before the records [default: 0]
    #[arg(long, value_name = "BYTES", value_parser = byte_count, requires = "raw", help_heading = "Data without a .npy header")]
    offset: Option<usize>,
    /// Bytes after the records [default: 0]
    #[arg(long, value_name = "BYTES", value_parser = byte_count, requires = "raw", help_heading = "Data without a .npy header")]
    tail: Option<usize>,
    #[command(flatten)]
    pub common: Common,
}

/// A column to write.
struct Column {
    /// Bytes of the field in a record.
    bytes: usize,
    /// Name of its file; `None` for a gap.
    file: Option<String>,
    header: Vec<u8>,
}

/// Splits the records and returns what was done.
pub fn run(args: &SplitArgs) -> Result<Report> {
    let (path, common) = (&*args.input, &args.common);
    let request = LockRequest::new(common.lock, common.quiet);
    let (opened, _) = file::open((!is_dash(path)).then_some(path), None, &request)?;
    ensure!(common.member.len() < 2, "--member names one array of records");
    let member = common.member.first().map(String::as_str);
    let mut source = Source::new(path, opened, member, args.raw)?;
    let in_file = || shown(path);
    let (found, columns) =
        if args.raw { args.headerless(&mut source) } else { structured(&mut source) }
            .with_context(in_file)?;
    let is_new = args.into.symlink_metadata().is_err();
    ensure!(is_new, "{} exists already; --into creates a directory", shown(&args.into));
    let done = write(args, &mut source, &found, &columns)?;
    let before = found.array;
    Ok(Report {
        operation: "split",
        file: args.input.clone(),
        member: source.member().map(String::from),
        output: args.into.clone(),
        unchanged: false,
        after: before.clone(),
        before,
        bytes: found.bytes,
        done,
    })
}

impl SplitArgs {
    /// Finds the records of a headerless file. Their number follows from its size.
    fn headerless(&self, source: &mut Source) -> Result<(StoredArray, Vec<Column>)> {
        let record = self.fields.iter().try_fold(0usize, |sum, (count, kind)| {
            count.checked_mul(kind.itemsize)?.checked_add(sum)
        });
        let record = record.filter(|&bytes| bytes <= i32::MAX as usize);
        let record = record.context("a record has more bytes than can be addressed")?;
        let dtype = Dtype { descr: format!("|V{record}"), itemsize: record };
        let place = Place {
            raw: true,
            dtype: Some(dtype),
            shape: Some(vec![None]),
            offset: self.offset,
            tail: self.tail,
            tensor: None,
        };
        let found = StoredArray::find(source, &place, None)?;
        let kinds = self.fields.iter().flat_map(|(count, kind)| std::iter::repeat_n(kind, *count));
        let column = |(number, kind): (usize, &Dtype)| {
            Ok(Column {
                bytes: kind.itemsize,
                file: Some(format!("f{number}.npy")),
                header: new_header(format!("'{}'", kind.descr).as_bytes(), &found.array.shape)?,
            })
        };
        let columns = kinds.enumerate().map(column).collect::<Result<_>>()?;
        Ok((found, columns))
    }
}

/// Finds the records of a structured array.
fn structured(source: &mut Source) -> Result<(StoredArray, Vec<Column>)> {
    let path = source.path().to_path_buf();
    let found = StoredArray::find(source, &Place::npy(), None)?;
    let header = found.npy_header(&path)?;
    let array = &found.array;
    let Some(fields) = dtype::fields(header.descr())? else {
        bail!("split needs records (a structured array), the elements are {}", array.dtype);
    };
    ensure!(!fields.is_empty(), "the records have no fields");
    let is_ordered = array.shape.len() < 2 || array.order == AxisOrder::C;
    ensure!(is_ordered, "the records are in F order: run `turntile reorder --order C` first");
    let column = |field: &DtypeField| {
        let shape = [&array.shape[..], &field.shape, &field.base.shape].concat();
        let kind = &header.descr()[field.base.span.clone()];
        Ok(Column {
            bytes: field.bytes(),
            file: header.field_file(field)?,
            header: header.of_type(kind, &shape)?,
        })
    };
    let columns = fields.iter().map(column).collect::<Result<_>>()?;
    Ok((found, columns))
}

/// Writes the columns, some records at a time.
fn write(
    args: &SplitArgs,
    source: &mut Source,
    found: &StoredArray,
    columns: &[Column],
) -> Result<Done> {
    let (common, folder) = (&args.common, &args.into);
    let memory = work::allowed(&args.input, found.bytes, common.memory)?;
    let files = columns.iter().filter(|column| column.file.is_some()).count();
    let mut done = Done { dry: common.dry_run, files, memory, ..Done::default() };
    let (record, room) = (found.array.itemsize, memory::less_the_command(memory));
    let count = found.bytes.checked_div(record).unwrap_or(0);
    // Half is left for the workspace.
    let chunk = CHUNK.min(room / 2).checked_div(record).unwrap_or(1).clamp(1, count.max(1));
    let sizes: Vec<usize> =
        columns.iter().map(|column| column.bytes).filter(|&bytes| bytes > 0).collect();
    // Fields without bytes move nowhere.
    let plan = |count: usize| -> Result<Option<Transposer>> {
        let step =
            || RecordConversion::new(count, &sizes).from(RecordOrder::Aos).to(RecordOrder::Soa);
        if count * record > 0 { Ok(Some(common.settings.apply(step()).plan()?)) } else { Ok(None) }
    };
    let whole = plan(chunk.min(count))?;
    let workspace = whole.as_ref().map_or(0, Transposer::workspace_bytes);
    if chunk * record + workspace > room && count > 0 {
        return Err(work::too_large(
            &args.input,
            "a record is",
            (chunk * record, workspace),
            memory,
        ));
    }
    let rest = plan(count % chunk)?;
    if done.dry {
        return Ok(Done { plan: whole, ..done });
    }
    let start = Instant::now();
    let progress = Progress::new(!common.quiet, "");
    raise_file_limit();
    fs::create_dir(folder).on("create", folder)?;
    let written = columns_of(
        folder,
        (source, found),
        columns,
        [whole.as_ref(), rest.as_ref()],
        (chunk, count),
        common.quiet,
        &progress,
    );
    if written.is_err() {
        // It is empty unless a commit failed half way.
        let _ = fs::remove_dir(folder);
    }
    written?;
    done.transpose = start.elapsed();
    Ok(Done { plan: whole, ..done })
}

/// Writes the columns into an existing directory. No file has its name before all are complete.
fn columns_of(
    folder: &Path,
    (source, found): (&mut Source, &StoredArray),
    columns: &[Column],
    [whole, rest]: [Option<&Transposer>; 2],
    (chunk, count): (usize, usize),
    quiet: bool,
    progress: &Progress,
) -> Result<()> {
    let mut files = Vec::new();
    for Column { bytes, file, header } in columns {
        let make = |name: &String| -> Result<NewFile> {
            let target = Target::resolve(&folder.join(name), "--into")?;
            let length = (header.len() + bytes * count) as u64;
            let new = NewFile::create(target, source.opened(), length, quiet)?;
            new.file().write_all(header).on("write the new", new.path())?;
            Ok(new)
        };
        files.push(file.as_ref().map(make).transpose()?);
    }
    let record = found.array.itemsize;
    let mut memory = AnonymousMap::new(chunk * record, Pages::Huge)?;
    progress.bytes("writing", found.bytes);
    let mut failed = None;
    let taken = source.data((found.start, found.bytes, found.tail), |data| {
        for first in (0..count).step_by(chunk) {
            let records = chunk.min(count - first);
            let block = &mut memory.bytes()[..records * record];
            data.read_exact(block)?;
            let plan = if records == chunk.min(count) { whole } else { rest };
            if let Some(Err(error)) = plan.map(|plan| plan.run(&mut RawElements(&mut *block))) {
                failed = Some(error);
                return Ok(());
            }
            let mut left = &*block;
            for (column, new) in columns.iter().zip(&files) {
                let own;
                (own, left) = left.split_at(column.bytes * records);
                let write = |new: &NewFile| new.file().write_all(own);
                new.as_ref().map_or(Ok(()), write).map_err(unwritten)?;
            }
            progress.set(first * record);
        }
        Ok(())
    });
    if let Some(error) = failed {
        return Err(error.into());
    }
    taken?;
    progress.waiting("syncing");
    for new in files.iter().flatten() {
        // Before any has its name: a kill between the renames leaves some of the files.
        new.file().sync_all().on("sync the new", new.path())?;
    }
    files.into_iter().flatten().try_for_each(|new| new.commit(source.opened()))
}

/// Raises the limit of open files to the most that the system allows: each column is one.
fn raise_file_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let most = getrlimit(Resource::Nofile).maximum;
        // If it stays, opening a file fails.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most });
    }
}
