// Moves rows of square tiles from one pitch to another by PTTWAC: chains start and end in gaps.
#include "mover.cuh"

// Flags of positions that are not gaps. A gap counts as claimed, so that a chain ends when it reaches one.
struct RunFlags {
    GlobalFlags flags;
    const TileRuns &map;

    __device__ bool taken(u32 p) const { return !map.moves(p) || flags.taken(p); }
    __device__ bool claim(u32 p) const { return map.moves(p) && flags.claim(p); }
    static __device__ void fence() { GlobalFlags::fence(); }
};

template <int K> static __device__ void move_runs(const MoveArgs<TileRuns> &a) {
    move_all(a, RunFlags{a.flags, a.map}, InRegisters<K>(a.word, a.vectors, a.lanes));
}

extern "C" __global__ void __launch_bounds__(256, 8) move_runs_1(const __grid_constant__ MoveArgs<TileRuns> a) {
    move_runs<1>(a);
}
extern "C" __global__ void __launch_bounds__(256, 4) move_runs_4(const __grid_constant__ MoveArgs<TileRuns> a) {
    move_runs<4>(a);
}
