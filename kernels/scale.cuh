// Multiplies and conjugates numbers. Every product and sum is rounded; no multiply-add is fused.
#pragma once
#include "word.cuh"

struct Factor {
    u64 re, im;    // bits of doubles
    u32 does, pad; // flags of the operations
};
static_assert(sizeof(Factor) == 24);

// Operations. `kZeros` writes zeros without reading. `kComplex`: a number is two reals.
enum : u32 { kMultiply = 1, kConjugate = 2, kZeros = 4, kComplex = 8 };

static __device__ float times(float a, float b) { return __fmul_rn(a, b); }
static __device__ double times(double a, double b) { return __dmul_rn(a, b); }
static __device__ float plus(float a, float b) { return __fadd_rn(a, b); }
static __device__ double plus(double a, double b) { return __dadd_rn(a, b); }
static __device__ float minus(float a, float b) { return __fsub_rn(a, b); }
static __device__ double minus(double a, double b) { return __dsub_rn(a, b); }
// Flips only the sign bit, also of a NaN.
static __device__ float turned(float a) { return __uint_as_float(__float_as_uint(a) ^ 0x80000000u); }
static __device__ double turned(double a) {
    return __longlong_as_double(__double_as_longlong(a) ^ i64(1ull << 63));
}

// Scales N reals; a number has `Parts` reals.
template <class R, int Parts, int N> static __device__ void scale_all(R *x, const Factor &f) {
    const R re = R(__longlong_as_double(i64(f.re))), im = R(__longlong_as_double(i64(f.im)));
#pragma unroll
    for (int k = 0; k < N; k += Parts) {
        R &a = x[k], &b = x[k + Parts - 1];
        if (Parts == 2 && f.does & kConjugate) b = turned(b);
        if (!(f.does & kMultiply)) continue;
        if constexpr (Parts == 1) {
            a = times(a, re);
        } else {
            const R real = minus(times(a, re), times(b, im));
            b = plus(times(a, im), times(b, re)), a = real;
        }
    }
}

template <class R, int Parts> static __device__ uint4 scaled(uint4 v, const Factor &f) {
    union {
        uint4 all;
        R part[16 / sizeof(R)];
    } x;
    x.all = v;
    scale_all<R, Parts, 16 / sizeof(R)>(x.part, f);
    return x.all;
}

// Scales `bytes` bytes (whole 16-byte vectors) in a block's shared memory, if numbers have W >= 4 bytes. The caller
// synchronises the block before. After scaling, this function synchronises it.
template <int W> static __device__ void scale_on_chip(void *shared, u32 bytes, const Factor &f) {
    if constexpr (W >= 4) {
        if (!f.does) return;
#pragma unroll 1
        for (u32 n = threadIdx.x; n < bytes / 16; n += blockDim.x) {
            uint4 &v = ((uint4 *)shared)[n];
            if (W == 4)
                v = scaled<float, 1>(v, f);
            else if (W == 16)
                v = scaled<double, 2>(v, f);
            else if (f.does & kComplex)
                v = scaled<float, 2>(v, f);
            else
                v = scaled<double, 1>(v, f);
        }
        __syncthreads();
    }
}
