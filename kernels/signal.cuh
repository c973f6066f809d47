// Signals between the warps of a block, through shared memory, and between thread blocks, through global memory.
#pragma once
#include "word.cuh"

// A counter in global memory of the team's blocks that have read their part of a chunk.
struct Team {
    u32 *count;
    u32 blocks, goal;

    __device__ void wait() {
        if (blocks == 1) return;
        goal += blocks;
        u32 seen;
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(__cvta_generic_to_global(count)) : "memory");
        do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(__cvta_generic_to_global(count)) : "memory");
        while (i32(seen - goal) < 0);
    }
};

// A barrier in shared memory (mbarrier): `count` arrivals complete a phase.
struct Signal {
    u64 state;

    __device__ u32 address() { return u32(__cvta_generic_to_shared(&state)); }
    __device__ void start(u32 count) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address()), "r"(count) : "memory"); }
    __device__ void arrive() {
        asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(address()) : "memory");
    }
    // Arrives once this thread's asynchronous copies are complete.
    __device__ void arrive_after_copies() {
        asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(address()) : "memory");
    }
    __device__ bool complete(u32 parity) {
        u32 done;
        asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(address()), "r"(parity) : "memory");
        return done;
    }
    // Waits until phase number `phase`, counted from 0, is complete. All earlier phases must be complete, and the next
    // phase must be incomplete.
    __device__ void wait(u64 phase) {
        while (!complete(u32(phase & 1))) {}
    }
};
