// Barrier over a cluster.
#pragma once
#include "word.cuh"

static __device__ void cluster_wait() {
    // The barrier needs whole warps, and lanes leave the loops before it at different times.
    __syncwarp();
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
