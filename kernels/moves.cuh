// What movers of super-elements take, and those that hold them in registers. Each index map is compiled by a file of its
// own, so that a program loads only the map that it needs.
#pragma once
#include "chain.cuh"

template <class Map> struct MoveArgs {
    char *data;
    GlobalFlags flags; // none for P-IPT
    u64 units;         // super-elements, all instances
    u32 lanes;         // threads of a worker, a power of two
    u32 vectors;       // accesses of WORD bytes that make a super-element
    Map map;
};
static_assert(sizeof(MoveArgs<SlotMap<u32>>) == 176);
static_assert(sizeof(MoveArgs<SlotMap<u64>>) == 248);
static_assert(sizeof(MoveArgs<TileRuns>) == 88);
static_assert(sizeof(MoveArgs<Axes<u32>>) == 224);
static_assert(sizeof(MoveArgs<Axes<u64>>) == 328);

template <int K, class Map> static __device__ void move(const MoveArgs<Map> &a) {
    using I = typename Map::Index;
    const I workers = I(gridDim.x) * (blockDim.x / a.lanes);
    const I first = I(blockIdx.x) * (blockDim.x / a.lanes) + threadIdx.x / a.lanes;
    InRegisters<DeviceScope, WORD, K> carrier(a.vectors, threadIdx.x & (a.lanes - 1), a.lanes);
    follow_chains(a.map, a.flags, carrier, a.data, I(a.units), first, workers, a.lanes);
}

// K vectors a lane; more of them take registers, so fewer blocks fit.
#define MOVE(NAME, MAP, K, BLOCKS)                                                                     \
    extern "C" __global__ void __launch_bounds__(256, BLOCKS)                                          \
        move_##NAME##_##K(const __grid_constant__ MoveArgs<MAP> a) {                                   \
        move<K>(a);                                                                                    \
    }
