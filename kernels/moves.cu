// 100!, 0100!, 1000!, 2100!, the slot pass: super-elements moved by PTTWAC, flags in device memory,
// held in registers. WORD is the width of an access: the largest that divides the super-element and
// the alignment of the matrix, whatever the element.
#include "move_args.cuh"

#ifndef WORD
#define WORD 16
#endif

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

MOVE(swap32, Swap<u32>, 1, 8)
MOVE(swap32, Swap<u32>, 2, 6)
MOVE(swap32, Swap<u32>, 4, 4)
MOVE(swap64, Swap<u64>, 1, 6)
MOVE(swap64, Swap<u64>, 4, 3)
MOVE(slots32, SlotMap<u32>, 1, 8)
MOVE(slots32, SlotMap<u32>, 2, 6)
MOVE(slots32, SlotMap<u32>, 4, 4)
MOVE(slots64, SlotMap<u64>, 1, 6)
MOVE(slots64, SlotMap<u64>, 4, 3)
