//! The structures of `kernels/`, family by family.

use super::{Address, Divisor32, Divisor64, Mirrored};

// Where super-elements go. Numbers of 32 bits count up to 2^31 of them.

/// The maps by numbers of one width.
macro_rules! by_width {
    ($int:ident, $divisor:ident: $digit:ident, $axes:ident, $slots:ident) => {
        mirror! {
            /// An axis as a digit.
            $digit = concat!("Digit<", stringify!($int), ">"), in "index.cuh" {
                $divisor: by;
                $int: stride;
            }
            /// An array's axes in any order: digits from the last axis on, the first is what is left.
            $axes = concat!("Axes<", stringify!($int), ">"), in "index.cuh" {
                [$digit; 7]: d;
                $int: first;
                u32: digits, batched;
                $divisor: instance, batch;
                u64: unit_bytes;
            }
            /// The slots of the aligned-slot route. The numbers count a matrix's elements.
            $slots = concat!("SlotMap<", stringify!($int), ">"), in "index.cuh" {
                $int: rows, cols, slot, chunk, last_chunk, last_rows;
                $divisor: rows_div, slot_div, last_rows_div, chunk_div, per_chunk, count;
                u64: unit_bytes, instance_bytes;
                u32: backward, batched;
            }
        }

        impl Mirrored for [$digit; 7] {
            const KIND: &'static str = concat!("Digit<", stringify!($int), ">[7]");
        }
    };
}
by_width!(u32, Divisor32: Digit32, Axes32, SlotMap32);
by_width!(u64, Divisor64: Digit64, Axes64, SlotMap64);

mirror! {
    /// `[rows][cols]` to `[cols][rows]` within one instance.
    SmallSwap, in "index.cuh" {
        Divisor32: cols;
        u32: rows, unit_bytes;
    }
}

mirror! {
    /// Rows of square tiles, from one pitch to another.
    TileRunMap = "TileRuns", in "index.cuh" {
        Divisor32: from, side;
        u32: to, rows, cols, pad;
        u64: unit_bytes;
    }
}

mirror! {
    /// Slots of one field of records.
    FieldSlot, in "index.cuh" {
        u32: first, place, last;
    }
    /// The slot pass of records of any fields.
    FieldMap, in "index.cuh" {
        u32: fields, chunks, backward, unit_bytes;
        Divisor32: per_chunk;
        [FieldSlot; MOST_FIELD_COLUMNS]: field;
    }
}

impl Mirrored for [FieldSlot; MOST_FIELD_COLUMNS] {
    const KIND: &'static str = "FieldSlot[64]";
}

// Moves of super-elements along cycles.

mirror! {
    /// Flags of a whole launch.
    GlobalFlags, in "flags.cuh" {
        Address: words;
    }
}

