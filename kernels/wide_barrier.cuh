// Barrier-sync transposition by several thread blocks: each block reads a rectangle of a matrix into shared memory and
// registers, all blocks wait, then each block writes its rectangle transposed.
#pragma once
#include "columns.cuh"
#include "micro_region.cuh"
#include "region.cuh"

struct WideArgs {
    char *data;
    u64 instance_bytes;
    u32 rows, cols;             // sides of an instance, in super-elements
    u32 block_rows, block_cols; // sides of a rectangle, in super-elements
    u32 across;                 // rectangles across an instance
    u32 pitch;
    u32 shared_rows;            // rows of a rectangle in shared memory; the others are in registers
    u32 wide;
    Divisor<u32> unit;          // words of a super-element
};
static_assert(sizeof(WideArgs) == 64);

// Rows of a rectangle beyond those in shared memory, in `K` registers of 4 bytes per thread. Narrow words share a
// register.
template <int W, int K> struct Held {
    static constexpr int packed = W < 4 ? 4 / W : 1;
    static constexpr int slots = K * 4 / (W < 4 ? 4 : W);
    using Slot = Word<(W < 4 ? 4 : W)>;
    Slot x[slots > 0 ? slots : 1];

    // Calls visit(k, shift, walk) for each word, of `total`, that this thread has in slot k from bit `shift` on. One
    // pass over the slots per shift keeps the code for narrow words short.
    template <class Visit> static __device__ void each(u32 total, Walk w, Visit visit) {
u32 word = threadIdx.x;
#pragma unroll 1
        for (u32 pass = 0; pass < packed && word < total; pass++) {
#pragma unroll
            for (int k = 0; k < slots; k++, word += blockDim.x) {
                if (word < total) visit(k, pass * (8 * W), w);
                w.advance();
            }
        }
    }
    __device__ void clear() {
        if constexpr (W < 4) {
#pragma unroll
            for (int k = 0; k < slots; k++) x[k] = 0;
        }
    }
    __device__ void put(int k, u32 shift, Word<W> word) {
        if constexpr (W >= 4)
            x[k] = word;
        else
            x[k] |= u32(word) << shift;
    }
    __device__ Word<W> get(int k, u32 shift) const {
        if constexpr (W >= 4)
            return x[k];
        else
            return Word<W>(x[k] >> shift);
    }
};

// Transposes rectangle `block` of an instance. `all_wait` orders all blocks' reads before all writes. Reads granules of
// G bytes: 4 bytes of narrow words if alignment allows.
template <int W, int G, int K, class Wait>
__device__ void transpose_together(const WideArgs &a, char *instance, u32 block, char *tile, Wait all_wait) {
    const u32 r0 = block / a.across * a.block_rows, c0 = block % a.across * a.block_cols;
    const u32 rows = r0 < a.rows ? min(a.block_rows, a.rows - r0) : 0;
    const u32 cols = c0 < a.cols ? min(a.block_cols, a.cols - c0) : 0;
    const bool any = rows > 0 && cols > 0;
    const u32 unit_bytes = a.unit.divisor * W;
    const u64 row_bytes = u64(a.cols) * unit_bytes, column_bytes = u64(a.rows) * unit_bytes;
    const u32 low = min(rows, a.shared_rows), high = rows - low, granules = max(cols * unit_bytes / G, 1);
    const char *from = instance + r0 * row_bytes + c0 * unit_bytes;
    char *to = instance + c0 * column_bytes + r0 * unit_bytes;
    const Walk rest(threadIdx.x, blockDim.x, granules, a.pitch, G, row_bytes, G);
    Held<G, K> held;
    if (any) {
        load_rows<G>(tile, a.pitch, from, row_bytes, low, granules);
        held.clear();
        if (K > 0 && high > 0)
            held.each(high * granules, rest, [&](int k, u32 shift, const Walk &w) {
                held.put(k, shift, *(const Word<G> *)(from + low * row_bytes + w.b));
            });
    }
    copy_async_wait();
    all_wait();
    if (any) store_region<W>(tile, a.pitch, to, column_bytes, low, cols, a.unit, a.wide);
    if (K > 0 && any && high > 0) {
        __syncthreads();
        held.each(high * granules, rest, [&](int k, u32 shift, const Walk &w) {
            *(Word<G> *)(tile + w.a) = held.get(k, shift);
        });
        __syncthreads();
        store_region<W>(tile, a.pitch, to + low * unit_bytes, column_bytes, high, cols, a.unit, a.wide);
    }
}

// Transposes rectangle `block` of an instance by micro-blocks, all in shared memory. Rows, columns and rectangles are whole
// micro-blocks, and all addresses multiples of a vector. `pitch` is the log2 of a swath's height in micro-blocks.
template <int W, class Wait>
__device__ void transpose_micro_blocks(const WideArgs &a, char *instance, u32 block, char *tile, Wait all_wait) {
    using Slots = MicroSlots<W>;
    constexpr u32 E = Slots::E;
    const u32 r0 = block / a.across * a.block_rows, c0 = block % a.across * a.block_cols;
    const u32 rows = r0 < a.rows ? min(a.block_rows, a.rows - r0) : 0;
    const u32 cols = c0 < a.cols ? min(a.block_cols, a.cols - c0) : 0;
    const u64 row_bytes = u64(a.cols) * W, column_bytes = u64(a.rows) * W;
    const MicroRegion g = {rows / E, cols / E, a.pitch, r0 * row_bytes + c0 * W, c0 * column_bytes + r0 * W, row_bytes, column_bytes};
    const u32 total = cols > 0 ? g.places() : 0;
    auto *slots = (typename Slots::Vec *)tile;
    u32 p, q;
    for (u32 e = threadIdx.x; e < total; e += blockDim.x)
        if (g.at(e, p, q)) Slots::fetch(g, slots + e, total, instance, p, q);
    copy_async_wait();
    all_wait();
    for (u32 e = threadIdx.x; e < total; e += blockDim.x) {
        if (!g.at(e, p, q)) continue;
        Micro<W> m;
        Slots::take(slots + e, total, m);
        Slots::store(g, m, instance, p, q);
    }
}

// Transposes rectangle `block` of an instance 16 bytes at a time, all in shared memory. Super-elements are single words.
// Memory before `begin` and from `end` on is not read. `pitch` is that of `Columns`.
template <int W, class Wait>
__device__ void transpose_columns(const WideArgs &a, char *instance, const char *begin, const char *end, u32 block, char *tile,
                                  Wait all_wait) {
    const u32 r0 = block / a.across * a.block_rows, c0 = block % a.across * a.block_cols;
    const u32 rows = r0 < a.rows ? min(a.block_rows, a.rows - r0) : 0;
    const u32 cols = c0 < a.cols && rows > 0 ? min(a.block_cols, a.cols - c0) : 0;
    const Columns<W> columns = {rows, cols, r0, a.rows - r0 - rows, a.pitch};
    const u32 row_bytes = a.cols * W, column_bytes = a.rows * W;
    if (cols > 0) columns.load(tile, instance + r0 * row_bytes + c0 * W, row_bytes, begin, end);
    all_wait();
    if (cols > 0) columns.store(tile, instance + c0 * column_bytes + r0 * W, column_bytes);
}
