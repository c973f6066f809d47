// The barrier of a cluster.
#pragma once
#include "word.cuh"

static __device__ void cluster_wait() {
    // Lanes come from loops of their own lengths.
    __syncwarp();
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
