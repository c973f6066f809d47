// 100! as the thesis prints it first (Algorithm 2): one block a super-element, a barrier a step. The
// baseline that warps are measured against.
#include "move_args.cuh"

#ifndef WORD
#define WORD 4
#endif

extern "C" __global__ void __launch_bounds__(1024) move_block(const __grid_constant__ MoveArgs<Swap<u64>> a) {
    __shared__ bool decision;
    const bool mine = threadIdx.x < a.vectors;
    const u64 lane_offset = u64(threadIdx.x) * WORD;
    using Access = Relaxed<DeviceScope, WORD>;
    const auto all_hear = [&](bool said) {
        if (threadIdx.x == 0) decision = said;
        __syncthreads();
        const bool heard = decision;
        __syncthreads();
        return heard;
    };
    for (u64 s = blockIdx.x; s < a.units; s += gridDim.x) {
        if (all_hear(threadIdx.x == 0 && (a.flags.taken(s) || a.map.succ(s) == s))) continue;
        Word<WORD> carried, fetched;
        if (mine) carried = Access::load(a.data + a.map.offset(s) + lane_offset);
        __syncthreads();
        if (threadIdx.x == 0) GlobalFlags::fence();
        if (!all_hear(threadIdx.x == 0 && a.flags.claim(s))) continue;
        for (u64 at = a.map.succ(s);; at = a.map.succ(at)) {
            char *place = a.data + a.map.offset(at) + lane_offset;
            if (mine) fetched = Access::load(place);
            const bool won = all_hear(threadIdx.x == 0 && a.flags.claim(at));
            if (!won) {
                if (threadIdx.x == 0) GlobalFlags::fence();
                __syncthreads();
            }
            if (mine) Access::store(place, carried);
            if (!won) break;
            carried = fetched;
        }
    }
}
