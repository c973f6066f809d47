// Transposes matrices in place (010!). An instance is read into the shared memories of a cluster.
#include "cluster.cuh"
#include "wide_barrier.cuh"

template <int Granule> static __device__ void transpose_in_cluster(const WideArgs &a) {
    extern __shared__ uint4 shared[];
    char *instance = a.data + u64(cluster_number()) * a.instance_bytes;
    transpose_together<WORD, Granule, 0, false>(a, instance, cluster_rank(), (char *)shared, {}, cluster_wait);
}

extern "C" __global__ void __launch_bounds__(1024, 1) barrier_cluster(const __grid_constant__ WideArgs a) {
    transpose_in_cluster<WORD>(a);
}
#if WORD < 4
extern "C" __global__ void __launch_bounds__(1024, 1) barrier_cluster_wide(const __grid_constant__ WideArgs a) {
    transpose_in_cluster<4>(a);
}
#endif
