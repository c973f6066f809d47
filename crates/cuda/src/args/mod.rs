//! Parameters of kernels: the structures of `kernels/`, declared again in Rust. A kernel takes one structure.
//!
//! `tests/args.rs` compares names, types and order of the fields with the device code, and the sizes with its assertions.
//! `Pod` rules out padding on the host, so equal sizes rule it out on the device. On both sides, the offset of a field is the
//! sum of the sizes of the fields before it.

use bytemuck::{Pod, Zeroable};

/// Field of a structure that host and device share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgField {
    /// Name of the field.
    pub name: &'static str,
    /// Type in the spelling of the device code; `*` for any pointer. The device code may declare an array `d` as `d0`, `d1`, ...
    pub kind: &'static str,
    /// Offset from the start of the structure, in bytes.
    pub offset: usize,
}

/// Layout of a structure that host and device share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Name in the device code, with template arguments.
    pub name: &'static str,
    /// File of `kernels/` that declares the structure.
    pub file: &'static str,
    /// Size in bytes.
    pub bytes: usize,
    /// Fields in memory order.
    pub fields: &'static [ArgField],
}

/// Type that the device code also has.
pub trait Mirrored: Pod {
    /// Spelling of the type in the device code.
    const KIND: &'static str;
}

impl Mirrored for u32 {
    const KIND: &'static str = "u32";
}
impl Mirrored for u64 {
    const KIND: &'static str = "u64";
}

/// Returns a structure of zeros, for the fields that lowering does not set: addresses and padding.
pub(crate) fn zeroed<T: Pod>() -> T {
    T::zeroed()
}

/// Device address; 0 until the launch is enqueued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Address(pub u64);

impl Mirrored for Address {
    const KIND: &'static str = "*";
}

/// Declares `NAME` for a structure of the device file `"FILE"`, named the same there or `"KIND"`. Fields are in its order, as
/// `TYPE: FIELD, FIELD;`. Only the device code documents them.
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
            /// Layout of the structure on host and device.
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

/// Memory at a kernel's second address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondPointer {
    /// Flags in the workspace, cleared before the kernel starts.
    Flags,
    /// Saved data in the workspace.
    Kept,
    /// Source of the move; in place, it equals the first address.
    Source,
    /// Block that is swapped with the block at the first address.
    Mirror,
}

mod divisor;
mod structures;

pub use divisor::*;
pub use structures::*;

