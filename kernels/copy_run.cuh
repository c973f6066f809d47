// Copies of contiguous bytes of any alignment between global and shared memory.
#pragma once
#include "word.cuh"

enum Side { kMemory, kShared };

// Returns the 16 bytes that begin `skew` bytes into the 32 bytes of `a` and `b`.
static __device__ __forceinline__ uint4 across(uint4 a, uint4 b, u32 skew) {
    const bool two = skew & 8, one = skew & 4;
    const u32 w[6] = {two ? a.z : a.x, two ? a.w : a.y, two ? b.x : a.z, two ? b.y : a.w, two ? b.z : b.x, two ? b.w : b.y};
    u32 x[5];
#pragma unroll
    for (int k = 0; k < 5; k++) x[k] = one ? w[k + 1] : w[k];
#pragma unroll
    for (int k = 0; k < 4; k++) x[k] = __funnelshift_r(x[k], x[k + 1], skew % 4 * 8);
    return make_uint4(x[0], x[1], x[2], x[3]);
}

// Copies `bytes` bytes between global or shared memory at any alignment; the calling thread is `lane` of `lanes`.
// Whole 16-byte vectors are written, and assembled by shifts if source and destination differ in alignment.
// The counter type N has 32 bits if the bytes fit in shared memory.
template <Side To, Side From, class N = u32>
static __device__ __forceinline__ void copy_run(char *to, const char *from, N bytes, u32 lane, u32 lanes) {
    const N head = min(bytes, N(-i64(to) & 15));
    for (N k = lane; k < head; k += lanes) to[k] = from[k];
    to += head, from += head;
    const N left = bytes - head, vectors = left / 16;
    const u32 skew = u64(from) & 15;
    if (skew == 0) {
#pragma unroll 4
        for (N v = lane; v < vectors; v += lanes) {
            if constexpr (To == kShared)
                copy_async<16>(to + v * 16, from + v * 16);
            else
                ((uint4 *)to)[v] = ((const uint4 *)from)[v];
        }
    } else if (From == kShared) {
        // 4-byte loads would have 4-way bank conflicts. Both vectors contain bytes of this run: shared memory has them.
        const uint4 *whole = (const uint4 *)(from - skew);
#pragma unroll 2
        for (N v = lane; v < vectors; v += lanes) ((uint4 *)to)[v] = across(whole[v], whole[v + 1], skew);
    } else if (skew % 4 == 0) {
#pragma unroll 4
        for (N v = lane; v < vectors; v += lanes) {
            const u32 *w = (const u32 *)(from + v * 16);
            ((uint4 *)to)[v] = make_uint4(w[0], w[1], w[2], w[3]);
        }
    } else {
        // The 4-byte words at both ends may contain bytes that other blocks write: end vectors are copied by byte.
        for (N v = lane; v < vectors; v += lanes) {
            if (v == 0 || v + 1 == vectors) {
                for (u32 k = 0; k < 16; k++) to[v * 16 + k] = from[v * 16 + k];
            } else {
                const u32 *w = (const u32 *)(from + v * 16 - skew % 4);
                u32 x[5];
#pragma unroll
                for (int k = 0; k < 5; k++) x[k] = w[k];
#pragma unroll
                for (int k = 0; k < 4; k++) x[k] = __funnelshift_r(x[k], x[k + 1], skew % 4 * 8);
                ((uint4 *)to)[v] = make_uint4(x[0], x[1], x[2], x[3]);
            }
        }
    }
    for (N k = vectors * 16 + lane; k < left; k += lanes) to[k] = from[k];
}
