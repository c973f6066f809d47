// Barrier-synchronised transposition by blocks: a block reads a tile into shared memory, waits, and writes it
// transposed (thesis section 4.5). In place, a tile is one or more whole instances (010!, 0010!, 0210!).
#include "few.cuh"
#include "micro_region.cuh"
#include "region.cuh"
#include "tile_order.cuh"

// Tiles of a batch of matrices. Small contiguous matrices are stacked: they count as one matrix with all their rows,
// and a tile is several of them.
struct BlockArgs {
    char *to;
    const char *from;            // equal to `to` in place
    u64 rows, cols;              // of a matrix, in super-elements
    u64 from_pitch, to_pitch;    // bytes from row to row of the source, from column to column of the result
    u64 from_down, from_across;  // bytes between tiles of a column and of a row of tiles, in the source
    u64 to_down, to_across;      // the same distances in the result
    u64 matrix_bytes;            // from matrix to matrix
    TileOrder order;
    u32 tile_rows, tile_cols;    // super-elements of a tile
    u32 pitch;                   // bytes from row to row in shared memory
    u32 wide;                    // flags of region.cuh
    Divisor<u32> unit;           // words of a super-element
    Stack stack;                 // of `kRuns` and `kSquares`
};
static_assert(sizeof(BlockArgs) == 192);

// Moves single words: any shape, any alignment of words.
static __device__ __forceinline__ void transpose_tile(const BlockArgs &a) {
    extern __shared__ uint4 shared[];
    char *tile = (char *)shared;
    u32 block = blockIdx.x, which, i, j;
    a.order.find(block, which, i, j);
    u32 rows = u32(min(u64(a.tile_rows), a.rows - u64(i) * a.tile_rows));
    u32 cols = u32(min(u64(a.tile_cols), a.cols - u64(j) * a.tile_cols));
    const char *from = a.from + which * a.matrix_bytes + i * a.from_down + j * a.from_across;
    if (a.wide & kRunLoads) {
        load_run<WORD>(tile, from, rows * a.pitch);
        tile += run_skew<WORD>(from);
    } else {
        load_region<WORD>(tile, a.pitch, from, a.from_pitch, rows, cols * a.unit.divisor, a.wide);
    }
    copy_async_wait();
    __syncthreads();
    if (WORD >= 8) {
        // Computed again: values kept in registers during the loads would be spilled.
        asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
        a.order.find(block, which, i, j);
        rows = u32(min(u64(a.tile_rows), a.rows - u64(i) * a.tile_rows));
        cols = u32(min(u64(a.tile_cols), a.cols - u64(j) * a.tile_cols));
    }
    char *to = a.to + which * a.matrix_bytes + i * a.to_down + j * a.to_across;
    if (a.wide & kRuns)
        store_run<WORD>(tile, a.pitch, to, rows * cols, cols, a.stack);
    else if (a.wide & kSquares)
        store_tiles<WORD>(tile, a.pitch, to, a.to_pitch, cols, a.stack.rows);
    else
        store_region<WORD>(tile, a.pitch, to, a.to_pitch, rows, cols, a.unit, a.wide);
}

// Lowering starts more threads for words of 8 and 16 bytes: about 1700 per multiprocessor, with 32 registers each. For
// 4-byte words it starts about 1200, which leaves enough registers.
extern "C" __global__ void __launch_bounds__(1024, WORD == 4 ? 1 : 2)
barrier_block(const __grid_constant__ BlockArgs a) {
    transpose_tile(a);
}

#if WORD >= 8
// Out-of-place variant for at most 512 threads. With 32 registers, words of 8 and 16 bytes lose 7 percentage points of
// a copy's speed (H200, 2026-11).
extern "C" __global__ void __launch_bounds__(512) barrier_tile(const __grid_constant__ BlockArgs a) {
    transpose_tile(a);
}
#endif

// Instances transposed in place, `stacked` per block.
struct MicroArgs {
    char *data;
    u64 instances;
    u32 rows, cols;              // of an instance
    u32 stacked;                 // contiguous instances per block
    u32 mid;                     // instances that are adjacent in a row (0210!)
    u32 down;                    // log2 of a swath's height in micro-blocks
    u32 pad;
    u64 row_bytes, column_bytes; // from row to row of the source, from column to column of the result
    u64 panel_bytes;             // from one set of `mid` instances to the next
    u64 instance_bytes;          // from instance to instance within a set
    Divisor<u32> vectors;        // 16-byte vectors along the longer side (barrier_few)
};
static_assert(sizeof(MicroArgs) == 88);

#if WORD <= 4
// Transposes instances by micro-blocks, each through its thread's slots in shared memory. Rows and columns are
// multiples of a micro-block's side; addresses and strides are multiples of a vector.
extern "C" __global__ void __launch_bounds__(512, 2) barrier_micro(const __grid_constant__ MicroArgs a) {
    extern __shared__ uint4 shared[];
    using Slots = MicroSlots<WORD>;
    constexpr u32 E = Slots::E;
    Slots::Vec *slots = (Slots::Vec *)shared + threadIdx.x;
    const u64 first = u64(blockIdx.x) * a.stacked;
    const u32 stacked = u32(min(u64(a.stacked), a.instances - first));
    MicroRegion g = {a.rows / E, a.cols / E, a.down, 0, 0, a.row_bytes, a.column_bytes};
    const u32 places = g.places(), total = stacked * places;
    const u64 panel = first / a.mid;
    char *data = a.data + panel * a.panel_bytes + (first - panel * a.mid) * a.instance_bytes;
    u32 number = 0, p, q;
    for (u32 e = threadIdx.x; e < total; e += blockDim.x, number++) {
        const u32 i = e / places;
        g.from = i * a.instance_bytes;
        if (g.at(e - i * places, p, q)) Slots::fetch(g, slots + number * E * blockDim.x, blockDim.x, data, p, q);
    }
    copy_async_wait();
    __syncthreads();
    number = 0;
    for (u32 e = threadIdx.x; e < total; e += blockDim.x, number++) {
        const u32 i = e / places;
        g.to = i * a.instance_bytes;
        if (!g.at(e - i * places, p, q)) continue;
        Micro<WORD> m;
        Slots::take(slots + number * E * blockDim.x, blockDim.x, m);
        Slots::store(g, m, data, p, q);
    }
}
#endif

#if WORD < 4
// Transposes instances with two to four rows, or columns, of whole vectors. All addresses are multiples of a vector.
extern "C" __global__ void __launch_bounds__(512, 2) barrier_few(const __grid_constant__ MicroArgs a) {
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
    case 2: return store_few<WORD, 2>(apart, tile, at, stacked, a.vectors);
    case 3: return store_few<WORD, 3>(apart, tile, at, stacked, a.vectors);
    default: return store_few<WORD, 4>(apart, tile, at, stacked, a.vectors);
    }
}
#endif
