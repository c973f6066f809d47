// Cluster number, block rank and cluster barrier. The launch sets the number of blocks per cluster.
#pragma once
#include "word.cuh"

// Returns the number of this block's cluster in the grid.
static __device__ u32 cluster_number() {
    u32 number;
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(number));
    return number;
}
// Returns the rank of this block in its cluster.
static __device__ u32 cluster_rank() {
    u32 rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

static __device__ void cluster_wait() {
    // The barrier needs converged warps, and lanes leave the preceding loops at different times.
    __syncwarp();
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
