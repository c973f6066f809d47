// Permutes a few long runs in place: axes whose last one is long and stays last, or records of wide fields.
//
// Every run of an instance is cut into pieces at the same offsets. A block reads one piece of each run into shared
// memory, then writes each piece to its run's destination. No other block uses these bytes. In shared memory a piece
// keeps its address modulo 16, so that whole granules are read. The granules at both ends of a piece also contain bytes
// of neighbouring pieces and runs, which another block may be writing. They are read but not used.
#include "copy_run.cuh"
#include "records.cuh"

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

// Instances are tiles of records; every field of a record is whole runs.
struct RecordPieceArgs {
    char *data;
    u64 bytes, run_bytes;
    u32 runs, piece, pitch, groups;
    u32 record, split;                        // runs of a record; 1 if records become tiles, 0 if tiles become records
    Divisor<u32> pieces, tile, tile_runs;     // of a run; records and runs of a tile
    FieldGroup group[64];
};
static_assert(sizeof(RecordPieceArgs) == 1632);

// Source and destination of a run.
struct Ends {
    u32 from, to;
};

// Moves the pieces at one offset of all runs of an instance. `ends` maps 0 .. runs - 1 to sources and destinations.
template <class Args, class Map> static __device__ void move_pieces(const Args &a, u64 run_bytes, const Map &ends) {
    constexpr u32 kGranule = 16;
    extern __shared__ uint4 shared[];
    const u32 instance = a.pieces.div(blockIdx.x), number = blockIdx.x - instance * a.pieces.divisor;
    const u64 along = u64(number) * a.piece;
    const u32 bytes = u32(min(u64(a.piece), run_bytes - along));
    char *first = a.data + u64(instance) * a.runs * run_bytes + along;
    const u32 lanes = min(a.piece / kGranule, kWarp), lane = threadIdx.x % lanes;
    const u32 row = threadIdx.x / lanes, rows = blockDim.x / lanes;
    const char *end = a.data + a.bytes;
    for (u32 r = row; r < a.runs; r += rows) {
        const Ends run = ends(r);
        if (run.from == run.to) continue;
        const char *from = first + run.from * run_bytes;
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
        const Ends run = ends(r);
        if (run.from == run.to) continue;
        const char *from = (char *)shared + r * a.pitch + u64(first + run.from * run_bytes) % kGranule;
        copy_run<kMemory, kShared>(first + run.to * run_bytes, from, bytes, lane, lanes);
    }
}

extern "C" __global__ void __launch_bounds__(512) long_runs(const __grid_constant__ PieceArgs a) {
    move_pieces(a, a.dest.unit_bytes, [&](u32 r) { return Ends{r, a.dest.succ(r)}; });
}

extern "C" __global__ void __launch_bounds__(512) long_runs_records(const __grid_constant__ RecordPieceArgs a) {
    const Tiles tiles = {a.group, a.groups, a.tile.divisor, a.tile, a.tile, a.tile_runs};
    move_pieces(a, a.run_bytes, [&](u32 r) {
        const FieldWord w = tiles.at(r);
        const u32 in_record = w.record * a.record + w.place + w.word;
        return a.split ? Ends{in_record, r} : Ends{r, in_record};
    });
}
