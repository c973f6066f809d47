//! Several inputs in one call.

use serde_json::Value;

use crate::{directory, ended, pair};

#[test]
fn each_input_is_replaced_or_written_to_a_directory() {
    let directory = directory();
    let pairs = [(601, 403), (7, 5), (413, 677)].map(|(rows, cols)| pair(rows, cols));
    let names = ["a.npy", "b.npy", "c.npy"];
    let write_all = || {
        for (name, [before, _]) in names.iter().zip(&pairs) {
            directory.write(name, before);
        }
    };
    for options in ["", "--memory 1M", "--threads 1"] {
        write_all();
        let text = directory.good(&format!("transpose {options} a.npy b.npy c.npy -o new"));
        assert_eq!(text.matches(" -> new/").count(), 3, "{text}");
        let text = directory.good(&format!("transpose --in-place {options} a.npy b.npy c.npy"));
        assert_eq!(text.lines().filter(|line| line.contains(" f4 -> ")).count(), 3, "{text}");
        for (name, [_, after]) in names.iter().zip(&pairs) {
            assert!(directory.read(name) == *after, "{name} {options}");
            assert!(directory.read(&format!("new/{name}")) == *after, "{name} {options}");
        }
        assert_eq!(directory.files().len(), 7, "{options}");
    }
    write_all();
    let text = directory.good("transpose -i --axes 1,0 c.npy a.npy b.npy --json");
    let reports = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let files: Vec<Value> = reports.map(|report: Value| report["file"].clone()).collect();
    assert_eq!(files, ["c.npy", "a.npy", "b.npy"]);
    // A single input too goes into a directory that exists, under its name.
    directory.good("transpose a.npy -o new");
    assert!(directory.read("new/a.npy") == pairs[0][0]);
    // A file that is named twice is changed twice.
    directory.good("transpose -i c.npy ./c.npy");
    assert!(directory.read("c.npy") == pairs[2][1]);
}

#[test]
fn results_with_one_name_are_rejected() {
    let directory = directory();
    let [before, after] = pair(5, 7);
    let [other, _] = pair(3, 4);
    for name in ["x", "y"] {
        std::fs::create_dir(directory.at(name)).unwrap();
    }
    directory.write("x/a.npy", &before);
    directory.write("y/a.npy", &other);
    for (line, text) in [
        ("transpose x/a.npy y/a.npy -o new", "are both named new/a.npy"),
        ("transpose x/a.npy x/a.npy -o new", "are both named new/a.npy"),
        ("transpose x/a.npy y/a.npy -o y", "would replace the input y/a.npy"),
        ("transpose x/a.npy y/a.npy -o ./x/../y", "would replace the input y/a.npy"),
    ] {
        let errors = ended(line, &directory.turntile(line), 1, &[text]);
        assert_eq!(errors.lines().count(), 1, "{errors}");
        assert!(directory.read("x/a.npy") == before && directory.read("y/a.npy") == other);
        assert!(!directory.at("new").exists(), "{line}");
    }
    // A single input replaces itself.
    directory.good("transpose x/a.npy -o x");
    assert!(directory.read("x/a.npy") == after);
}

#[test]
fn others_follow_after_an_error() {
    let directory = directory();
    let [before, after] = pair(30, 50);
    for name in ["a.npy", "c.npy", "e.npy"] {
        directory.write(name, &before);
    }
    directory.write("b.npy", &before[..before.len() - 1]);
    std::fs::create_dir(directory.at("folder")).unwrap();
    let line = "transpose -i a.npy b.npy none.npy c.npy folder e.npy --json";
    let output = directory.turntile(line);
    let errors = ended(line, &output, 1, &[]);
    assert_eq!(errors.lines().count(), 3, "{errors}");
    for (error, name) in errors.lines().zip(["b.npy", "none.npy", "folder"]) {
        assert!(error.starts_with("error: ") && error.contains(name), "{error}");
    }
    let text = String::from_utf8(output.stdout).unwrap();
    let reports: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let failed = reports.iter().filter(|report| report["error"].is_string());
    let failed: Vec<_> = failed.map(|report| &report["file"]).collect();
    assert_eq!(reports.len(), 6);
    assert_eq!(failed, ["b.npy", "none.npy", "folder"]);
    for name in ["a.npy", "c.npy", "e.npy"] {
        assert!(directory.read(name) == after, "{name}");
    }
    assert!(directory.read("b.npy") == before[..before.len() - 1]);
    // An error that does not name the file itself.
    let line = "transpose -i a.npy c.npy --route square";
    ended(line, &directory.turntile(line), 1, &["a.npy: route", "c.npy: route"]);
    // No change at all if an option is wrong.
    let line = "transpose -i a.npy c.npy --wisdom none.json";
    directory.bad(line, 1, &["no wisdom file"]);
}
