// Barrier-sync transposition by several thread blocks: each block reads a rectangle of a matrix into shared memory,
// registers and workspace, all blocks wait, then each block writes its rectangle transposed.
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
    u32 shared_rows;            // rows of a rectangle in shared memory; the others are in registers or the workspace
    u32 wide;
    Divisor<u32> unit;          // words of a super-element
};
static_assert(sizeof(WideArgs) == 64);

// The part of an instance that block `block` moves; empty if the instance ends before it.
struct Rectangle {
    u32 r0, c0, rows, cols; // in super-elements

    __device__ Rectangle(const WideArgs &a, u32 block)
        : r0(block / a.across * a.block_rows), c0(block % a.across * a.block_cols),
          rows(r0 < a.rows ? min(a.block_rows, a.rows - r0) : 0),
          cols(c0 < a.cols && rows > 0 ? min(a.block_cols, a.cols - c0) : 0) {}
};

// The block's part of the workspace: rows of its rectangle beyond those in shared memory and registers, contiguous.
struct Kept {
    char *rows;
    u32 held_rows; // rows in registers
};

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
// G bytes: 4 bytes of narrow words if alignment allows. With `Keep`, rows beyond shared memory and registers pass through
// `kept`.
template <int W, int G, int K, bool Keep, class Wait>
__device__ void transpose_together(const WideArgs &a, char *instance, u32 block, char *tile, Kept kept, Wait all_wait) {
    const Rectangle r(a, block);
    const bool any = r.cols > 0;
    const u32 unit_bytes = a.unit.divisor * W;
    const u64 row_bytes = u64(a.cols) * unit_bytes, column_bytes = u64(a.rows) * unit_bytes;
    const u32 low = min(r.rows, a.shared_rows), rest = r.rows - low, high = Keep ? min(rest, kept.held_rows) : rest;
    const u32 over = rest - high, granules = max(r.cols * unit_bytes / G, 1);
    const char *from = instance + r.r0 * row_bytes + r.c0 * unit_bytes;
    char *to = instance + r.c0 * column_bytes + r.r0 * unit_bytes;
    // Stores rows of the rectangle from row `first` on, which are in the tile.
    const auto store = [&](u32 first, u32 rows) {
        store_region<W>(tile, a.pitch, to + first * unit_bytes, column_bytes, rows, r.cols, a.unit, a.wide);
    };
    const Walk walk(threadIdx.x, blockDim.x, granules, a.pitch, G, row_bytes, G);
    Held<G, K> held;
    if (any) {
        load_rows<G>(tile, a.pitch, from, row_bytes, low, granules);
        if (Keep) copy_rows<G, 8>(kept.rows, granules * G, from + (low + high) * row_bytes, row_bytes, over, granules);
        held.clear();
        if (K > 0 && high > 0)
            held.each(high * granules, walk, [&](int k, u32 shift, const Walk &w) {
                held.put(k, shift, *(const Word<G> *)(from + low * row_bytes + w.b));
            });
    }
    copy_async_wait();
    all_wait();
    if (any) store(0, low);
    if (Keep && any && over > 0) {
        __syncthreads();
        load_rows<G>(tile, a.pitch, kept.rows, granules * G, over, granules);
        copy_async_wait();
        __syncthreads();
        store(low + high, over);
    }
    if (K > 0 && any && high > 0) {
        __syncthreads();
        held.each(high * granules, walk, [&](int k, u32 shift, const Walk &w) {
            *(Word<G> *)(tile + w.a) = held.get(k, shift);
        });
        __syncthreads();
        store(low, high);
    }
}

// Transposes rectangle `block` of an instance by micro-blocks, all in shared memory. Rows, columns and rectangles are whole
// micro-blocks, and all addresses multiples of a vector. `pitch` is the log2 of a swath's height in micro-blocks.
template <int W, class Wait>
__device__ void transpose_micro_blocks(const WideArgs &a, char *instance, u32 block, char *tile, Wait all_wait) {
    using Slots = MicroSlots<W>;
    constexpr u32 E = Slots::E;
    const Rectangle r(a, block);
    const u64 row_bytes = u64(a.cols) * W, column_bytes = u64(a.rows) * W;
    const u64 from = r.r0 * row_bytes + r.c0 * W, to = r.c0 * column_bytes + r.r0 * W;
    const MicroRegion g = {r.rows / E, r.cols / E, a.pitch, from, to, row_bytes, column_bytes};
    const u32 total = r.cols > 0 ? g.places() : 0;
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
    const Rectangle r(a, block);
    const Columns<W> columns = {r.rows, r.cols, r.r0, a.rows - r.r0 - r.rows, a.pitch};
    const u32 row_bytes = a.cols * W, column_bytes = a.rows * W;
    if (r.cols > 0) columns.load(tile, instance + r.r0 * row_bytes + r.c0 * W, row_bytes, begin, end);
    all_wait();
    if (r.cols > 0) columns.store(tile, instance + r.c0 * column_bytes + r.r0 * W, column_bytes);
}
