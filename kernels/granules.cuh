// Square tiles whose rows have any alignment, moved in granules of 16 bytes.
//
// In shared memory a row keeps its address modulo 16, so that whole granules are copied for any pitch. After every E
// rows follows a granule of padding, so that lanes that read down a column use different banks. A granule at an end of
// a tile's row also contains words of the next tile, which another block may be writing. They are read but not used.
#pragma once
#include "word.cuh"

// Side of a tile in words, and threads per block, which moves two tiles: the fastest on an H200 (crates/lab/diary/gpu.md). Two
// or more blocks share a multiprocessor and leave room for L1 cache, from which neighbouring tiles read shared lines.
template <int W> struct GranuleShape;
template <> struct GranuleShape<1> { enum : u32 { side = 208, threads = 512 }; };
template <> struct GranuleShape<2> { enum : u32 { side = 120, threads = 512 }; };
template <> struct GranuleShape<4> { enum : u32 { side = 108, threads = 512 }; };
template <> struct GranuleShape<8> { enum : u32 { side = 62, threads = 256 }; };

template <int W> struct GranuleTile {
    using V = Word<W>;
    static constexpr u32 T = GranuleShape<W>::side, N = GranuleShape<W>::threads;
    static constexpr u32 E = 16 / W;                   // words of a granule
    static constexpr u32 across = (16 - W + T * W + 15) / 16; // granules that a row touches at most
    static constexpr u32 lanes = across <= 16 ? 16 : kWarp; // lanes per row
    static constexpr u32 bytes = (T * across + T / E + 1) * 16;
    static_assert(across <= lanes && kWarp % lanes == 0 && N % lanes == 0, "a warp moves whole rows");

    // Returns the offset in shared memory of the first granule of row `r`, in bytes.
    static __device__ u32 row(u32 r) { return (r * across + r / E) * 16; }

    // Copies `rows` rows of `cols` words at `at` to shared memory, asynchronously. `left` and `right` are the bytes
    // from `at` to the ends of the matrix's row.
    static __device__ void load(char *tile, const char *at, u64 pitch, u32 rows, u32 cols, u64 left, u64 right) {
        const u32 g = threadIdx.x % lanes;
#pragma unroll 4
        for (u32 r = threadIdx.x / lanes; r < rows; r += N / lanes) {
            const char *from = at + u64(r) * pitch;
            const u32 before = u64(from) % 16, end = before + cols * W;
            if (g * 16 >= end) continue;
            const char *granule = from - before + g * 16;
            char *to = tile + row(r) + g * 16;
            // Granules that extend beyond the matrix's row may be outside its allocation.
            if ((g > 0 || before <= left) && g * 16 + 16 <= before + right) {
                copy_async<16>(to, granule);
            } else {
                for (u32 e = 0; e < 16; e += W)
                    if (g * 16 + e >= before && g * 16 + e < end) *(V *)(to + e) = *(const V *)(granule + e);
            }
        }
    }

    // Stores the tile, transposed, as `rows` rows of `cols` words at `at`. `first` is the source address modulo 16.
    static __device__ void store(const char *tile, u32 first, char *at, u64 pitch, u32 rows, u32 cols) {
        const u32 g = threadIdx.x % lanes, step = u32(pitch) % 16;
        for (u32 r = threadIdx.x / lanes; r < rows; r += N / lanes) {
            char *to = at + u64(r) * pitch;
            const u32 before = u64(to) % 16;
            const auto word = [&](u32 c) { return *(const V *)(tile + row(c) + (first + c * step) % 16 + r * W); };
            const i32 c = i32(g * E) - i32(before / W); // the granule's first column: a row in shared memory
            if (c >= 0 && u32(c) + E <= cols) {
                union {
                    V words[E];
                    uint4 whole;
                } x;
#pragma unroll
                for (u32 e = 0; e < E; e++) x.words[e] = word(u32(c) + e);
                *(uint4 *)(to + u32(c) * W) = x.whole;
            }
            // One lane per word before the first whole granule and after the last one, for the fewest accesses.
            const u32 head = min(cols, (16 - before) % 16 / W), tail = (cols - head) % E;
#pragma unroll
            for (u32 l = g; l < 2 * (E - 1); l += lanes) {
                const bool in_head = l < E - 1;
                const u32 n = in_head ? l : l - (E - 1);
                if (n >= (in_head ? head : tail)) continue;
                const u32 k = in_head ? n : cols - tail + n;
                *(V *)(to + k * W) = word(k);
            }
        }
    }
};
