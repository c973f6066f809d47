// Rotates the axes of cubes in place. A thread block loads three tiles into registers.
#include "cube.cuh"


// Tiles of T x T x T words, a micro-block of E x E words per thread. T is the largest power of two with at most 1024
// threads.
template <int W> struct CubeTile {
    static constexpr u32 T = W <= 2 ? 32 : W <= 8 ? 16 : 8;
    static constexpr u32 E = kMicro<W>, across = T / E, threads = across * T * across;
    static_assert(threads <= 1024, "a block has at most 1024 threads");
};

// Loads a vector and prefetches its line of 128 bytes into L2. A tile's row may be part of a line; neighbouring tiles
// of the group soon read the rest.
static __device__ __forceinline__ void load_line(uint4 &x, const char *at) {
    asm volatile("ld.global.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "l"(__cvta_generic_to_global(at)) : "memory");
}
static __device__ __forceinline__ void load_line(uint2 &x, const char *at) {
    asm volatile("ld.global.L2::128B.v2.u32 {%0, %1}, [%2];"
                 : "=r"(x.x), "=r"(x.y) : "l"(__cvta_generic_to_global(at)) : "memory");
}

// This thread's micro-block of tile `p`: E indices of the first axis, or of the second (`kBack`), by a vector of the
// last.
template <bool kBack> struct Part {
    using Tiles = CubeTile<WORD>;
    using Vec = Word<kVector<WORD>>;
    static constexpr u32 T = Tiles::T, E = Tiles::E;
    Place first;   // its first element
    bool within;

    __device__ Part(const CubeArgs &a, Place p) {
        const u32 q = threadIdx.x % Tiles::across, e = threadIdx.x / Tiles::across % Tiles::across;
        const u32 y = threadIdx.x / (Tiles::across * Tiles::across);
        first = {p.a * T + (kBack ? y : e * E), p.b * T + (kBack ? e * E : y), p.c * T + q * E};
        within = first.a < a.side && first.b < a.side && first.c < a.side;
    }
    __device__ void load(Micro<WORD> &x, const CubeArgs &a, char *cube) const {
        if (!within) return;
#pragma unroll
        for (u32 r = 0; r < E; r++)
            load_line(x.row[r], element(a, cube, first.a + (kBack ? 0 : r), first.b + (kBack ? r : 0), first.c));
    }
    // Stores element (a, b, c) at (b, c, a) forward, and at (c, a, b) backward.
    __device__ void store(Micro<WORD> &x, const CubeArgs &a, char *cube) const {
        if (!within) return;
        x.transpose();
#pragma unroll
        for (u32 r = 0; r < E; r++)
            *(Vec *)(kBack ? element(a, cube, first.c + r, first.a, first.b)
                           : element(a, cube, first.b, first.c + r, first.a)) = x.row[r];
    }
};

template <bool kBack> static __device__ void rotate(const CubeArgs &a) {
    Place p;
    if (!tile_of(a, blockIdx.x % a.orbits, p)) return;
    char *cube = a.data + blockIdx.x / a.orbits * a.batch_bytes;
    const Part<kBack> one(a, p), two(a, next(p)), three(a, next(next(p)));
    const bool others = has_others(p);
    Micro<WORD> x, y, z;
    one.load(x, a, cube);
    if (others) {
        two.load(y, a, cube);
        three.load(z, a, cube);
    }
    __syncthreads();
    one.store(x, a, cube);
    if (others) {
        two.store(y, a, cube);
        three.store(z, a, cube);
    }
}

// Transposes n x n^2 to n^2 x n: the first axis becomes the last.
extern "C" __global__ void __launch_bounds__(CubeTile<WORD>::threads) cube_forward(const __grid_constant__ CubeArgs a) {
    rotate<false>(a);
}

// Transposes n^2 x n to n x n^2: the last axis becomes the first.
extern "C" __global__ void __launch_bounds__(CubeTile<WORD>::threads) cube_back(const __grid_constant__ CubeArgs a) {
    rotate<true>(a);
}
