//! The structures of `kernels/` and their mirrors: the same names, types, order and offsets.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use turntile_cuda::args::{Args, Layout, PARTS};

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels")
}

/// A file without its comments.
fn source(file: &str) -> String {
    let text = fs::read_to_string(kernels().join(file)).unwrap();
    text.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n")
}

/// Files of device code.
fn sources() -> Vec<String> {
    let names = fs::read_dir(kernels()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".cu") || name.ends_with(".cuh")).collect()
}

/// `Swap<u32>` as `("Swap", Some("u32"))`.
fn template(name: &str) -> (&str, Option<&str>) {
    match name.split_once('<') {
        Some((base, argument)) => (base, argument.strip_suffix('>')),
        None => (name, None),
    }
}

/// What stands between the braces of `struct NAME`, and the parameter that its template has.
fn body(text: &str, name: &str) -> (String, Option<String>) {
    let (base, argument) = template(name);
    let special = format!("template <> struct {name} {{");
    let general = format!("struct {base} {{");
    let (start, parameter) = match text.find(&special) {
        Some(at) => (at + special.len(), None),
        None => {
            let at = text.find(&general).unwrap_or_else(|| panic!("no {general}"));
            let line = text[..at].lines().last().unwrap_or("");
            let parameter = line
                .trim()
                .strip_prefix("template <class ")
                .map(|rest| rest.trim_end().strip_suffix('>').expect("one parameter").to_string());
            assert_eq!(parameter.is_some(), argument.is_some(), "{name}");
            (at + general.len(), parameter)
        }
    };
    let mut depth = 1;
    let end = text[start..].find(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth == 0
    });
    (text[start..start + end.expect("closes")].to_string(), parameter)
}

/// Fields as `(type, name)`, in order; addresses have the type `*`.
fn fields(text: &str, name: &str) -> Vec<(String, String)> {
    let (body, parameter) = body(text, name);
    // What is nested (functions) is left out.
    let (mut flat, mut depth) = (String::new(), 0);
    for c in body.chars() {
        match c {
            '{' => depth += 1,
            '}' => {
                depth -= 1;
                flat.push_str(if depth == 0 { "();" } else { "" });
            }
            _ if depth == 0 => flat.push(c),
            _ => (),
        }
    }
    let mut fields = Vec::new();
    for declaration in flat.split(';').map(str::trim) {
        if declaration.is_empty() || declaration.contains('(') || declaration.starts_with("using") {
            continue;
        }
        let declaration = declaration.strip_prefix("const ").unwrap_or(declaration);
        let (kind, names) = declaration.split_once(' ').expect("a type and names");
        let argument = template(name).1;
        let kind = match (&parameter, argument) {
            (Some(parameter), Some(argument)) if kind == parameter => argument.to_string(),
            (Some(parameter), Some(argument)) => {
                kind.replace(&format!("<{parameter}>"), &format!("<{argument}>"))
            }
            _ => kind.to_string(),
        };
        for field in names.split(',').map(str::trim) {
            let address = field.strip_prefix('*');
            let kind = if address.is_some() { "*" } else { &kind };
            fields.push((kind.to_string(), address.unwrap_or(field).to_string()));
        }
    }
    fields
}

fn layouts() -> Vec<Layout> {
    Args::LAYOUTS.iter().chain(PARTS).copied().collect()
}

#[test]
fn declarations_agree() {
    for layout in layouts() {
        let theirs = fields(&source(layout.file), layout.name);
        let ours: Vec<(String, String)> = layout
            .fields
            .iter()
            // Where C leaves a gap.
            .filter(|field| field.name != "gap")
            .map(|field| (field.kind.to_string(), field.name.to_string()))
            .collect();
        assert_eq!(ours, theirs, "{} of {}", layout.name, layout.file);
    }
}

/// What the device's compiler asserts is what ours does.
#[test]
fn the_device_code_asserts_sizes_and_offsets() {
    for layout in layouts() {
        let text: String = source(layout.file).split_whitespace().collect::<Vec<_>>().join(" ");
        let name = layout.name;
        let mut want = vec![format!("sizeof({name}) == {}", layout.bytes)];
        let fields = layout.fields.iter().filter(|field| field.name != "gap");
        want.extend(fields.map(|field| format!("AT({name}, {}) == {}", field.name, field.offset)));
        let want = format!("static_assert({});", want.join(" && "));
        assert!(text.contains(&want), "{}: no {want}", layout.file);
    }
}

/// Every structure that a kernel takes as its one parameter has a mirror, and each mirror is taken.
#[test]
fn every_parameter_is_mirrored() {
    let mut taken = BTreeSet::new();
    for file in sources() {
        for piece in source(&file).split("__grid_constant__ ").skip(1) {
            let kind = piece.split(" a)").next().unwrap();
            // `MoveArgs<MAP>` of a macro whose uses say which.
            if !kind.contains("MAP") {
                taken.insert(kind.to_string());
            }
        }
        for (entry, kinds) in [("MOVE(swap", "Swap"), ("MOVE(slots", "SlotMap")] {
            for width in ["32", "64"] {
                if source(&file).contains(&format!("{entry}{width}, {kinds}<u{width}>, ")) {
                    taken.insert(format!("MoveArgs<{kinds}<u{width}>>"));
                }
            }
        }
    }
    let mirrored = Args::LAYOUTS.iter().map(|layout| layout.name.to_string()).collect();
    assert_eq!(taken, mirrored);
}
