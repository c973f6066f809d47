// The gather pass of the aligned-slot route, any shape: chunk after chunk of rows on chip, the whole
// grid together, one barrier a chunk. Forward reads a chunk by rows (and the slot - 1 rows after it) and
// writes its slots, column by column, into its own memory; backward does the reverse, last chunk first.
//
// Row `extent.rows + r` of a column stands for row r of the next column: the slots of the last chunk
// run on into it. Those first rows of the matrix lie in chunk 0, so they pass through `kept`.
#include <cooperative_groups.h>

#include "region.cuh"

#ifndef WORD
#define WORD 4
#endif

struct GatherArgs {
    char *data, *kept;
    SlotMap<u64> slots;         // the index maps; its byte fields are not used
    u64 batch, matrix_bytes;
    u64 chunks;
    u32 block_rows, block_cols; // of a block's rectangle of a chunk and the rows after it
    u32 across;
    u32 pitch;
    Divisor<u32> grain;         // words of an element
};

// Column c of the block: where row `lo` to row `hi` of the rectangle lie when gathered.
struct ColumnRun {
    i64 start; // bytes from row 0 of the rectangle, which may lie before the column's first slot
    u32 lo, hi;
};

struct Chunk {
    u64 number, first_row;
    u32 r0, c0, rows, cols; // the rectangle of this block, r0 within the chunk

    __device__ Chunk(const GatherArgs &a, u64 number_) : number(number_) {
        const SlotMap<u64> &s = a.slots;
        const bool last = number == s.last_chunk;
        first_row = number * s.chunk;
        const u32 extended = u32((last ? s.last_rows : s.chunk) + s.slot - 1);
        r0 = blockIdx.x / a.across * a.block_rows, c0 = blockIdx.x % a.across * a.block_cols;
        rows = r0 < extended ? min(a.block_rows, extended - r0) : 0;
        cols = c0 < s.cols ? min(a.block_cols, u32(s.cols - c0)) : 0;
        if (rows == 0 || cols == 0) rows = 0, cols = 0;
    }
    // Row r of the rectangle among the rows of the matrix, or where it is kept instead.
    __device__ char *row(const GatherArgs &a, char *matrix, u32 r) const {
        const u64 i = first_row + r0 + r;
        const bool wrapped = i >= a.slots.rows;
        const u64 cell = (wrapped ? i - a.slots.rows : i) * a.slots.cols + c0 + (wrapped ? 1 : 0);
        return (wrapped ? a.kept : matrix) + cell * a.grain.divisor * WORD;
    }
    __device__ void find_runs(const GatherArgs &a, ColumnRun *runs) const {
        const SlotMap<u64> &s = a.slots;
        const i64 top = i64(first_row + r0);
        for (u32 c = threadIdx.x; c < cols; c += blockDim.x) {
            const u64 j = c0 + c;
            u64 first, place, next_first, next_place;
            s.column(number, j, first, place);
            s.column(number, j + 1, next_first, next_place);
            const u64 end = min((first + (next_place - place)) * s.slot, s.rows * s.cols);
            // Final position of the rectangle's row 0 in this column, from the first slot's start.
            const i64 position = i64(j * s.rows) + top - i64(first * s.slot);
            const i64 count = i64(end - first * s.slot);
            runs[c].start = (i64((number * s.per_chunk.divisor + place) * s.slot) + position) * (a.grain.divisor * WORD);
            runs[c].lo = u32(min(max(-position, i64(0)), i64(rows)));
            runs[c].hi = u32(min(max(count - position, i64(0)), i64(rows)));
        }
        __syncthreads();
    }
};

static __device__ bool in_run(const ColumnRun &run, u32 r) { return r >= run.lo && r < run.hi; }

// A word to the chip, or from it.
static __device__ __forceinline__ void move(bool read, char *held, char *place) {
    using W = Word<WORD>;
    if (!read)
        *(W *)place = *(const W *)held;
    else if constexpr (WORD >= 4)
        copy_async<WORD>(held, place);
    else
        *(W *)held = *(const W *)place;
}

template <bool Backward> static __device__ void gather(const GatherArgs &a) {
    extern __shared__ uint4 shared[];
    ColumnRun *runs = (ColumnRun *)shared;
    char *tile = (char *)shared + a.block_cols * sizeof(ColumnRun);
    const auto grid = cooperative_groups::this_grid();
    const u64 thread = u64(blockIdx.x) * blockDim.x + threadIdx.x, threads = u64(gridDim.x) * blockDim.x;
    const u32 grain = a.grain.divisor;
    const u64 kept_words = (a.slots.slot - 1) * a.slots.cols * grain;
    // Element of a word: nearly always the word itself.
    const auto element = [&](u32 word) { return grain == 1 ? word : a.grain.div(word); };
    using W = Word<WORD>;

    for (u64 m = 0; m < a.batch; m++) {
        char *matrix = a.data + m * a.matrix_bytes;
        if (!Backward)
            for (u64 e = thread; e < kept_words; e += threads) ((W *)a.kept)[e] = ((const W *)matrix)[e];
        for (u64 step = 0; step < a.chunks; step++) {
            const Chunk k(a, Backward ? a.chunks - 1 - step : step);
            // The only chunk reads the first rows where others keep them.
            if (!Backward && a.chunks == 1) grid.sync();
            k.find_runs(a, runs);
            // A warp takes a row or a column at a time.
            const u32 lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
            const auto by_rows = [&](bool read) {
                for (u32 r = warp; r < k.rows; r += warps) {
                    char *place = k.row(a, matrix, r), *held = tile + r * a.pitch;
#pragma unroll 4
                    for (u32 w = lane; w < k.cols * grain; w += kWarp)
                        if (in_run(runs[element(w)], r)) move(read, held + w * WORD, place + w * WORD);
                }
            };
            const auto by_columns = [&](bool read) {
                for (u32 c = warp; c < k.cols; c += warps) {
                    const ColumnRun run = runs[c];
                    char *place = matrix + run.start, *held = tile + c * grain * WORD;
#pragma unroll 4
                    for (u32 w = run.lo * grain + lane; w < run.hi * grain; w += kWarp) {
                        const u32 r = element(w);
                        move(read, held + r * a.pitch + (w - r * grain) * WORD, place + u64(w) * WORD);
                    }
                }
            };
            if (Backward)
                by_columns(true);
            else
                by_rows(true);
            copy_async_wait();
            grid.sync();
            if (Backward)
                by_rows(false);
            else
                by_columns(false);
            __syncthreads();
        }
        if (Backward) {
            // What the last chunk's slots hold of the first rows, now that chunk 0 has been read.
            grid.sync();
            for (u64 e = thread; e < kept_words; e += threads) {
                const u64 j = e / grain % a.slots.cols, position = j * a.slots.rows + e / grain / a.slots.cols;
                if (a.slots.slot_div.div(position) * a.slots.slot < j * a.slots.rows) ((W *)matrix)[e] = ((const W *)a.kept)[e];
            }
            grid.sync();
        }
    }
}

extern "C" __global__ void __launch_bounds__(1024, 1) slot_gather(const __grid_constant__ GatherArgs a) { gather<false>(a); }
extern "C" __global__ void __launch_bounds__(1024, 1) slot_scatter(const __grid_constant__ GatherArgs a) { gather<true>(a); }
