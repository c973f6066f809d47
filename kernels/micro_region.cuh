// Rectangles of a matrix as micro-blocks in shared memory. One thread loads a micro-block into its slots, one per row, and
// stores it transposed, so that threads exchange no data and there are no bank conflicts.
//
// Neighbouring threads take 2^down micro-blocks down a column, then those in the next column. A warp writes runs of
// 2^down vectors and reads runs of 32 / 2^down. Higher swaths mean longer runs to write and shorter ones to read.
#pragma once
#include "micro.cuh"

struct MicroRegion {
    u32 rows, cols;   // in micro-blocks
    u32 down;         // log2 of the height of a swath
    u64 from, to;     // byte offsets of the region's corner in the source and in the result
    u64 row_bytes;    // from row to row of the source
    u64 column_bytes; // from column to column of the result

    __device__ u32 swaths() const { return (rows + (1u << down) - 1) >> down; }
    __device__ u32 places() const { return (swaths() * cols) << down; }

    // Finds row a and column b of micro-block e. Returns false if e is below the last row, in the last swath.
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

    // Copies the rows of a micro-block to slots, `step` vectors apart, asynchronously.
    static __device__ void fetch(const MicroRegion &g, Vec *slot, u32 step, const char *data, u32 a, u32 b) {
        const char *from = data + g.from + u64(a * E) * g.row_bytes + u64(b) * kVector<W>;
#pragma unroll
        for (int i = 0; i < E; i++) copy_async<kVector<W>>(slot + i * step, from + i * g.row_bytes);
    }
    static __device__ void load(const MicroRegion &g, Micro<W> &m, const char *data, u32 a, u32 b) {
        const char *from = data + g.from + u64(a * E) * g.row_bytes + u64(b) * kVector<W>;
#pragma unroll
        for (int i = 0; i < E; i++) m.row[i] = *(const Vec *)(from + i * g.row_bytes);
    }
    static __device__ void take(const Vec *slot, u32 step, Micro<W> &m) {
#pragma unroll
        for (int i = 0; i < E; i++) m.row[i] = slot[i * step];
    }
    static __device__ void store(const MicroRegion &g, Micro<W> &m, char *data, u32 a, u32 b) {
        m.transpose();
        char *to = data + g.to + u64(b * E) * g.column_bytes + u64(a) * kVector<W>;
#pragma unroll
        for (int i = 0; i < E; i++) *(Vec *)(to + i * g.column_bytes) = m.row[i];
    }
};
