// Axes in any order by barrier-sync at cluster scope: an instance lies across the shared memories of a cluster.
#include "cluster.cuh"
#include "wide_axes.cuh"


#define CLUSTER(N)                                                                                     \
    extern "C" __global__ void __cluster_dims__(N, 1, 1) __launch_bounds__(1024, 1)                    \
        barrier_cluster_axes_##N(const __grid_constant__ WideAxesArgs a) {                             \
        extern __shared__ uint4 shared[];                                                              \
        permute_together<WORD>(a, blockIdx.x / N, blockIdx.x % N, (char *)shared, cluster_wait);       \
    }

CLUSTER(8)
CLUSTER(16)
