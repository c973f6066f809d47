// Square matrices and square tiles: no cycles, every tile meets its mirror image once.
#include "granules.cuh"
#include "index.cuh"
#include "scale.cuh"
#include "tiles.cuh"

struct SquareArgs {
    char *data;
    u64 pitch;       // bytes from row to row
    u64 batch_bytes; // from one band of `mid` matrices to the next
    u32 side;        // of a matrix, in elements
    u32 across;      // tiles across a matrix
    u32 pairs;       // blocks of a matrix: pairs of tiles, the diagonal's included, and none
    u32 mid;         // matrices side by side (0210!)
    u32 group;       // tiles across a group
    u32 pad;
    Factor factor;   // what becomes of numbers on the way
};
static_assert(sizeof(SquareArgs) == 72);

// The pair of tiles i <= j that a block swaps, if it has one. Groups of tiles are folded, and tiles within a group
// go row by row: where tile rows share lines, both neighbours of a tile, in the upper triangle and the lower, are moved soon
// after it, while the line is in the second-level cache.
static __device__ bool pair_of(const SquareArgs &a, u32 &i, u32 &j) {
    const u32 number = blockIdx.x % a.pairs, pairs = a.group * a.group;
    const u32 within = number % pairs;
    folded(number / pairs, (a.across + a.group - 1) / a.group, i, j);
    i = i * a.group + within / a.group;
    j = j * a.group + within % a.group;
    return i <= j && j < a.across;
}

// Where a matrix begins.
static __device__ char *matrix_at(const SquareArgs &a, u32 number) {
    const u32 band = number / a.mid;
    return a.data + band * a.batch_bytes + u64(number - band * a.mid) * a.side * WORD;
}

// Tiles (i, j) and (j, i) change places, each transposed (thesis section 4.2, M = N).
template <int W, int T, int Threads> static __device__ void swap_pairs(const SquareArgs &a) {
    using Tiles = Tile<W, T, Threads>;
    using Vec = typename Tiles::Vec;
    extern __shared__ uint4 shared[];
    Vec *upper = (Vec *)shared, *lower = upper + Tiles::bytes / sizeof(Vec);
    u32 i, j;
    if (!pair_of(a, i, j)) return;
    char *matrix = matrix_at(a, blockIdx.x / a.pairs);
    char *at_ij = matrix + u64(i) * T * a.pitch + u64(j) * T * W;
    char *at_ji = matrix + u64(j) * T * a.pitch + u64(i) * T * W;
    const u32 rows_i = min(T, a.side - i * T), rows_j = min(T, a.side - j * T);
#pragma unroll 1
    for (int k = 0; k < Tiles::each; k++) {
        const u32 m = threadIdx.x + k * Tiles::threads, p = m / Tiles::side, q = m % Tiles::side;
        Micro<W> x, y;
        Tiles::load(x, at_ij, a.pitch, p, q, rows_i, rows_j);
        if (i != j) Tiles::load(y, at_ji, a.pitch, p, q, rows_j, rows_i);
        x.transpose();
        Tiles::mirror(upper, x, p, q);
        if (i != j) {
            y.transpose();
            Tiles::mirror(lower, y, p, q);
        }
    }
    __syncthreads();
    scale_on_chip<W>(shared, 2 * Tiles::bytes, a.factor);
    Tiles::store(upper, at_ji, a.pitch, threadIdx.x, rows_j, rows_i);
    if (i != j) Tiles::store(lower, at_ij, a.pitch, threadIdx.x, rows_i, rows_j);
}

#if WORD <= 8
// The same with rows that begin anywhere.
extern "C" __global__ void __launch_bounds__(GranuleTile<WORD>::N) square_swap_granules(const __grid_constant__ SquareArgs a) {
    using Tiles = GranuleTile<WORD>;
    constexpr u32 T = Tiles::T;
    extern __shared__ uint4 shared[];
    char *upper = (char *)shared, *lower = upper + Tiles::bytes;
    u32 i, j;
    if (!pair_of(a, i, j)) return;
    char *matrix = matrix_at(a, blockIdx.x / a.pairs);
    char *at_ij = matrix + u64(i) * T * a.pitch + u64(j) * T * WORD;
    char *at_ji = matrix + u64(j) * T * a.pitch + u64(i) * T * WORD;
    const u32 rows_i = min(T, a.side - i * T), rows_j = min(T, a.side - j * T);
    const u64 row_bytes = u64(a.side) * WORD, to_i = u64(i) * T * WORD, to_j = u64(j) * T * WORD;
    Tiles::load(upper, at_ij, a.pitch, rows_i, rows_j, to_j, row_bytes - to_j);
    if (i != j) Tiles::load(lower, at_ji, a.pitch, rows_j, rows_i, to_i, row_bytes - to_i);
    copy_async_wait();
    __syncthreads();
    scale_on_chip<WORD>(shared, 2 * Tiles::bytes, a.factor);
    Tiles::store(upper, u64(at_ij) % 16, at_ji, a.pitch, rows_j, rows_i);
    if (i != j) Tiles::store(lower, u64(at_ji) % 16, at_ij, a.pitch, rows_i, rows_j);
}
#endif

