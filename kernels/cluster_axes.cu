// Permutes axes in place. An instance is read into the shared memories of a cluster.
#include "axes_tile.cuh"
#include "cluster.cuh"

extern "C" __global__ void __launch_bounds__(1024, 1)
    barrier_cluster_axes(const __grid_constant__ AxesTileArgs a) {
    permute_tile<WORD, u32>(a, cluster_number(), cluster_rank(), cluster_wait);
}
