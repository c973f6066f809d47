// Permutes axes in place: an instance is in the shared memories of a cluster.
#include "axes_tile.cuh"
#include "cluster.cuh"

#define CLUSTER(N)                                                                                     \
    extern "C" __global__ void __cluster_dims__(N, 1, 1) __launch_bounds__(1024, 1)                    \
        barrier_cluster_axes_##N(const __grid_constant__ AxesTileArgs a) {                             \
        permute_tile<WORD, u32>(a, blockIdx.x / N, blockIdx.x % N, cluster_wait);                      \
    }

CLUSTER(8)
CLUSTER(16)
