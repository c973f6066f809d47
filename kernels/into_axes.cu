// Permutes axes into another buffer, one tile per thread block.
#include "axes_tile.cuh"

extern "C" __global__ void __launch_bounds__(256) into_axes(const __grid_constant__ AxesTileArgs a) {
    permute_tile<WORD, u16>(a, 0, blockIdx.x, [] { __syncthreads(); });
}
