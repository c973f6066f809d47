// 010!, 0010!, 0210! by barrier-sync at block scope: a block reads whole instances, waits, and writes
// them transposed (thesis section 4.5).
#include "few.cuh"
#include "micro_region.cuh"
#include "region.cuh"


struct BarrierArgs {
    char *data;
    u64 instances;
    u32 rows, cols;              // of an instance
    u32 stacked;                 // instances of a block: one after the other, or (barrier_band) side by side
    u32 pitch;                   // bytes from row to row on chip
    u32 mid;                     // instances side by side (0210!)
    u32 wide;
    u32 down;                    // log2 of a swath's height in micro-blocks
    u32 pad;
    u64 row_bytes, column_bytes; // from row to row in memory before, from column to column after
    u64 panel_bytes;             // from one set of `mid` instances to the next
    u64 instance_bytes;          // from instance to instance within a set: a row's length where mid > 1
    Divisor<u32> unit;           // words of a super-element
    Stack stack;
};
static_assert(sizeof(BarrierArgs) == 128);

// Where an instance's first element lies.
static __device__ u64 instance_offset(const BarrierArgs &a, u64 instance) {
    const u64 panel = instance / a.mid;
    return panel * a.panel_bytes + (instance - panel * a.mid) * a.instance_bytes;
}

// Word by word through shared memory: any shape, any alignment.
extern "C" __global__ void __launch_bounds__(1024, 2) barrier_block(const __grid_constant__ BarrierArgs a) {
    extern __shared__ uint4 shared[];
    char *tile = (char *)shared;
    const u64 first = u64(blockIdx.x) * a.stacked;
    const u32 stacked = u32(min(u64(a.stacked), a.instances - first));
    char *at = a.data + instance_offset(a, first);
    const u32 lines = stacked * a.rows, words = a.cols * a.unit.divisor;
    if (a.wide & kRunLoads)
        load_run<WORD>(tile, at, lines * a.pitch);
    else
        load_region<WORD>(tile, a.pitch, at, a.row_bytes, lines, words, a.wide);
    copy_async_wait();
    __syncthreads();
    if (a.wide & kRuns)
        store_run<WORD>(tile + (a.wide & kRunLoads ? u64(at) & 15 : 0), a.pitch, at, lines * words, a.cols,
                        a.stack);
    else
        store_region<WORD>(tile, a.pitch, at, a.column_bytes, a.rows, a.cols, a.unit, a.wide);
}

// 0210! with tiles side by side in a block, as wide as the block holds: longer runs of memory.
extern "C" __global__ void __launch_bounds__(1024, 2) barrier_band(const __grid_constant__ BarrierArgs a) {
    extern __shared__ uint4 shared[];
    char *tile = (char *)shared;
    const u32 blocks = (a.mid + a.stacked - 1) / a.stacked;
    const u64 number = blockIdx.x / blocks;
    const u32 first = (blockIdx.x - u32(number) * blocks) * a.stacked, count = min(a.stacked, a.mid - first);
    char *at = a.data + number * a.panel_bytes + first * a.instance_bytes;
    load_region<WORD>(tile, a.pitch, at, a.row_bytes, a.rows, count * a.cols, a.wide);
    copy_async_wait();
    __syncthreads();
    store_tiles<WORD>(tile, a.pitch, at, a.column_bytes, count, a.stack.rows);
}

#if WORD <= 4
// By micro-blocks, each in its thread's slots of shared memory: rows and columns are multiples of a
// micro-block's, and everything lies on its alignment.
extern "C" __global__ void __launch_bounds__(512, 2) barrier_micro(const __grid_constant__ BarrierArgs a) {
    extern __shared__ uint4 shared[];
    using Slots = MicroSlots<WORD>;
    constexpr u32 E = Slots::E;
    const u64 first = u64(blockIdx.x) * a.stacked;
    const u32 stacked = u32(min(u64(a.stacked), a.instances - first));
    MicroRegion g = {a.rows / E, a.cols / E, a.down, 0, 0, a.row_bytes, a.column_bytes};
    const u32 places = g.places(), total = stacked * places;
    char *data = a.data + instance_offset(a, first);
    u32 number = 0, p, q;
    for (u32 e = threadIdx.x; e < total; e += blockDim.x, number++) {
        const u32 i = e / places;
        g.from = i * a.instance_bytes;
        if (g.at(e - i * places, p, q)) Slots::fetch(g, (char *)shared, number, data, p, q);
    }
    copy_async_wait();
    __syncthreads();
    number = 0;
    for (u32 e = threadIdx.x; e < total; e += blockDim.x, number++) {
        const u32 i = e / places;
        g.to = i * a.instance_bytes;
        if (!g.at(e - i * places, p, q)) continue;
        Micro<WORD> m;
        Slots::take((char *)shared, number, m);
        Slots::store(g, m, data, p, q);
    }
}
#endif

#if WORD < 4
// Two to four rows of whole vectors, or as many columns: `stack.rows` divides by the vectors of one. Everything begins on
// a vector.
extern "C" __global__ void __launch_bounds__(512, 2) barrier_few(const __grid_constant__ BarrierArgs a) {
    extern __shared__ uint4 shared[];
    char *tile = (char *)shared;
    const u64 first = u64(blockIdx.x) * a.stacked;
    const u32 stacked = u32(min(u64(a.stacked), a.instances - first));
    char *at = a.data + first * a.instance_bytes;
    load_run<WORD>(tile, at, stacked * u32(a.instance_bytes));
    copy_async_wait();
    __syncthreads();
    const bool apart = a.cols < a.rows;
    switch (min(a.rows, a.cols)) {
    case 2: return store_few<WORD, 2>(apart, tile, at, stacked, a.stack.rows);
    case 3: return store_few<WORD, 3>(apart, tile, at, stacked, a.stack.rows);
    default: return store_few<WORD, 4>(apart, tile, at, stacked, a.stack.rows);
    }
}
#endif
