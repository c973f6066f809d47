// Super-elements of any length moved by PTTWAC, held in shared memory.
#include "moves.cuh"

template <class Map> static __device__ void move_shared(const MoveArgs<Map> &a) {
    using I = typename Map::Index;
    extern __shared__ uint4 shared[];
    const u32 worker = threadIdx.x / a.lanes;
    const I workers = I(gridDim.x) * (blockDim.x / a.lanes);
    const I first = I(blockIdx.x) * (blockDim.x / a.lanes) + worker;
    InShared<WORD> carrier(a.vectors, threadIdx.x & (a.lanes - 1), a.lanes,
                           (char *)shared + worker * (2 * a.vectors * WORD));
    follow_chains(a.map, a.flags, carrier, a.data, I(a.units), first, workers, a.lanes);
}

extern "C" __global__ void __launch_bounds__(256) move_shared_slots(const __grid_constant__ MoveArgs<SlotMap<u64>> a) {
    move_shared(a);
}
extern "C" __global__ void __launch_bounds__(256) move_shared_axes(const __grid_constant__ MoveArgs<Axes<u64>> a) {
    move_shared(a);
}
