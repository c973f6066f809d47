//! Structures of `kernels/`, by kernel family.

use super::{Address, Divisor32, Divisor64, Mirrored};

// Index maps of super-elements. 32-bit numbers count up to 2^31 super-elements.

/// Declares the index maps for numbers of one width.
macro_rules! by_width {
    ($int:ident, $divisor:ident: $digit:ident, $axes:ident, $slots:ident) => {
        mirror! {
            /// Axis as a mixed-radix digit: its extent, and its stride on the other side of the index map.
            $digit = concat!("Digit<", stringify!($int), ">"), in "index.cuh" {
                $divisor: by;
                $int: stride;
            }
            /// Index map of an axis permutation: digits from the last axis on; the remaining quotient is the first axis. Strides of
            /// reversed axes are negative, modulo the size of the type.
            $axes = concat!("Axes<", stringify!($int), ">"), in "index.cuh" {
                [$digit; 7]: d;
                $int: first, start, digits;
                $divisor: instance, batch;
                u64: unit_bytes;
            }
            /// Index map of aligned slots. Extents are in elements, `per_chunk` and `count` in slots.
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
    /// Index map from `[rows][cols]` to `[cols][rows]` within one instance.
    SmallSwap, in "index.cuh" {
        Divisor32: cols;
        u32: rows, unit_bytes;
    }
}

mirror! {
    /// Index map of the rows of square tiles, from one pitch to another.
    TileRunMap = "TileRuns", in "index.cuh" {
        Divisor32: from, side;
        u32: to, rows, cols, pad;
        u64: unit_bytes;
    }
}

mirror! {
    /// Positions of the slots of one record field.
    FieldSlot, in "index.cuh" {
        u32: first, place, last;
    }
    /// Index map of the slot pass of records with fields of any widths.
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
    /// Claim flags of a whole launch, in global memory.
    GlobalFlags, in "flags.cuh" {
        Address: words;
    }
}

/// Declares one structure per index map: an instance of the device template `MoveArgs`.
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
    /// Moves along an axis permutation, 32-bit numbers.
    MoveAxes32, Axes32, "MoveArgs<Axes<u32>>";
    /// Moves along an axis permutation, 64-bit numbers.
    MoveAxes64, Axes64, "MoveArgs<Axes<u64>>";
    /// Moves of slots of records.
    MoveFields, FieldMap, "MoveArgs<FieldMap>";
}

mirror! {
    /// PTTWAC with claim flags in shared memory.
    OnChipArgs, in "moves_on_chip.cu" {
        Address: data;
        u64: instances, instance_bytes;
        u32: flag_words, units, lanes, vectors, word, pad;
        SmallSwap: map;
    }
}

// Square matrices, square tiles and cubes.

mirror! {
    /// Swaps of tile pairs across the diagonal.
    SquareArgs, in "tiles.cu" {
        Address: data;
        u64: pitch, batch_bytes;
        u32: side, across, pairs, mid, group, pad;
        Factor: factor;
    }
    /// Swaps of a block with its mirror block, which may be on another GPU: squares, a rectangle, or a run.
    ApartArgs, in "peer_squares.cu" {
        Address: block, mirror;
        u64: pitch;
        u32: rows, cols, across, squares, pairs, first, end, word, granule, pad;
    }
    /// Rotations of cube tiles, three at a time.
    CubeArgs, in "cube.cuh" {
        Address: data;
        u64: batch_bytes;
        u32: side, across, orbits, group;
    }
    /// Transpositions of square tiles, each in place.
    TilesArgs, in "tiles.cu" {
        Address: data;
        u64: pitch, panel_bytes;
        u32: mid, pad;
        u64: tiles;
    }
}

mirror! {
    /// Reversal of axes by swaps of pieces with their mirror images.
    FlipArgs, in "flip.cu" {
        Address: data;
        u64: bytes, pieces, rows, units, unit_bytes;
        u32: piece_rows, piece_units, piece_bytes, lanes, held, pad;
        Divisor64: deep, along, down, half;
        u64: skipped;
        Divisor32: of_row, of_unit;
        Axes64: mirror;
    }
    /// Quarter turns of square matrices, four tiles at a time.
    TurnArgs, in "turn.cu" {
        Address: data;
        u64: bytes, matrix_bytes, pitch;
        u32: side, tile, rows, images, cycles, threads, lanes, unit, row, held, rows_reversed, slots;
        TileOrder: order;
    }
}

mirror! {
    /// Transposition of squares of elements of 1, 2 or 4 bits in place.
    BitsArgs, in "bits.cu" {
        Address: data;
        u64: pitch, matrix_bytes;
        u32: rows, cols, side, big;
        Divisor32: pairs, across, down, small;
    }
    /// Transposition of matrices of elements of 1, 2 or 4 bits into another buffer.
    BitsIntoArgs, in "bits.cu" {
        Address: to, from;
        u64: from_pitch, to_pitch, from_matrix_bytes, to_matrix_bytes;
        u32: rows, cols, big, pad;
        TileOrder: order;
    }
    /// Transposition of matrices of elements of 1, 2 or 4 bits, each of at most 8 bytes.
    BitsSmallArgs, in "bits.cu" {
        Address: to, from;
        u64: matrices;
        u32: rows, cols, from_bytes, to_bytes, word, big;
    }
}

/// Maximum number of digits in [`SwapAxesArgs`]: the permuted axes, the words of an element, and the parts of two split axes.
pub const MOST_TILE_DIGITS: usize = 16;

mirror! {
    /// Digit of a row number, column number or tile number.
    TileDigit, in "swap_axes.cu" {
        u32: extent, before;
        u64: stride, partner;
    }
    /// Swaps of tile pairs under an involutive axis permutation.
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
    /// Rows and words of the instances in one tile.
    Stack, in "region.cuh" {
        Divisor32: rows, instance;
    }
    /// Order in which thread blocks take tiles: by swaths of tile rows, each column by column.
    TileOrder, in "tile_order.cuh" {
        Divisor32: matrix, swath;
        u32: down, high;
    }
    /// Tiles of a batch of matrices, transposed in place or into another buffer.
    BlockArgs, in "barrier.cu" {
        Address: to, from;
        u64: rows, cols, from_pitch, to_pitch, from_down, from_across, to_down, to_across, matrix_bytes;
        TileOrder: order;
        u32: tile_rows, tile_cols, pitch, wide;
        Divisor32: unit;
        Stack: stack;
    }
    /// Instances transposed in place, by vectors in registers.
    MicroArgs, in "barrier.cu" {
        Address: data;
        u64: instances;
        u32: rows, cols, stacked, mid, down, pad;
        u64: row_bytes, column_bytes, panel_bytes, instance_bytes;
        Divisor32: vectors;
    }
    /// Axis permutation in place, whole instances per thread block.
    AxesArgs, in "barrier_axes.cu" {
        Address: data;
        u64: instances, instance_bytes;
        u32: words, stacked, row, pitch, granule, pack;
        Axes32: source;
    }
    /// Transposition of an instance by several thread blocks, one rectangle each.
    WideArgs, in "wide_barrier.cuh" {
        Address: data;
        u64: instance_bytes;
        u32: rows, cols, block_rows, block_cols, across, pitch, shared_rows, wide;
        Divisor32: unit;
    }
    /// Transposition of one matrix by all multiprocessors, with rows in a workspace.
    GridArgs, in "grid_barrier.cu" {
        Address: data, kept;
        u32: held_rows, kept_bytes;
        WideArgs: rectangle;
    }
    /// Instances, and the blocks that share each.
    TeamShare, in "team.cuh" {
        u64: instances;
        u32: blocks, pad;
    }
    /// Transposition of one instance after another by teams of blocks.
    TeamArgs, in "grid_barrier.cu" {
        Address: data, kept;
        TeamShare: share;
        WideArgs: rectangle;
    }
}

impl Stack {
    /// Creates a stack of instances of `rows` rows and `words` words each.
    pub fn of(rows: u32, words: u32) -> Self {
        Stack { rows: Divisor32::new(rows), instance: Divisor32::new(words) }
    }
}

// Pieces of long runs.

mirror! {
    /// Axis permutation of a few long runs, in place, one piece of each run per thread block.
    PieceArgs, in "long_runs.cu" {
        Address: data;
        u64: bytes;
        u32: runs, piece, pitch, pad;
        Divisor32: pieces;
        Axes32: dest;
    }
    /// Conversion of records with wide fields between AoS and tiles, one piece of each run per thread block.
    RecordPieceArgs, in "long_runs.cu" {
        Address: data;
        u64: bytes, run_bytes;
        u32: runs, piece, pitch, groups, record, split;
        Divisor32: pieces, tile, tile_runs;
        [FieldGroup; MOST_FIELD_GROUPS]: group;
    }
}

// Tiles of arrays whose axes are permuted.

/// Maximum number of axes in a [`TileMap`]: the permuted axes and the words of an element.
pub const TILE_AXES: usize = 9;

mirror! {
    /// Axis of an array, and the part of it in a tile.
    TileAxis, in "axes_tile.cuh" {
        Divisor32: group, groups;
        u64: from, to;
        u32: tiles, extent, last, along, rows, pad;
    }
    /// Division of an array into tiles, and their layout in shared memory.
    TileMap, in "axes_tile.cuh" {
        [TileAxis; TILE_AXES]: a;
        Divisor32: group;
        u64: column_axes;
        u32: axes, run_axes, across_axes, line_axis, line_step, run_step, rows, columns, run, pitch,
            granules, packs, held, across;
    }
    /// Axis permutation of instances, in place or into another buffer, one tile per thread block.
    AxesTileArgs, in "axes_tile.cuh" {
        Address: to, from;
        u64: bytes, instance_bytes;
        u32: tiles, pad;
        TileMap: map;
    }
    /// Permutation of one instance after another by teams of blocks.
    TeamAxesArgs, in "grid_axes.cu" {
        Address: data, kept;
        u64: bytes;
        TeamShare: share;
        u64: instance_bytes;
        u32: tiles, pad;
        TileMap: map;
    }
}

impl Mirrored for [TileAxis; TILE_AXES] {
    const KIND: &'static str = "TileAxis[9]";
}

impl TileMap {
    /// Returns the axes, from the result's last axis on.
    pub fn axes(&self) -> Vec<TileAxis> {
        self.a[..self.axes as usize].to_vec()
    }

    /// Returns the number of words of a tile that are contiguous in the result: a column, and the columns that continue it.
    pub fn stretch_words(&self) -> usize {
        let (axes, run_axes) = (self.axes(), self.run_axes as usize);
        let whole = |axis: &TileAxis| axis.tiles == 1;
        let follow = axes.iter().zip(&axes[1..]).skip(run_axes.saturating_sub(1));
        let follow = follow.take_while(|(before, _)| whole(before));
        follow.fold(self.run as usize, |words, (_, axis)| words * axis.extent as usize)
    }

    /// Returns the bytes of a tile row.
    pub fn line_bytes(&self) -> usize {
        let first = self.axes().get(self.line_axis as usize).map_or(1, |axis| axis.extent);
        self.line_step as usize * first as usize
    }
}

// The gather pass of aligned slots.

mirror! {
    /// Gather pass with a run of chunks per thread block.
    RunArgs, in "slot_runs.cu" {
        Address: data, kept;
        SlotMap64: slots;
        u64: batch, matrix_bytes;
        u32: runs, pitch, table, vectors;
        Divisor32: grain, per_column;
    }
    /// Gather pass with a run of chunks per team of thread blocks.
    GatherArgs, in "strip.cuh" {
        Address: data, kept;
        SlotMap64: slots;
        u64: batch, matrix_bytes, kept_bytes;
        u32: runs, teams, blocks, block_cols, depth, readers, ring_rows, pitch, period, granule;
        Divisor32: grain;
    }
}

// Moves out of place.

mirror! {
    /// Transposition by equal tiles.
    IntoArgs, in "out_of_place.cu" {
        Address: to, from;
        u64: rows, cols, from_pitch, to_pitch, matrix_bytes, bytes;
        TileOrder: order;
    }
    /// Permutation of long super-elements, without shared memory.
    UnitArgs, in "into_units.cu" {
        Address: to, from;
        u64: bytes;
        Divisor64: unit;
        Divisor32: of_part;
        Axes32: source;
        u32: word, pad;
    }
}

// Moves of rows from one pitch to another; lengths are in bytes.

mirror! {
    /// Rows of `cols` bytes, `pitch` bytes apart.
    Rows, in "pad.cu" {
        u64: cols, pitch;
    }
    /// Runs of `cols` bytes, one per panel; each row has `panels` panels.
    PanelRows, in "pad.cu" {
        u64: cols, pitch, step;
        u32: panels, longer, extra, pad;
    }
    /// Data sliding in place. Rows without gaps count as one row, unless they are separate in shared memory (`apart`).
    SlideArgs = "SlideArgs<Rows>", in "pad.cu" {
        Address: data, flags;
        u64: len;
        Rows: from, to;
        u32: block, blocks, up, apart;
    }
    /// Data sliding in place between layouts of panels.
    PanelSlideArgs = "SlideArgs<PanelRows>", in "pad.cu" {
        Address: data, flags;
        u64: len;
        PanelRows: from, to;
        u32: block, blocks, up, apart;
    }
    /// Copy of contiguous rows to rows with a pitch in another buffer.
    SpreadArgs, in "pad.cu" {
        Address: to, from;
        u64: rows, cols, pitch;
    }
    /// One round of row moves.
    RowsArgs, in "pad.cu" {
        Address: data;
        u64: first, count, cols, from, to;
        u32: held, pad;
    }
}

// Rows with a pitch: squares of elements of any size, and the contents of gaps.

mirror! {
    /// Swaps of tile pairs of multi-word elements.
    UnitSwapArgs, in "pitched_swap.cu" {
        Address: data;
        u64: pitch;
        u32: side, across, pairs, tile, row, pad;
        Divisor32: unit;
    }
    /// Out-of-place transposition of long elements, word by word.
    UnitTurnArgs, in "pitched.cu" {
        Address: to, from;
        u64: words, from_pitch, to_pitch;
        Divisor64: row, unit;
        u32: word, pad;
    }
    /// Gap contents to save or restore; lengths are in words.
    GapArgs, in "pitched.cu" {
        Address: data, kept;
        u64: len, windows, cols, pitch, other_cols, total;
        Divisor64: other, other_gap;
        u32: word, pad;
    }
}

// Records whose fields have any widths.

/// Maximum number of field groups that a kernel takes.
pub const MOST_FIELD_GROUPS: usize = 64;

mirror! {
    /// Fields of equal width that are consecutive in both layouts.
    FieldGroup, in "records.cuh" {
        Divisor32: width;
        u32: begin, place;
    }
    /// Conversion of records between AoS and tiles.
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

/// Maximum number of record fields that the aligned-slot kernels take.
pub const MOST_FIELD_COLUMNS: usize = 64;

mirror! {
    /// Record field of the gather pass; lengths are in bytes, `last` in slots.
    FieldColumn, in "fields.cu" {
        Divisor32: width;
        u32: begin, place, lead, last;
    }
    /// Gather pass of the slots of record fields.
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

// Scaling and conjugation.

mirror! {
    /// Scaling of numbers in rows with a pitch.
    ScaleArgs, in "scale.cu" {
        Address: data;
        u64: packs, pitch;
        Divisor64: row;
        Factor: factor;
        u32: wide, pad;
    }
    /// Factor and operation of scaling; all fields 0 leave numbers unchanged.
    Factor, in "scale.cuh" {
        u64: re, im;
        u32: does, pad;
    }
}
