//! docs/reference/command.md lists the options of the help, each once. `TURNTILE_BLESS=1` writes the page anew.

use std::{env, fs};

use crate::directory;

/// Subcommands that read or plan arrays, in the order of the page.
const COMMANDS: [&str; 8] =
    ["transpose", "rot90", "rearrange", "reorder", "split", "plan", "tune", "bench"];
const MARKS: [&str; 2] = ["<!-- options: written from the help -->\n", "<!-- end -->"];

/// Returns options and their descriptions from the text of a help, in either of clap's layouts.
fn options(help: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut is_open = false;
    for line in help.lines().filter(|line| !line.trim().is_empty()) {
        let (indent, text) = (line.len() - line.trim_start().len(), line.trim());
        if (2..=6).contains(&indent) && text.starts_with('-') {
            let (option, text) = text.split_once("  ").unwrap_or((text, ""));
            found.push((option.to_string(), text.trim_start().to_string()));
        } else if indent >= 10 && is_open {
            let (_, description) = found.last_mut().expect("an option is open");
            let space = if description.is_empty() { "" } else { " " };
            let (value, text) = text.split_once(": ").unwrap_or(("", text));
            *description += &match value.strip_prefix("- ") {
                Some(value) => format!("; {value}: {}", text.trim_start()),
                None if value.is_empty() => format!("{space}{text}"),
                None => format!("{space}{value}: {text}"),
            };
        }
        is_open = indent >= 2 && !found.is_empty();
    }
    for (_, text) in &mut found {
        *text = text.replace(" Possible values:", "");
    }
    found.retain(|(option, _)| option != "-h, --help");
    found
}

#[test]
fn the_page_lists_all_options_of_the_help() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/command.md");
    // Packages of the crate have no pages.
    let Ok(page) = fs::read_to_string(path) else { return };
    let mut rows: Vec<(String, String, Vec<&str>)> = Vec::new();
    for command in COMMANDS {
        for (option, text) in options(&directory().good(&format!("{command} --help"))) {
            match rows.iter_mut().find(|row| row.0 == option) {
                Some(row) => row.2.push(command),
                None => rows.push((option, text, vec![command])),
            }
        }
    }
    let mut table = "| option | subcommands | meaning |\n|---|---|---|\n".to_string();
    for (option, text, commands) in &rows {
        let files = &COMMANDS[..5];
        let of = match commands.len() {
            8 => "all".to_string(),
            5 if commands == files => "subcommands that write files".to_string(),
            _ => commands.join(", "),
        };
        table += &format!("| `{option}` | {of} | {} |\n", text.replace('|', "\\|"));
    }
    assert!(rows.len() > 30, "the help lists {} options", rows.len());
    let (before, rest) = page.split_once(MARKS[0]).expect("the mark of the table");
    let (_, after) = rest.split_once(MARKS[1]).expect("the end of the table");
    let new = [before, MARKS[0], &table, MARKS[1], after].concat();
    if env::var_os("TURNTILE_BLESS").is_some() {
        fs::write(path, new).unwrap();
    } else {
        assert!(page == new, "options of the help are missing: TURNTILE_BLESS=1 writes the page");
    }
}
