// Transposes matrices of super-elements (010!, 0100!) by PTTWAC, with one block per matrix and flags in shared memory
// (thesis Algorithm 1).
#include "mover.cuh"

struct OnChipArgs {
    char *data;
    u64 instances, instance_bytes;
    u32 flag_words;
    u32 units; // super-elements per instance
    u32 lanes, vectors;
    u32 word, pad; // bytes per access
    SmallSwap map;
};
static_assert(sizeof(OnChipArgs) == 72);

extern "C" __global__ void __launch_bounds__(1024) move_on_chip(const __grid_constant__ OnChipArgs a) {
    extern __shared__ u32 words[];
    for (u64 i = blockIdx.x; i < a.instances; i += gridDim.x) {
        for (u32 w = threadIdx.x; w < a.flag_words; w += blockDim.x) words[w] = 0;
        __syncthreads();
        InRegisters<4> carrier(a.word, a.vectors, a.lanes);
        follow_chains(a.map, SharedFlags{words}, carrier, a.data + i * a.instance_bytes, a.units,
                      threadIdx.x / a.lanes, blockDim.x / a.lanes, a.lanes);
        __syncthreads();
    }
}
