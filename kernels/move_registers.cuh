// Movers of super-elements that hold them in registers; each index map is compiled by a file of its own,
// so that a program loads only the map that it needs.
#pragma once
#include "move_args.cuh"

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