// Word by word: any side, any alignment; nothing is scaled. 256 threads.
extern "C" __global__ void __launch_bounds__(256) square_swap_any(const __grid_constant__ SquareArgs a) {
    constexpr u32 T = WORD <= 4 ? 64 : 32;
    using W = Word<WORD>;
    __shared__ W upper[T][T + 1], lower[T][T + 1];
    u32 i, j;
    if (!pair_of(a, i, j)) return;
    char *matrix = matrix_at(a, blockIdx.x / a.pairs);
    const auto at = [&](u32 r, u32 c) -> W * { return (W *)(matrix + u64(r) * a.pitch) + c; };
    const u32 c = threadIdx.x % T;
    for (u32 r = threadIdx.x / T; r < T; r += blockDim.x / T) {
        if (i * T + r < a.side && j * T + c < a.side) upper[r][c] = *at(i * T + r, j * T + c);
        if (j * T + r < a.side && i * T + c < a.side) lower[r][c] = *at(j * T + r, i * T + c);
    }
    __syncthreads();
    for (u32 r = threadIdx.x / T; r < T; r += blockDim.x / T) {
        if (i * T + r < a.side && j * T + c < a.side) *at(i * T + r, j * T + c) = lower[c][r];
        if (i != j && j * T + r < a.side && i * T + c < a.side) *at(j * T + r, i * T + c) = upper[c][r];
    }
}

#if WORD >= 4
struct ApartArgs {
    char *block, *mirror;
    u64 pitch;   // bytes from row to row of both
    u32 side;    // of a square, in words; rows are whole granules of 16 bytes
    u32 across;  // tiles across a square
    u32 squares; // side by side in a block
    u32 pairs;   // of a square and its mirror image
    u32 first, end; // pairs of the block that this launch takes
};
static_assert(sizeof(ApartArgs) == 48);

// A tile whose rows are 16 granules. Those of a row are permuted, so that lanes that read down a column meet different banks.
struct ApartTile {
    enum : u32 { row = 16, T = row * 16 / WORD, E = 16 / WORD, bytes = T * row * 16, threads = 256 };

    static __device__ u32 place(u32 r, u32 g) { return (r * row + (g ^ (r / E))) * 16; }

    static __device__ void load(char *tile, const char *at, u64 pitch, u32 rows, u32 cols) {
        const u32 r0 = threadIdx.x / row, g = threadIdx.x % row;
        if (g * E >= cols) return;
#pragma unroll 1
        for (u32 r = r0; r < min(u32(T), rows); r += threads / row)
            copy_async<16, kOnce>(tile + place(r, g), at + u64(r) * pitch + g * 16);
    }
    // Its transpose: a warp has 4 rows of 8 granules.
    static __device__ void store(const char *tile, char *at, u64 pitch, u32 rows, u32 cols) {
        const u32 g = threadIdx.x % 8 + threadIdx.x / (threads / 2) * 8;
        if (g * E >= cols) return;
#pragma unroll 1
        for (u32 r = threadIdx.x / 8 % row; r < min(u32(T), rows); r += row) {
            union {
                Word<WORD> words[E];
                uint4 whole;
            } x;
#pragma unroll
            for (u32 e = 0; e < E; e++) x.words[e] = *(const Word<WORD> *)(tile + place(g * E + e, r / E) + r % E * WORD);
            *(uint4 *)(at + u64(r) * pitch + g * 16) = x.whole;
        }
    }
};

