// Swaps the squares of a block with their mirror images, which may be in another GPU's memory; or transposes the
// squares of a block that is its own mirror image.
#include "index.cuh"

struct ApartArgs {
    char *block, *mirror;
    u64 pitch;      // bytes from row to row of both blocks
    u32 side;       // side of a square, in words; rows are whole granules of 16 bytes
    u32 across;     // tiles across a square
    u32 squares;    // squares in a row of a block
    u32 pairs;      // pairs of tiles in a square and its mirror image
    u32 first, end; // range of pairs of the block that this launch moves
    u32 word, pad;  // bytes of a word: 4, 8 or 16
};
static_assert(sizeof(ApartArgs) == 56);

enum : u32 { kThreads = 256 };

// A tile in shared memory with rows of 16 granules. The granules of a row are permuted, so that lanes that read down
// a column use different banks.
template <int W> struct ApartTile {
    enum : u32 { row = 16, T = row * 16 / W, E = 16 / W, bytes = T * row * 16, threads = kThreads };

    static __device__ u32 place(u32 r, u32 g) { return (r * row + (g ^ (r / E))) * 16; }

    static __device__ void load(char *tile, const char *at, u64 pitch, u32 rows, u32 cols) {
        const u32 r0 = threadIdx.x / row, g = threadIdx.x % row;
        if (g * E >= cols) return;
#pragma unroll 1
        for (u32 r = r0; r < min(u32(T), rows); r += threads / row)
            copy_async<16, kOnce>(tile + place(r, g), at + u64(r) * pitch + g * 16);
    }
    // Stores the transpose: a warp has 4 rows of 8 granules.
    static __device__ void store(const char *tile, char *at, u64 pitch, u32 rows, u32 cols) {
        const u32 g = threadIdx.x % 8 + threadIdx.x / (threads / 2) * 8;
        if (g * E >= cols) return;
#pragma unroll 1
        for (u32 r = threadIdx.x / 8 % row; r < min(u32(T), rows); r += row) {
            union {
                Word<W> words[E];
                uint4 whole;
            } x;
#pragma unroll
            for (u32 e = 0; e < E; e++) x.words[e] = *(const Word<W> *)(tile + place(g * E + e, r / E) + r % E * W);
            *(uint4 *)(at + u64(r) * pitch + g * 16) = x.whole;
        }
    }
};

// Loads the next pair of tiles while one is stored, so that both directions of a link are busy.
template <int W> static __device__ void swap_apart(const ApartArgs &a) {
    using Tiles = ApartTile<W>;
    extern __shared__ uint4 shared[]; // two pairs of tiles
    char *const held = (char *)shared;
    const bool own = a.block == a.mirror;
    struct Pair {
        u64 square; // bytes into a block
        u32 i, j;   // the tile's first row and column there
        u32 tiles;  // 2; 1 if the tile is its own mirror image; 0 after the last pair
    } next, last = {};
    const auto place = [&](const Pair &pair, u32 k, u32 &rows, u32 &cols) {
        const u32 r = k ? pair.j : pair.i, c = k ? pair.i : pair.j;
        rows = a.side - r, cols = a.side - c;
        return (k ? a.mirror : a.block) + pair.square + r * a.pitch + u64(c) * W;
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
            next.square = square / a.squares * a.side * a.pitch + u64(square % a.squares) * a.side * W;
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

extern "C" __global__ void __launch_bounds__(kThreads) square_swap_apart(const __grid_constant__ ApartArgs a) {
    switch (a.word) {
    case 4: return swap_apart<4>(a);
    case 8: return swap_apart<8>(a);
    default: return swap_apart<16>(a);
    }
}
