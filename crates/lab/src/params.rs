//! The parameters of the lab's kernels, as the device code declares them.
//!
//! `tests/params.rs` compares the declarations by names, types, order and sizes, as those of `turntile_cuda::args`.

use std::mem::offset_of;

use bytemuck::{Pod, Zeroable};
use turntile_cuda::args::{Address, ArgField, Divisor32, Layout, SmallSwap};

use crate::flags::FlagLayout;

/// Declares `NAME` as `FILE` does: `field: type = "type there", "what it is";`.
macro_rules! mirror {
    ($($(#[$meta:meta])* $name:ident in $file:literal {
        $($field:ident: $type:ty = $kind:literal, $doc:literal;)*
    })*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
        #[repr(C)]
        pub struct $name {
            $(#[doc = $doc] pub $field: $type,)*
        }

        impl $name {
            /// As both sides have it.
            pub const LAYOUT: Layout = Layout {
                name: stringify!($name),
                file: $file,
                bytes: size_of::<$name>(),
                fields: &[$(ArgField { name: stringify!($field), kind: $kind, offset: offset_of!($name, $field) },)*],
            };
        }
    )*};
}

mirror! {
    /// A rung of the ladder.
    LadderArgs in "ladder.cu" {
        to: Address = "*", "The destination.";
        from: Address = "*", "The source.";
        rows: u32 = "u32", "Rows.";
        cols: u32 = "u32", "Columns.";
        across: Divisor32 = "Divisor<u32>", "Tiles across.";
    }
    /// A SAXPY of elements some words apart.
    SaxpyArgs in "saxpy.cu" {
        to: Address = "*", "The vector that is added to.";
        from: Address = "*", "The vector that is scaled.";
        elements: u32 = "u32", "Elements.";
        stride: u32 = "u32", "Words from one to the next.";
        factor: f32 = "float", "What scales.";
        pad: u32 = "u32", "Not used.";
    }
    /// A filter of an image's columns.
    GaussianArgs in "gaussian.cu" {
        to: Address = "*", "The filtered image.";
        from: Address = "*", "The image.";
        rows: u32 = "u32", "Rows.";
        cols: u32 = "u32", "Columns.";
        a0: f32 = "float", "Of this input, downwards.";
        a1: f32 = "float", "Of the one before.";
        a2: f32 = "float", "Of the next input, upwards.";
        a3: f32 = "float", "Of the one after.";
        b1: f32 = "float", "Of the last output.";
        b2: f32 = "float", "Of the one before.";
        before: f32 = "float", "What a constant beyond the upper edge has settled at, per unit of it.";
        after: f32 = "float", "The same beyond the lower edge.";
    }
}

mirror! {
    /// A step of an application.
    ApplicationArgs in "applications.cu" {
        to: Address = "*", "What it writes.";
        from: Address = "*", "What it reads.";
        records: u64 = "u64", "All of them.";
        side: u32 = "u32", "Of the cube of cells, else 0.";
        pitch: u32 = "u32", "Cells from row to row, where a block has one, else 0.";
    }
}

mirror! {
    /// Super-elements along cycles.
    MovedArgs in "moved.cu" {
        data: Address = "*", "The super-elements.";
        flags: Address = "*", "A bit each.";
        units: u32 = "u32", "Super-elements.";
        lanes: u32 = "u32", "Threads of a worker.";
        vectors: u32 = "u32", "Words of a super-element.";
        rows: u32 = "u32", "Rows of a super-element that is a tile transposed on the way, else 1.";
        cols: u32 = "u32", "Its columns, else 1.";
        pad: u32 = "u32", "Not used.";
        map: SmallSwap = "SmallSwap", "Where they go.";
    }
    /// Where flags on chip lie.
    Flags in "moved.cu" {
        shift: u32 = "u32", "Flags of a word are 2 to this: 5 packed, 0 spread by 32.";
        padded: u32 = "u32", "Whether every 33rd word stays unused.";
        remapped: u32 = "u32", "Whether neighbours lie in different words.";
        pad: u32 = "u32", "Not used.";
        words: Divisor32 = "Divisor<u32>", "Words, where remapped.";
    }
    /// Elements along cycles, flags on chip.
    LaidOutArgs in "moved.cu" {
        data: Address = "*", "The instances.";
        instances: u64 = "u64", "All of them.";
        instance_bytes: u64 = "u64", "Bytes of an instance.";
        layout: Flags = "FlagLayout", "Where flags lie.";
        flag_words: u32 = "u32", "Words of flags.";
        units: u32 = "u32", "Elements of an instance.";
        map: SmallSwap = "SmallSwap", "Where they go.";
    }
}

mirror! {
    /// Places chased.
    SteeringArgs in "steering.cu" {
        to: Address = "*", "The memory; where blocks begin and end.";
        from: Address = "*", "The places; the memory.";
        words: u32 = "u32", "Of the memory.";
        count: u32 = "u32", "Places, or blocks.";
        ahead: u32 = "u32", "How many places on the next one is.";
        steps: u32 = "u32", "Of a block.";
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
    /// `members_*`, `lbm_*`, `options_*`, `ell_*`; by rows `cells_*`, `heat_*`, `red_*`, `black_*`.
    Application(ApplicationArgs),
    /// `moved_clear`, `moved_shared_*`, `moved_block_*`.
    Moved(MovedArgs),
    /// `moved_on_chip`.
    LaidOut(LaidOutArgs),
    /// `saxpy_strided`.
    Saxpy(SaxpyArgs),
    /// `steering_*`.
    Steering(SteeringArgs),
}

impl Params {
    /// Every structure that a kernel takes.
    pub const LAYOUTS: [Layout; 7] = [
        LadderArgs::LAYOUT,
        GaussianArgs::LAYOUT,
        MovedArgs::LAYOUT,
        LaidOutArgs::LAYOUT,
        SaxpyArgs::LAYOUT,
        ApplicationArgs::LAYOUT,
        SteeringArgs::LAYOUT,
    ];

    /// The same from one address to another; in place, at the first, with flags at the second.
    #[must_use]
    pub fn at(mut self, to: u64, from: u64) -> Self {
        let (first, second) = match &mut self {
            Params::Ladder(args) => (&mut args.to, &mut args.from),
            Params::Gaussian(args) => (&mut args.to, &mut args.from),
            Params::Saxpy(args) => (&mut args.to, &mut args.from),
            Params::Application(args) => (&mut args.to, &mut args.from),
            Params::Steering(args) => (&mut args.to, &mut args.from),
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
            Params::Application(args) => bytemuck::bytes_of(args),
            Params::Moved(args) => bytemuck::bytes_of(args),
            Params::LaidOut(args) => bytemuck::bytes_of(args),
            Params::Saxpy(args) => bytemuck::bytes_of(args),
            Params::Steering(args) => bytemuck::bytes_of(args),
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
