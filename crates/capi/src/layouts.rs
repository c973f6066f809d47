//! Compares the offsets of `layout.cuh`, compiled as C++, with those of the library.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use turntile::layout::{RecordConversion, RecordOrder};

/// Records: fields in the order of their columns, each with its offset in a structure and its bytes.
const RECORDS: [&[(usize, usize)]; 4] = [
    &[(0, 4), (4, 12), (16, 1), (17, 8)],
    // A C structure of these fields; the last field is its padding.
    &[(0, 4), (4, 12), (16, 1), (24, 8), (17, 7)],
    // Columns by decreasing alignment.
    &[(8, 8), (0, 4), (16, 2), (4, 1), (5, 3), (18, 6)],
    &[(0, 1)],
];
const COUNTS: [usize; 6] = [1, 2, 31, 32, 33, 97];
const LAYOUTS: [RecordOrder; 5] = [
    RecordOrder::Aos,
    RecordOrder::Soa,
    RecordOrder::Asta(1),
    RecordOrder::Asta(8),
    RecordOrder::Asta(32),
];

fn listed(numbers: impl Iterator<Item = usize>) -> String {
    numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(", ")
}

/// Returns a program that prints every offset, one line per record of each case, and its expected output.
fn program() -> (String, String) {
    let mut code = String::from(
        "#include <turntile/layout.cuh>\n#include <cstdio>\nusing namespace turntile;\n\
         template <class Layout> void print(Layout layout, size_t count) {\n\
         for (size_t i = 0; i < layout.n; i++) {\n\
         for (size_t f = 0; f < count; f++) std::printf(\"%zu \", layout.at(i, f));\n\
         std::puts(\"\"); } }\n\
         static_assert(asta<5, 32>{33}.at(32, 4) == 164 && soa<5>{33}.at(1, 4) == 133);\n\
         int main() {\n",
    );
    let mut wanted = String::new();
    let mut case =
        |records: &RecordConversion, name: &str, n: usize, count: usize, layout, unit| {
            writeln!(code, "print({name}{{{n}}}, {count});").unwrap();
            for i in 0..n {
                for f in 0..count {
                    write!(wanted, "{} ", records.offset(layout, i, f) / unit).unwrap();
                }
                wanted.push('\n');
            }
        };
    for (n, layout) in COUNTS.into_iter().flat_map(|n| LAYOUTS.map(|layout| (n, layout))) {
        for fields in RECORDS {
            let sizes = listed(fields.iter().map(|field| field.1));
            let places = listed(fields.iter().map(|field| field.0));
            let name = match layout {
                RecordOrder::Aos => format!("aos_of<fields<{sizes}>, places<{places}>>"),
                RecordOrder::Soa => format!("soa_of<fields<{sizes}>>"),
                RecordOrder::Asta(tile) => format!("asta_of<fields<{sizes}>, {tile}>"),
            };
            let bytes = fields.iter().map(|field| field.1).sum();
            let records = RecordConversion::by_offsets(n, bytes, fields).unwrap();
            case(&records, &name, n, fields.len(), layout, 1);
        }
        let name = match layout {
            RecordOrder::Aos => "aos<5>".to_string(),
            RecordOrder::Soa => "soa<5>".to_string(),
            RecordOrder::Asta(tile) => format!("asta<5, {tile}>"),
        };
        case(&RecordConversion::new(n, &[4; 5]), &name, n, 5, layout, 4);
    }
    (code + "}\n", wanted)
}

#[test]
fn offsets_are_those_of_the_library() {
    let (code, wanted) = program();
    let folder = tempfile::tempdir().unwrap();
    let (file, made) = (folder.path().join("offsets.cpp"), folder.path().join("offsets"));
    std::fs::write(&file, code).unwrap();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let mut command = Command::new(std::env::var("CXX").unwrap_or_else(|_| "c++".into()));
    command.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"]).arg(include);
    let said = command.arg("-o").arg(&made).arg(&file).output().expect("a C++ compiler");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let printed = Command::new(made).output().unwrap();
    assert!(String::from_utf8_lossy(&printed.stdout) == wanted, "offsets differ");
}
