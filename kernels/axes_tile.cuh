// Tiles of an array whose axes are permuted, read in runs of the source and written in runs of the result.
//
// A tile is a range of indices along every axis. Its *rows* are contiguous in the source, its *columns* in the result.
// Every axis with an extent above 1 is in a row, a column, or both. In shared memory a row keeps its address modulo 16,
// and is loaded 16 bytes at a time for any alignment. Word k of column j is at `column_at[j] + place[k]`.
#pragma once
#include "index.cuh"

// An axis, and its division into tiles.
struct TileAxis {
    Divisor<u32> group, groups; // tiles per group, and groups, along the axis; the last group may be smaller
    u64 from, to;               // strides of the axis in the source and in the result, in bytes
    u32 tiles;                  // tiles along the axis
    u32 extent, last;           // extents of a tile, and of the last tile
    u32 along, rows;            // stride in shared memory: bytes within a row, or rows; the other is 0
    u32 pad;
};
static_assert(sizeof(TileAxis) == 72);

// Division of an array into tiles. Blocks take tiles group by group, so that concurrent tiles are near each other in
// the source and in the result.
struct TileMap {
    TileAxis a0, a1, a2, a3, a4, a5, a6, a7, a8; // from the result's last axis on; also the order of tiles and groups
    Divisor<u32> group;                          // tiles per group
    u64 column_axes;                             // row axes that are not in a column, 4 bits each
    u32 axes;                                    // number of axes
    u32 run_axes;                                // the first `run_axes` axes form a column
    u32 across_axes;                             // axes in `column_axes`
    u32 line_axis;                               // outermost axis of a row
    u32 line_step, run_step;                     // bytes of a row, words of a column, per index of its outermost axis
    u32 rows, columns;                           // rows and columns of a tile
    u32 run;                                     // words of a column
    u32 pitch;                                   // bytes from row to row in shared memory
    u32 granules, packs;                         // 16-byte granules that a row, and a column, touches at most
    u32 held;                                    // bytes of all rows in shared memory
    u32 across;                                  // log2 of the columns that a warp writes at a time

    __device__ const TileAxis &axis(u32 k) const { return (&a0)[k]; }
};
static_assert(sizeof(TileMap) == 728);

enum : u32 { kGranule = 16 };

