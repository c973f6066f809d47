//! Every verdict from two sets of numbers, each with an opening of its own.

use std::collections::BTreeSet;

use super::items;
use super::page::opening;
use super::table::Table;
use super::verdict_cases::CASES;

fn table(columns: &str, rows: &[&str]) -> Table {
    let mut table = Table::new(&columns.split('|').collect::<Vec<_>>());
    rows.iter().for_each(|row| table.push(row.split('|').map(str::to_owned)));
    table.origin = "NVIDIA X; driver 1; today; command".into();
    table
}

#[test]
fn other_numbers_make_another_verdict() {
    let mut tried = BTreeSet::new();
    for (id, columns, [first, second]) in CASES {
        let item = items::all().find(|item| item.id == *id).unwrap();
        assert!(columns.split('|').all(|column| item.columns.contains(&column)), "{id}");
        for (want, rows) in [first, second] {
            let text = (item.verdict)(&table(columns, rows));
            assert_eq!(opening(&text), *want, "{id}: {text}");
        }
        assert_ne!(first.0, second.0);
        tried.insert(*id);
    }
    assert_eq!(tried, items::all().map(|item| item.id).collect());
}

fn verdict_of(id: &str, columns: &str, rows: &[&str]) -> String {
    (items::all().find(|item| item.id == id).unwrap().verdict)(&table(columns, rows))
}

#[test]
fn speedups_are_means_of_ratios() {
    let rows = [
        "16|31|block with barriers|100",
        "16|31|shared-memory tiling|400",
        "16|31|register tiling|500",
        "64|31|block with barriers|1000",
        "64|31|shared-memory tiling|2000",
        "64|31|register tiling|2500",
    ];
    let text = verdict_of("figure-4.19", "super_element|width|version|gb_per_s", &rows);
    assert!(text.contains("3.00 times the original in the mean, 4.00 at 16 floats"), "{text}");
    assert!(text.contains("register tiling 3.75 times, 5.00 at 16"), "{text}");
}

#[test]
fn what_does_not_hold_is_said_first() {
    let rows = ["barrier, in place|82", "PTTWAC, in place|20", "out of place|100"];
    let text = verdict_of("table-5.2", "kernel|gb_per_s", &rows);
    assert!(
        text.starts_with("Holds in part. Against it: barrier-sync in place is 0.82 times"),
        "{text}"
    );
    assert!(text.contains("For it: barrier-sync is 4.1 times"), "{text}");
}

#[test]
fn a_number_is_counted_once() {
    let rows = [
        "padded|16|1088|1088|16",
        "padded|16|1088|1088|16",
        "selective-copying|16|1024|1024|0",
        "parallel-write|16|1024|1024|0",
    ];
    let text =
        verdict_of("shared-memory", "kernel|tile|shared_bytes|khan_bytes|conflicts_a_tile", &rows);
    assert!(text.contains("2 of 2 numbers of bytes"), "{text}");
}

#[test]
fn a_host_is_not_compared_with_groups_or_versions() {
    for (id, columns, [(_, rows), _]) in CASES {
        if ["figure-4.17", "figure-4.19"].contains(id) {
            let mut table = table(columns, rows);
            table.origin = "A processor; 2 threads; today; command".into();
            let item = items::all().find(|item| item.id == *id).unwrap();
            assert_eq!(opening(&(item.verdict)(&table)), "Not comparable", "{id}");
        }
    }
}
