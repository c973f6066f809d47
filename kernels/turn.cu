// Rotates square matrices by a quarter turn in place: tiles move along cycles of four.
//
// The first half of the rows, and of the columns rounded up, is a quarter of the matrix. Its turns are the other three.
// A block reads a tile of that quarter and its three images, then writes each, turned, to the place of the next. Rows
// have any alignment. In shared memory a row keeps its address modulo 16, as in `granules.cuh`.
#include "tile_order.cuh"

struct TurnArgs {
    char *data;
    u64 bytes, matrix_bytes; // of all matrices, and of one
    u64 pitch;               // bytes of a row
    u32 side, tile;          // elements along the side of a matrix, and of a tile
    u32 unit;                // words of an element
    u32 row;                 // granules of a tile's row in shared memory
    u32 rows_reversed, pad;  // 1 if the rows of the transposed matrix are reversed, 0 if its columns are
    TileOrder order;
};
static_assert(sizeof(TurnArgs) == 96);

enum : u32 { kThreads = 512, kGranule = 16, kLanes = 8, kTiles = 4 };

// A tile of a matrix: first row and column, and extents, in elements.
struct Tile {
    u32 r, c, rows, cols;
};

// Turns elements of one word, or of several if `Several`.
template <bool Several> static __device__ void turn(const TurnArgs &a) {
    constexpr u32 E = kGranule / WORD;
    using W = Word<WORD>;
    extern __shared__ uint4 shared[];
    const u32 unit = Several ? a.unit : 1, elem = unit * WORD;
    u32 which, i, j;
    a.order.find(blockIdx.x, which, i, j);
    const u32 half = a.side / 2;
    const u32 r = i * a.tile, c = j * a.tile;
    const Tile one = {r, c, min(a.tile, half - r), min(a.tile, a.side - half - c)};
    const auto image = [&](const Tile &t) -> Tile {
        if (a.rows_reversed) return {a.side - t.c - t.cols, t.r, t.cols, t.rows};
        return {t.c, a.side - t.r - t.rows, t.cols, t.rows};
    };
    char *matrix = a.data + which * a.matrix_bytes;
    const auto address = [&](const Tile &t) { return matrix + t.r * a.pitch + u64(t.c) * elem; };
    const u32 lane = threadIdx.x % kLanes, first = threadIdx.x / kLanes, step = blockDim.x / kLanes;
    // A granule of padding after every E rows: lanes that read down a column use different banks.
    const u32 size = (a.tile * a.row + a.tile / E + 1) * kGranule;
    const auto begin = [&](u32 row) { return (row * a.row + row / E) * kGranule; };
    const char *end = a.data + a.bytes;
    Tile tile = one;
#pragma unroll 1
    for (u32 k = 0; k < kTiles; k++, tile = image(tile)) {
        for (u32 row = first; row < tile.rows; row += step) {
            const char *from = address(tile) + row * a.pitch;
            const u32 before = u64(from) % kGranule, stop = before + tile.cols * elem;
            char *to = (char *)shared + k * size + begin(row);
            from -= before;
            for (u32 at = lane * kGranule; at < stop; at += kLanes * kGranule) {
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
    const u32 skew = u32(a.pitch) % kGranule;
    Tile source = one;
#pragma unroll 1
    for (u32 k = 0; k < kTiles; k++, source = tile) {
        tile = image(source);
        const u32 before = u64(address(source)) % kGranule, words = tile.cols * unit;
        for (u32 row = first; row < tile.rows; row += step) {
            char *to = address(tile) + row * a.pitch;
            const char *column = (char *)shared + k * size + (a.rows_reversed ? source.cols - 1 - row : row) * elem;
            // Returns word `n` of the row: part of an element that one row of the source has in this column.
            const auto word = [&](u32 n) {
                const u32 element = Several ? n / unit : n;
                const u32 s = a.rows_reversed ? element : source.rows - 1 - element;
                return *(const W *)(column + begin(s) + (before + s * skew) % kGranule + (n - element * unit) * WORD);
            };
            const u32 head = min(words, u32(-u64(to)) % kGranule / WORD), tail = (words - head) % E;
            for (u32 n = head + lane * E; n + E <= words; n += kLanes * E) {
                union {
                    W words[E];
                    uint4 whole;
                } x;
#pragma unroll
                for (u32 e = 0; e < E; e++) x.words[e] = word(n + e);
                *(uint4 *)(to + n * WORD) = x.whole;
            }
            // Words before the first whole granule and after the last, one per lane.
#pragma unroll
            for (u32 l = lane; l < 2 * (E - 1); l += kLanes) {
                const bool in_head = l < E - 1;
                const u32 n = in_head ? l : l - (E - 1);
                if (n < (in_head ? head : tail)) {
                    const u32 at = in_head ? n : words - tail + n;
                    *(W *)(to + at * WORD) = word(at);
                }
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(kThreads) turn_squares(const __grid_constant__ TurnArgs a) {
    turn<false>(a);
}
extern "C" __global__ void __launch_bounds__(kThreads) turn_squares_several(const __grid_constant__ TurnArgs a) {
    turn<true>(a);
}
