//! What verdicts are made of: rows of a table, and claims of a source that their numbers bear out or do not.

use super::table::Table;

/// A source's claim with the numbers beside it, and whether they bear it out.
pub type Claim = (bool, String);

/// Whether all claims hold, some or none, and their numbers: first of those that do not.
pub fn verdict(claims: &[Claim]) -> String {
    let all = |held: bool| {
        let texts = claims.iter().filter(|claim| claim.0 == held).map(|claim| claim.1.as_str());
        texts.collect::<Vec<_>>().join("; ")
    };
    match (all(false), all(true)) {
        (against, held) if against.is_empty() && held.is_empty() => "Nothing to judge.".into(),
        (against, held) if held.is_empty() => format!("Does not hold: {against}."),
        (against, held) if against.is_empty() => format!("Holds: {held}."),
        (against, held) => format!("Holds in part. Against it: {against}. For it: {held}."),
    }
}

/// Rows of a table, and numbers of their columns.
pub struct Rows<'a>(&'a Table, Vec<&'a Vec<String>>);

impl<'a> Rows<'a> {
    /// All of them.
    pub fn of(table: &'a Table) -> Self {
        Rows(table, table.rows.iter().collect())
    }

    /// Those with a cell.
    pub fn with(&self, column: &str, cell: &str) -> Self {
        self.those(column, |there| there == cell)
    }

    /// Those whose cell is such a one.
    pub fn those(&self, column: &str, such: impl Fn(&str) -> bool) -> Self {
        let at = self.0.column(column);
        Rows(self.0, self.1.iter().copied().filter(|row| such(&row[at])).collect())
    }

    /// The numbers of a column, where there are some.
    pub fn all(&self, column: &str) -> Vec<f64> {
        let at = self.0.column(column);
        self.1.iter().filter_map(|row| row[at].parse().ok()).collect()
    }

    /// The numbers of two columns, where both have one.
    pub fn pairs(&self, first: &str, second: &str) -> Vec<(f64, f64)> {
        let at = [first, second].map(|column| self.0.column(column));
        let number = |row: &[String], at: usize| row[at].parse().ok();
        self.1.iter().filter_map(|row| Some((number(row, at[0])?, number(row, at[1])?))).collect()
    }

    /// The different cells of a column.
    pub fn cells(&self, column: &str) -> Vec<&'a str> {
        let at = self.0.column(column);
        let mut found: Vec<&str> = Vec::new();
        for row in &self.1 {
            if !found.contains(&&*row[at]) {
                found.push(&row[at]);
            }
        }
        found
    }

    /// Cells of some columns, row by row.
    pub fn each<const N: usize>(&self, columns: [&str; N]) -> Vec<[&'a str; N]> {
        let at = columns.map(|column| self.0.column(column));
        self.1.iter().map(|row| at.map(|at| &*row[at])).collect()
    }

    /// Of a column.
    pub fn mean(&self, column: &str) -> f64 {
        mean(&self.all(column))
    }

    /// Of a column.
    pub fn least(&self, column: &str) -> f64 {
        self.all(column).into_iter().fold(f64::INFINITY, f64::min)
    }

    /// Of a column.
    pub fn most(&self, column: &str) -> f64 {
        self.all(column).into_iter().fold(f64::NEG_INFINITY, f64::max)
    }

    /// From the least number of a column to the largest, in few digits.
    pub fn range(&self, column: &str) -> String {
        format!("{} to {}", few(self.least(column)), few(self.most(column)))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.1.is_empty()
    }

    /// How many times as fast rows with the cell `of` are as those with `over`, wherever all of `keys` are alike.
    pub fn speedups(&self, keys: &[&str], column: &str, of: &str, over: &str) -> Vec<f64> {
        let keys: Vec<usize> = keys.iter().map(|key| self.0.column(key)).collect();
        let speed = self.0.column("gb_per_s");
        let (of, over) = (self.with(column, of), self.with(column, over));
        let times = of.1.iter().filter_map(|row| {
            let same = |other: &&&Vec<String>| keys.iter().all(|&key| row[key] == other[key]);
            let other = over.1.iter().find(same)?;
            Some(row[speed].parse::<f64>().ok()? / other[speed].parse::<f64>().ok()?)
        });
        times.collect()
    }

    /// The mean of [`speedups`](Self::speedups), as the thesis's average speedups are.
    pub fn speedup(&self, keys: &[&str], column: &str, of: &str, over: &str) -> f64 {
        mean(&self.speedups(keys, column, of, over))
    }
}

/// None of no numbers.
pub fn mean(all: &[f64]) -> f64 {
    all.iter().sum::<f64>() / all.len() as f64
}

/// A number in few digits.
pub fn few(value: f64) -> String {
    match value {
        v if !v.is_finite() => "nothing".to_owned(),
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// Whether a GPU measured it.
pub fn is_gpu(table: &Table) -> bool {
    table.origin.starts_with("NVIDIA")
}