macro_rules! args {
    ($($(#[$meta:meta])* $variant:ident($type:ty) $(with $second:ident)?;)*) => {
        /// Parameter of a kernel. The first field is the address of the matrix, or of the destination out of place. If the
        /// kernel takes a second address, the next field has it.
        #[derive(Clone, Copy, Debug, PartialEq)]
        // A launch is one plain value with its parameter, as the driver takes it.
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
            /// Layouts of all kernel parameters.
            pub const LAYOUTS: &[Layout] = &[$(<$type>::LAYOUT,)*];

            #[cfg(test)]
            const SECONDS: &[Option<SecondPointer>] =
                &[$([$(Some(SecondPointer::$second),)? None][0],)*];

            /// Returns the layout of the structure.
            pub fn layout(&self) -> Layout {
                match self {
                    $(Args::$variant(_) => <$type>::LAYOUT,)*
                }
            }

            /// Returns the memory at the kernel's second address, or `None` if it takes one address.
            pub fn second(&self) -> Option<SecondPointer> {
                match self {
                    $(Args::$variant(_) => [$(Some(SecondPointer::$second),)? None][0],)*
                }
            }

            /// Sets the first address and, if the kernel takes two, the second.
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

            /// Returns the bytes that the device reads.
            pub fn bytes(&self) -> &[u8] {
                match self {
                    $(Args::$variant(args) => bytemuck::bytes_of(args),)*
                }
            }
        }
    };
}

args! {
    /// Parameter of `square_swap_*`.
    Square(SquareArgs);
    /// Parameter of `square_swap_apart`.
    Apart(ApartArgs) with Mirror;
    /// Parameter of `cube_forward`, `cube_back`, `cube_cluster_*`.
    Cube(CubeArgs);
    /// Parameter of `tiles_*`.
    Tiles(TilesArgs);
    /// Parameter of `swap_axes_*`.
    SwapAxes(SwapAxesArgs);
    /// Parameter of `barrier_block`, `barrier_tile`.
    Block(BlockArgs) with Source;
    /// Parameter of `barrier_micro`, `barrier_few`.
    Micro(MicroArgs);
    /// Parameter of `barrier_axes`.
    Axes(AxesArgs);
    /// Parameter of `long_runs`.
    Pieces(PieceArgs);
    /// Parameter of `long_runs_records`.
    RecordPieces(RecordPieceArgs);
    /// Parameter of `barrier_cluster_*`, `barrier_grid`, `barrier_grid_wide`.
    Wide(WideArgs);
    /// Parameter of `barrier_grid_kept`, `barrier_grid_kept_wide`.
    Grid(GridArgs) with Kept;
    /// Parameter of `barrier_team`, `barrier_team_wide`, `barrier_team_micro`, `barrier_team_columns`.
    Team(TeamArgs) with Kept;
    /// Parameter of `barrier_team_axes`.
    TeamAxes(TeamAxesArgs) with Kept;
    /// Parameter of `slot_runs`, `slot_runs_back`.
    Runs(RunArgs) with Kept;
    /// Parameter of `slot_gather`, `slot_scatter`.
    Gather(GatherArgs) with Kept;
    /// Parameter of `move_slots32_*`.
    MoveSlots32(MoveSlots32) with Flags;
    /// Parameter of `move_slots64_*`, `move_shared_slots`, `per_cycle_slots`.
    MoveSlots64(MoveSlots64) with Flags;
    /// Parameter of `move_runs_*`.
    MoveRuns(MoveRuns) with Flags;
    /// Parameter of `move_axes32_*`, `per_cycle_axes32`.
    MoveAxes32(MoveAxes32) with Flags;
    /// Parameter of `move_axes64_*`, `move_shared_axes`, `per_cycle_axes64`.
    MoveAxes64(MoveAxes64) with Flags;
    /// Parameter of `move_on_chip`.
    OnChip(OnChipArgs);
    /// Parameter of `pad_slide`.
    Slide(SlideArgs) with Flags;
    /// Parameter of `pad_slide_panels`.
    PanelSlide(PanelSlideArgs) with Flags;
    /// Parameter of `pad_spread`.
    Spread(SpreadArgs) with Source;
    /// Parameter of `pad_rows_*`.
    Rows(RowsArgs);
    /// Parameter of `into_micro_*`, `into_lines_*`.
    Into(IntoArgs) with Source;
    /// Parameter of `into_units`.
    Units(UnitArgs) with Source;
    /// Parameter of `into_axes`, `barrier_cluster_axes_*`, `barrier_grid_axes`.
    AxesTile(AxesTileArgs) with Source;
    /// Parameter of `flip`.
    Flip(FlipArgs);
    /// Parameter of `turn_squares*`.
    Turn(TurnArgs);
    /// Parameter of `bits_swap_*`.
    Bits(BitsArgs);
    /// Parameter of `bits_into_*`.
    BitsInto(BitsIntoArgs) with Source;
    /// Parameter of `bits_small_*`.
    BitsSmall(BitsSmallArgs) with Source;
    /// Parameter of `pitched_swap`.
    UnitSwap(UnitSwapArgs);
    /// Parameter of `pitched_turn`.
    UnitTurn(UnitTurnArgs) with Source;
    /// Parameter of `retile_*`.
    Retile(RetileArgs);
    /// Parameter of `field_keep`, `field_gather`.
    FieldGather(FieldGatherArgs) with Kept;
    /// Parameter of `move_fields_1`.
    MoveFields(MoveFields) with Flags;
    /// Parameter of `gaps_keep`, `gaps_restore`.
    Gaps(GapArgs) with Kept;
    /// Parameter of `scale_*`.
    Scale(ScaleArgs);
}

/// Layouts of the structures nested in kernel parameters.
pub const PARTS: &[Layout] = &[
    Divisor32::LAYOUT,
    Divisor64::LAYOUT,
    Rows::LAYOUT,
    PanelRows::LAYOUT,
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
    TeamShare::LAYOUT,
    WideArgs::LAYOUT,
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
        assert_eq!(words(rows, 8)[..3], [7, 0, 0], "takes only one address");
        let moves = Args::from(MoveAxes32::zeroed());
        assert_eq!(moves.second(), Some(SecondPointer::Flags));
        assert_eq!(words(moves, 8)[..3], [7, 8, 0]);
        let into = Args::from(IntoArgs::zeroed());
        assert_eq!(into.second(), Some(SecondPointer::Source));
        assert_eq!(words(into, 8)[..3], [7, 8, 0]);
    }

    /// Checks that fields other than addresses are unchanged and in memory order.
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
