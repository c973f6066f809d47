//! What an item measured, as a CSV file that is also the record of its being done.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;

use anyhow::Result;

/// Rows under names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// As many cells each.
    pub rows: Vec<Vec<String>>,
    /// Where, when and by what it was measured.
    pub origin: String,
}

impl Table {
    /// Without rows yet.
    pub fn new(columns: &[&str]) -> Self {
        let columns = columns.iter().map(|&name| name.to_owned()).collect();
        Table { columns, rows: Vec::new(), origin: String::new() }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// When it has another number of cells than there are columns.
    pub fn push(&mut self, cells: impl IntoIterator<Item = String>) {
        let row: Vec<String> = cells.into_iter().collect();
        assert_eq!(row.len(), self.columns.len(), "a cell for each of {:?}", self.columns);
        self.rows.push(row);
    }

    /// The number of a column.
    ///
    /// # Panics
    /// When there is none of that name: items and their views are checked against each other.
    pub fn column(&self, name: &str) -> usize {
        let at = self.columns.iter().position(|column| column == name);
        at.unwrap_or_else(|| panic!("a column {name} among {:?}", self.columns))
    }

    /// The different cells of a column, in the order of their first appearance.
    pub fn distinct(&self, column: usize) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !found.contains(&&*row[column]) {
                found.push(&row[column]);
            }
        }
        found
    }

    /// The device that it was measured on, of its origin: device, date and command, of which the device may have
    /// several parts.
    pub fn device(&self) -> String {
        self.origin.rsplitn(3, "; ").nth(2).unwrap_or_default().to_owned()
    }

    /// Whether it was measured with `--quick`, as its origin says.
    pub fn is_quick(&self) -> bool {
        self.origin.contains(" --quick ")
    }

    /// Writes it, whole or not at all: a line of origin, a line of names, the rows.
    pub fn save(&self, path: &Path) -> Result<()> {
        let mut bytes = format!("# {}\n", self.origin).into_bytes();
        {
            let mut writer = csv::Writer::from_writer(&mut bytes);
            writer.write_record(&self.columns)?;
            for row in &self.rows {
                writer.write_record(row)?;
            }
            writer.flush()?;
        }
        let beside = path.with_extension("csv.new");
        fs::write(&beside, bytes)?;
        fs::rename(&beside, path)?;
        Ok(())
    }

    /// What an earlier run left: nothing where there is no file, one that is damaged, or one with other
    /// columns than `columns`, which the item has to be measured for again.
    pub fn load(path: &Path, columns: &[&str]) -> Result<Option<Table>> {
        let file = match fs::File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut file = BufReader::new(file);
        let mut origin = String::new();
        match file.read_line(&mut origin) {
            Err(error) if error.kind() == ErrorKind::InvalidData => return Ok(None),
            read => read?,
        };
        let Some(origin) = origin.strip_prefix("# ") else { return Ok(None) };
        let mut reader = csv::Reader::from_reader(file);
        if reader.headers().is_ok_and(|headers| headers.iter().eq(columns.iter().copied())) {
            let mut table = Table::new(columns);
            table.origin = origin.trim_end().to_owned();
            for record in reader.records() {
                let Ok(record) = record else { return Ok(None) };
                table.push(record.iter().map(str::to_owned));
            }
            return Ok(Some(table).filter(|table| !table.rows.is_empty()));
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_is_loaded_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let columns = ["shape", "gb_per_s"];
        let load = |columns: &[&str]| Table::load(&path, columns).unwrap();
        assert_eq!(load(&columns), None);
        let mut table = Table::new(&columns);
        table.origin = "host; 2026".into();
        table.push(["3x4, \"quoted\"", "1.5"].map(String::from));
        table.save(&path).unwrap();
        assert_eq!(load(&columns), Some(table.clone()));
        assert_eq!(load(&["shape", "seconds"]), None, "measured again under other columns");
        let text = fs::read_to_string(&path).unwrap();
        for damaged in
            ["", "shape,gb_per_s\n1,2\n", &text[..text.len() - 5], "# x\nshape,gb_per_s\n1\n"]
        {
            fs::write(&path, damaged).unwrap();
            assert_eq!(load(&columns), None, "{damaged:?}");
        }
        fs::write(&path, b"# \xff\nshape,gb_per_s\n1,2\n").unwrap();
        assert_eq!(load(&columns), None, "no text");
        table.rows.clear();
        table.save(&path).unwrap();
        assert_eq!(load(&columns), None, "no rows are no result");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn distinct_cells_keep_their_order() {
        let mut table = Table::new(&["a", "b"]);
        for (a, b) in [("2", "x"), ("1", "y"), ("2", "x")] {
            table.push([a, b].map(String::from));
        }
        assert_eq!(table.distinct(table.column("a")), ["2", "1"]);
        assert_eq!(table.distinct(table.column("b")), ["x", "y"]);
    }
}
