// Axes in any order by barrier-sync at grid scope: a whole array lies across the shared memories of all multiprocessors
// (cooperative launch).
#include <cooperative_groups.h>

#include "wide_axes.cuh"


static __device__ void wait_for_grid() { cooperative_groups::this_grid().sync(); }

extern "C" __global__ void __launch_bounds__(1024, 1) barrier_grid_axes(const __grid_constant__ WideAxesArgs a) {
    extern __shared__ uint4 shared[];
    permute_together<WORD>(a, 0, blockIdx.x, (char *)shared, wait_for_grid);
}
