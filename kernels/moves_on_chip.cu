// 010!, 0100! by PTTWAC, an instance a block, flags in shared memory (thesis Algorithm 1).
#include "move_args.cuh"

#ifndef WORD
#define WORD 4
#endif

struct OnChipArgs {
    char *data;
    u64 instances, instance_bytes;
    FlagLayout layout;
    u32 flag_words;
    u32 units; // super-elements of an instance
    u32 lanes, vectors;
    Swap<u32> map; // of one instance
};

template <int K> static __device__ void on_chip(const OnChipArgs &a) {
    extern __shared__ u32 words[];
    const SharedFlags flags = {words, a.layout};
    const u32 workers = blockDim.x / a.lanes;
    for (u64 i = blockIdx.x; i < a.instances; i += gridDim.x) {
        for (u32 w = threadIdx.x; w < a.flag_words; w += blockDim.x) words[w] = 0;
        __syncthreads();
        InRegisters<BlockScope, WORD, K> carrier(a.vectors, threadIdx.x & (a.lanes - 1), a.lanes);
        follow_chains(a.map, flags, carrier, a.data + i * a.instance_bytes, a.units, threadIdx.x / a.lanes, workers,
                      a.lanes);
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(1024) move_on_chip_1(const __grid_constant__ OnChipArgs a) { on_chip<1>(a); }
extern "C" __global__ void __launch_bounds__(1024) move_on_chip_4(const __grid_constant__ OnChipArgs a) { on_chip<4>(a); }
