// Rotates square matrices by a quarter turn in place: tiles move along cycles of four.
//
// The first half of the rows, and of the columns rounded up, is a quarter of the matrix. Its turns are the other three.
// A group of threads reads a tile of that quarter and its three images, then writes each, turned, to the place of the
// next. A small matrix is one tile, and its own image. Several groups share a thread block.
#include "micro.cuh"
#include "tile_order.cuh"

struct TurnArgs {
    char *data;
    u64 bytes, matrix_bytes; // of all matrices, and of one
    u64 pitch;               // bytes of a row
    u32 side, tile;          // elements along the side of a matrix, and of a tile
    u32 rows;                // rows of elements in a quarter, or in a matrix that is one tile
    u32 images, cycles;      // tiles of a cycle, 4 or 1; number of cycles of all matrices
    u32 threads, lanes;      // threads per cycle, and per row of a tile
    u32 unit;                // words of an element
    u32 row, held;           // vectors or granules of a row in shared memory, and of a tile
    u32 rows_reversed;       // 1 if the rows of the transposed matrix are reversed, 0 if its columns are
    u32 slots;               // cycles per thread block
    TileOrder order;
};
static_assert(sizeof(TurnArgs) == 120);

// A tile of a matrix: first row and column, and extents, in elements.
struct Tile {
    u32 r, c, rows, cols;
};

// A cycle of tiles, and the group of threads that moves it.
struct Cycle {
    const TurnArgs &a;
    u32 slot, thread;  // number of the group in its block, and of the thread in the group
    bool real, first;  // whether the cycle exists, and is the first of its matrix
    u32 elem;          // bytes of an element
    char *matrix;
    Tile one;          // the tile in the first quarter

    __device__ Cycle(const TurnArgs &args, u32 elem) : a(args), elem(elem) {
        slot = threadIdx.x / a.threads;
        thread = threadIdx.x - slot * a.threads;
        const u32 number = blockIdx.x * a.slots + slot;
        u32 which, i, j;
        a.order.find(number, which, i, j);
        real = slot < a.slots && number < a.cycles;
        first = i == 0 && j == 0;
        matrix = a.data + which * a.matrix_bytes;
        const u32 r = i * a.tile, c = j * a.tile, cols = a.images == 1 ? a.side : a.side - a.rows;
        one = {r, c, min(a.tile, a.rows - r), min(a.tile, cols - c)};
    }
    // Returns the tile to which a tile moves.
    __device__ Tile image(const Tile &t) const {
        if (a.rows_reversed) return {a.side - t.c - t.cols, t.r, t.cols, t.rows};
        return {t.c, a.side - t.r - t.rows, t.cols, t.rows};
    }
    __device__ char *address(const Tile &t) const { return matrix + t.r * a.pitch + u64(t.c) * elem; }
};

// Turns elements of one word in rows of whole vectors, by micro-blocks. In an odd number of micro-blocks, the one in the
// middle of the matrix is turned in registers.
extern "C" __global__ void __launch_bounds__(512) turn_squares(const __grid_constant__ TurnArgs a) {
    constexpr u32 E = kMicro<WORD>, V = kVector<WORD>;
    using Vec = Word<V>;
    extern __shared__ uint4 shared[];
    const Cycle cycle(a, WORD);
    Vec *held = (Vec *)shared + cycle.slot * a.images * a.held;
    const bool down = a.rows_reversed;
    // Loads a micro-block and transposes it. Rows loaded in reverse order become reversed columns.
    const auto load = [&](Micro<WORD> &x, const char *at) {
#pragma unroll
        for (u32 i = 0; i < E; i++) x.row[i] = *(const Vec *)(at + (down ? i : E - 1 - i) * a.pitch);
        x.transpose();
    };
    // A vector of padding after every E rows: lanes that write down a column use different banks.
    const auto begin = [&](u32 row) { return row * a.row + row / E; };
    if (cycle.real) {
        const u32 blocks = cycle.one.rows / E * (cycle.one.cols / E);
#pragma unroll 1
        for (u32 n = cycle.thread; n < a.images * blocks; n += a.threads) {
            const u32 k = n / blocks, m = n - k * blocks;
            Tile from = cycle.one;
#pragma unroll 1
            for (u32 t = 0; t < k; t++) from = cycle.image(from);
            const u32 across = from.cols / E, p = m / across, q = m - p * across;
            Micro<WORD> x;
            load(x, cycle.address(from) + u64(p * E) * a.pitch + q * V);
            const u32 row = down ? from.cols - (q + 1) * E : q * E, place = down ? p : from.rows / E - 1 - p;
            Vec *to = held + k * a.held + begin(row) + place;
#pragma unroll
            for (u32 i = 0; i < E; i++) to[(down ? E - 1 - i : i) * a.row] = x.row[i];
        }
        if (cycle.first && cycle.thread == 0 && a.images > 1 && 2 * a.rows < a.side) {
            char *middle = cycle.address({a.rows, a.rows, E, E});
            Micro<WORD> x;
            load(x, middle);
#pragma unroll
            for (u32 i = 0; i < E; i++) *(Vec *)(middle + (down ? E - 1 - i : i) * a.pitch) = x.row[i];
        }
    }
    __syncthreads();
    if (!cycle.real) return;
    Tile to = cycle.one;
#pragma unroll 1
    for (u32 k = 0; k < a.images; k++) {
        to = cycle.image(to);
        char *at = cycle.address(to);
        const u32 across = to.cols / E;
#pragma unroll 2
        for (u32 n = cycle.thread; n < to.rows * across; n += a.threads) {
            const u32 r = n / across, g = n - r * across;
            *(Vec *)(at + r * a.pitch + g * V) = held[k * a.held + begin(r) + g];
        }
    }
}

