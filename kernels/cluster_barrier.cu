// Transposes matrices in place (010!): an instance is in the shared memories of a cluster.
#include "cluster.cuh"
#include "wide_barrier.cuh"


#define CLUSTER(N, NAME, GRANULE)                                                                      \
    extern "C" __global__ void __cluster_dims__(N, 1, 1) __launch_bounds__(1024, 1)                    \
        barrier_cluster##NAME##_##N(const __grid_constant__ WideArgs a) {                              \
        extern __shared__ uint4 shared[];                                                              \
        transpose_together<WORD, GRANULE, 0>(a, a.data + u64(blockIdx.x / N) * a.instance_bytes,       \
                                             blockIdx.x % N, (char *)shared, cluster_wait);            \
    }
#define CLUSTERS(NAME, GRANULE)                                                                        \
    CLUSTER(2, NAME, GRANULE)                                                                          \
    CLUSTER(4, NAME, GRANULE)                                                                          \
    CLUSTER(8, NAME, GRANULE)                                                                          \
    CLUSTER(16, NAME, GRANULE)

CLUSTERS(, WORD)
#if WORD < 4
CLUSTERS(_wide, 4)
#endif
