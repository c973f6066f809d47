// Rectangles of a matrix held on chip as micro-blocks, each by the thread that loads it and stores it
// transposed: a thread keeps its own in its own slots, so nothing is exchanged and no banks collide.
//
// Neighbouring threads take micro-blocks down a column, 2^down of them, then the next column: a warp
// writes runs of 2^down vectors and reads runs of 32 / 2^down. Larger swaths than a warp is high
// would write longer runs and read shorter ones.
#pragma once
#include "micro.cuh"

struct MicroRegion {
    u32 rows, cols;   // in micro-blocks
    u32 down;         // log2 of the height of a swath
    u64 from, to;     // offsets of the region's corner, before and after
    u64 row_bytes;    // from row to row before
    u64 column_bytes; // from column to column after

    __device__ u32 swaths() const { return (rows + (1u << down) - 1) >> down; }
    __device__ u32 places() const { return (swaths() * cols) << down; }

    // The micro-block at place e: false where the last swath is too low for it.
    __device__ bool at(u32 e, u32 &a, u32 &b) const {
        const u32 rest = e >> down, swath = rest / cols;
        a = (swath << down) + (e & ((1u << down) - 1));
        b = rest - swath * cols;
        return a < rows;
    }
};

template <int W> struct MicroSlots {
    using Vec = Word<kVector<W>>;
    static constexpr int E = kMicro<W>;

    static __device__ Vec *slot(char *shared, u32 number) {
        return (Vec *)shared + u64(number) * E * blockDim.x + threadIdx.x;
    }
    // Rows as they come, straight to this thread's slot.
    static __device__ void fetch(const MicroRegion &g, char *shared, u32 number, const char *data, u32 a, u32 b) {
        const char *from = data + g.from + u64(a * E) * g.row_bytes + u64(b) * kVector<W>;
#pragma unroll
        for (int i = 0; i < E; i++)
            copy_async<kVector<W>>(slot(shared, number) + i * blockDim.x, from + i * g.row_bytes);
    }
    static __device__ void load(const MicroRegion &g, Micro<W> &m, const char *data, u32 a, u32 b) {
        const char *from = data + g.from + u64(a * E) * g.row_bytes + u64(b) * kVector<W>;
#pragma unroll
        for (int i = 0; i < E; i++) m.row[i] = *(const Vec *)(from + i * g.row_bytes);
    }
    static __device__ void take(char *shared, u32 number, Micro<W> &m) {
#pragma unroll
        for (int i = 0; i < E; i++) m.row[i] = slot(shared, number)[i * blockDim.x];
    }
    static __device__ void store(const MicroRegion &g, Micro<W> &m, char *data, u32 a, u32 b) {
        m.transpose();
        char *to = data + g.to + u64(b * E) * g.column_bytes + u64(a) * kVector<W>;
#pragma unroll
        for (int i = 0; i < E; i++) *(Vec *)(to + i * g.column_bytes) = m.row[i];
    }
};
