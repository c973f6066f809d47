//! Several files in one call, and what a second name means.

use std::fs;

use crate::{directory, errors, pair};

#[test]
fn each_file_is_changed_where_it_is() {
    let directory = directory();
    let shapes = [(601, 403), (7, 5), (413, 677)];
    let pairs = shapes.map(|(rows, cols)| pair(rows, cols));
    let names = ["a.npy", "b.npy", "c.npy"];
    let write_all = || {
        for (name, [before, _]) in names.iter().zip(&pairs) {
            fs::write(directory.at(name), before).unwrap();
        }
    };
    let want: Vec<_> = names
        .iter()
        .zip(&pairs)
        .map(|(name, [_, after])| (name.to_string(), after.clone()))
        .collect();
    for options in ["", "--memory 1M", "--threads 1"] {
        write_all();
        let text = directory.good(&format!("transpose --in-place {options} a.npy b.npy c.npy"));
        assert_eq!(text.lines().filter(|line| line.contains(" f4 -> ")).count(), 3, "{text}");
        assert!(directory.files() == want, "{options}");
    }
    write_all();
    let text = directory.good("permute -i --axes 1,0 c.npy a.npy b.npy --json");
    let reports: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<_> = reports.iter().map(|report| report["file"].as_str().unwrap()).collect();
    assert_eq!(names, ["c.npy", "a.npy", "b.npy"]);
    assert!(directory.files() == want);
}

#[test]
fn what_cannot_be_changed_does_not_keep_the_others() {
    let directory = directory();
    let [before, after] = pair(30, 50);
    let at = |name: &str| directory.at(name);
    for name in ["a.npy", "c.npy", "e.npy"] {
        fs::write(at(name), &before).unwrap();
    }
    fs::write(at("b.npy"), &before[..before.len() - 1]).unwrap();
    fs::create_dir(at("folder")).unwrap();
    let line = "transpose -i a.npy b.npy none.npy c.npy folder e.npy --json";
    let output = directory.turntile(line);
    let errors = errors(&output);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert_eq!(errors.lines().count(), 3, "{errors}");
    for (error, name) in errors.lines().zip(["b.npy", "none.npy", "folder"]) {
        assert!(error.contains(name), "{error}");
    }
    let reports: Vec<serde_json::Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let failed: Vec<_> = reports
        .iter()
        .filter(|report| report["error"].is_string())
        .map(|report| &report["file"])
        .collect();
    assert_eq!(reports.len(), 6);
    assert_eq!(failed, ["b.npy", "none.npy", "folder"]);
    for name in ["a.npy", "c.npy", "e.npy"] {
        assert!(fs::read(at(name)).unwrap() == after, "{name}");
    }
    assert!(fs::read(at("b.npy")).unwrap() == before[..before.len() - 1]);
    // An error that names no file by itself.
    let errors = directory.turntile("transpose -i a.npy c.npy --route square").stderr;
    let errors = String::from_utf8(errors).unwrap();
    assert!(errors.contains("a.npy: ") && errors.contains("c.npy: "), "{errors}");
}

#[test]
fn a_second_name_is_never_that_of_a_file_that_is_there() {
    let directory = directory();
    let [before, after] = pair(30, 50);
    for name in ["a.npy", "b.npy", "c.npy"] {
        fs::write(directory.at(name), &before).unwrap();
    }
    // What a shell makes of `*.npy` where there are two, or three.
    let words = &["b.npy is there already", "--output", "--in-place"];
    directory.bad("transpose a.npy b.npy", 1, words);
    directory.bad("transpose a.npy b.npy --dry-run", 1, words);
    directory.bad("transpose a.npy ./a.npy", 1, &["is there already"]);
    directory.bad("transpose a.npy b.npy c.npy", 2, &["--in-place"]);
    directory.bad("transpose a.npy b.npy -o d.npy", 2, &["cannot be used with"]);
    directory.bad("transpose -i a.npy -o d.npy", 2, &["cannot be used with"]);
    directory.good("transpose a.npy d.npy");
    directory.good("transpose a.npy -o b.npy");
    for name in ["b.npy", "d.npy"] {
        assert!(directory.read(name) == after, "{name}");
    }
}

#[test]
fn a_file_named_twice_is_not_changed() {
    let directory = directory();
    for name in ["a.npy", "b.npy"] {
        fs::write(directory.at(name), &pair(30, 50)[0]).unwrap();
    }
    directory.bad("transpose -i a.npy b.npy a.npy", 1, &["a.npy and a.npy are one file"]);
    directory.bad("transpose -i a.npy b.npy ./a.npy", 1, &["a.npy and ./a.npy are one file"]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("a.npy", directory.at("link.npy")).unwrap();
        let words = &["link.npy and a.npy are one file"];
        directory.bad("transpose -i link.npy b.npy a.npy", 1, words);
    }
    directory.bad("transpose -i a.npy b.npy --wisdom none.json", 1, &["no wisdom file"]);
}

#[test]
fn the_help_says_where_temporary_files_are() {
    for command in ["transpose", "permute", "rearrange", "reorder"] {
        let help = directory().good(&format!("{command} --help"));
        let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("-i FILE...") && words.contains(".turntile-NAME-"), "{help}");
        assert!(words.contains("removed by the next run"), "{help}");
    }
}
