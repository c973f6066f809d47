//! Times every kernel against a device-to-device copy of the same bytes in the same run.
//!
//! `gpu_bench DIR [TABLE]...` writes DIR/TABLE.csv, by default for all tables. Every case is
//! compared element by element before it is timed. GB/s is 2 · bytes / time.
#![allow(unsafe_code, missing_docs)]

mod bits;
#[path = "../common/mod.rs"]
mod common;
mod flips;
mod leading;
mod out_of_place;
mod records;
mod tables;
mod timing;

use std::fs;
use std::path::PathBuf;

use timing::Timer;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().expect("gpu_bench DIR [TABLE]..."));
    let asked: Vec<String> = arguments.collect();
    fs::create_dir_all(&folder).expect("the folder can be made");
    let mut timer = Timer::new();
    let mut wrong = 0;
    for (name, cases) in tables::ALL {
        if !asked.is_empty() && !asked.iter().any(|a| a == name) {
            continue;
        }
        println!("{name}");
        let mut csv = String::from(timing::HEADER);
        for case in cases() {
            let line = timer.row(&case, &mut wrong);
            csv.push_str(&line);
        }
        fs::write(folder.join(format!("{name}.csv")), csv).expect("the folder is writable");
    }
    for (name, table) in out_of_place::ALL
        .into_iter()
        .chain(leading::ALL)
        .chain(records::ALL)
        .chain(flips::ALL)
        .chain(bits::ALL)
    {
        if asked.is_empty() || asked.iter().any(|a| a == name) {
            println!("{name}");
            let csv = table(&mut timer, &mut wrong);
            fs::write(folder.join(format!("{name}.csv")), csv).expect("the folder is writable");
        }
    }
    if asked.is_empty() || asked.iter().any(|a| a == "loading") {
        fs::write(folder.join("loading.csv"), Timer::loading()).expect("the folder is writable");
    }
    println!("{wrong} cases wrong");
    std::process::exit(i32::from(wrong > 0));
}
