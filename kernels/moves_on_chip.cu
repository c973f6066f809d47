// 010!, 0100! by PTTWAC, an instance a block, flags in shared memory (thesis Algorithm 1).
#include "chain.cuh"


struct OnChipArgs {
    char *data;
    u64 instances, instance_bytes;
    u32 flag_words;
    u32 units; // super-elements of an instance
    u32 lanes, vectors;
    SmallSwap map;
};
static_assert(sizeof(OnChipArgs) == 64);

template <bool Single, int K> static __device__ void on_chip(const OnChipArgs &a) {
    extern __shared__ u32 words[];
    const SharedFlags flags = {words};
    const u32 lanes = Single ? 1 : a.lanes, workers = blockDim.x / lanes;
    for (u64 i = blockIdx.x; i < a.instances; i += gridDim.x) {
        for (u32 w = threadIdx.x; w < a.flag_words; w += blockDim.x) words[w] = 0;
        __syncthreads();
        InRegisters<BlockScope, WORD, K> carrier(a.vectors, threadIdx.x & (lanes - 1), lanes);
        follow_chains<Single>(a.map, flags, carrier, a.data + i * a.instance_bytes, a.units, threadIdx.x / lanes,
                              workers, lanes);
        __syncthreads();
    }
}

#define ON_CHIP(NAME, SINGLE, K)                                                                       \
    extern "C" __global__ void __launch_bounds__(1024) move_on_chip_##NAME(const __grid_constant__ OnChipArgs a) { \
        on_chip<SINGLE, K>(a);                                                                         \
    }
ON_CHIP(words, true, 1)
ON_CHIP(1, false, 1)
ON_CHIP(4, false, 4)
