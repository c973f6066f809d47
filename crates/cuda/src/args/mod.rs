//! A kernel's one parameter: the structures of `kernels/`, field by field.
//!
//! Every structure is declared twice, here and in the device code. `tests/args.rs` compares the two by names, types and order
//! of their fields, and by the size that the device's compiler asserts. `Pod` proves that there is no padding here, so equal sizes
//! leave none there: every field lies at the sum of those before it, on both sides.

use bytemuck::{Pod, Zeroable};

/// A field as both sides have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgField {
    /// Its name.
    pub name: &'static str,
    /// Its type as the device code spells it; `*` for an address of anything. An array `d` is `d0`, `d1`, and so on there.
    pub kind: &'static str,
    /// Bytes from the structure's start.
    pub offset: usize,
}

/// A structure as both sides have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Its name in the device code, template arguments included.
    pub name: &'static str,
    /// The file of `kernels/` that declares it.
    pub file: &'static str,
    /// Bytes.
    pub bytes: usize,
    /// In order.
    pub fields: &'static [ArgField],
}

/// A type of the device code.
pub trait Mirrored: Pod {
    /// How the device code spells it.
    const KIND: &'static str;
}

impl Mirrored for u32 {
    const KIND: &'static str = "u32";
}
impl Mirrored for u64 {
    const KIND: &'static str = "u64";
}

/// The fields of a parameter that lowering leaves alone: addresses, and what only fills the structure.
pub(crate) fn zeroed<T: Pod>() -> T {
    T::zeroed()
}

/// A device address; 0 until the launch is queued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Address(pub u64);

impl Mirrored for Address {
    const KIND: &'static str = "*";
}

/// Declares `NAME` as a structure that the device code has in `"FILE"`, under that name or as `"KIND"`; its fields are listed
/// as there, `TYPE: FIELD, FIELD;`. What they mean stands there alone.
macro_rules! mirror {
    ($($(#[$meta:meta])* $name:ident $(= $kind:expr)?, in $file:literal {
        $($type:ty: $($field:ident),+;)*
    })*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
        #[repr(C)]
        #[allow(missing_docs)]
        pub struct $name {
            $($(pub $field: $type,)+)*
        }

        impl $crate::args::Mirrored for $name {
            const KIND: &'static str = [$($kind,)? stringify!($name)][0];
        }

        impl $name {
            /// As both sides have it.
            pub const LAYOUT: $crate::args::Layout = $crate::args::Layout {
                name: <$name as $crate::args::Mirrored>::KIND,
                file: $file,
                bytes: size_of::<$name>(),
                fields: &[$($($crate::args::ArgField {
                    name: stringify!($field),
                    kind: <$type as $crate::args::Mirrored>::KIND,
                    offset: std::mem::offset_of!($name, $field),
                },)+)*],
            };
        }
    )*};
}

/// What a kernel's second address is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondPointer {
    /// Flags of the workspace, zero when it starts.
    Flags,
    /// Room of the workspace.
    Kept,
    /// The source; in place, the first address once more.
    Source,
    /// What changes places with what is at the first.
    Mirror,
}

mod divisor;
mod structures;

pub use divisor::*;
pub use structures::*;

