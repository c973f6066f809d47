// Storage of the super-elements that a worker carries and fetches: registers, or shared memory.
#pragma once
#include "word.cuh"

// Loads `Bytes` bytes that other workers may access concurrently. Relaxed accesses are "strong" in the memory model, so
// that no pair of them is a data race. They bypass the first-level cache, which is not coherent.
template <int Bytes> __device__ __forceinline__ void load_relaxed(uint4 &x, const char *at) {
    const u64 from = __cvta_generic_to_global(at);
    if constexpr (Bytes == 16)
        asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(from) : "memory");
    else if constexpr (Bytes == 8)
        asm volatile("ld.relaxed.gpu.global.v2.u32 {%0, %1}, [%2];" : "=r"(x.x), "=r"(x.y) : "l"(from) : "memory");
    else
        asm volatile("ld.relaxed.gpu.global.u%2 %0, [%1];" : "=r"(x.x) : "l"(from), "n"(8 * Bytes) : "memory");
}
// Stores `Bytes` bytes that other workers may access concurrently.
template <int Bytes> __device__ __forceinline__ void store_relaxed(char *at, const uint4 &x) {
    const u64 to = __cvta_generic_to_global(at);
    if constexpr (Bytes == 16)
        asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};"
                     ::"l"(to), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w) : "memory");
    else if constexpr (Bytes == 8)
        asm volatile("st.relaxed.gpu.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(x.x), "r"(x.y) : "memory");
    else
        asm volatile("st.relaxed.gpu.global.u%2 [%0], %1;" ::"l"(to), "r"(x.x), "n"(8 * Bytes) : "memory");
}

// Loads `Bytes` bytes from shared memory.
template <int Bytes> __device__ __forceinline__ void load_shared(uint4 &x, const char *at) {
    const Word<Bytes> word = *(const Word<Bytes> *)at;
    if constexpr (Bytes == 16)
        x = word;
    else if constexpr (Bytes == 8)
        x.x = word.x, x.y = word.y;
    else
        x.x = word;
}

// Evaluates an expression with V = BYTES as a constant. It is compiled twice: for accesses of 16 bytes (WORD 16), and
// for 1, 2, 4 and 8 bytes, selected at run time (WORD 4). All threads use one width, so no warp diverges. A `switch`
// would become an indirect branch through a table.
#if WORD == 16
#define BY_WIDTH(BYTES, EXPRESSION) { enum { V = 16 }; EXPRESSION; }
#else
#define BY_WIDTH(BYTES, EXPRESSION)                                                                    \
    if (BYTES == 4) { enum { V = 4 }; EXPRESSION; }                                                    \
    else if (BYTES > 4) { enum { V = 8 }; EXPRESSION; }                                                \
    else if (BYTES > 1) { enum { V = 2 }; EXPRESSION; }                                                \
    else { enum { V = 1 }; EXPRESSION; }
#endif

// Super-elements in registers: at most K accesses per lane.
template <int K> struct InRegisters {
    u32 word, vectors, sub, lanes; // bytes per access; accesses per super-element; this lane; lanes per worker
    uint4 carried[K], fetched[K];

    __device__ InRegisters(u32 word_, u32 vectors_, u32 lanes_)
        : word(word_), vectors(vectors_), sub(threadIdx.x & (lanes_ - 1)), lanes(lanes_) {}

    __device__ void fetch(const char *place) { BY_WIDTH(word, load<V>(place + sub * word)); }
    __device__ void arrive() {}
    __device__ void put(char *place) const { BY_WIDTH(word, store<V>(place + sub * word)); }
    __device__ void advance() {
#pragma unroll
        for (int k = 0; k < K; k++) carried[k] = fetched[k];
    }

    template <int V> __device__ __forceinline__ void load(const char *own) {
#pragma unroll
        for (int k = 0; k < K; k++)
            if (sub + k * lanes < vectors) load_relaxed<V>(fetched[k], own + k * lanes * V);
    }
    template <int V> __device__ __forceinline__ void store(char *own) const {
#pragma unroll
        for (int k = 0; k < K; k++)
            if (sub + k * lanes < vectors) store_relaxed<V>(own + k * lanes * V, carried[k]);
    }
};

// Super-elements of any length in shared memory ("local memory tiling", thesis figure 4.14). A fetch whose value a
// starter discards may race with a winner's put.
struct InShared {
    u32 word, vectors, sub, lanes;
    char *carried, *fetched;

    __device__ InShared(u32 word_, u32 vectors_, u32 lanes_, char *both)
        : word(word_), vectors(vectors_), sub(threadIdx.x & (lanes_ - 1)), lanes(lanes_), carried(both),
          fetched(both + vectors_ * word_) {}

    __device__ void fetch(const char *place) { BY_WIDTH(word, load<V>(place)); }
    __device__ void arrive() {
        copy_async_wait();
        __syncwarp();
    }
    __device__ void put(char *place) const { BY_WIDTH(word, store<V>(place)); }
    __device__ void advance() {
        char *free = carried;
        carried = fetched;
        fetched = free;
        __syncwarp();
    }

    template <int V> __device__ __forceinline__ void load(const char *place) {
        for (u32 v = sub; v < vectors; v += lanes) to_chip<V>(fetched + v * V, place + u64(v) * V);
    }
    template <int V> __device__ __forceinline__ void store(char *place) const {
        for (u32 v = sub; v < vectors; v += lanes) {
            uint4 x;
            load_shared<V>(x, carried + v * V);
            store_relaxed<V>(place + u64(v) * V, x);
        }
    }
};
