// Transposes a matrix of any shape in place. It is read into the shared memory and registers of all multiprocessors,
// with one barrier over the grid (cooperative launch).
#include <cooperative_groups.h>

#include "wide_barrier.cuh"


static __device__ void wait_for_grid() { cooperative_groups::this_grid().sync(); }

// 88 registers of data per thread is the maximum for 512 threads without spills.
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