macro_rules! args {
    ($($(#[$meta:meta])* $variant:ident($type:ty) $(with $second:ident)?;)*) => {
        /// A kernel's parameter. Its first field is the address of the matrix (out of place: of the destination), and where the
        /// kernel takes a second address the next one is.
        #[derive(Clone, Copy, Debug, PartialEq)]
        // A launch is copied as a whole, as the driver takes it.
        #[allow(clippy::large_enum_variant)]
        pub enum Args {
            $($(#[$meta])* $variant($type),)*
        }

        $(impl From<$type> for Args {
            fn from(args: $type) -> Self {
                Args::$variant(args)
            }
        })*

        impl Args {
            /// Every structure that a kernel takes.
            pub const LAYOUTS: &[Layout] = &[$(<$type>::LAYOUT,)*];

            #[cfg(test)]
            const SECONDS: &[Option<SecondPointer>] =
                &[$([$(Some(SecondPointer::$second),)? None][0],)*];

            /// The structure as the device code has it.
            pub fn layout(&self) -> Layout {
                match self {
                    $(Args::$variant(_) => <$type>::LAYOUT,)*
                }
            }

            /// What the kernel takes beside the matrix.
            pub fn second(&self) -> Option<SecondPointer> {
                match self {
                    $(Args::$variant(_) => [$(Some(SecondPointer::$second),)? None][0],)*
                }
            }

            /// The structure with the matrix's address and, where the kernel takes one, the second.
            #[must_use]
            pub fn at(mut self, first: u64, second: u64) -> Self {
                let places = if self.second().is_some() { 2 } else { 1 };
                let bytes = match &mut self {
                    $(Args::$variant(args) => bytemuck::bytes_of_mut(args),)*
                };
                let places = bytes.chunks_exact_mut(size_of::<Address>()).take(places);
                for (place, address) in places.zip([first, second]) {
                    place.copy_from_slice(bytemuck::bytes_of(&address));
                }
                self
            }

            /// What the device reads.
            pub fn bytes(&self) -> &[u8] {
                match self {
                    $(Args::$variant(args) => bytemuck::bytes_of(args),)*
                }
            }
        }
    };
}

args! {
    /// `square_swap_*`.
    Square(SquareArgs);
    /// `square_swap_apart`.
    Apart(ApartArgs) with Mirror;
    /// `cube_forward`, `cube_back`, `cube_cluster_*`.
    Cube(CubeArgs);
    /// `tiles_*`.
    Tiles(TilesArgs);
    /// `swap_axes_*`.
    SwapAxes(SwapAxesArgs);
    /// `barrier_block`.
    Block(BlockArgs) with Source;
    /// `barrier_micro`, `barrier_few`.
    Micro(MicroArgs);
    /// `barrier_axes`.
    Axes(AxesArgs);
    /// `barrier_cluster_*`, `barrier_grid*`.
    Wide(WideArgs);
    /// `slot_runs`, `slot_runs_back`.
    Runs(RunArgs) with Kept;
    /// `slot_gather`, `slot_scatter`.
    Gather(GatherArgs) with Kept;
    /// `move_slots32_*`.
    MoveSlots32(MoveSlots32) with Flags;
    /// `move_slots64_*`, `move_shared_slots`, `per_cycle_slots`.
    MoveSlots64(MoveSlots64) with Flags;
    /// `move_runs_*`.
    MoveRuns(MoveRuns) with Flags;
    /// `move_axes32_*`, `per_cycle_axes32`.
    MoveAxes32(MoveAxes32) with Flags;
    /// `move_axes64_*`, `move_shared_axes`, `per_cycle_axes64`.
    MoveAxes64(MoveAxes64) with Flags;
    /// `move_on_chip`.
    OnChip(OnChipArgs);
    /// `pad_slide`.
    Slide(SlideArgs) with Flags;
    /// `pad_spread`.
    Spread(SpreadArgs) with Source;
    /// `pad_rows_*`.
    Rows(RowsArgs);
    /// `into_micro_*`, `into_lines_*`.
    Into(IntoArgs) with Source;
    /// `into_units`.
    Units(UnitArgs) with Source;
    /// `into_axes`, `barrier_cluster_axes_*`, `barrier_grid_axes`.
    AxesTile(AxesTileArgs) with Source;
    /// `pitched_swap`.
    UnitSwap(UnitSwapArgs);
    /// `pitched_turn`.
    UnitTurn(UnitTurnArgs) with Source;
    /// `retile_*`.
    Retile(RetileArgs);
    /// `field_keep`, `field_gather`.
    FieldGather(FieldGatherArgs) with Kept;
    /// `move_fields_1`.
    MoveFields(MoveFields) with Flags;
    /// `gaps_keep`, `gaps_restore`.
    Gaps(GapArgs) with Kept;
    /// `scale_*`.
    Scale(ScaleArgs);
}

/// The structures within those that kernels take.
pub const PARTS: &[Layout] = &[
    Divisor32::LAYOUT,
    Divisor64::LAYOUT,
    Rows::LAYOUT,
    GlobalFlags::LAYOUT,
    Factor::LAYOUT,
    SmallSwap::LAYOUT,
    TileRunMap::LAYOUT,
    Digit32::LAYOUT,
    Digit64::LAYOUT,
    Axes32::LAYOUT,
    Axes64::LAYOUT,
    SlotMap32::LAYOUT,
    SlotMap64::LAYOUT,
    Stack::LAYOUT,
    TileOrder::LAYOUT,
    TileAxis::LAYOUT,
    TileDigit::LAYOUT,
    TileMap::LAYOUT,
    FieldGroup::LAYOUT,
    FieldColumn::LAYOUT,
    FieldSlot::LAYOUT,
    FieldMap::LAYOUT,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_first() {
        for (layout, second) in Args::LAYOUTS.iter().zip(Args::SECONDS) {
            let address = |number: usize| {
                let field = layout.fields[number];
                let of_address = field.kind == "*" || field.kind == GlobalFlags::KIND;
                of_address && field.offset == number * size_of::<Address>()
            };
            assert!(address(0), "{}", layout.name);
            assert_eq!(address(1), second.is_some(), "{}", layout.name);
        }
    }

    #[test]
    fn addresses_go_where_the_type_has_them() {
        let words = |args: Args, second| -> Vec<u64> {
            let bytes = args.at(7, second);
            bytes.bytes().chunks(8).map(bytemuck::pod_read_unaligned).collect()
        };
        let slide = Args::from(SlideArgs::zeroed());
        assert_eq!(slide.second(), Some(SecondPointer::Flags));
        assert_eq!(words(slide, 8)[..3], [7, 8, 0]);
        let rows = Args::from(RowsArgs::zeroed());
        assert_eq!(rows.second(), None);
        assert_eq!(words(rows, 8)[..3], [7, 0, 0], "has one address alone");
        let moves = Args::from(MoveAxes32::zeroed());
        assert_eq!(moves.second(), Some(SecondPointer::Flags));
        assert_eq!(words(moves, 8)[..3], [7, 8, 0]);
        let into = Args::from(IntoArgs::zeroed());
        assert_eq!(into.second(), Some(SecondPointer::Source));
        assert_eq!(words(into, 8)[..3], [7, 8, 0]);
    }

    /// The other fields are left alone, in memory order.
    #[test]
    fn bytes_are_the_structure() {
        let args = RowsArgs { cols: 3, held: 5, pad: 6, ..RowsArgs::zeroed() };
        let args = Args::from(args);
        let words: Vec<u32> = args.bytes().chunks(4).map(bytemuck::pod_read_unaligned).collect();
        let low_first = if cfg!(target_endian = "big") { [0, 3] } else { [3, 0] };
        assert_eq!(words[..6], [0; 6]);
        assert_eq!(words[6..8], low_first);
        assert_eq!(words[8..], [0, 0, 0, 0, 5, 6]);
    }
}
