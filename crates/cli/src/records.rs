//! `turntile layout`: records from one layout to another. A .npy file says what lies in it: tiles are arrays within its
//! records, of T records each or of all.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use clap::error::ErrorKind;
use turntile::Transpose;
use turntile::layout::{RecordConversion, RecordOrder};

use crate::args::{Common, DASH};
use crate::dtype::{self, DtypeField};
use crate::input::Input;
use crate::npy::{AxisOrder, Header, tuple, volume};
use crate::report::Array;
use crate::values::{count, joined, positive};
use crate::work::Change;

#[derive(Debug, Args)]
pub struct LayoutArgs {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub change: Layouts,
}

/// From which layout to which, and what the records are.
#[derive(Debug, Args)]
pub struct Layouts {
    /// How the records lie: aos, soa or asta:T, in tiles of T records
    #[arg(long, value_name = "LAYOUT", default_value = "aos")]
    pub from: RecordOrder,
    /// How they are to lie. In a .npy file fields of asta:T become arrays of T, of which T divides the number of records; those
    /// of soa arrays of all, in one record. NumPy reads both
    #[arg(long, value_name = "LAYOUT", required_unless_present = "split")]
    to: Option<RecordOrder>,
    /// Write each field into a .npy file of its own, DIR/FIELD.npy, and leave FILE as it is; DIR is made. In little memory
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "in_place", "raw"])]
    pub split: Option<PathBuf>,
    /// The file has no header: records without gaps and nothing else
    #[arg(long, requires = "fields", conflicts_with = "member", help_heading = "Headerless files")]
    pub raw: bool,
    /// Bytes of each field, in order, e.g. 4,12,1,8; gaps are fields too
    #[arg(long, value_name = "B,...", value_parser = positive, value_delimiter = ',', requires = "raw", help_heading = "Headerless files")]
    fields: Vec<NonZeroUsize>,
    /// Number of records, needed of standard input [default: as many as the file has]
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true, requires = "raw", help_heading = "Headerless files")]
    records: Option<usize>,
}

impl LayoutArgs {
    /// What is wrong with the options beside each other.
    pub fn check(&self) -> Result<(), clap::Error> {
        let Layouts { from, to, split, .. } = &self.change;
        let what = match (split, &self.common.files[..]) {
            (Some(folder), _) if folder.as_os_str() == DASH => {
                "--split makes a directory, which is no stream; one of that name is ./-".to_string()
            }
            (Some(_), [_]) if to.is_none_or(|to| to == RecordOrder::Soa) => return Ok(()),
            (Some(_), [_]) => "each field in a file of its own is --to soa".to_string(),
            (Some(_), _) => "--split is for one file".to_string(),
            (None, _) if *to == Some(*from) => format!("--from and --to are both {from}"),
            (None, files) => {
                let is_stdin = files.first().is_some_and(|file| file.as_os_str() == "-");
                if !(self.change.raw && is_stdin && self.change.records.is_none()) {
                    return self.common.jobs().map(drop);
                }
                "--records is needed: how many come from standard input is not known".to_string()
            }
        };
        Err(clap::Error::raw(ErrorKind::ValueValidation, what))
    }
}

impl Layouts {
    /// What becomes of the file.
    pub fn change(&self, input: &mut Input) -> Result<(Change, Array, Array)> {
        let to = self.to.unwrap_or(RecordOrder::Soa);
        if self.raw {
            self.of_raw(input.bytes()?, to)
        } else {
            of_npy(&input.header()?, self.from, to)
        }
    }

    fn of_raw(&self, got: Option<u64>, to: RecordOrder) -> Result<(Change, Array, Array)> {
        let sizes: Vec<usize> = self.fields.iter().map(|bytes| bytes.get()).collect();
        let record = sizes.iter().fold(0, |sum: usize, &bytes| sum.saturating_add(bytes));
        let held =
            || got.map_or(0, |got| usize::try_from(got / record as u64).unwrap_or(usize::MAX));
        let records = self.records.unwrap_or_else(held);
        let step = RecordConversion::new(records, &sizes).from(self.from).to(to);
        let data_bytes = step.problem()?.bytes();
        if let Some(got) = got.filter(|&got| got != data_bytes as u64) {
            let sum = match sizes.len() {
                0..=8 => joined(&sizes, " + "),
                fields => format!("{fields} fields"),
            };
            let what = format!("{records} records of {sum} = {record}");
            bail!("expected {data_bytes} bytes ({what}), got {got}");
        }
        let [before, after] = [self.from, to].map(|layout| Array {
            layout: Some(layout.to_string()),
            ..Array::of_raw(vec![records], record)
        });
        let step = Some(step).filter(|_| data_bytes > 0);
        Ok((Change { header: Vec::new(), data_bytes, step }, before, after))
    }
}

/// A structured array: as many records, and the fields of one.
pub struct StructuredArray {
    pub fields: Vec<DtypeField>,
    pub count: usize,
    /// Extents of the array of records.
    pub shape: Vec<usize>,
    from: RecordOrder,
}

