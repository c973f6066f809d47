// Rows of square tiles by PTTWAC, from one pitch to another: chains begin and end in gaps.
#include "moves.cuh"

// What lies in a gap is nobody's to take, so that a chain that comes there ends.
struct RunFlags {
    GlobalFlags flags;
    const TileRuns &map;

    __device__ bool taken(u32 p) const { return !map.moves(p) || flags.taken(p); }
    __device__ bool claim(u32 p) const { return map.moves(p) && flags.claim(p); }
    static __device__ void fence() { GlobalFlags::fence(); }
};

template <int K> static __device__ void move_runs(const MoveArgs<TileRuns> &a) {
    const u32 each = blockDim.x / a.lanes, first = blockIdx.x * each + threadIdx.x / a.lanes;
    InRegisters<DeviceScope, WORD, K> carrier(a.vectors, threadIdx.x & (a.lanes - 1), a.lanes);
    follow_chains(a.map, RunFlags{a.flags, a.map}, carrier, a.data, u32(a.units), first, gridDim.x * each, a.lanes);
}

extern "C" __global__ void __launch_bounds__(256, 8) move_runs_1(const __grid_constant__ MoveArgs<TileRuns> a) { move_runs<1>(a); }
extern "C" __global__ void __launch_bounds__(256, 4) move_runs_4(const __grid_constant__ MoveArgs<TileRuns> a) { move_runs<4>(a); }
