// The gather pass of the aligned-slot route, for any shape: teams of co-resident blocks walk down runs of chunks.
// A ring in shared memory has a block's strip of columns, for several chunks and the rows after them. Chunks are read
// while others are written, and no row is read twice. Forward reads rows and writes slots, column by column, over the
// chunk once the whole team has read it. Backward reads slots and writes rows. Different warps read, wait for the
// team, and write; they signal each other through barriers in shared memory.
//
// Row `rows + r` of a column denotes row r of the next column, because slots of the last chunk continue there.
// Forward copies these rows, and the rows that a run needs of the next run, to `kept` (workspace) before any write.
// Backward first loads the ends of the previous run's slots into shared memory.
#include <cooperative_groups.h>

#include "signal.cuh"
#include "strip.cuh"

// Bytes per team counter, stored before the kept rows; maximum number of chunks in shared memory.
enum : u32 { kCountBytes = 128, kMostDepth = 8 };

// Signals per chunk in shared memory: read by this block; read by the whole team; written.
struct Signals {
    Signal read[kMostDepth], go[kMostDepth], written[kMostDepth];
};

// Walks down one run. Chunks are numbered from `done`, the number of chunks of the block's earlier runs.
template <bool Backward> static __device__ void walk(Strip &s, Team &team, Signals &signals, u64 done) {
    const GatherArgs &a = s.a;
    const u32 warp = threadIdx.x / kWarp;
    if (warp < a.readers) {
        s.thread = threadIdx.x, s.threads = a.readers * kWarp;
        for (u64 n = 0; n < s.chunks; n++) {
            const u64 k = done + n;
            if (k >= a.depth) signals.written[k % a.depth].wait(k / a.depth - 1);
            // If the last chunk is longer than the others, the ring does not fit it with `depth - 1` others: wait for
            // one more. With `depth` 1, the ring fits the longest chunk.
            if (s.rows_of(n) > a.slots.chunk && a.depth > 1 && n + 1 >= a.depth) {
                const u64 more = k + 1 - a.depth;
                signals.written[more % a.depth].wait(more / a.depth);
            }
            s.load<Backward>(n);
            __threadfence_block();
            signals.read[k % a.depth].arrive_after_copies();
        }
    } else if (warp == a.readers) {
        for (u64 k = done; k < done + s.chunks && threadIdx.x % kWarp == 0; k++) {
            signals.read[k % a.depth].wait(k / a.depth);
            team.wait();
            signals.go[k % a.depth].arrive();
        }
    } else {
        s.thread = threadIdx.x - (a.readers + 1) * kWarp, s.threads = blockDim.x - (a.readers + 1) * kWarp;
        for (u64 n = 0; n < s.chunks; n++) {
            const u64 k = done + n;
            // `go` implies `read`. Waiting for both helps race checkers, which follow no order through a third warp.
            signals.read[k % a.depth].wait(k / a.depth);
            signals.go[k % a.depth].wait(k / a.depth);
            s.store<Backward>(n);
            signals.written[k % a.depth].arrive();
        }
    }
}

template <bool Backward> static __device__ void gather(const GatherArgs &a) {
    extern __shared__ uint4 shared[];
    __shared__ Signals signals;
    const auto grid = cooperative_groups::this_grid();
    const SlotMap<u64> &s = a.slots;
    const u32 number = blockIdx.x / a.blocks, block = blockIdx.x % a.blocks, grain = a.grain.divisor;
    u32 *leads = (u32 *)shared;
    char *ring = (char *)shared + (a.block_cols + 1 + 3) / 4 * 16;
    Strip strip{a, leads, ring, a.ring_rows * a.pitch + (a.ring_rows >> a.period) * a.granule};
    strip.c0 = block * a.block_cols;
    strip.cols = strip.c0 < s.cols ? min(a.block_cols, u32(s.cols - strip.c0)) : 0;
    for (u32 c = threadIdx.x; c <= strip.cols; c += blockDim.x) {
        const u64 j = strip.c0 + c;
        leads[c] = j == s.cols ? 0 : u32(s.up(j * s.rows) * s.slot - j * s.rows);
    }
    Team team{(u32 *)(a.kept + number * kCountBytes), a.blocks, 0};
    if (block == 0 && threadIdx.x == 0) *team.count = 0;
    if (threadIdx.x < a.depth) {
        signals.read[threadIdx.x].start(a.readers * kWarp);
        signals.go[threadIdx.x].start(1);
        signals.written[threadIdx.x].start(blockDim.x - (a.readers + 1) * kWarp);
    }
    u64 done = 0;
    __syncthreads();

    const u64 all = a.batch * a.runs, row_words = s.cols * grain, chunks = s.last_chunk + 1;
    const auto kept_of = [&](u32 team) { return a.kept + a.teams * kCountBytes + team * a.kept_bytes; };
    for (u64 id = number; id - number < all; id += a.teams) {
        const u64 run = id % a.runs;
        const bool works = id < all;
        strip.matrix = a.data + (works ? id / a.runs : 0) * a.matrix_bytes;
        strip.first = chunks * run / a.runs;
        strip.chunks = chunks * (run + 1) / a.runs - strip.first;
        const bool wraps = run + 1 == a.runs;
        strip.end_row = wraps ? s.rows : (strip.first + strip.chunks) * s.chunk;
        // Returns an address from `kept` on that equals the address of `row`, less `ahead` bytes, modulo 16.
        const auto aligned = [&](char *kept, u64 row, u32 ahead) {
            return kept + ((u64(strip.matrix) + row * row_words * WORD - ahead - u64(kept)) & 15);
        };
        const u32 element = grain * WORD;
        strip.kept = wraps ? aligned(kept_of(number - run), s.rows, element) + element : aligned(kept_of(number + 1), strip.end_row, 0);
        strip.thread = threadIdx.x, strip.threads = blockDim.x;
        if (works && Backward) strip.load_ends();
        if (works && !Backward) {
            W *to = (W *)(run == 0 ? aligned(kept_of(number), s.rows, element) : aligned(kept_of(number), strip.first * s.chunk, 0));
            const W *from = (const W *)strip.matrix + strip.first * s.chunk * row_words;
            for (u64 e = block * blockDim.x + threadIdx.x; e < (s.slot - 1) * row_words; e += a.blocks * blockDim.x) to[e] = from[e];
        }
        grid.sync();
        if (works) {
            walk<Backward>(strip, team, signals, done);
            done += strip.chunks;
        }
        grid.sync();
    }
}

extern "C" __global__ void __launch_bounds__(1024, 1) slot_gather(const __grid_constant__ GatherArgs a) { gather<false>(a); }
extern "C" __global__ void __launch_bounds__(1024, 1) slot_scatter(const __grid_constant__ GatherArgs a) { gather<true>(a); }