impl StructuredArray {
    /// Of an array whose records lie so. Records along several axes, or none, only if `any_axes`.
    pub fn of(header: &Header, from: RecordOrder, any_axes: bool) -> Result<Self> {
        let Some(mut fields) = dtype::fields(header.descr())? else {
            bail!(
                "records have fields, the array's items are {}; `turntile rearrange '(n t) f -> n f t'` makes tiles of a matrix",
                header.type_name()
            );
        };
        ensure!(!fields.is_empty(), "the records have no fields");
        let axes = header.shape.len();
        if !any_axes || from != RecordOrder::Aos {
            let what = "join them by `turntile rearrange '... -> (...)'`, or see --split";
            ensure!(axes == 1, "records lie along one axis, the array has {axes}; {what}");
        }
        let is_ordered = axes < 2 || header.order == AxisOrder::C;
        let what =
            "the records are in Fortran order; `turntile reorder --to c` brings them into C's";
        ensure!(is_ordered, "{what}");
        let items = volume(&header.shape).context("more records than can be counted")?;
        let first = fields.first().and_then(|field| field.shape.first().copied());
        let tile = match from {
            RecordOrder::Aos => None,
            RecordOrder::Asta(tile) => Some(tile),
            RecordOrder::Soa => {
                ensure!(items == 1, "in soa all fields are of one record, the array has {items}");
                first
            }
        };
        if from != RecordOrder::Aos {
            for field in &mut fields {
                let name = header.descr()[field.label.clone()].escape_ascii().to_string();
                let own = field.shape.first().copied();
                let has = own.map_or("is no array".to_string(), |own| format!("has {own}"));
                let what = "every field is an array of as many records";
                ensure!(own.is_some() && own == tile, "in {from} {what}: '{name}' {has}");
                field.shape.remove(0);
            }
        }
        let count = items.checked_mul(tile.unwrap_or(1));
        let count = count.context("more records than can be counted")?;
        let shape = if from == RecordOrder::Aos { header.shape.clone() } else { vec![count] };
        Ok(StructuredArray { fields, count, shape, from })
    }

    /// So many of them to another layout; fields without bytes move nowhere.
    pub fn step(&self, count: usize, to: RecordOrder) -> Transpose {
        let sizes: Vec<usize> =
            self.fields.iter().map(DtypeField::bytes).filter(|&bytes| bytes > 0).collect();
        RecordConversion::new(count, &sizes).from(self.from).to(to)
    }

    /// The header of an array in which they lie so.
    fn header(&self, of: &Header, to: RecordOrder) -> Result<Vec<u8>> {
        let (items, tile) = match to {
            RecordOrder::Aos => (self.count, None),
            RecordOrder::Soa => (1, Some(self.count)),
            RecordOrder::Asta(tile) => {
                let of = self.count;
                let what =
                    "a .npy file has no shorter tile at its end; choose another, or use --raw";
                ensure!(
                    tile > 0 && of.is_multiple_of(tile),
                    "tiles of {tile} do not divide {of} records: {what}"
                );
                (of / tile, Some(tile))
            }
        };
        let mut descr = b"[".to_vec();
        for (number, field) in self.fields.iter().enumerate() {
            let [name, kind] = [&field.name, &field.kind].map(|span| &of.descr()[span.clone()]);
            if tile.is_some() {
                refuse_unreadable(of.descr(), field)?;
            }
            let shape: Vec<usize> = tile.iter().chain(&field.shape).copied().collect();
            descr.extend_from_slice(if number > 0 { b", (" } else { b"(" });
            descr.extend_from_slice(&[name, b", ", kind].concat());
            if !shape.is_empty() {
                descr.extend_from_slice(format!(", {}", tuple(&shape)).as_bytes());
            }
            descr.push(b')');
        }
        descr.push(b']');
        of.of_type(&descr, &[items])
    }
}

/// Refuses a field that is no field to NumPy once it is an array: text of length 0, or one without a name.
fn refuse_unreadable(descr: &[u8], field: &DtypeField) -> Result<()> {
    let [label, base] = [&field.label, &field.base.span].map(|span| &descr[span.clone()]);
    let (name, kind) = (label.escape_ascii(), String::from_utf8_lossy(base));
    let is_record = base.starts_with(b"[");
    let what = "NumPy reads no arrays of it; --split writes a file of each field";
    ensure!(field.base.bytes > 0 || is_record, "field '{name}' is of type {kind}: {what}");
    let what = "as an array NumPy would take it for a gap";
    ensure!(!label.is_empty() || field.is_gap(descr), "a field of type {kind} has no name: {what}");
    Ok(())
}

fn of_npy(header: &Header, from: RecordOrder, to: RecordOrder) -> Result<(Change, Array, Array)> {
    let records = StructuredArray::of(header, from, false)?;
    let new = records.header(header, to)?;
    // What could not be read again is not written, as one record of more bytes than NumPy counts.
    let made =
        Header::read(&mut &new[..], None).context("a .npy file cannot say it, see --split")?;
    let [before, after] = [(header, from), (&made, to)]
        .map(|(header, layout)| Array { layout: Some(layout.to_string()), ..Array::of(header) });
    let step = (header.data_bytes > 0).then(|| records.step(records.count, to));
    Ok((Change { header: new, data_bytes: header.data_bytes, step }, before, after))
}
