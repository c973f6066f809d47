//! Structures of XLA's FFI, its C interface for custom calls (`xla/ffi/api/c_api.h` of jaxlib).
//!
//! Structures and fields have their C names, and functions that are not called are untyped.
//! `tests/test_jax.py` compares the layout with the header of the installed jaxlib.
#![allow(non_snake_case)]

use std::ffi::{c_char, c_int, c_void};

/// Defines structures, and a table of their C names, sizes and field offsets.
macro_rules! structures {
    ($($(#[$about:meta])* $name:ident = $c_name:literal { $($field:ident: $kind:ty,)* })*) => {
        $($(#[$about])*
        #[repr(C)]
        #[allow(dead_code, reason = "fields that only give the layout")]
        pub struct $name { $(pub $field: $kind,)* })*

        /// Returns C name, size, and names and offsets of the fields, of every structure.
        pub fn layout() -> Vec<(&'static str, usize, Vec<(&'static str, usize)>)> {
            vec![$((
                $c_name,
                size_of::<$name>(),
                vec![$((stringify!($field), std::mem::offset_of!($name, $field)),)*],
            ),)*]
        }
    };
}

/// Untyped pointer, of fields that are not used here.
type Unused = *const c_void;

structures! {
    /// Header of an extension of another structure.
    Extension = "XLA_FFI_Extension_Base" {
        struct_size: usize,
        r#type: c_int,
        next: *mut Extension,
    }

    /// Version of the interface.
    Version = "XLA_FFI_Api_Version" {
        struct_size: usize,
        extension_start: *mut Extension,
        major_version: c_int,
        minor_version: c_int,
    }

    /// Properties of a handler, which the handler fills in.
    Metadata = "XLA_FFI_Metadata" {
        struct_size: usize,
        api_version: Version,
        traits: u32,
    }

    /// Extension of the call frame of a request for the handler's properties.
    MetadataExtension = "XLA_FFI_Metadata_Extension" {
        extension_base: Extension,
        metadata: *mut Metadata,
    }

    /// Functions of XLA.
    Api = "XLA_FFI_Api" {
        struct_size: usize,
        extension_start: *mut Extension,
        api_version: Version,
        internal_api: Unused,
        XLA_FFI_Error_Create: Call<ErrorCreate>,
        XLA_FFI_Error_GetMessage: Unused,
        XLA_FFI_Error_Destroy: Unused,
        XLA_FFI_Handler_Register: Unused,
        XLA_FFI_Stream_Get: Call<StreamGet>,
        XLA_FFI_Type_Register: Unused,
        XLA_FFI_ExecutionContext_Get: Unused,
        XLA_FFI_State_Set: Unused,
        XLA_FFI_State_Get: Unused,
        XLA_FFI_DeviceMemory_Allocate: Unused,
        XLA_FFI_DeviceMemory_Free: Unused,
        XLA_FFI_ThreadPool_Schedule: Unused,
        XLA_FFI_ThreadPool_NumThreads: Unused,
        XLA_FFI_Future_Create: Unused,
        XLA_FFI_Future_SetAvailable: Unused,
        XLA_FFI_Future_SetError: Unused,
        XLA_FFI_RunId_Get: Unused,
        XLA_FFI_DeviceOrdinal_Get: Call<OrdinalGet>,
    }

    /// Arguments of `XLA_FFI_Error_Create`.
    ErrorCreate = "XLA_FFI_Error_Create_Args" {
        struct_size: usize,
        extension_start: *mut Extension,
        message: *const c_char,
        errc: c_int,
    }

    /// Arguments of `XLA_FFI_Stream_Get`.
    StreamGet = "XLA_FFI_Stream_Get_Args" {
        struct_size: usize,
        extension_start: *mut Extension,
        ctx: *mut Context,
        stream: *mut c_void,
    }

    /// Arguments of `XLA_FFI_DeviceOrdinal_Get`.
    OrdinalGet = "XLA_FFI_DeviceOrdinal_Get_Args" {
        struct_size: usize,
        extension_start: *mut Extension,
        ctx: *mut Context,
        device_ordinal: i32,
    }

    /// Array in memory, row-major.
    Buffer = "XLA_FFI_Buffer" {
        struct_size: usize,
        extension_start: *mut Extension,
        dtype: c_int,
        data: *mut c_void,
        rank: i64,
        dims: *const i64,
    }

    /// String without a terminating null.
    ByteSpan = "XLA_FFI_ByteSpan" {
        ptr: *const u8,
        len: usize,
    }

    /// Attribute that is a number.
    Scalar = "XLA_FFI_Scalar" {
        dtype: c_int,
        value: *const c_void,
    }

    /// Attribute that is an array of numbers.
    Array = "XLA_FFI_Array" {
        dtype: c_int,
        size: usize,
        data: *const c_void,
    }

    /// Operands of a call.
    Args = "XLA_FFI_Args" {
        struct_size: usize,
        extension_start: *mut Extension,
        size: i64,
        types: *const c_int,
        args: *const *const Buffer,
    }

    /// Results of a call.
    Rets = "XLA_FFI_Rets" {
        struct_size: usize,
        extension_start: *mut Extension,
        size: i64,
        types: *const c_int,
        rets: *const *const Buffer,
    }

    /// Attributes of a call.
    Attrs = "XLA_FFI_Attrs" {
        struct_size: usize,
        extension_start: *mut Extension,
        size: i64,
        types: *const c_int,
        names: *const *const ByteSpan,
        attrs: *const *const c_void,
    }

    /// A call of a handler.
    CallFrame = "XLA_FFI_CallFrame" {
        struct_size: usize,
        extension_start: *mut Extension,
        api: *const Api,
        ctx: *mut Context,
        stage: c_int,
        args: Args,
        rets: Rets,
        attrs: Attrs,
    }
}

/// Function of XLA that takes a pointer to its arguments and returns null or an error.
pub type Call<T> = Option<unsafe extern "C" fn(*mut T) -> *mut Error>;

/// Error, owned by XLA once a handler has returned it.
pub enum Error {}

/// Context of a call.
pub enum Context {}

/// Constants of the header, with their C names.
macro_rules! constants {
    ($($(#[$about:meta])* $name:ident = $c_name:literal: $value:literal;)*) => {
        $($(#[$about])* pub const $name: c_int = $value;)*

        /// C name and value of every constant.
        pub const CONSTANTS: &[(&str, c_int)] = &[$(($c_name, $value),)*];
    };
}

constants! {
    /// Extension that asks for the handler's properties.
    EXTENSION_METADATA = "XLA_FFI_Extension_Metadata": 1;
    /// Trait of a handler whose device work may be captured in a graph.
    COMMAND_BUFFER_COMPATIBLE = "XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE": 1;
    /// Stage in which an executable is created.
    STAGE_INSTANTIATE = "XLA_FFI_ExecutionStage_INSTANTIATE": 0;
    /// Stage before the executions of an executable, outside of captures.
    STAGE_INITIALIZE = "XLA_FFI_ExecutionStage_INITIALIZE": 2;
    /// Operand that is an array.
    ARG_BUFFER = "XLA_FFI_ArgType_BUFFER": 1;
    /// Result that is an array.
    RET_BUFFER = "XLA_FFI_RetType_BUFFER": 1;
    /// Attribute that is an [`Array`].
    ATTR_ARRAY = "XLA_FFI_AttrType_ARRAY": 1;
    /// Attribute that is a [`Scalar`].
    ATTR_SCALAR = "XLA_FFI_AttrType_SCALAR": 3;
    /// Numbers of type `int64_t`.
    S64 = "XLA_FFI_DataType_S64": 5;
    /// Error codes.
    INVALID_ARGUMENT = "XLA_FFI_Error_Code_INVALID_ARGUMENT": 3;
    /// No memory.
    RESOURCE_EXHAUSTED = "XLA_FFI_Error_Code_RESOURCE_EXHAUSTED": 8;
    /// Not supported.
    UNIMPLEMENTED = "XLA_FFI_Error_Code_UNIMPLEMENTED": 12;
    /// Error of the driver, or a bug.
    INTERNAL = "XLA_FFI_Error_Code_INTERNAL": 13;
}
