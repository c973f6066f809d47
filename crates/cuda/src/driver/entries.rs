//! The driver's functions by their own names, each found in the driver's library when it is first called.
//!
//! The bindings declare them as functions that the linker finds. It finds these (`names.s` lists them): each jumps to where its
//! row of a table says. At first that is `first`, which keeps the arguments, asks [`resolve`] and jumps on; from then on it is
//! the driver's function. The names are hidden: no program or library that has them exports them.
#![allow(unsafe_code)]

use std::arch::global_asm;
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use super::library::library;

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

/// From an entry to where its row of the table says; the row stays in a register that holds no argument.
#[cfg(target_arch = "x86_64")]
macro_rules! jump {
    () => {
        r"
        lea r11, [rip + .Lrow_\name]
        jmp qword ptr [r11]
        "
    };
}
/// The acquiring load makes what another thread's look-up wrote visible before what it found is called.
#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    () => {
        r"
        adrp x16, .Lrow_\name
        add x16, x16, :lo12:.Lrow_\name
        ldar x17, [x16]
        br x17
        "
    };
}

/// Registers that hold arguments are kept around the call; the row of the table comes in one that holds none.
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

global_asm!(
    r#"
    .macro driver_function name
        .pushsection .data.rel.turntile_cuda_driver_table, "aw", @progbits
        .balign 8
        .Lrow_\name:
            .quad .Lfirst
            .asciz "\name"
        .popsection
        .globl \name
        .hidden \name
        .type \name, @function
        \name:
    "#,
    jump!(),
    r#"
        .size \name, . - \name
    .endm

    .pushsection .data.rel.turntile_cuda_driver_table, "aw", @progbits
    .balign 8
    .globl turntile_cuda_driver_table
    .hidden turntile_cuda_driver_table
    turntile_cuda_driver_table:
    .popsection
    .pushsection .text.turntile_cuda_driver, "ax", @progbits
    .balign 16
    "#,
    include_str!("names.s"),
    first!(),
    ".popsection",
    resolve = sym resolve,
);

/// Where a row of the table says to go. Its function's name follows in memory, ended by a zero.
type Row = AtomicPtr<c_void>;

unsafe extern "C" {
    #[link_name = "turntile_cuda_driver_table"]
    static FIRST_ROW: Row;
}

/// Keeps them in whatever is linked with this crate, so that the bindings alone can be used too.
#[used]
static KEPT: &Row = {
    // SAFETY: the assembly defines it, and nothing but atomic stores and loads touches it.
    unsafe { &FIRST_ROW }
};

/// Where the function goes that this row is of. It calls nothing that unwinds, and a panic would end the process, as in
/// every `extern "C"` function.
extern "C" fn resolve(row: *const Row) -> *mut c_void {
    // SAFETY: the assembly passes a row of its table, which its name follows.
    let (place, name) = unsafe { (&*row, CStr::from_ptr(row.add(1).cast())) };
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
