//! Table 4.1: permutations in the factorial numbering system.

use anyhow::Result;
use turntile_perm::factorial_name;

use super::bench::Bench;
use super::table::Table;

pub const COLUMNS: &[&str] = &["dimensions", "from", "to", "name", "thesis"];

/// The table's rows, and those that turntile adds, named by the crate's own arithmetic.
pub fn table_4_1(_: &mut Bench, table: &mut Table) -> Result<()> {
    let rows: [(&[usize], &str); 8] = [
        (&[0, 2, 1], "010!"),
        (&[1, 0, 2], "100!"),
        (&[1, 0, 2, 3], "1000!"),
        (&[0, 2, 1, 3], "0100!"),
        (&[0, 1, 3, 2], "0010!"),
        (&[1, 0, 3, 2], ""),
        (&[0, 3, 2, 1], ""),
        (&[2, 1, 0, 3], ""),
    ];
    for (axes, thesis) in rows {
        let names: Vec<char> = "ABCD".chars().take(axes.len()).collect();
        let list = |names: &[char]| {
            let names: Vec<String> = names.iter().map(char::to_string).collect();
            format!("({})", names.join(", "))
        };
        table.push([
            format!("{}D", axes.len()),
            list(&names),
            list(&axes.iter().map(|&axis| names[axis]).collect::<Vec<_>>()),
            factorial_name(axes),
            thesis.to_owned(),
        ]);
    }
    Ok(())
}
