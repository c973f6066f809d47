// Micro-blocks: E x E elements that one thread loads as E vectors, transposes in registers and stores
// as E vectors.
#pragma once
#include "word.cuh"

// Bytes of a vector: 8 for single bytes, whose 16 x 16 micro-block would take 128 registers.
template <int W> constexpr int kVector = W == 1 ? 8 : 16;
template <int W> constexpr int kMicro = kVector<W> / W;

template <int W> struct Micro {
    Word<kVector<W>> row[kMicro<W>];
    __device__ void transpose();
};

template <> __device__ __forceinline__ void Micro<16>::transpose() {}

template <> __device__ __forceinline__ void Micro<8>::transpose() {
    const uint4 a = row[0], b = row[1];
    row[0] = make_uint4(a.x, a.y, b.x, b.y);
    row[1] = make_uint4(a.z, a.w, b.z, b.w);
}

template <> __device__ __forceinline__ void Micro<4>::transpose() {
    const uint4 a = row[0], b = row[1], c = row[2], d = row[3];
    row[0] = make_uint4(a.x, b.x, c.x, d.x);
    row[1] = make_uint4(a.y, b.y, c.y, d.y);
    row[2] = make_uint4(a.z, b.z, c.z, d.z);
    row[3] = make_uint4(a.w, b.w, c.w, d.w);
}

// Return the low, and the high, 16-bit halves of two registers as one.
__device__ __forceinline__ u32 lows(u32 a, u32 b) { return __byte_perm(a, b, 0x5410); }
__device__ __forceinline__ u32 highs(u32 a, u32 b) { return __byte_perm(a, b, 0x7632); }

template <> __device__ __forceinline__ void Micro<2>::transpose() {
    uint4 out[8];
#pragma unroll
    for (int pair = 0; pair < 4; pair++) {
        const auto part = [&](int r) -> u32 {
            return pair == 0 ? row[r].x : pair == 1 ? row[r].y : pair == 2 ? row[r].z : row[r].w;
        };
        out[2 * pair] = make_uint4(lows(part(0), part(1)), lows(part(2), part(3)), lows(part(4), part(5)),
                                   lows(part(6), part(7)));
        out[2 * pair + 1] = make_uint4(highs(part(0), part(1)), highs(part(2), part(3)),
                                       highs(part(4), part(5)), highs(part(6), part(7)));
    }
#pragma unroll
    for (int r = 0; r < 8; r++) row[r] = out[r];
}

template <> __device__ __forceinline__ void Micro<1>::transpose() {
    uint2 out[8];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const auto part = [&](int r) -> u32 { return half == 0 ? row[r].x : row[r].y; };
        u32 even[4], odd[4]; // bytes 0, 1 and bytes 2, 3 of two rows, interleaved
#pragma unroll
        for (int p = 0; p < 4; p++) {
            even[p] = __byte_perm(part(2 * p), part(2 * p + 1), 0x5140);
            odd[p] = __byte_perm(part(2 * p), part(2 * p + 1), 0x7362);
        }
        out[4 * half] = make_uint2(lows(even[0], even[1]), lows(even[2], even[3]));
        out[4 * half + 1] = make_uint2(highs(even[0], even[1]), highs(even[2], even[3]));
        out[4 * half + 2] = make_uint2(lows(odd[0], odd[1]), lows(odd[2], odd[3]));
        out[4 * half + 3] = make_uint2(highs(odd[0], odd[1]), highs(odd[2], odd[3]));
    }
#pragma unroll
    for (int r = 0; r < 8; r++) row[r] = out[r];
}
