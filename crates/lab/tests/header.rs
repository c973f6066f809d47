//! Compares `flattening.cuh` with the lab's offsets, by a C++ compiler of the host.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use turntile_lab::layout::{Flattening, LayoutAxis};

fn listed(numbers: impl Iterator<Item = usize>) -> String {
    numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(", ")
}

/// Returns layouts of grids with strips in several orders, for sides that the strips divide and others.
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

/// Returns the C++ name of a flattening.
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

/// Returns a program that prints every span and offset, and its expected output.
fn program() -> (String, String) {
    let mut code = String::from(
        "#include <flattening.cuh>\n#include <cstdio>\nusing namespace turntile;\n\
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
fn header_has_same_offsets_as_library() {
    let (code, wanted) = program();
    let folder = tempfile::tempdir().unwrap();
    let (file, made) = (folder.path().join("offsets.cpp"), folder.path().join("offsets"));
    std::fs::write(&file, code).unwrap();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let mut command = Command::new(std::env::var("CXX").unwrap_or_else(|_| "c++".into()));
    command.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I"]).arg(include);
    let said = command.arg("-o").arg(&made).arg(&file).output().expect("a C++ compiler");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let printed = Command::new(made).output().unwrap();
    assert!(String::from_utf8_lossy(&printed.stdout) == wanted, "offsets differ");
}