/// One structure for each index map, whose template the device code has.
macro_rules! by_map {
    ($($(#[$meta:meta])* $name:ident, $map:ident, $kind:literal;)*) => {
        mirror! {$(
            $(#[$meta])*
            $name = $kind, in "mover.cuh" {
                Address: data;
                GlobalFlags: flags;
                u64: units;
                u32: lanes, vectors, word, pad;
                $map: map;
            }
        )*}
    };
}
by_map! {
    /// Moves of slots, 32-bit numbers.
    MoveSlots32, SlotMap32, "MoveArgs<SlotMap<u32>>";
    /// Moves of slots, 64-bit numbers.
    MoveSlots64, SlotMap64, "MoveArgs<SlotMap<u64>>";
    /// Moves of rows of tiles.
    MoveRuns, TileRunMap, "MoveArgs<TileRuns>";
    /// Moves along any permutation of axes, 32-bit numbers.
    MoveAxes32, Axes32, "MoveArgs<Axes<u32>>";
    /// Moves along any permutation of axes, 64-bit numbers.
    MoveAxes64, Axes64, "MoveArgs<Axes<u64>>";
    /// Moves of slots of records.
    MoveFields, FieldMap, "MoveArgs<FieldMap>";
}

mirror! {
    /// PTTWAC with flags in shared memory.
    OnChipArgs, in "moves_on_chip.cu" {
        Address: data;
        u64: instances, instance_bytes;
        u32: flag_words, units, lanes, vectors, word, pad;
        SmallSwap: map;
    }
}

// Square matrices, square tiles and cubes.

mirror! {
    /// Pairs of tiles across the diagonal.
    SquareArgs, in "tiles.cu" {
        Address: data;
        u64: pitch, batch_bytes;
        u32: side, across, pairs, mid, group, pad;
        Factor: factor;
    }
    /// Squares of a block, and of its mirror image elsewhere.
    ApartArgs, in "peer_squares.cu" {
        Address: block, mirror;
        u64: pitch;
        u32: side, across, squares, pairs, first, end, word, pad;
    }
    /// Tiles of cubes, three at a time.
    CubeArgs, in "cube.cuh" {
        Address: data;
        u64: batch_bytes;
        u32: side, across, orbits, group;
    }
    /// Every tile where it lies.
    TilesArgs, in "tiles.cu" {
        Address: data;
        u64: pitch, panel_bytes;
        u32: mid, pad;
        u64: tiles;
    }
}

/// Digits of a [`SwapAxesArgs`]: the axes of a permutation, the words of an element, and of two axes that are split their parts.
pub const MOST_TILE_DIGITS: usize = 16;

mirror! {
    /// A digit of a tile's rows, columns or number.
    TileDigit, in "swap_axes.cu" {
        u32: extent, before;
        u64: stride, partner;
    }
    /// Axes that change places in pairs.
    SwapAxesArgs, in "swap_axes.cu" {
        Address: data;
        u64: bytes;
        u32: rows, cols, piece, extent, parts, stays, across, blocks, group, row, turned, within, pairs, fixed;
        [TileDigit; MOST_TILE_DIGITS]: digits;
    }
}

impl Mirrored for [TileDigit; MOST_TILE_DIGITS] {
    const KIND: &'static str = "TileDigit[16]";
}

// Barrier-sync by a block, a cluster or the grid.

mirror! {
    /// Instances that follow one another.
    Stack, in "region.cuh" {
        Divisor32: rows, instance;
    }
    /// Order in which blocks take tiles: swaths of rows of tiles, column by column.
    TileOrder, in "tile_order.cuh" {
        Divisor32: matrix, swath;
        u32: down, high;
    }
    /// Tiles of a batch of matrices, in place or into another buffer.
    BlockArgs, in "barrier.cu" {
        Address: to, from;
        u64: rows, cols, from_pitch, to_pitch, from_down, from_across, to_down, to_across, matrix_bytes;
        TileOrder: order;
        u32: tile_rows, tile_cols, pitch, wide;
        Divisor32: unit;
        Stack: stack;
    }
    /// Instances in place, by vectors in registers.
    MicroArgs, in "barrier.cu" {
        Address: data;
        u64: instances;
        u32: rows, cols, stacked, mid, down, pad;
        u64: row_bytes, column_bytes, panel_bytes, instance_bytes;
        Divisor32: vectors;
    }
    /// Axes in any order, instances by a block.
    AxesArgs, in "barrier_axes.cu" {
        Address: data;
        u64: instances, instance_bytes;
        u32: words, stacked, row, pitch, granule, pack;
        Axes32: source;
    }
    /// An instance by several blocks, a rectangle each.
    WideArgs, in "wide_barrier.cuh" {
        Address: data;
        u64: instance_bytes;
        u32: rows, cols, block_rows, block_cols, across, pitch, shared_rows, wide;
        Divisor32: unit;
    }
}

impl Stack {
    /// Instances of `rows` rows and `words` words.
    pub fn of(rows: u32, words: u32) -> Self {
        Stack { rows: Divisor32::new(rows), instance: Divisor32::new(words) }
    }
}

// Tiles of arrays whose axes change their order.

/// Axes that a [`TileMap`] has: those of a permutation, and the words of an element.
pub const TILE_AXES: usize = 9;

mirror! {
    /// An axis, and a tile's part of it.
    TileAxis, in "axes_tile.cuh" {
        Divisor32: group, groups;
        u64: from, to;
        u32: tiles, extent, last, along, rows, pad;
    }
    /// How an array is cut into tiles, and how these lie on chip.
    TileMap, in "axes_tile.cuh" {
        [TileAxis; TILE_AXES]: a;
        Divisor32: group;
        u64: column_axes;
        u32: axes, run_axes, across_axes, line_axis, line_step, run_step, rows, columns, run, pitch,
            granules, packs, held, across;
    }
    /// Axes in any order, an instance by a group of blocks, in place or into another buffer.
    AxesTileArgs, in "axes_tile.cuh" {
        Address: to, from;
        u64: bytes, instance_bytes;
        u32: tiles, pad;
        TileMap: map;
    }
}

impl Mirrored for [TileAxis; TILE_AXES] {
    const KIND: &'static str = "TileAxis[9]";
}

impl TileMap {
    /// The axes, from the result's last one on.
    pub fn axes(&self) -> Vec<TileAxis> {
        self.a[..self.axes as usize].to_vec()
    }

    /// Words of a tile that lie together in the result: a column, and the next ones where those follow it.
    pub fn stretch_words(&self) -> usize {
        let (axes, run_axes) = (self.axes(), self.run_axes as usize);
        let whole = |axis: &TileAxis| axis.tiles == 1;
        let follow = axes.iter().zip(&axes[1..]).skip(run_axes.saturating_sub(1));
        let follow = follow.take_while(|(before, _)| whole(before));
        follow.fold(self.run as usize, |words, (_, axis)| words * axis.extent as usize)
    }

    /// Bytes of a row of a tile.
    pub fn line_bytes(&self) -> usize {
        let first = self.axes().get(self.line_axis as usize).map_or(1, |axis| axis.extent);
        self.line_step as usize * first as usize
    }
}

// The gather pass of aligned slots.

mirror! {
    /// A run of chunks for each block.
    RunArgs, in "slot_runs.cu" {
        Address: data, kept;
        SlotMap64: slots;
        u64: batch, matrix_bytes;
        u32: runs, pitch, table, vectors;
        Divisor32: grain, per_column;
    }
    /// A run of chunks for each team of blocks.
    GatherArgs, in "strip.cuh" {
        Address: data, kept;
        SlotMap64: slots;
        u64: batch, matrix_bytes, kept_bytes;
        u32: runs, teams, blocks, block_cols, depth, readers, ring_rows, pitch, period, granule;
        Divisor32: grain;
    }
}

// From one place to another.

mirror! {
    /// Tiles of one form.
    IntoArgs, in "out_of_place.cu" {
        Address: to, from;
        u64: rows, cols, from_pitch, to_pitch, matrix_bytes, bytes;
        TileOrder: order;
    }
    /// Long super-elements, straight across.
    UnitArgs, in "into_units.cu" {
        Address: to, from;
        u64: bytes;
        Divisor64: unit;
        Divisor32: of_part;
        Axes32: source;
        u32: word, pad;
    }
}

// Rows moved from one pitch to another, counted in bytes.

mirror! {
    /// Rows a pitch apart.
    Rows, in "pad.cu" {
        u64: cols, pitch;
    }
    /// By data sliding. Rows without gaps are one unless they lie `apart`.
    SlideArgs, in "pad.cu" {
        Address: data, flags;
        u64: len;
        Rows: from, to;
        u32: block, blocks, up, apart;
    }
    /// From rows that lie together to others elsewhere.
    SpreadArgs, in "pad.cu" {
        Address: to, from;
        u64: rows, cols, pitch;
    }
    /// A round.
    RowsArgs, in "pad.cu" {
        Address: data;
        u64: first, count, cols, from, to;
        u32: held, pad;
    }
}

// Rows a pitch apart: squares of elements of any size, and the contents of gaps.

mirror! {
    /// Pairs of tiles of elements of several words.
    UnitSwapArgs, in "pitched_swap.cu" {
        Address: data;
        u64: pitch;
        u32: side, across, pairs, tile, row, pad;
        Divisor32: unit;
    }
    /// A matrix of long elements, word by word.
    UnitTurnArgs, in "pitched.cu" {
        Address: to, from;
        u64: words, from_pitch, to_pitch;
        Divisor64: row, unit;
        u32: word, pad;
    }
    /// Contents of gaps that are saved, lengths in words.
    GapArgs, in "pitched.cu" {
        Address: data, kept;
        u64: len, windows, cols, pitch, other_cols, total;
        Divisor64: other, other_gap;
        u32: word, pad;
    }
}

// Records whose fields have any widths.

/// Groups of fields that a kernel takes.
pub const MOST_FIELD_GROUPS: usize = 64;

mirror! {
    /// Fields of one width that follow one another in both layouts.
    FieldGroup, in "records.cuh" {
        Divisor32: width;
        u32: begin, place;
    }
    /// Records between AoS and tiles.
    RetileArgs, in "retile.cu" {
        Address: data;
        u64: records;
        u32: block, pad, groups, slab, words, none;
        Divisor32: row, tile, last, tile_words, tiles;
        [FieldGroup; MOST_FIELD_GROUPS]: group;
    }
}

impl Mirrored for [FieldGroup; MOST_FIELD_GROUPS] {
    const KIND: &'static str = "FieldGroup[64]";
}

/// Fields that kernels of aligned slots take.
pub const MOST_FIELD_COLUMNS: usize = 64;

mirror! {
    /// A field of aligned slots, in bytes.
    FieldColumn, in "fields.cu" {
        Divisor32: width;
        u32: begin, place, lead, last;
    }
    /// The gather pass of fields' slots.
    FieldGatherArgs, in "fields.cu" {
        Address: data, kept;
        u32: chunks, last_records, each, more, fields, backward, record, chunk, tiles, slot, table, held, pad, runs;
        Divisor32: row, tile, tile_bytes;
        [FieldColumn; MOST_FIELD_COLUMNS]: field;
    }
}

impl Mirrored for [FieldColumn; MOST_FIELD_COLUMNS] {
    const KIND: &'static str = "FieldColumn[64]";
}

// Numbers multiplied and conjugated.

mirror! {
    /// Numbers in rows a pitch apart.
    ScaleArgs, in "scale.cu" {
        Address: data;
        u64: packs, pitch;
        Divisor64: row;
        Factor: factor;
        u32: wide, pad;
    }
    /// What becomes of numbers; zeros where they stay as they are.
    Factor, in "scale.cuh" {
        u64: re, im;
        u32: does, pad;
    }
}
