// Axes in any order by barrier-sync at cluster scope: an instance lies across the shared memories of a cluster.
#include "wide_axes.cuh"


static __device__ void cluster_wait() {
    // Lanes come from loops of their own lengths.
    __syncwarp();
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

#define CLUSTER(N)                                                                                     \
    extern "C" __global__ void __cluster_dims__(N, 1, 1) __launch_bounds__(1024, 1)                    \
        barrier_cluster_axes_##N(const __grid_constant__ WideAxesArgs a) {                             \
        extern __shared__ uint4 shared[];                                                              \
        permute_together<WORD>(a, blockIdx.x / N, blockIdx.x % N, (char *)shared, cluster_wait);       \
    }

CLUSTER(8)
CLUSTER(16)
