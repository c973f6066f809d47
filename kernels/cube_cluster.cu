// Rotates the axes of cubes in place by clusters. A tile is cut into one slab per block, along the axis that is the
// last neither before nor after, so that every block writes the elements that it read. The blocks wait for each other
// once, because a block writes to addresses that others read.
#include "cluster.cuh"
#include "cube.cuh"


// Blocks per cluster.
#if WORD <= 2
#define BLOCKS 16
#elif WORD <= 8
#define BLOCKS 8
#else
#define BLOCKS 2
#endif

// A block's slab of a tile of T x T x T words, in shared memory. Rows are contiguous. Within a row r, granules are
// permuted by xor with r / E, so that lanes use different banks.
template <bool kBack> struct Slab {
    using Vec = Word<kVector<WORD>>;
    enum : u32 {
        T = WORD <= 2 ? 64 : WORD <= 8 ? 32 : 16,
        threads = WORD <= 4 ? 256 : 512,
        V = sizeof(Vec),
        E = V / WORD,
        across = T / E, // micro-blocks
        deep = T / BLOCKS,
        row = T * WORD,
        bytes = T * deep * row,
        at_once = 200000 / (3 * bytes), // blocks per multiprocessor
    };
    char *held, *cube;
    Place p;   // the tile
    u32 first; // first index of the slab along its axis

    // Returns the vector at byte k of a row. r is the index on the axis that becomes the last, y on the slab's axis.
    __device__ Vec *place(u32 r, u32 y, u32 k) const {
        return (Vec *)(held + (r * deep + y) * row + ((k / 16 ^ r / E % (row / 16)) * 16 | k % 16));
    }
    __device__ void load(const CubeArgs &a) const {
#pragma unroll 4
        for (u32 i = threadIdx.x; i < T * deep * across; i += threads) {
            const u32 k = i % across, n = i / across, y = kBack ? n / T : n % deep, r = kBack ? n % T : n / deep;
            const u32 u = kBack ? first + y : p.a * T + r, v = kBack ? p.b * T + r : first + y, w = p.c * T + k * E;
            if (u >= a.side || v >= a.side || w >= a.side) continue;
            copy_async<V, WORD == 4 ? kTwoLines : V == 16 ? kOnce : kParts>(place(r, y, k * V), element(a, cube, u, v, w));
        }
    }
    // Stores element (a, b, c) at (b, c, a) forward, and at (c, a, b) backward.
    __device__ void store(const CubeArgs &a) const {
#pragma unroll 1
        for (u32 i = threadIdx.x; i < across * across * deep; i += threads) {
            const u32 e = i % across, y = i / across % deep, q = i / across / deep;
            const u32 slab = first + y, last = (kBack ? p.b : p.a) * T + e * E, rows = p.c * T + q * E;
            if (slab >= a.side || last >= a.side || rows >= a.side) continue;
            Micro<WORD> x;
#pragma unroll
            for (u32 r = 0; r < E; r++) x.row[r] = *place(e * E + r, y, q * V);
            x.transpose();
#pragma unroll
            for (u32 r = 0; r < E; r++)
                *(Vec *)(kBack ? element(a, cube, rows + r, slab, last) : element(a, cube, slab, rows + r, last)) = x.row[r];
        }
    }
};

template <bool kBack> static __device__ void rotate(const CubeArgs &a) {
    extern __shared__ uint4 shared[];
    using Part = Slab<kBack>;
    const u32 number = blockIdx.x / BLOCKS, rank = blockIdx.x % BLOCKS;
    Place p;
    // All blocks of a cluster return here, or none does.
    if (!tile_of(a, number % a.orbits, p)) return;
    char *cube = a.data + number / a.orbits * a.batch_bytes;
    const u32 tiles = has_others(p) ? 3 : 1;
    const auto part = [&](u32 t) -> Part {
        return {(char *)shared + t * Part::bytes, cube, p, (kBack ? p.a : p.b) * Part::T + rank * Part::deep};
    };
#pragma unroll 1
    for (u32 t = 0; t < tiles; t++, p = next(p)) part(t).load(a);
    copy_async_wait();
    cluster_wait();
#pragma unroll 1
    for (u32 t = 0; t < tiles; t++, p = next(p)) part(t).store(a);
}

#define CUBE(NAME, BACK, BLOCKS)                                                                       \
    extern "C" __global__ void __cluster_dims__(BLOCKS, 1, 1)                                          \
        __launch_bounds__(Slab<BACK>::threads, Slab<BACK>::at_once)                                    \
            cube_cluster_##NAME##_##BLOCKS(const __grid_constant__ CubeArgs a) {                       \
        rotate<BACK>(a);                                                                               \
    }
#define CUBES(BLOCKS)                                                                                  \
    CUBE(forward, false, BLOCKS)                                                                       \
    CUBE(back, true, BLOCKS)

CUBES(BLOCKS)
