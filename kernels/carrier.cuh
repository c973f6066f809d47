// How a worker holds the super-element that it carries and the one that it fetches.
#pragma once
#include "word.cuh"

// In registers: K vectors of V bytes a lane.
template <class Scope, int V, int K> struct InRegisters {
    u32 vectors, sub, lanes;
    Word<V> carried[K], fetched[K];

    __device__ InRegisters(u32 vectors_, u32 sub_, u32 lanes_) : vectors(vectors_), sub(sub_), lanes(lanes_) {}

    __device__ void fetch(const char *place) {
#pragma unroll
        for (int k = 0; k < K; k++)
            if (sub + k * lanes < vectors) fetched[k] = Relaxed<Scope, V>::load(place + u64(sub + k * lanes) * V);
    }
    __device__ void arrive() {}
    __device__ void put(char *place) const {
#pragma unroll
        for (int k = 0; k < K; k++)
            if (sub + k * lanes < vectors) Relaxed<Scope, V>::store(place + u64(sub + k * lanes) * V, carried[k]);
    }
    __device__ void advance() {
#pragma unroll
        for (int k = 0; k < K; k++) carried[k] = fetched[k];
    }
};

// In shared memory ("local memory tiling", thesis figure 4.14): super-elements of any length. A fetch that a starter
// drops may race with a winner's put.
template <int V> struct InShared {
    u32 vectors, sub, lanes;
    char *carried, *fetched;

    __device__ InShared(u32 vectors_, u32 sub_, u32 lanes_, char *both)
        : vectors(vectors_), sub(sub_), lanes(lanes_), carried(both), fetched(both + vectors_ * V) {}

    __device__ void fetch(const char *place) {
        for (u32 v = sub; v < vectors; v += lanes) to_chip<V>(fetched + v * V, place + u64(v) * V);
    }
    __device__ void arrive() {
        copy_async_wait();
        __syncwarp();
    }
    __device__ void put(char *place) const {
        for (u32 v = sub; v < vectors; v += lanes)
            Relaxed<DeviceScope, V>::store(place + u64(v) * V, *(const Word<V> *)(carried + v * V));
    }
    __device__ void advance() {
        char *free = carried;
        carried = fetched;
        fetched = free;
        __syncwarp();
    }
};