// Squares of a block change places with those of its mirror image, perhaps in another GPU's memory; or those of a block that is
// its own are transposed. The next pair of tiles is on its way while one is stored: a link's two directions are then both busy.
extern "C" __global__ void __launch_bounds__(ApartTile::threads) square_swap_apart(const __grid_constant__ ApartArgs a) {
    using Tiles = ApartTile;
    extern __shared__ uint4 shared[]; // two pairs of tiles
    char *const held = (char *)shared;
    const bool own = a.block == a.mirror;
    struct Pair {
        u64 square; // bytes into a block
        u32 i, j;   // the tile's first row and column there
        u32 tiles;  // one, if it is its own mirror image
    } next, last = {};
    const auto place = [&](const Pair &pair, u32 k, u32 &rows, u32 &cols) {
        const u32 r = k ? pair.j : pair.i, c = k ? pair.i : pair.j;
        rows = a.side - r, cols = a.side - c;
        return (k ? a.mirror : a.block) + pair.square + r * a.pitch + u64(c) * WORD;
    };
    u32 rows, cols, now = 0;
    for (u32 n = a.first + blockIdx.x;; n += gridDim.x, now ^= 2 * Tiles::bytes, last = next) {
        next.tiles = 0;
        if (n < a.end) {
            const u32 square = n / a.pairs, number = n % a.pairs;
            next.i = number / a.across, next.j = number % a.across;
            if (own) folded(number, a.across, next.i, next.j);
            next.tiles = own && next.i == next.j ? 1 : 2;
            next.i *= Tiles::T, next.j *= Tiles::T;
            next.square = square / a.squares * a.side * a.pitch + u64(square % a.squares) * a.side * WORD;
        }
#pragma unroll 1
        for (u32 k = 0; k < next.tiles; k++) {
            const char *from = place(next, k, rows, cols);
            Tiles::load(held + now + k * Tiles::bytes, from, a.pitch, rows, cols);
        }
        copy_async_commit();
        if (last.tiles) {
            copy_async_wait_but_last();
            __syncthreads();
#pragma unroll 1
            for (u32 k = 0; k < last.tiles; k++) {
                char *to = place(last, 1 - k, rows, cols);
                Tiles::store(held + (now ^ 2 * Tiles::bytes) + k * Tiles::bytes, to, a.pitch, rows, cols);
            }
            __syncthreads();
        }
        if (!next.tiles) return;
    }
}
#endif

struct TilesArgs {
    char *data;
    u64 pitch;      // bytes from row to row of a tile
    u64 panel_bytes; // from panel to panel, `mid` tiles side by side in each
    u32 mid, pad;
    u64 tiles;
};
static_assert(sizeof(TilesArgs) == 40);

// 0210!: [batch][T][mid][T] to itself, every tile transposed where it lies.
template <int W, int T> static __device__ void tiles_in_place(const TilesArgs &a) {
    using Tiles = Tile<W, T>;
    using Vec = typename Tiles::Vec;
    extern __shared__ uint4 shared[];
    const u32 slot = threadIdx.x / Tiles::threads, thread = threadIdx.x % Tiles::threads;
    const u64 number = u64(blockIdx.x) * Tiles::per_block + slot;
    Vec *tile = (Vec *)shared + slot * (Tiles::bytes / sizeof(Vec));
    const bool real = number < a.tiles;
    const u64 panel = number / a.mid;
    char *at = a.data + panel * a.panel_bytes + (number - panel * a.mid) * u64(T * W);
    if (real) {
#pragma unroll
        for (int k = 0; k < Tiles::each; k++) {
            const u32 m = thread + k * Tiles::threads, p = m / Tiles::side, q = m % Tiles::side;
            Micro<W> x;
            Tiles::load(x, at, a.pitch, p, q, T, T);
            x.transpose();
            Tiles::mirror(tile, x, p, q);
        }
    }
    __syncthreads();
    if (real) Tiles::store(tile, at, a.pitch, thread, T, T);
}

#define SWAP(T, THREADS)                                                                               \
    extern "C" __global__ void __launch_bounds__(THREADS) square_swap_##T(const __grid_constant__ SquareArgs a) { \
        swap_pairs<WORD, T, THREADS>(a);                                                               \
    }
#define IN_PLACE(T)                                                                                    \
    extern "C" __global__ void __launch_bounds__(256) tiles_##T(const __grid_constant__ TilesArgs a) { \
        tiles_in_place<WORD, T>(a);                                                                    \
    }

#if WORD >= 4
SWAP(32, 256)
IN_PLACE(32)
#endif
#if WORD <= 8
SWAP(64, 256)
#endif
IN_PLACE(64)
#if WORD <= 8
IN_PLACE(128)
#endif
#if WORD <= 2
SWAP(128, 256)
#elif WORD == 4
SWAP(128, 1024)
#endif
#if WORD == 16
SWAP(16, 256)
IN_PLACE(16)
#endif
