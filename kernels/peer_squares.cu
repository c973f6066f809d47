// Swaps the squares of a block with their mirror images, which may be in another GPU's memory; transposes the squares
// of a block that is its own mirror image; or swaps two runs of bytes.
#include "index.cuh"

struct ApartArgs {
    char *block, *mirror;
    u64 pitch;      // bytes from row to row of both blocks
    u32 rows, cols; // of a square, in words; of the only rectangle of a block, whose mirror image has `cols` rows
    u32 across;     // tiles across a square or rectangle
    u32 squares;    // squares in a row of a block
    u32 pairs;      // pairs of tiles in a square and its mirror image
    u32 first, end; // range of pairs of the block that this launch moves
    u32 word;       // bytes of a word: 4, 8 or 16; 0 for runs, which have `rows` granules
    u32 granule;    // bytes of an access: 16, or those of a word; 16 or 4 for runs
    u32 pad;
};
static_assert(sizeof(ApartArgs) == 64);

enum : u32 { kThreads = 256 };

// A tile in shared memory with rows of 16 granules of 16 bytes. The granules of a row are permuted, so that lanes that
// read down a column use different banks. Global memory is accessed in granules of G bytes.
template <int W, int G> struct ApartTile {
    enum : u32 { row = 16, word = W, T = row * 16 / W, E = 16 / W, bytes = T * row * 16, threads = kThreads };
    static constexpr bool kMirrors = true;

    static __device__ u32 place(u32 r, u32 g) { return (r * row + (g ^ (r / E))) * 16; }

    static __device__ void load(char *tile, const char *at, u64 pitch, u32 rows, u32 cols) {
        constexpr u32 lanes = row * 16 / G;
        const u32 r0 = threadIdx.x / lanes, at_byte = threadIdx.x % lanes * G;
        if (at_byte / W >= cols) return;
#pragma unroll 1
        for (u32 r = r0; r < min(u32(T), rows); r += threads / lanes)
            copy_async<G, G == 16 ? kOnce : kParts>(tile + place(r, at_byte / 16) + at_byte % 16,
                                                    at + u64(r) * pitch + at_byte);
    }
    // Stores the transpose: a warp has 4 rows of 8 granules, or a row of words.
    static __device__ void store(const char *tile, char *at, u64 pitch, u32 rows, u32 cols) {
        if constexpr (G < 16) {
            const u32 c = threadIdx.x % T;
            if (c >= cols) return;
#pragma unroll 1
            for (u32 r = threadIdx.x / T; r < min(u32(T), rows); r += threads / T)
                *(Word<W> *)(at + u64(r) * pitch + c * W) = *(const Word<W> *)(tile + place(c, r / E) + r % E * W);
            return;
        }
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

// A piece of a run of granules of G bytes.
template <int G> struct ApartRun {
    enum : u32 { word = G, T = (16 << 10) / G, bytes = T * G };
    static constexpr bool kMirrors = false;

    static __device__ void load(char *tile, const char *at, u64, u32 rows, u32) {
#pragma unroll 4
        for (u32 r = threadIdx.x; r < min(u32(T), rows); r += kThreads)
            copy_async<G, G == 16 ? kOnce : kParts>(tile + r * G, at + r * G);
    }
    static __device__ void store(const char *tile, char *at, u64, u32 rows, u32) {
#pragma unroll 4
        for (u32 r = threadIdx.x; r < min(u32(T), rows); r += kThreads)
            *(Word<G> *)(at + r * G) = *(const Word<G> *)(tile + r * G);
    }
};

// Loads the next pair of tiles while one is stored, so that both directions of a link are busy.
template <class Tiles> static __device__ void swap_apart(const ApartArgs &a) {
    constexpr u32 W = Tiles::word;
    extern __shared__ uint4 shared[]; // two pairs of tiles
    char *const held = (char *)shared;
    const bool own = a.block == a.mirror;
    struct Pair {
        u64 square; // bytes into a block
        u32 i, j;   // the tile's first row and column there
        u32 tiles;  // 2; 1 if the tile is its own mirror image; 0 after the last pair
    } next, last = {};
    const auto place = [&](const Pair &pair, u32 k, u32 &rows, u32 &cols) {
        const bool other = Tiles::kMirrors && k;
        const u32 r = other ? pair.j : pair.i, c = other ? pair.i : pair.j;
        rows = (other ? a.cols : a.rows) - r, cols = (other ? a.rows : a.cols) - c;
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
            next.square = square / a.squares * a.rows * a.pitch + u64(square % a.squares) * a.cols * W;
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
    switch (a.word * 32 + a.granule) {
    case 4 * 32 + 16: return swap_apart<ApartTile<4, 16>>(a);
    case 8 * 32 + 16: return swap_apart<ApartTile<8, 16>>(a);
    case 16 * 32 + 16: return swap_apart<ApartTile<16, 16>>(a);
    case 4 * 32 + 4: return swap_apart<ApartTile<4, 4>>(a);
    case 8 * 32 + 8: return swap_apart<ApartTile<8, 8>>(a);
    case 16: return swap_apart<ApartRun<16>>(a);
    default: return swap_apart<ApartRun<4>>(a);
    }
}
