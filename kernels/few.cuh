// Transposition of instances with two to four rows (planes) or columns (pixels) of narrow words. A thread transposes
// one vector of each row or column in registers.
#pragma once
#include "index.cuh"

// D vectors of words of W bytes. `Apart`: from interleaved words to one vector per row; else the reverse.
template <int W, int D, bool Apart> struct Few {
    static constexpr int P = 16 / W;

    // Returns the source byte that becomes byte b.
    static __device__ constexpr int origin(int b) {
        const int e = b / W;
        return (Apart ? e % P * D + e / P : e % D * P + e / D) * W + b % W;
    }
    // Returns bytes b and b + 1 of the result in the lower half of a register.
    static __device__ __forceinline__ u32 two(const u32 (&x)[4 * D], int b) {
        const int low = origin(b), high = origin(b + 1);
        return __byte_perm(x[low / 4], x[high / 4], low % 4 | (4 + high % 4) << 4);
    }
    // Stores instances from shared to global memory, `per` vectors of each row or column. Interleaved results first
    // pass through D vectors per thread, after the instances in shared memory, so that a warp writes whole lines.
    static __device__ void store(char *tile, char *to, u32 instances, const Divisor<u32> &per) {
        const u32 side = per.divisor * 16, total = instances * per.divisor, lane = threadIdx.x % kWarp;
        char *own = tile + (total + threadIdx.x) * D * 16, *warps = own - lane * D * 16;
        for (u32 first = threadIdx.x - lane; first < total; first += blockDim.x) {
            const u32 e = first + lane;
            if (e < total) {
                const u32 i = per.div(e), row = i * D * side + (e - i * per.divisor) * 16;
                const char *from = tile + (Apart ? e * D * 16 : row);
                char *place = Apart ? to + row : own;
                const u32 from_step = Apart ? 16 : side, step = Apart ? side : 16;
                u32 x[4 * D];
#pragma unroll
                for (int d = 0; d < D; d++) {
                    const uint4 v = *(const uint4 *)(from + d * from_step);
                    x[4 * d] = v.x, x[4 * d + 1] = v.y, x[4 * d + 2] = v.z, x[4 * d + 3] = v.w;
                }
#pragma unroll
                for (int d = 0; d < D; d++) {
                    u32 y[4];
#pragma unroll
                    for (int n = 0; n < 4; n++)
                        y[n] = __byte_perm(two(x, 16 * d + 4 * n), two(x, 16 * d + 4 * n + 2), 0x5410);
                    *(uint4 *)(place + d * step) = make_uint4(y[0], y[1], y[2], y[3]);
                }
            }
            if (Apart) continue;
            __syncwarp();
            const u32 vectors = min(kWarp, total - first) * D;
            for (u32 v = lane; v < vectors; v += kWarp)
                ((uint4 *)to)[first * D + v] = ((const uint4 *)warps)[v];
            __syncwarp();
        }
    }
};

template <int W, int D>
static __device__ void store_few(bool apart, char *tile, char *to, u32 instances, const Divisor<u32> &per) {
    if (apart)
        Few<W, D, true>::store(tile, to, instances, per);
    else
        Few<W, D, false>::store(tile, to, instances, per);
}
