// Scales numbers in place, in rows with a pitch.
#include "index.cuh"
#include "scale.cuh"

struct ScaleArgs {
    char *data;
    u64 packs, pitch;  // accesses of all rows; bytes from row to row
    Divisor<u64> row;  // accesses per row
    Factor factor;
    u32 wide, pad;     // 1: an access is a vector of 16 bytes; 0: one number
};
static_assert(sizeof(ScaleArgs) == 80);

template <class R, int Parts> static __device__ void scale(const ScaleArgs &a) {
    constexpr int N = 16 / sizeof(R);
    const Factor f = a.factor;
    const bool zeros = f.does & kZeros;
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
            if (!zeros) scale_all<R, Parts, N>(x.part, f);
            *place = x.all;
        } else {
            R *place = (R *)row + along * Parts, part[Parts];
#pragma unroll
            for (int k = 0; k < Parts; k++) part[k] = zeros ? R(0) : place[k];
            if (!zeros) scale_all<R, Parts, Parts>(part, f);
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
