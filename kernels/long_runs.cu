// Permutes a few long runs in place: axes whose last one is long and stays last.
//
// Every run of an instance is cut into pieces at the same offsets. A block reads one piece of each run into shared
// memory, then writes each piece to its run's destination. No other block uses these bytes. In shared memory a piece
// keeps its address modulo 16, so that whole granules are read. The granules at both ends of a piece also contain bytes
// of neighbouring pieces and runs, which another block may be writing. They are read but not used.
#include "copy_run.cuh"
#include "index.cuh"

struct PieceArgs {
    char *data;
    u64 bytes;           // of the array
    u32 runs;            // of an instance
    u32 piece, pitch;    // bytes of a piece, a power of two; from piece to piece in shared memory
    u32 pad;
    Divisor<u32> pieces; // of a run; the last one may be shorter
    Axes<u32> dest;      // from runs to their positions in the result
};
static_assert(sizeof(PieceArgs) == 240);

extern "C" __global__ void __launch_bounds__(512) long_runs(const __grid_constant__ PieceArgs a) {
    constexpr u32 kGranule = 16;
    extern __shared__ uint4 shared[];
    const u32 instance = a.pieces.div(blockIdx.x), number = blockIdx.x - instance * a.pieces.divisor;
    const u64 run_bytes = a.dest.unit_bytes, along = u64(number) * a.piece;
    const u32 bytes = u32(min(u64(a.piece), run_bytes - along));
    char *first = a.data + u64(instance) * a.runs * run_bytes + along;
    const u32 lanes = min(a.piece / kGranule, kWarp), lane = threadIdx.x % lanes;
    const u32 row = threadIdx.x / lanes, rows = blockDim.x / lanes;
    const char *end = a.data + a.bytes;
    for (u32 r = row; r < a.runs; r += rows) {
        if (a.dest.succ(r) == r) continue;
        const char *from = first + r * run_bytes;
        const u32 before = u32(u64(from) % kGranule), stop = before + bytes;
        char *to = (char *)shared + r * a.pitch;
        from -= before;
#pragma unroll 4
        for (u32 at = lane * kGranule; at < stop; at += lanes * kGranule) {
            // Memory before and after the array may be unmapped.
            if (from + at >= a.data && from + at + kGranule <= end) {
                copy_async<kGranule, kOnce>(to + at, from + at);
            } else {
                for (u32 k = max(at, before); k < min(at + kGranule, stop); k++) to[k] = from[k];
            }
        }
    }
    copy_async_wait();
    __syncthreads();
    for (u32 r = row; r < a.runs; r += rows) {
        const u32 dest = a.dest.succ(r);
        if (dest == r) continue;
        const char *from = (char *)shared + r * a.pitch + u64(first + r * run_bytes) % kGranule;
        copy_run<kMemory, kShared>(first + dest * run_bytes, from, bytes, lane, lanes);
    }
}
