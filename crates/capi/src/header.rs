//! `include/turntile.h` says what is declared here: a C compiler asserts it.

use std::fmt::Write as _;
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

use crate::calls::{
    turntile_last_error, turntile_permute, turntile_status_name, turntile_transpose,
    turntile_transpose_into, turntile_version,
};
use crate::desc::{self, Desc};
use crate::plan::{
    PlanHandle, turntile_execute, turntile_execute_into, turntile_plan_create,
    turntile_plan_destroy, turntile_plan_text, turntile_plan_workspace,
};
use crate::status::Status;
use crate::version::Version;

#[expect(non_camel_case_types, reason = "the names of C")]
mod c {
    pub type void = std::ffi::c_void;
    pub type char = std::ffi::c_char;
    pub type int = std::ffi::c_int;
    pub type size_t = usize;
    pub type uint32_t = u32;
    pub type turntile_desc = super::Desc;
    pub type turntile_plan = super::PlanHandle;
    pub type turntile_status = super::Status;
}

/// The name of each function with its type in C, which is its type in Rust too: the compiler says so here.
macro_rules! functions {
    ($($kind:ident $name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {{
        use c::*;
        $( let _: functions!(@$kind fn($($argument),*) $(-> $result)?) = $name; )*
        [$( (stringify!($name), vec![$(stringify!($argument)),*], concat!($(stringify!($result))?)) ),*]
    }};
    (@safe $($signature:tt)*) => { extern "C" $($signature)* };
    (@raw $($signature:tt)*) => { unsafe extern "C" $($signature)* };
}

/// A Rust type as C writes it.
fn in_c(rust: &str) -> String {
    let rust = rust.replace("c::", "");
    match (rust.strip_prefix("*mut "), rust.strip_prefix("*const ")) {
        (Some(inner), _) => format!("{} *", in_c(inner)),
        (_, Some(inner)) => format!("const {} *", in_c(inner)),
        _ if rust.is_empty() => "void".to_owned(),
        _ => rust,
    }
}

fn assertions() -> String {
    let mut text = String::from("#include \"turntile.h\"\n");
    let mut assert = |what: String| writeln!(text, "_Static_assert({what}, \"\");").unwrap();
    for &(status, name) in Status::ALL {
        assert(format!("{} == {}", name.to_str().unwrap(), status as i32));
    }
    assert(format!("TURNTILE_VERSION == {}u", Version::LIBRARY.0));
    for (name, value) in [
        ("HOST", i64::from(desc::HOST)),
        ("CUDA", desc::CUDA.into()),
        ("CUDA_CURRENT", desc::CUDA_CURRENT.into()),
        ("OUT_OF_PLACE", desc::OUT_OF_PLACE.into()),
        ("NO_WORKSPACE", desc::NO_WORKSPACE.into()),
        ("MOST_AXES", crate::memory::MOST_AXES as i64),
    ] {
        assert(format!("TURNTILE_{name} == {value}"));
    }
    assert(format!("sizeof(turntile_status) == {}", size_of::<Status>()));
    assert(format!("sizeof(turntile_desc) == {}", size_of::<Desc>()));
    macro_rules! fields {
        ($($field:ident: $type:ty,)*) => {{
            use c::*;
            // Every field, and nothing else.
            let _ = |desc: Desc| { let Desc { $($field),* } = desc; $( let _: $type = $field; )* };
            $(
                let field = stringify!($field);
                assert(format!("offsetof(turntile_desc, {field}) == {}", offset_of!(Desc, $field)));
                let of = format!("((turntile_desc *)0)->{field}");
                assert(format!("_Generic({of}, {}: 1, default: 0)", in_c(stringify!($type))));
            )*
        }};
    }
    fields! {
        size: size_t, version: uint32_t, device: uint32_t, device_index: i32, flags: uint32_t, elem_bytes: size_t,
        rank: size_t, extents: *const size_t, axes: *const size_t, batch: size_t, threads: size_t,
        workspace_limit: size_t, alignment: size_t, lda: size_t, ldb: size_t,
    }
    let functions = functions! {
        safe turntile_version() -> uint32_t;
        safe turntile_last_error() -> *const char;
        safe turntile_status_name(int) -> *const char;
        raw turntile_transpose(*mut void, size_t, size_t, size_t) -> turntile_status;
        raw turntile_permute(*mut void, size_t, *const size_t, *const size_t, size_t) -> turntile_status;
        raw turntile_transpose_into(*mut void, *const void, size_t, size_t, size_t) -> turntile_status;
        raw turntile_plan_create(*const turntile_desc, *mut *mut turntile_plan) -> turntile_status;
        raw turntile_plan_destroy(*mut turntile_plan);
        raw turntile_plan_workspace(*const turntile_plan) -> size_t;
        raw turntile_plan_text(*const turntile_plan, *mut char, size_t) -> size_t;
        raw turntile_execute(*const turntile_plan, *mut void, size_t, *mut void, size_t, *mut void) -> turntile_status;
        raw turntile_execute_into(*const turntile_plan, *mut void, *const void, size_t, *mut void) -> turntile_status;
    };
    for (name, arguments, result) in &functions {
        let arguments: Vec<String> = arguments.iter().map(|argument| in_c(argument)).collect();
        let arguments = if arguments.is_empty() { "void".into() } else { arguments.join(", ") };
        let result = in_c(result);
        assert(format!("_Generic(&{name}, {result} (*)({arguments}): 1, default: 0)"));
    }
    let header = include_str!("../include/turntile.h");
    let declared = |line: &&str| {
        line.contains("turntile_") && line.contains('(') && !line.starts_with([' ', '#'])
    };
    assert_eq!(
        header.lines().filter(declared).count(),
        functions.len(),
        "as many as the header declares"
    );
    text
}

#[test]
fn the_header_says_what_the_library_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("assertions.c");
    std::fs::write(&file, assertions().replace("i32", "int32_t")).unwrap();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    for standard in ["-std=c11", "-std=c23"] {
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        let mut command = Command::new(compiler);
        command.args([standard, "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"]);
        let said = command.arg("-I").arg(&include).arg(&file).output().expect("a C compiler");
        let text = String::from_utf8_lossy(&said.stderr);
        let unknown = text.contains("unrecognized") || text.contains("invalid value");
        if standard == "-std=c11" || !unknown {
            assert!(said.status.success(), "{standard}: {text}");
        }
    }
}
