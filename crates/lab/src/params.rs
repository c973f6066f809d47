//! The parameters of the lab's kernels, as the device code declares them.
//!
//! Both compilers assert sizes and offsets; `tests/args.rs` compares the declarations by names, types and order.

use std::mem::offset_of;

use bytemuck::{Pod, Zeroable};
use turntile_cuda::args::divisor::Divisor32;
use turntile_cuda::args::maps::SmallSwap;
use turntile_cuda::args::{Address, Field, Layout};

use crate::flags::FlagLayout;

/// Declares `NAME` as `FILE` does: `field: type = "type there" at offset, "what it is";`.
macro_rules! mirror {
    ($($(#[$meta:meta])* $name:ident in $file:literal, $bytes:literal bytes {
        $($field:ident: $type:ty = $kind:literal at $offset:literal, $doc:literal;)*
    })*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
        #[repr(C)]
        pub struct $name {
            $(#[doc = $doc] pub $field: $type,)*
        }

        const _: () = assert!(size_of::<$name>() == $bytes);
        $(const _: () = assert!(offset_of!($name, $field) == $offset);)*

        impl $name {
            /// As both sides have it.
            pub const LAYOUT: Layout = Layout {
                name: stringify!($name),
                file: $file,
                bytes: $bytes,
                fields: &[$(Field { name: stringify!($field), kind: $kind, offset: $offset },)*],
            };
        }
    )*};
}

mirror! {
    /// A rung of the ladder.
    LadderArgs in "ladder.cu", 40 bytes {
        to: Address = "*" at 0, "The destination.";
        from: Address = "*" at 8, "The source.";
        rows: u32 = "u32" at 16, "Rows.";
        cols: u32 = "u32" at 20, "Columns.";
        across: Divisor32 = "Divisor<u32>" at 24, "Tiles across.";
    }
    /// A filter of an image's columns.
    GaussianArgs in "gaussian.cu", 56 bytes {
        to: Address = "*" at 0, "The filtered image.";
        from: Address = "*" at 8, "The image.";
        rows: u32 = "u32" at 16, "Rows.";
        cols: u32 = "u32" at 20, "Columns.";
        a0: f32 = "float" at 24, "Of this input, downwards.";
        a1: f32 = "float" at 28, "Of the one before.";
        a2: f32 = "float" at 32, "Of the next input, upwards.";
        a3: f32 = "float" at 36, "Of the one after.";
        b1: f32 = "float" at 40, "Of the last output.";
        b2: f32 = "float" at 44, "Of the one before.";
        before: f32 = "float" at 48, "What a constant beyond the upper edge has settled at, per unit of it.";
        after: f32 = "float" at 52, "The same beyond the lower edge.";
    }
}

mirror! {
    /// Super-elements along cycles.
    MovedArgs in "moved.cu", 64 bytes {
        data: Address = "*" at 0, "The super-elements.";
        flags: Address = "*" at 8, "A bit each.";
        units: u32 = "u32" at 16, "Super-elements.";
        lanes: u32 = "u32" at 20, "Threads of a worker.";
        vectors: u32 = "u32" at 24, "Words of a super-element.";
        rows: u32 = "u32" at 28, "Rows of a super-element that is a tile transposed on the way, else 1.";
        cols: u32 = "u32" at 32, "Its columns, else 1.";
        pad: u32 = "u32" at 36, "Not used.";
        map: SmallSwap = "SmallSwap" at 40, "Where they go.";
    }
    /// Where flags on chip lie.
    Flags in "moved.cu", 32 bytes {
        shift: u32 = "u32" at 0, "Flags of a word are 2 to this: 5 packed, 0 spread by 32.";
        padded: u32 = "u32" at 4, "Whether every 33rd word stays unused.";
        remapped: u32 = "u32" at 8, "Whether neighbours lie in different words.";
        pad: u32 = "u32" at 12, "Not used.";
        words: Divisor32 = "Divisor<u32>" at 16, "Words, where remapped.";
    }
    /// Elements along cycles, flags on chip.
    LaidOutArgs in "moved.cu", 88 bytes {
        data: Address = "*" at 0, "The instances.";
        instances: u64 = "u64" at 8, "All of them.";
        instance_bytes: u64 = "u64" at 16, "Bytes of an instance.";
        layout: Flags = "FlagLayout" at 24, "Where flags lie.";
        flag_words: u32 = "u32" at 56, "Words of flags.";
        units: u32 = "u32" at 60, "Elements of an instance.";
        map: SmallSwap = "SmallSwap" at 64, "Where they go.";
    }
}

impl Flags {
    /// `layout` of `positions` flags.
    pub fn new(layout: FlagLayout, positions: usize) -> Self {
        let (shift, padded, remapped) = match layout {
            FlagLayout::Spread { spreading, padded } => {
                ((32 / spreading).ilog2(), u32::from(padded), 0)
            }
            FlagLayout::Remapped => (5, 0, 1),
        };
        let words = Divisor32::new(positions.div_ceil(32).max(1) as u32);
        Flags { shift, padded, remapped, pad: 0, words }
    }
}

/// A kernel's one parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Params {
    /// `ladder_*`.
    Ladder(LadderArgs),
    /// `gaussian_columns`.
    Gaussian(GaussianArgs),
    /// `moved_clear`, `moved_shared_*`, `moved_block_*`.
    Moved(MovedArgs),
    /// `moved_on_chip`.
    LaidOut(LaidOutArgs),
}

impl Params {
    /// Every structure that a kernel takes.
    pub const LAYOUTS: [Layout; 4] =
        [LadderArgs::LAYOUT, GaussianArgs::LAYOUT, MovedArgs::LAYOUT, LaidOutArgs::LAYOUT];

    /// The same from one address to another; in place, at the first, with flags at the second.
    #[must_use]
    pub fn at(mut self, to: u64, from: u64) -> Self {
        let (first, second) = match &mut self {
            Params::Ladder(args) => (&mut args.to, &mut args.from),
            Params::Gaussian(args) => (&mut args.to, &mut args.from),
            Params::Moved(args) => (&mut args.data, &mut args.flags),
            Params::LaidOut(args) => {
                args.data = Address(to);
                return self;
            }
        };
        (*first, *second) = (Address(to), Address(from));
        self
    }

    /// What the device reads.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Params::Ladder(args) => bytemuck::bytes_of(args),
            Params::Gaussian(args) => bytemuck::bytes_of(args),
            Params::Moved(args) => bytemuck::bytes_of(args),
            Params::LaidOut(args) => bytemuck::bytes_of(args),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_first() {
        for params in
            [Params::Ladder(LadderArgs::zeroed()), Params::Gaussian(GaussianArgs::zeroed())]
        {
            let params = params.at(7, 8);
            let words: Vec<u64> =
                params.bytes()[..24].chunks(8).map(bytemuck::pod_read_unaligned).collect();
            assert_eq!(words, [7, 8, 0]);
        }
    }
}
