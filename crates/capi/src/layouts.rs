//! The header of layouts for kernels beside the library's offsets, by a C++ compiler of the host.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use turntile::layout::{Flattening, LayoutAxis, RecordConversion, RecordOrder};

/// Fields in the order of their columns, each with its place in a structure and its bytes.
const RECORDS: [&[(usize, usize)]; 4] = [
    &[(0, 4), (4, 12), (16, 1), (17, 8)],
    // A structure of the same by its compiler, its gap last.
    &[(0, 4), (4, 12), (16, 1), (24, 8), (17, 7)],
    // Columns by falling alignment.
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

/// A program that prints every offset, a line for each record of each case, and what it is to print.
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

/// Layouts of grids: strips and orders, sides that divide and others.
fn grids() -> Vec<Flattening> {
    let plain = |dims: &[usize]| Flattening::row_major(dims).unwrap();
    let mut all = vec![plain(&[7]), plain(&[3, 0, 2]), plain(&[5, 4, 3])];
    for (ny, nx) in [(8, 24), (9, 21)] {
        let cut = plain(&[ny, nx, 4]).strip_mined(1, 8).unwrap().strip_mined(0, 4).unwrap();
        all.push(cut.clone().permuted(&[0, 2, 4, 1, 3]).unwrap());
        // Strips in strips, as where a coefficient is 2.
        all.push(cut.strip_mined(3, 2).unwrap().permuted(&[4, 0, 2, 5, 1, 3]).unwrap());
    }
    all
}

/// A flattening as C++ names it.
fn in_cpp(grid: &Flattening) -> String {
    let part = |part: &LayoutAxis| {
        // The outermost part of a dimension is what is left of the index.
        let outer =
            grid.parts().iter().all(|other| other.dim != part.dim || other.over <= part.over);
        let strip = if outer { 0 } else { part.extent };
        format!("strip_of<{}, {}, {strip}>", part.dim, part.over)
    };
    let parts: Vec<String> = grid.parts().iter().map(part).collect();
    format!("flattening<{}>{{{{{}}}}}", parts.join(", "), listed(grid.dims().iter().copied()))
}

/// The same program of grids.
fn program_of_grids() -> (String, String) {
    let mut code = String::from(
        "#include <turntile/layout.cuh>\n#include <cstdio>\nusing namespace turntile;\n\
         static_assert(flattening<strip_of<0, 16>, strip_of<1>, strip_of<0, 1, 16>>{{40, 5}}.at(17, 3) == 129);\n\
         int main() {\n",
    );
    let mut wanted = String::new();
    for grid in grids() {
        let plain = Flattening::row_major(grid.dims()).unwrap();
        writeln!(
            code,
            "{{ const auto grid = {}; std::printf(\"%zu\\n\", grid.span());",
            in_cpp(&grid)
        )
        .unwrap();
        writeln!(wanted, "{}", grid.span()).unwrap();
        for index in (0..plain.len()).filter_map(|k| plain.index(k)) {
            let offset = grid.offset(&index).unwrap();
            let index = listed(index.into_iter());
            writeln!(code, "std::printf(\"%zu\\n\", grid.at({index}));").unwrap();
            writeln!(wanted, "{offset}").unwrap();
        }
        code += "}\n";
    }
    (code + "}\n", wanted)
}

#[test]
fn offsets_are_those_of_the_library() {
    compare(program());
}

#[test]
fn offsets_of_grids_are_those_of_the_library() {
    compare(program_of_grids());
}

/// Compiles and runs a program, and looks at what it prints.
fn compare((code, wanted): (String, String)) {
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
