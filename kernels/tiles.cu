// Transposes square matrices and square tiles in place: each tile is swapped with its mirror image.
#include "granules.cuh"
#include "index.cuh"
#include "scale.cuh"
#include "tiles.cuh"

struct SquareArgs {
    char *data;
    u64 pitch;       // bytes from row to row
    u64 batch_bytes; // bytes from one band of `mid` matrices to the next
    u32 side;        // side of a matrix, in elements
    u32 across;      // tiles across a matrix
    u32 pairs;       // blocks of a matrix: pairs of tiles, tiles of the diagonal, and idle blocks
    u32 mid;         // matrices that are adjacent in a row (0210!)
    u32 group;       // tiles across a group
    u32 pad;
    Factor factor;   // scaling of the elements
};
static_assert(sizeof(SquareArgs) == 72);

// Finds the pair of tiles i <= j that a block swaps; returns `false` if it has none. Groups of tiles are folded, and
// tiles within a group are numbered by row. If tiles share cache lines, both neighbours of a tile are moved while the
// line is in L2.
static __device__ bool pair_of(const SquareArgs &a, u32 &i, u32 &j) {
    const u32 number = blockIdx.x % a.pairs, pairs = a.group * a.group;
    const u32 within = number % pairs;
    folded(number / pairs, (a.across + a.group - 1) / a.group, i, j);
    i = i * a.group + within / a.group;
    j = j * a.group + within % a.group;
    return i <= j && j < a.across;
}

// Returns the address of a matrix.
static __device__ char *matrix_at(const SquareArgs &a, u32 number) {
    const u32 band = number / a.mid;
    return a.data + band * a.batch_bytes + u64(number - band * a.mid) * a.side * WORD;
}

// Swaps tiles (i, j) and (j, i), each transposed (thesis section 4.2, M = N).
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
// Swaps tiles in granules of 16 bytes. Rows may have any alignment.
extern "C" __global__ void __launch_bounds__(GranuleTile<WORD>::N)
square_swap_granules(const __grid_constant__ SquareArgs a) {
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

struct TilesArgs {
    char *data;
    u64 pitch;      // bytes from row to row of a tile
    u64 panel_bytes; // bytes from panel to panel; a panel has `mid` tiles that are adjacent in a row
    u32 mid, pad;
    u64 tiles;
};
static_assert(sizeof(TilesArgs) == 40);

// 0210!: transposes every tile of [batch][T][mid][T] in place.
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

#if WORD == 1
SWAP(128, 256)
IN_PLACE(64)
IN_PLACE(128)
#elif WORD == 2
SWAP(128, 256)
IN_PLACE(64)
IN_PLACE(128)
#elif WORD == 4
SWAP(64, 256)
SWAP(128, 1024)
IN_PLACE(32)
IN_PLACE(64)
IN_PLACE(128)
#elif WORD == 8
SWAP(32, 256)
IN_PLACE(32)
IN_PLACE(64)
IN_PLACE(128)
#else
SWAP(16, 256)
IN_PLACE(16)
IN_PLACE(32)
IN_PLACE(64)
#endif
