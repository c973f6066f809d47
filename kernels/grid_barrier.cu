// A whole matrix on chip: shared memory and registers of all multiprocessors, one barrier over the
// grid (cooperative launch), any shape.
#include <cooperative_groups.h>

#include "wide_barrier.cuh"


static __device__ void wait_for_grid() { cooperative_groups::this_grid().sync(); }

// 88 registers of data is the most that 512 threads hold beside the rest without spilling.
extern "C" __global__ void __launch_bounds__(512, 1) barrier_grid(const __grid_constant__ WideArgs a) {
    extern __shared__ uint4 shared[];
    transpose_together<WORD, WORD, 88>(a, a.data, blockIdx.x, (char *)shared, wait_for_grid);
}

#if WORD < 4
extern "C" __global__ void __launch_bounds__(512, 1) barrier_grid_wide(const __grid_constant__ WideArgs a) {
    extern __shared__ uint4 shared[];
    transpose_together<WORD, 4, 88>(a, a.data, blockIdx.x, (char *)shared, wait_for_grid);
}
#endif
