//! The driver's functions by their own names, each found in the driver's library when it is first called.
//!
//! The bindings declare them as functions that the linker finds. It finds these: each jumps to where its place in a
//! table says. At first that is `first`, which keeps the arguments, asks [`resolve`] and jumps on; from then on it is the
//! driver's function. The names are hidden: no program or library that has them exports them.
#![allow(unsafe_code)]

use std::arch::global_asm;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use super::library::library;
use super::names::with_driver_functions;

/// `CUDA_ERROR_NO_DEVICE`: what each answers where there is no driver.
const NO_DEVICE: c_int = 100;
/// `CUDA_ERROR_NOT_FOUND`: what one answers that the driver has not.
pub(super) const NOT_FOUND: c_int = 500;

extern "C" fn no_device() -> c_int {
    NO_DEVICE
}

extern "C" fn not_found() -> c_int {
    NOT_FOUND
}

/// From an entry to where its place in the table says; the place stays in a register that holds no argument.
#[cfg(target_arch = "x86_64")]
macro_rules! jump {
    ($name:ident) => {
        concat!("lea r11, [rip + .Lplace_", stringify!($name), "]\n", "jmp qword ptr [r11]\n")
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    ($name:ident) => {
        concat!(
            "adrp x16, .Lplace_",
            stringify!($name),
            "\n",
            "add x16, x16, :lo12:.Lplace_",
            stringify!($name),
            "\n",
            // What another thread's look-up wrote is seen before what it found is called.
            "ldar x17, [x16]\n",
            "br x17\n",
        )
    };
}

/// The entry of one name.
macro_rules! entry {
    ($name:ident) => {
        concat!(
            ".globl ",
            stringify!($name),
            "\n.hidden ",
            stringify!($name),
            "\n.type ",
            stringify!($name),
            ", @function\n",
            stringify!($name),
            ":\n",
            jump!($name),
            ".size ",
            stringify!($name),
            ", . - ",
            stringify!($name),
            "\n",
        )
    };
}

/// Registers that hold arguments are kept around the call; the place in the table comes in one that holds none.
#[cfg(target_arch = "x86_64")]
macro_rules! first {
    () => {
        r"
        .Lfirst:
            .cfi_startproc
            push rbp
            .cfi_def_cfa_offset 16
            .cfi_offset rbp, -16
            mov rbp, rsp
            .cfi_def_cfa_register rbp
            push rdi
            push rsi
            push rdx
            push rcx
            push r8
            push r9
            sub rsp, 128
            movaps [rsp], xmm0
            movaps [rsp + 16], xmm1
            movaps [rsp + 32], xmm2
            movaps [rsp + 48], xmm3
            movaps [rsp + 64], xmm4
            movaps [rsp + 80], xmm5
            movaps [rsp + 96], xmm6
            movaps [rsp + 112], xmm7
            mov rdi, r11
            call {resolve}
            mov r11, rax
            movaps xmm0, [rsp]
            movaps xmm1, [rsp + 16]
            movaps xmm2, [rsp + 32]
            movaps xmm3, [rsp + 48]
            movaps xmm4, [rsp + 64]
            movaps xmm5, [rsp + 80]
            movaps xmm6, [rsp + 96]
            movaps xmm7, [rsp + 112]
            add rsp, 128
            pop r9
            pop r8
            pop rcx
            pop rdx
            pop rsi
            pop rdi
            pop rbp
            .cfi_def_cfa rsp, 8
            jmp r11
            .cfi_endproc
        "
    };
}
#[cfg(target_arch = "aarch64")]
macro_rules! first {
    () => {
        r"
        .Lfirst:
            .cfi_startproc
            stp x29, x30, [sp, #-224]!
            .cfi_def_cfa_offset 224
            .cfi_offset x29, -224
            .cfi_offset x30, -216
            mov x29, sp
            .cfi_def_cfa_register x29
            stp x0, x1, [sp, #16]
            stp x2, x3, [sp, #32]
            stp x4, x5, [sp, #48]
            stp x6, x7, [sp, #64]
            str x8, [sp, #80]
            stp q0, q1, [sp, #96]
            stp q2, q3, [sp, #128]
            stp q4, q5, [sp, #160]
            stp q6, q7, [sp, #192]
            mov x0, x16
            bl {resolve}
            mov x16, x0
            ldp x0, x1, [sp, #16]
            ldp x2, x3, [sp, #32]
            ldp x4, x5, [sp, #48]
            ldp x6, x7, [sp, #64]
            ldr x8, [sp, #80]
            ldp q0, q1, [sp, #96]
            ldp q2, q3, [sp, #128]
            ldp q4, q5, [sp, #160]
            ldp q6, q7, [sp, #192]
            ldp x29, x30, [sp], #224
            .cfi_def_cfa sp, 0
            .cfi_restore x29
            .cfi_restore x30
            br x16
            .cfi_endproc
        "
    };
}

macro_rules! define {
    ($($name:ident)*) => {
        /// Their names, each with a final zero, in the table's order.
        const NAMES: &[&str] = &[$(concat!(stringify!($name), "\0")),*];

        global_asm!(
            ".pushsection .data.rel.turntile_cuda_driver_table, \"aw\", @progbits",
            ".balign 8",
            ".globl turntile_cuda_driver_table",
            ".hidden turntile_cuda_driver_table",
            "turntile_cuda_driver_table:",
            $(concat!(".Lplace_", stringify!($name), ": .quad .Lfirst"),)*
            ".popsection",
            ".pushsection .text.turntile_cuda_driver, \"ax\", @progbits",
            ".balign 16",
            $(entry!($name),)*
            first!(),
            ".popsection",
            resolve = sym resolve,
        );
    };
}
with_driver_functions!(define);

unsafe extern "C" {
    #[link_name = "turntile_cuda_driver_table"]
    static TABLE: [AtomicPtr<c_void>; NAMES.len()];
}

/// Keeps them in whatever is linked with this crate, so that the bindings alone can be used too.
#[used]
static KEPT: &[AtomicPtr<c_void>; NAMES.len()] = {
    // SAFETY: the assembly defines it, of so many places that nothing but atomic stores and loads touches.
    unsafe { &TABLE }
};

/// Where the function goes whose place in the table this is. It calls nothing that unwinds, and a panic would end the
/// process, as in every `extern "C"` function.
extern "C" fn resolve(place: &AtomicPtr<c_void>) -> *mut c_void {
    let at = (&raw const *place).addr() - KEPT.as_ptr().addr();
    let name = NAMES[at / size_of::<AtomicPtr<c_void>>()];
    let found = match library() {
        Err(_) => no_device as *mut c_void,
        Ok(library) => {
            // SAFETY: it is not called by this type, but jumped to with its caller's arguments, as the bindings declare them.
            let symbol = unsafe { library.get::<*mut c_void>(name) };
            symbol.map_or(not_found as *mut c_void, |symbol| *symbol)
        }
    };
    place.store(found, Ordering::Release);
    found
}
