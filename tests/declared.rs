//! Structures as device code declares them, and the comparison of mirrors with them.

use std::fs;
use std::path::{Path, PathBuf};

use turntile_cuda::args::{ArgField, Layout};

/// A folder of device code.
pub struct Kernels(pub PathBuf);

impl Kernels {
    /// A file without its comments.
    pub fn source(&self, file: &str) -> String {
        let text = fs::read_to_string(self.0.join(file)).unwrap();
        let lines = text.lines().map(|line| line.split("//").next().unwrap_or(""));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Names of its files.
    pub fn files(&self) -> Vec<String> {
        let names = fs::read_dir(Path::new(&self.0)).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".cu") || name.ends_with(".cuh")).collect()
    }

    /// Types that kernels take as their one parameter; `MoveArgs<MAP>` of a macro as it is.
    pub fn taken(&self) -> Vec<String> {
        let files = self.files();
        let sources: Vec<String> = files.iter().map(|file| self.source(file)).collect();
        let pieces = sources.iter().flat_map(|text| text.split("__grid_constant__ ").skip(1));
        pieces.map(|piece| piece.split(" a)").next().unwrap().to_string()).collect()
    }

    /// Names, types and order of fields are the mirrors'.
    pub fn declare(&self, layouts: &[Layout]) {
        for layout in layouts {
            let theirs = fields(&self.source(layout.file), layout.name);
            let ours: Vec<_> = layout.fields.iter().flat_map(elements).collect();
            assert_eq!(ours, theirs, "{} of {}", layout.name, layout.file);
        }
    }

    /// The device's compiler asserts the mirrors' sizes.
    pub fn assert_sizes(&self, layouts: &[Layout]) {
        for Layout { name, file, bytes, .. } in layouts {
            let want = format!("static_assert(sizeof({name}) == {bytes});");
            assert!(self.source(file).contains(&want), "{file}: no {want}");
        }
    }
}

/// A field's type and name; of an array `d`, which device code may have as single fields, each of `d0`, `d1`, and so on.
fn elements(field: &ArgField) -> Vec<(String, String)> {
    let ArgField { name, kind, .. } = field;
    match kind.strip_suffix(']').and_then(|kind| kind.split_once('[')) {
        None => vec![(kind.to_string(), name.to_string())],
        Some((kind, count)) => {
            let count: usize = count.parse().expect("a number");
            (0..count).map(|number| (kind.to_string(), format!("{name}{number}"))).collect()
        }
    }
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
            let name = address.unwrap_or(field);
            match name.strip_suffix(']').and_then(|name| name.split_once('[')) {
                None => fields.push((kind.to_string(), name.to_string())),
                Some((name, count)) => {
                    let count: usize = count.parse().expect("a number");
                    fields.extend((0..count).map(|k| (kind.to_string(), format!("{name}{k}"))));
                }
            }
        }
    }
    fields
}