// A tile in shared memory, with its tables. `Place` is the integer type of offsets in shared memory.
template <int W, class Place> struct AxesTile {
    static constexpr u32 P = kGranule / W;
    const TileMap &m;
    char *tile;
    u64 *row_from, *column_to; // global addresses; 0: outside the array
    u32 *column_at, *limits;
    Place *place;

    __device__ AxesTile(const TileMap &map, char *shared) : m(map), tile(shared) {
        row_from = (u64 *)(shared + m.held);
        column_to = row_from + m.rows;
        place = (Place *)(column_to + m.columns);
        // Aligned to 16 bytes: `gather` reads the offsets of a pack as vectors.
        place = (Place *)(shared + (u32((char *)place - shared) + kGranule - 1) / kGranule * kGranule);
        column_at = (u32 *)(place + (m.run + 7) / 8 * 8);
        limits = column_at + m.columns;
    }

    // Returns the offset of a row in bytes. If P > 1, a granule of padding follows every P rows: lanes that read
    // neighbouring packs use different banks.
    __device__ u32 row_at(u32 row) const { return row * m.pitch + (P > 1 ? row / P * kGranule : 0); }

    // Finds the global addresses of the rows of the tile at `from`.
    __device__ void find_rows(u64 from) {
#pragma unroll 1
        for (u32 r = threadIdx.x; r < m.rows; r += blockDim.x) {
            u64 at = from;
            bool in = true;
#pragma unroll 1
            for (u32 k = 0, rest = r; k < m.run_axes; k++) {
                const TileAxis &a = m.axis(k);
                if (a.rows == 0) continue;
                const u32 digit = rest % a.extent;
                rest /= a.extent;
                in = in && digit < limits[k];
                at += digit * a.from;
            }
            row_from[r] = in ? at : 0;
        }
    }

    // Finds the columns' global addresses and offsets in shared memory, and the offsets of a column's words.
    __device__ void find_columns(u64 from, u64 to) {
#pragma unroll 1
        for (u32 j = threadIdx.x; j < m.columns; j += blockDim.x) {
            u64 at = to;
            u32 along = 0;
            bool in = true;
#pragma unroll 1
            for (u32 n = 0, rest = j; n < m.across_axes; n++) {
                const u32 k = u32(m.column_axes >> (4 * n)) & 15;
                const TileAxis &a = m.axis(k);
                const u32 digit = rest % a.extent;
                rest /= a.extent;
                in = in && digit < limits[k];
                at += digit * a.to;
                along += digit * a.along;
            }
            column_to[j] = in ? at : 0;
            column_at[j] = along;
        }
#pragma unroll 1
        for (u32 w = threadIdx.x; w < m.run; w += blockDim.x) {
            u64 at = from;
            u32 along = 0, row = 0;
#pragma unroll 1
            for (u32 k = 0, rest = w; k < m.run_axes; k++) {
                const TileAxis &a = m.axis(k);
                const u32 digit = rest % a.extent;
                rest /= a.extent;
                along += digit * a.along;
                row += digit * a.rows;
                if (a.rows) at += digit * a.from;
            }
            place[w] = Place(row_at(row) + along + u32(at % kGranule));
        }
    }

    // Loads the rows into shared memory. Does not read before `first` or from `past` on, outside the array.
    __device__ void load(const char *first, const char *past) const {
        const u32 line = limits[m.line_axis] * m.line_step, step = blockDim.x / m.granules;
        const u32 rest = blockDim.x - step * m.granules;
        u32 r = threadIdx.x / m.granules, g = threadIdx.x - r * m.granules;
#pragma unroll 2
        while (r < m.rows) {
            const u64 from = row_from[r];
            const u32 skew = u32(from % kGranule);
            if (from && g * kGranule < skew + line) {
                const char *at = (const char *)(from - skew) + g * kGranule;
                char *to = tile + row_at(r) + g * kGranule;
                if (at >= first && at + kGranule <= past)
                    copy_async<kGranule>(to, at);
                else
#pragma unroll 1
                    for (u32 b = 0; b < kGranule; b++)
                        if (at + b >= first && at + b < past) to[b] = at[b];
            }
            r += step;
            g += rest;
            if (g >= m.granules) g -= m.granules, r++;
        }
    }

    __device__ void set(u32 *pack, u32 k, const char *from) const {
        const Word<W> x = *(const Word<W> *)from;
        if constexpr (W < 4) {
            pack[k * W / 4] |= u32(x) << (8 * (k * W % 4));
        } else {
#pragma unroll
            for (u32 i = 0; i < W / 4; i++) pack[k * W / 4 + i] = ((const u32 *)&x)[i];
        }
    }

    // Stores a granule of the result: P words of a column, from word `k` on.
    __device__ void gather(const char *column, u32 k, char *to) const {
        u32 pack[4] = {};
        if (k % P == 0) {
            // Read the offsets of the whole pack at once.
            constexpr u32 bytes = P * sizeof(Place), each = bytes < kGranule ? bytes : u32(kGranule);
            Word<each> places[bytes / each];
#pragma unroll
            for (u32 n = 0; n < bytes / each; n++) places[n] = ((const Word<each> *)(place + k))[n];
#pragma unroll
            for (u32 i = 0; i < P; i++) set(pack, i, column + ((const Place *)places)[i]);
        } else {
#pragma unroll
            for (u32 i = 0; i < P; i++) set(pack, i, column + place[k + i]);
        }
        *(uint4 *)to = make_uint4(pack[0], pack[1], pack[2], pack[3]);
    }

    // Stores the columns: a warp writes adjacent ones, 16 bytes per lane.
    __device__ void store() const {
        const u32 run = limits[m.run_axes - 1] * m.run_step;
        const u32 lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
        const u32 wide = kWarp >> m.across, groups = (m.packs + wide - 1) / wide;
        const u32 step = warps / groups, rest = warps - step * groups;
        u32 band = warp / groups, g = warp - band * groups;
        while (band << m.across < m.columns) {
            const u32 j = (band << m.across) + lane / wide;
            const u64 to = j < m.columns ? column_to[j] : 0;
            if (to) {
                const char *column = tile + column_at[j];
                // First word of the column in this granule.
                const i32 k = i32((g * wide + lane % wide) * P) - i32(to % kGranule / W);
                char *at = (char *)to + i64(k) * W;
                if (k >= 0 && k + P <= run) {
                    gather(column, k, at);
                } else {
#pragma unroll 1
                    for (i32 i = max(k, 0), end = min(k + i32(P), i32(run)); i < end; i++)
                        *(Word<W> *)(at + (i - k) * W) = *(const Word<W> *)(column + place[i]);
                }
            }
            band += step;
            g += rest;
            if (g >= groups) g -= groups, band++;
        }
    }

    // Moves tile `number` from the array at `from` to the array at `to`. If `any` is false or no such tile exists, the
    // block only waits. `all_wait` orders all reads before all writes.
    template <class Wait>
    __device__ void move(u32 number, bool any, const char *from, char *to, const char *first, const char *past,
                         Wait all_wait) {
        u64 source = u64(from), dest = u64(to);
        u32 which = m.group.div(number), within = number - which * m.group.divisor;
#pragma unroll 1
        for (u32 k = 0; k < m.axes; k++) {
            const TileAxis &a = m.axis(k);
            const u32 groups = a.groups.div(which), tiles = a.group.div(within);
            const u32 at = (which - groups * a.groups.divisor) * a.group.divisor + within - tiles * a.group.divisor;
            which = groups;
            within = tiles;
            any = any && at < a.tiles;
            source += u64(at) * a.extent * a.from;
            dest += u64(at) * a.extent * a.to;
            if (threadIdx.x == 0) limits[k] = at + 1 == a.tiles ? a.last : a.extent;
        }
        if (any) {
            __syncthreads();
            find_rows(source);
            __syncthreads();
            load(first, past);
            // Overlaps with the copies in flight.
            find_columns(source, dest);
        }
        copy_async_wait();
        all_wait();
        if (any) store();
    }
};

// Arguments. In place, `to` equals `from`. A group of blocks permutes an instance, one tile per block.
struct AxesTileArgs {
    char *to;
    const char *from;
    u64 bytes;          // of all instances
    u64 instance_bytes; // from instance to instance
    u32 tiles;          // tiles per instance; blocks beyond them only wait
    u32 pad;
    TileMap map;
};
static_assert(sizeof(AxesTileArgs) == 768);

// Permutes the tile of block `block` of an instance. `wait` orders all reads of an instance before all writes.
template <int W, class Place, class Wait>
static __device__ void permute_tile(const AxesTileArgs &a, u64 instance, u32 block, Wait wait) {
    extern __shared__ uint4 shared[];
    const u64 at = instance * a.instance_bytes;
    AxesTile<W, Place> tile(a.map, (char *)shared);
    tile.move(block, block < a.tiles, a.from + at, a.to + at, a.from, a.from + a.bytes, wait);
}