// Turns elements of one or several words in rows of any alignment, in granules of 16 bytes. In shared memory a row
// keeps its address modulo 16, as in `granules.cuh`.
extern "C" __global__ void __launch_bounds__(256) turn_squares_granules(const __grid_constant__ TurnArgs a) {
    constexpr u32 kGranule = 16, E = kGranule / WORD;
    using W = Word<WORD>;
    extern __shared__ uint4 shared[];
    const u32 unit = a.unit, elem = unit * WORD;
    const Cycle cycle(a, elem);
    char *held = (char *)(shared + cycle.slot * a.images * a.held);
    const u32 lane = cycle.thread % a.lanes, first = cycle.thread / a.lanes, step = a.threads / a.lanes;
    // A granule of padding after every E rows: lanes that read down a column use different banks.
    const auto begin = [&](u32 row) { return (row * a.row + row / E) * kGranule; };
    const char *end = a.data + a.bytes;
    Tile tile = cycle.one;
#pragma unroll 1
    for (u32 k = 0; k < (cycle.real ? a.images : 0); k++, tile = cycle.image(tile)) {
#pragma unroll 1
        for (u32 row = first; row < tile.rows; row += step) {
            const char *from = cycle.address(tile) + row * a.pitch;
            const u32 before = u64(from) % kGranule, stop = before + tile.cols * elem;
            char *to = held + k * a.held * kGranule + begin(row);
            from -= before;
#pragma unroll 2
            for (u32 at = lane * kGranule; at < stop; at += a.lanes * kGranule) {
                // Words of other tiles are read too and not used. Memory beyond the matrices is not read.
                if (from + at >= a.data && from + at + kGranule <= end) {
                    copy_async<kGranule>(to + at, from + at);
                } else {
                    for (u32 e = at; e < at + kGranule; e += WORD)
                        if (e >= before && e < stop) *(W *)(to + e) = *(const W *)(from + e);
                }
            }
        }
    }
    copy_async_wait();
    __syncthreads();
    if (!cycle.real) return;
    // All rows that a thread writes have one address modulo 16: `step` is a multiple of 16. A word of the result has the
    // same offset from the column's first byte in each.
    const u32 skew = u32(a.pitch) % kGranule;
    const i32 next = i32(step * elem) * (a.rows_reversed ? -1 : 1);
    Tile source = cycle.one;
#pragma unroll 1
    for (u32 k = 0; k < a.images; k++, source = tile) {
        tile = cycle.image(source);
        if (first >= tile.rows) continue;
        char *to = cycle.address(tile) + first * a.pitch;
        const char *column = held + k * a.held * kGranule + (a.rows_reversed ? source.cols - 1 - first : first) * elem;
        const u32 before = u64(cycle.address(source)) % kGranule, words = tile.cols * unit;
        const u32 rows = (tile.rows - first + step - 1) / step;
        // Returns the offset of an element of the row, which one row of the source has in this column.
        const auto place = [&](u32 element) {
            const u32 s = a.rows_reversed ? element : source.rows - 1 - element;
            return begin(s) + (before + s * skew) % kGranule;
        };
        const u32 head = min(words, u32(-u64(to)) % kGranule / WORD), tail = (words - head) % E;
#pragma unroll 1
        for (u32 n = head + lane * E; n + E <= words; n += a.lanes * E) {
            u32 places[E], element = n / unit, part = n - element * unit;
#pragma unroll
            for (u32 e = 0; e < E; e++) {
                places[e] = place(element) + part * WORD;
                if (++part == unit) part = 0, element++;
            }
#pragma unroll 1
            for (u32 row = 0; row < rows; row++) {
                union {
                    W words[E];
                    uint4 whole;
                } x;
#pragma unroll
                for (u32 e = 0; e < E; e++) x.words[e] = *(const W *)(column + i32(row) * next + places[e]);
                *(uint4 *)(to + row * (step * a.pitch) + n * WORD) = x.whole;
            }
        }
        // Words before the first whole granule and after the last, one per lane.
#pragma unroll 1
        for (u32 l = lane; l < 2 * (E - 1); l += a.lanes) {
            const bool in_head = l < E - 1;
            const u32 n = in_head ? l : l - (E - 1);
            if (n >= (in_head ? head : tail)) continue;
            const u32 at = in_head ? n : words - tail + n, element = at / unit;
            const u32 from = place(element) + (at - element * unit) * WORD;
#pragma unroll 1
            for (u32 row = 0; row < rows; row++)
                *(W *)(to + row * (step * a.pitch) + at * WORD) = *(const W *)(column + i32(row) * next + from);
        }
    }
}
