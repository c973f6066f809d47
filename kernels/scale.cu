// Numbers in rows a pitch apart, multiplied and conjugated where they lie: products rounded once, nothing fused.
#include "index.cuh"

struct ScaleArgs {
    char *data;
    u64 packs, pitch;  // accesses in all; bytes from row to row
    u64 re, im;        // the factor, as doubles
    Divisor<u64> row;  // accesses of a row
    u32 does, wide;    // what is done; whether accesses are vectors of 16 bytes
};
static_assert(sizeof(ScaleArgs) == 72);

// Zeros are put down, and nothing is read.
enum : u32 { kMultiply = 1, kConjugate = 2, kZeros = 4 };

static __device__ float times(float a, float b) { return __fmul_rn(a, b); }
static __device__ double times(double a, double b) { return __dmul_rn(a, b); }
static __device__ float plus(float a, float b) { return __fadd_rn(a, b); }
static __device__ double plus(double a, double b) { return __dadd_rn(a, b); }
static __device__ float minus(float a, float b) { return __fsub_rn(a, b); }
static __device__ double minus(double a, double b) { return __dsub_rn(a, b); }
// The sign bit alone, of a NaN too.
static __device__ float turned(float a) { return __uint_as_float(__float_as_uint(a) ^ 0x80000000u); }
static __device__ double turned(double a) {
    return __longlong_as_double(__double_as_longlong(a) ^ i64(1ull << 63));
}

template <class R> struct Factor {
    R re, im;
    u32 does;
};

template <class R> static __device__ void apply(R &a, const Factor<R> &f) {
    if (f.does & kMultiply) a = times(a, f.re);
}
template <class R> static __device__ void apply(R &a, R &b, const Factor<R> &f) {
    if (f.does & kConjugate) b = turned(b);
    if (!(f.does & kMultiply)) return;
    const R re = minus(times(a, f.re), times(b, f.im)), im = plus(times(a, f.im), times(b, f.re));
    a = re, b = im;
}

// N reals of a pack, of which a number has `Parts`.
template <class R, int Parts, int N> static __device__ void apply_all(R *x, const Factor<R> &f) {
#pragma unroll
    for (int k = 0; k < N; k += Parts) {
        if constexpr (Parts == 1)
            apply(x[k], f);
        else
            apply(x[k], x[k + 1], f);
    }
}

template <class R, int Parts> static __device__ void scale(const ScaleArgs &a) {
    constexpr int N = 16 / sizeof(R);
    const Factor<R> f{R(__longlong_as_double(i64(a.re))), R(__longlong_as_double(i64(a.im))), a.does};
    const bool zeros = a.does & kZeros;
    const u64 step = u64(gridDim.x) * blockDim.x;
#pragma unroll 2
    for (u64 n = u64(blockIdx.x) * blockDim.x + threadIdx.x; n < a.packs; n += step) {
        const u64 r = a.row.div(n), along = n - r * a.row.divisor;
        char *row = a.data + r * a.pitch;
        if (a.wide) {
            uint4 *place = (uint4 *)row + along;
            union {
                uint4 all;
                R part[N];
            } x;
            x.all = zeros ? make_uint4(0, 0, 0, 0) : *place;
            if (!zeros) apply_all<R, Parts, N>(x.part, f);
            *place = x.all;
        } else {
            R *place = (R *)row + along * Parts, part[Parts];
#pragma unroll
            for (int k = 0; k < Parts; k++) part[k] = zeros ? R(0) : place[k];
            if (!zeros) apply_all<R, Parts, Parts>(part, f);
#pragma unroll
            for (int k = 0; k < Parts; k++) place[k] = part[k];
        }
    }
}

#define SCALE(NAME, REAL, PARTS)                                                                       \
    extern "C" __global__ void __launch_bounds__(256) scale_##NAME(const __grid_constant__ ScaleArgs a) { \
        scale<REAL, PARTS>(a);                                                                         \
    }
SCALE(f32, float, 1)
SCALE(f64, double, 1)
SCALE(c32, float, 2)
SCALE(c64, double, 2)
