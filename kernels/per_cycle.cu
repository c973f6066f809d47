// P-IPT: one worker a cycle, no flags, no workspace. A worker walks the cycle of every candidate and
// moves it only if the candidate is the cycle's least; where the extents are equal that is a swap.
#include "move_args.cuh"

#ifndef WORD
#define WORD 4
#endif

template <class Map> struct PerCycleArgs {
    char *data;
    u64 units;
    u32 lanes, vectors;
    Map map;
};
static_assert(sizeof(PerCycleArgs<Swap<u32>>) == 104 && AT(PerCycleArgs<Swap<u32>>, data) == 0 &&
              AT(PerCycleArgs<Swap<u32>>, units) == 8 && AT(PerCycleArgs<Swap<u32>>, lanes) == 16 &&
              AT(PerCycleArgs<Swap<u32>>, vectors) == 20 && AT(PerCycleArgs<Swap<u32>>, map) == 24);
static_assert(sizeof(PerCycleArgs<Swap<u64>>) == 144 && AT(PerCycleArgs<Swap<u64>>, data) == 0 &&
              AT(PerCycleArgs<Swap<u64>>, units) == 8 && AT(PerCycleArgs<Swap<u64>>, lanes) == 16 &&
              AT(PerCycleArgs<Swap<u64>>, vectors) == 20 && AT(PerCycleArgs<Swap<u64>>, map) == 24);
static_assert(sizeof(PerCycleArgs<SlotMap<u64>>) == 240 && AT(PerCycleArgs<SlotMap<u64>>, data) == 0 &&
              AT(PerCycleArgs<SlotMap<u64>>, units) == 8 &&
              AT(PerCycleArgs<SlotMap<u64>>, lanes) == 16 &&
              AT(PerCycleArgs<SlotMap<u64>>, vectors) == 20 &&
              AT(PerCycleArgs<SlotMap<u64>>, map) == 24);
static_assert(sizeof(PerCycleArgs<Axes<u32>>) == 216 && AT(PerCycleArgs<Axes<u32>>, data) == 0 &&
              AT(PerCycleArgs<Axes<u32>>, units) == 8 && AT(PerCycleArgs<Axes<u32>>, lanes) == 16 &&
              AT(PerCycleArgs<Axes<u32>>, vectors) == 20 && AT(PerCycleArgs<Axes<u32>>, map) == 24);
static_assert(sizeof(PerCycleArgs<Axes<u64>>) == 320 && AT(PerCycleArgs<Axes<u64>>, data) == 0 &&
              AT(PerCycleArgs<Axes<u64>>, units) == 8 && AT(PerCycleArgs<Axes<u64>>, lanes) == 16 &&
              AT(PerCycleArgs<Axes<u64>>, vectors) == 20 && AT(PerCycleArgs<Axes<u64>>, map) == 24);

constexpr int kAhead = 4;

template <class Map> static __device__ bool leads(const Map &map, typename Map::Index s) {
    typename Map::Index p = map.succ(s);
    if (p == s) return false;
    while (p > s) p = map.succ(p);
    return p == s;
}

template <class Map> static __device__ void per_cycle(const PerCycleArgs<Map> &a) {
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

extern "C" __global__ void __launch_bounds__(256) per_cycle_swap32(const __grid_constant__ PerCycleArgs<Swap<u32>> a) {
    per_cycle(a);
}
extern "C" __global__ void __launch_bounds__(256) per_cycle_swap64(const __grid_constant__ PerCycleArgs<Swap<u64>> a) {
    per_cycle(a);
}
extern "C" __global__ void __launch_bounds__(256) per_cycle_slots(const __grid_constant__ PerCycleArgs<SlotMap<u64>> a) {
    per_cycle(a);
}
extern "C" __global__ void __launch_bounds__(256) per_cycle_axes32(const __grid_constant__ PerCycleArgs<Axes<u32>> a) {
    per_cycle(a);
}
extern "C" __global__ void __launch_bounds__(256) per_cycle_axes64(const __grid_constant__ PerCycleArgs<Axes<u64>> a) {
    per_cycle(a);
}
