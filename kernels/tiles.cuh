// Square tiles, moved through registers and shared memory in accesses of 16 bytes.
//
// A thread loads a micro-block of E x E elements, E to a vector, transposes it in registers and stores it as vectors at
// the mirror position of the tile in shared memory. The vectors of a tile row are permuted (xor with the micro-block
// row), so that neighbouring threads, which store down a column, use different banks.
#pragma once
#include "micro.cuh"

// A tile of T x T words and the threads that move it, at most `Most`.
template <int W, int T, int Most = 256> struct Tile {
    using Vec = Word<kVector<W>>;
    static constexpr int E = kMicro<W>;
    static constexpr int side = T / E; // micro-blocks across a tile; vectors of a row
    static constexpr int threads = side * side < Most ? side * side : Most;
    static constexpr int each = side * side / threads; // micro-blocks per thread
    static constexpr int per_block = threads < 256 ? 256 / threads : 1; // tiles per thread block
    static constexpr int bytes = T * T * W;
    static constexpr u32 mask = (side < 128 / kVector<W> ? side : 128 / kVector<W>)-1;

    // Loads the micro-block at (a, b), unless it is beyond the limits, which are multiples of E.
    static __device__ void load(Micro<W> &m, const char *from, u64 pitch, u32 a, u32 b, u32 rows, u32 cols) {
        if (a * E >= rows || b * E >= cols) return;
#pragma unroll
        for (int i = 0; i < E; i++)
            m.row[i] = *(const Vec *)(from + u64(a * E + i) * pitch + b * kVector<W>);
    }
    // Stores a transposed micro-block at its mirror position in shared memory.
    static __device__ void mirror(Vec *tile, const Micro<W> &m, u32 a, u32 b) {
#pragma unroll
        for (int i = 0; i < E; i++) tile[(b * E + i) * side + (a ^ (b & mask))] = m.row[i];
    }
    // Stores the transposed tile, at most `rows` rows and `cols` columns.
    static __device__ void store(const Vec *tile, char *to, u64 pitch, u32 thread, u32 rows, u32 cols) {
#pragma unroll
        for (int k = 0; k < each * E; k++) {
            const u32 v = thread + k * threads, r = v / side, g = v % side;
            if (r < rows && g * E < cols)
                *(Vec *)(to + u64(r) * pitch + g * kVector<W>) = tile[r * side + (g ^ ((r / E) & mask))];
        }
    }
};
