//! What each item says of its source, in a sentence, from its own numbers.

use std::fmt::Write;

use super::asta::PROBLEMS;
use super::table::Table;

/// Rows of a table, and numbers of their columns.
pub struct Rows<'a>(&'a Table, Vec<&'a Vec<String>>);

impl<'a> Rows<'a> {
    /// All of them.
    pub fn of(table: &'a Table) -> Self {
        Rows(table, table.rows.iter().collect())
    }

    /// Those with a cell.
    pub fn with(&self, column: &str, cell: &str) -> Self {
        let at = self.0.column(column);
        Rows(self.0, self.1.iter().copied().filter(|row| row[at] == cell).collect())
    }

    /// The numbers of a column, where there are some.
    pub fn all(&self, column: &str) -> Vec<f64> {
        let at = self.0.column(column);
        self.1.iter().filter_map(|row| row[at].parse().ok()).collect()
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

    /// Of a column.
    pub fn mean(&self, column: &str) -> f64 {
        let all = self.all(column);
        all.iter().sum::<f64>() / all.len().max(1) as f64
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

/// The mean of `of` over that of `over`, cell by cell of a column.
pub fn ratio(rows: &Rows, column: &str, of: &str, over: &str) -> f64 {
    rows.with(column, of).mean("gb_per_s") / rows.with(column, over).mean("gb_per_s")
}

/// What is to be said where matrices of table 5.1 were measured in other widths than theirs.
pub fn widths(table: &Table) -> String {
    let (name, width) = (table.column("problem"), table.column("width"));
    let wrong = PROBLEMS.iter().filter(|(problem, _, right)| {
        table.rows.iter().any(|row| row[name] == *problem && row[width] != right.to_string())
    });
    let wrong: Vec<&str> = wrong.map(|problem| problem.0).collect();
    match &wrong[..] {
        [] => String::new(),
        wrong => format!(
            " ({} were measured in other widths than table 5.1 has and are to be measured again.)",
            wrong.join(", ")
        ),
    }
}

/// Whether a GPU measured it.
pub fn is_gpu(table: &Table) -> bool {
    table.origin.starts_with("NVIDIA")
}

pub fn figure_4_1(table: &Table) -> String {
    let rows = Rows::of(table);
    let side = few(rows.most("side"));
    let share = rows.all("percent_of_copy").last().copied().unwrap_or(0.0);
    let word = if share >= 50.0 { "Holds, and more" } else { "Does not hold" };
    format!(
        "{word}: {share:.0}% of a copy at side {side}, where the thesis has half of its card's peak."
    )
}

pub fn figure_4_4(table: &Table) -> String {
    let rows = Rows::of(table);
    let (steps, moved) = (table.rows.len() - 1, rows.most("rows_moved"));
    let speeds = rows.all("gb_per_s");
    let fall = match (speeds.first(), speeds.len()) {
        (Some(first), many) if many > 1 => {
            format!(" from {} GB/s to {}", few(*first), few(rows.least("gb_per_s")))
        }
        _ => ", as equation 4.1 says".to_owned(),
    };
    format!(
        "Holds but for a number: speed falls with the rows of a step{fall}, and the rows after the first {moved} move one by \
         one, but that is after {steps} steps and not about 181."
    )
}

pub fn padding(table: &Table) -> String {
    let rows = Rows::of(table);
    let mut text = String::new();
    for method in rows.cells("method") {
        let range = rows.with("method", method).range("percent_of_copy");
        // Writing to a string cannot fail.
        let _ = write!(text, "{}{method} {range}%", if text.is_empty() { "" } else { ", " });
    }
    let own = rows.with("method", "rounds").mean("percent_of_copy");
    let blocks = rows.with("method", "blocks").mean("percent_of_copy");
    let word = if blocks > 1.2 * own {
        "Holds for rows in steps, and not for padding: by blocks it is fast"
    } else {
        "Does not hold on this device"
    };
    format!("{word} (% of a copy: {text}).")
}

pub fn near_square(table: &Table) -> String {
    let rows = Rows::of(table);
    let shapes = rows.cells("shape");
    let wins = shapes.iter().filter(|shape| {
        let here = rows.with("shape", shape);
        let padded = here.with("route", "padded-square").most("gb_per_s");
        here.all("gb_per_s").first().is_some_and(|plain| padded > *plain)
    });
    let (wins, all) = (wins.count(), shapes.len());
    let word = match wins {
        0 => "Holds",
        some if some == all => "Does not hold",
        _ => "Holds in part",
    };
    format!(
        "{word}: a padded square is faster than the route without room on {wins} of {all} shapes."
    )
}

pub fn figure_4_6(table: &Table) -> String {
    let number = |row: &[String], column: &str| row[table.column(column)].parse::<f64>().ok();
    let of = |square: bool| -> Vec<f64> {
        let rows = table.rows.iter().filter(|row| {
            let sides = [number(row, "rows"), number(row, "cols")];
            sides.iter().all(|side| side.is_some_and(|side| side > 1.0))
                && (sides[0] == sides[1]) == square
        });
        let mut all: Vec<f64> = rows.filter_map(|row| number(row, "cycles")).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    let middle = |all: &[f64]| all.get(all.len() / 2).copied().unwrap_or(0.0);
    let (squares, rest) = (of(true), of(false));
    let word = if middle(&squares) > middle(&rest) { "Holds" } else { "Does not hold" };
    format!(
        "{word}: in the median a square has {} cycles, another shape {}.",
        middle(&squares),
        middle(&rest)
    )
}

pub fn table_4_1(table: &Table) -> String {
    let (name, thesis) = (table.column("name"), table.column("thesis"));
    let theirs: Vec<_> = table.rows.iter().filter(|row| !row[thesis].is_empty()).collect();
    let same = theirs.iter().filter(|row| row[name] == row[thesis]).count();
    let word = if same == theirs.len() { "Holds" } else { "Does not hold" };
    format!("{word}: {same} of its {} names are those that arithmetic gives.", theirs.len())
}

pub fn permutations(table: &Table) -> String {
    let rows = Rows::of(table);
    format!(
        "Holds, for any number of axes: {} orders in up to {} passes, at {}% of a copy.",
        rows.cells("problem").len(),
        rows.most("pass"),
        rows.range("percent_of_copy")
    )
}

pub fn conflicts(table: &Table) -> String {
    let rows = Rows::of(table);
    let spread = rows.with("layout", "spread");
    let at = |rows: &Rows, spreading, column| few(rows.with("spreading", spreading).mean(column));
    format!(
        "Holds: spreading by 32 takes position conflicts from {} to {} in the mean, brings bank conflicts from {} to {}, and \
         padding takes these to {}.",
        at(&spread, "1", "position_conflicts"),
        at(&spread, "32", "position_conflicts"),
        at(&spread, "1", "bank_conflicts"),
        at(&spread, "32", "bank_conflicts"),
        at(&rows.with("layout", "padded"), "32", "bank_conflicts"),
    )
}

pub fn figure_4_16(table: &Table) -> String {
    let rows = Rows::of(table);
    let wide = rows.with("spreading", "32");
    let spreading = wide.with("layout", "spread").mean("gb_per_s")
        / rows.with("layout", "spread").with("spreading", "1").mean("gb_per_s");
    let padding = ratio(&wide, "layout", "padded", "spread");
    let word = if spreading > 1.3 { "Holds" } else { "Does not hold" };
    format!(
        "{word}: spreading by 32 brings {spreading:.2} times and padding {padding:.2} times; conflicts of atomics are not \
         what bounds it here.{}",
        widths(table)
    )
}

pub fn figure_4_17(table: &Table) -> String {
    let rows = Rows::of(table);
    if !is_gpu(table) {
        let most = format!("{:.0}", rows.most("workers"));
        let gain = ratio(&rows, "workers", &most, "1");
        return format!(
            "Not comparable: a host has threads and no groups; {most} are {gain:.2} times as fast as one."
        );
    }
    // The best group of every tile, of small tiles and of large ones.
    let mut best: Vec<(f64, f64)> = Vec::new();
    for tile in rows.cells("tile") {
        for width in rows.cells("width") {
            let here = rows.with("tile", tile).with("width", width);
            let pairs = here.all("gb_per_s").into_iter().zip(here.all("workers"));
            if let Some((_, workers)) = pairs.max_by(|a, b| a.0.total_cmp(&b.0)) {
                best.push((here.most("elements"), workers));
            }
        }
    }
    best.sort_by(|a, b| a.0.total_cmp(&b.0));
    let third = best.len() / 3;
    let mean =
        |some: &[(f64, f64)]| some.iter().map(|one| one.1).sum::<f64>() / some.len().max(1) as f64;
    let (small, large) = (mean(&best[..third]), mean(&best[best.len() - third..]));
    let word = if large > 1.2 * small { "Holds" } else { "Does not hold" };
    format!(
        "{word}: the best group has {small:.0} work-items on average for the smallest third of the tiles and {large:.0} for \
         the largest."
    )
}

pub fn figure_4_18(table: &Table) -> String {
    let rows = Rows::of(table);
    let improved = ratio(&rows, "method", "PTTWAC spread and padded", "PTTWAC packed");
    let widths = rows.cells("width");
    let wins = widths.iter().filter(|width| {
        let here = rows.with("width", width);
        here.with("method", "P-IPT").mean("gb_per_s")
            > here.with("method", "PTTWAC packed").mean("gb_per_s")
    });
    format!(
        "Does not hold: P-IPT is faster than the original PTTWAC at {} of {} widths, spread and padded flags are {improved:.2} \
         times as fast as packed ones; barrier-sync, where the tile fits, is {:.0} times as fast as either.",
        wins.count(),
        widths.len(),
        ratio(&rows, "method", "barrier", "PTTWAC packed")
    )
}

pub fn figure_4_19(table: &Table) -> String {
    let rows = Rows::of(table);
    let mut wins: Vec<String> = Vec::new();
    for unit in rows.cells("super_element") {
        let here = rows.with("super_element", unit);
        let ahead = |width: &&&str| {
            let here = here.with("width", width);
            let rest = here.cells("version").into_iter().filter(|name| *name != "P-IPT");
            let rest = rest.map(|name| here.with("version", name).most("gb_per_s"));
            here.with("version", "P-IPT").most("gb_per_s") > rest.fold(0.0, f64::max)
        };
        let all = here.cells("width");
        let ahead: Vec<&str> = all.iter().filter(ahead).copied().collect();
        if !ahead.is_empty() {
            wins.push(format!("{} at {unit} floats", ahead.join(", ")));
        }
    }
    let wins = match &wins[..] {
        [] => "P-IPT is never the fastest, as there".to_owned(),
        some => format!("P-IPT, always behind there, is the fastest at widths {}", some.join("; ")),
    };
    if !is_gpu(table) {
        return format!("Not comparable: a host has one version of PTTWAC; {wins}.");
    }
    format!(
        "Holds in part: shared-memory tiling is {:.2} and register tiling {:.2} times the original; {wins}.",
        ratio(&rows, "version", "shared-memory tiling", "block with barriers"),
        ratio(&rows, "version", "register tiling", "block with barriers")
    )
}

pub fn figure_4_20(table: &Table) -> String {
    let rows = Rows::of(table);
    let at = |unit| rows.with("super_element", unit).most("gb_per_s");
    let growth: Vec<String> = ["8", "16", "32", "64"].iter().map(|unit| few(at(unit))).collect();
    let word = if at("64") > 2.0 * at("8") { "Holds" } else { "Does not hold" };
    format!(
        "{word}: {} GB/s for 8, 16, 32 and 64 floats, where the thesis has 12.5, 24.5, 47.6 and 69.",
        growth.join(", ")
    )
}

pub fn said(table: &Table) -> String {
    let rows = Rows::of(table);
    let (ours, theirs) = (table.column("gb_per_s"), table.column("thesis_gb_per_s"));
    let times = rows
        .1
        .iter()
        .filter_map(|row| Some(row[ours].parse::<f64>().ok()? / row[theirs].parse::<f64>().ok()?));
    let times: Vec<f64> = times.collect();
    let (low, high) =
        times.iter().fold((f64::INFINITY, 0f64), |(low, high), &v| (low.min(v), high.max(v)));
    format!(
        "The same order on another device: {} to {} times the thesis's speeds, of {}% of a copy.",
        few(low),
        few(high),
        rows.range("percent_of_copy")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(columns: &[&str], rows: &[&[&str]]) -> Table {
        let mut table = Table::new(columns);
        rows.iter().for_each(|row| table.push(row.iter().map(|cell| (*cell).to_owned())));
        table.origin = "NVIDIA X; driver 1; today; command".into();
        table
    }

    #[test]
    fn verdicts_follow_the_numbers() {
        let columns = ["side", "percent_of_copy"];
        assert!(
            figure_4_1(&table(&columns, &[&["128", "20"], &["256", "94"]])).starts_with("Holds")
        );
        assert!(figure_4_1(&table(&columns, &[&["256", "12"]])).starts_with("Does not hold"));

        let columns = ["super_element", "width", "version", "gb_per_s"];
        let rows: [&[&str]; 3] = [
            &["16", "31", "block with barriers", "100"],
            &["16", "31", "register tiling", "350"],
            &["16", "31", "P-IPT", "50"],
        ];
        let text = figure_4_19(&table(&columns, &rows));
        assert!(
            text.contains("register tiling 3.50 times") && text.contains("never the fastest"),
            "{text}"
        );
        let faster: [&[&str]; 3] = [rows[0], rows[1], &["16", "31", "P-IPT", "360"]];
        assert!(figure_4_19(&table(&columns, &faster)).contains("widths 31 at 16 floats"));

        let columns = ["shape", "route", "gb_per_s"];
        let padded: [&[&str]; 2] = [&["3x4", "cut", "5"], &["3x4", "padded-square", "6"]];
        assert!(near_square(&table(&columns, &padded)).starts_with("Does not hold"));
    }

    #[test]
    fn matrices_of_other_widths_are_told() {
        let columns = ["problem", "width"];
        assert_eq!(widths(&table(&columns, &[&["bcsstk18", "40"]])), "");
        assert!(
            widths(&table(&columns, &[&["bcsstk18", "49"]])).contains("bcsstk18 were measured")
        );
    }
}
