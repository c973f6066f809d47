// Permutes axes in place. The array is read into the shared memories of all multiprocessors (cooperative launch).
#include <cooperative_groups.h>

#include "axes_tile.cuh"

extern "C" __global__ void __launch_bounds__(1024, 1) barrier_grid_axes(const __grid_constant__ AxesTileArgs a) {
    permute_tile<WORD, u32>(a, 0, blockIdx.x, [] { cooperative_groups::this_grid().sync(); });
}
