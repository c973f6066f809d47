// P-IPT: one worker a cycle, no flags, no workspace. A worker walks the cycle of every candidate and
// moves it only if the candidate is the cycle's least; where the extents are equal that is a swap.
#include "moves.cuh"

constexpr int kAhead = 4;

template <class Map> static __device__ bool leads(const Map &map, typename Map::Index s) {
    typename Map::Index p = map.succ(s);
    if (p == s) return false;
    while (p > s) p = map.succ(p);
    return p == s;
}

template <class Map> static __device__ void per_cycle(const MoveArgs<Map> &a) {
    using I = typename Map::Index;
    const u32 sub = threadIdx.x & (a.lanes - 1);
    const I workers = I(gridDim.x) * (blockDim.x / a.lanes);
    for (I s = I(blockIdx.x) * (blockDim.x / a.lanes) + threadIdx.x / a.lanes; s < I(a.units); s += workers) {
        if (!leads(a.map, s)) continue;
        // A vector at a time around the cycle, kAhead fetched before the first is put down: nothing but
        // these is held, whatever the lengths.
        for (u32 v = sub; v < a.vectors; v += a.lanes) {
            char *base = a.data + u64(v) * WORD;
            Word<WORD> carried = *(Word<WORD> *)(base + a.map.offset(s));
            I p = s;
            do {
                Word<WORD> fetched[kAhead];
                u64 place[kAhead];
                int count = 0;
#pragma unroll
                for (int k = 0; k < kAhead; k++) {
                    if (k > 0 && p == s) continue;
                    p = a.map.succ(p);
                    place[k] = a.map.offset(p);
                    fetched[k] = *(Word<WORD> *)(base + place[k]);
                    count = k + 1;
                }
#pragma unroll
                for (int k = 0; k < kAhead; k++) {
                    if (k >= count) continue;
                    *(Word<WORD> *)(base + place[k]) = carried;
                    carried = fetched[k];
                }
            } while (p != s);
        }
    }
}

extern "C" __global__ void __launch_bounds__(256) per_cycle_slots(const __grid_constant__ MoveArgs<SlotMap<u64>> a) {
    per_cycle(a);
}
extern "C" __global__ void __launch_bounds__(256) per_cycle_axes32(const __grid_constant__ MoveArgs<Axes<u32>> a) {
    per_cycle(a);
}
extern "C" __global__ void __launch_bounds__(256) per_cycle_axes64(const __grid_constant__ MoveArgs<Axes<u64>> a) {
    per_cycle(a);
}
