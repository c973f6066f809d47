//! Compares `include/turntile.h` with the Rust declarations: a C compiler asserts sizes, offsets, numbers and signatures.

use std::fmt::Write as _;
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

use crate::calls::{
    self, turntile_flip, turntile_permute, turntile_rot90, turntile_status_name, turntile_strerror,
    turntile_transpose, turntile_transpose_bits, turntile_transpose_copy, turntile_version,
};
use crate::desc::{self, Desc};
use crate::last_error::{turntile_last_error, turntile_set_last_error};
use crate::plan::{
    PlanHandle, turntile_execute, turntile_execute_copy, turntile_plan_create,
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
    pub type uint64_t = u64;
    pub type turntile_desc = super::Desc;
    pub type turntile_plan = super::PlanHandle;
    pub type turntile_status = super::Status;
}

/// Lists the functions with their C types, and checks that these are their Rust types.
macro_rules! functions {
    ($($kind:ident $name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {{
        use c::*;
        $( let _: functions!(@$kind fn($($argument),*) $(-> $result)?) = $name; )*
        [$( (stringify!($name), vec![$(stringify!($argument)),*], concat!($(stringify!($result))?)) ),*]
    }};
    (@safe $($signature:tt)*) => { extern "C" $($signature)* };
    (@raw $($signature:tt)*) => { unsafe extern "C" $($signature)* };
}

/// Returns a Rust type in C's syntax.
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
    for &(status, name, _) in Status::ALL {
        assert(format!("{} == {}", name.to_str().unwrap(), status as i32));
    }
    assert(format!("TURNTILE_VERSION == {}u", Version::LIBRARY.0));
    for (name, value) in [
        ("CPU", i64::from(desc::CPU)),
        ("CUDA", desc::CUDA.into()),
        ("CUDA_CURRENT", desc::CUDA_CURRENT.into()),
        ("OUT_OF_PLACE", desc::OUT_OF_PLACE.into()),
        ("BIG", calls::BIG.into()),
        ("LITTLE", calls::LITTLE.into()),
        ("MAX_NDIM", crate::memory::MAX_NDIM as i64),
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
        version: uint32_t, device: uint32_t, device_index: i32, flags: uint32_t, itemsize: size_t,
        ndim: size_t, shape: *const size_t, axes: *const size_t, batch: size_t, threads: size_t,
        workspace_limit: size_t, alignment: size_t, lda: size_t, ldb: size_t, flip: uint64_t,
    }
    let functions = functions! {
        safe turntile_version() -> uint32_t;
        safe turntile_last_error() -> *const char;
        raw turntile_set_last_error(*const char);
        safe turntile_strerror(int) -> *const char;
        safe turntile_status_name(int) -> *const char;
        raw turntile_transpose(*mut void, size_t, size_t, size_t) -> turntile_status;
        raw turntile_permute(*mut void, size_t, *const size_t, *const size_t, size_t) -> turntile_status;
        raw turntile_flip(*mut void, size_t, *const size_t, uint64_t, size_t) -> turntile_status;
        raw turntile_rot90(*mut void, size_t, *const size_t, int, size_t, size_t, size_t) -> turntile_status;
        raw turntile_transpose_copy(*const void, *mut void, size_t, size_t, size_t) -> turntile_status;
        raw turntile_transpose_bits(*const void, *mut void, size_t, size_t, size_t, int, int) -> turntile_status;
        raw turntile_plan_create(*const turntile_desc, *mut *mut turntile_plan) -> turntile_status;
        raw turntile_plan_destroy(*mut turntile_plan);
        raw turntile_plan_workspace(*const turntile_plan) -> size_t;
        raw turntile_plan_text(*const turntile_plan, *mut char, size_t) -> size_t;
        raw turntile_execute(*const turntile_plan, *mut void, size_t, *mut void, size_t, *mut void) -> turntile_status;
        raw turntile_execute_copy(*const turntile_plan, *const void, *mut void, size_t, *mut void) -> turntile_status;
    };
    for (name, arguments, result) in &functions {
        let arguments: Vec<String> = arguments.iter().map(|argument| in_c(argument)).collect();
        let arguments = if arguments.is_empty() { "void".into() } else { arguments.join(", ") };
        let result = in_c(result);
        assert(format!("_Generic(&{name}, {result} (*)({arguments}): 1, default: 0)"));
    }
    let header = include_str!("../include/turntile.h");
    assert_eq!(
        header.lines().filter(|line| line.starts_with("TURNTILE_")).count(),
        functions.len()
    );
    text
}

#[test]
fn header_and_library_are_equal() {
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
