// Cubes: an axis goes round, and three tiles, each the next one's place, change places in one pass.
#include "micro.cuh"


struct CubeArgs {
    char *data;
    u64 batch_bytes; // from one cube to the next
    u32 side;        // of a cube, in elements: rows are whole vectors
    u32 across;      // tiles across a cube
    u32 orbits;      // blocks of a cube
    u32 group;       // tiles across a group
};
static_assert(sizeof(CubeArgs) == 32);

// Tiles of T x T x T words, E x E of which are a thread's micro-block: as large as the registers of a block hold three.
template <int W> struct CubeTile {
    static constexpr u32 T = W <= 2 ? 32 : W <= 8 ? 16 : 8;
    static constexpr u32 E = kMicro<W>, across = T / E, threads = across * T * across;
    static_assert(threads <= 1024, "a block has so many");
};

// Sum of the first m squares: orbits of a cube of m tiles a side, and those counted twice.
static __device__ u64 squares_to(u64 m) { return m * (m + 1) * (2 * m + 1) / 6; }

struct Place {
    u32 a, b, c;
};

// Of the three in an orbit the one that stands for it: its first number is least, and its second if the last is so too.
static __device__ bool stands(const Place &p) { return p.a <= p.b && (p.c > p.a || p.b == p.a); }

// The place that stands for an orbit, if the number has one. Counted by their first number, m^2 places have
// the m-th from the end.
static __device__ bool orbit_of(u32 number, u32 across, Place &p) {
    const u64 behind = squares_to(across) - 1 - number;
    u32 m = u32(cbrtf(3.0f * float(behind)));
    while (squares_to(m) > behind) m--;
    while (squares_to(m + 1) <= behind) m++;
    // squares_to(m) <= behind < squares_to(m + 1)
    const u32 wide = m + 1, q = u32(squares_to(wide) - 1 - behind);
    p.a = across - wide;
    p.b = p.a + q / wide;
    p.c = p.a + q % wide;
    return stands(p);
}

// The tile that a block moves with the two others of its orbit, if it has one. Groups of tiles stand for their orbits, and
// a group's tiles go one soon after the other: then neighbours along each axis do, in all three groups.
static __device__ bool tile_of(const CubeArgs &a, u32 number, Place &p) {
    const u32 g = a.group, each = g * g * g, within = number % each;
    Place group;
    if (!orbit_of(number / each, (a.across + g - 1) / g, group)) return false;
    p = {group.a * g + within / (g * g), group.b * g + within / g % g, group.c * g + within % g};
    const bool diagonal = group.a == group.b && group.b == group.c;
    return p.a < a.across && p.b < a.across && p.c < a.across && (!diagonal || (p.a <= p.c && stands(p)));
}

// The thread's part of the tile at `p`: E words of the first axis, or of the second (`kBack`), by a vector of the last.
template <bool kBack> struct Part {
    using Tiles = CubeTile<WORD>;
    using Vec = Word<kVector<WORD>>;
    static constexpr u32 T = Tiles::T, E = Tiles::E;
    Place first;   // of its elements
    bool within;

    __device__ Part(const CubeArgs &a, Place p) {
        const u32 q = threadIdx.x % Tiles::across, e = threadIdx.x / Tiles::across % Tiles::across;
        const u32 y = threadIdx.x / (Tiles::across * Tiles::across);
        first = {p.a * T + (kBack ? y : e * E), p.b * T + (kBack ? e * E : y), p.c * T + q * E};
        within = first.a < a.side && first.b < a.side && first.c < a.side;
    }
    static __device__ char *at(const CubeArgs &a, char *cube, u32 i, u32 j, u32 k) {
        return cube + ((u64(i) * a.side + j) * a.side + k) * WORD;
    }
    __device__ void load(Micro<WORD> &x, const CubeArgs &a, char *cube) const {
        if (!within) return;
#pragma unroll
        for (u32 r = 0; r < E; r++)
            x.row[r] = *(const Vec *)at(a, cube, first.a + (kBack ? 0 : r), first.b + (kBack ? r : 0), first.c);
    }
    // Element (a, b, c) goes to (b, c, a), back to (c, a, b).
    __device__ void store(Micro<WORD> &x, const CubeArgs &a, char *cube) const {
        if (!within) return;
        x.transpose();
#pragma unroll
        for (u32 r = 0; r < E; r++)
            *(Vec *)(kBack ? at(a, cube, first.c + r, first.a, first.b) : at(a, cube, first.b, first.c + r, first.a)) =
                x.row[r];
    }
};

template <bool kBack> static __device__ void rotate(const CubeArgs &a) {
    Place p;
    if (!tile_of(a, blockIdx.x % a.orbits, p)) return;
    char *cube = a.data + blockIdx.x / a.orbits * a.batch_bytes;
    const Part<kBack> one(a, p), two(a, {p.b, p.c, p.a}), three(a, {p.c, p.a, p.b});
    // A tile on the diagonal stays where it is.
    const bool others = p.a != p.b || p.b != p.c;
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

// n x n^2 to n^2 x n: the first axis becomes the last.
extern "C" __global__ void __launch_bounds__(CubeTile<WORD>::threads) cube_forward(const __grid_constant__ CubeArgs a) {
    rotate<false>(a);
}

// n^2 x n to n x n^2: the last axis becomes the first.
extern "C" __global__ void __launch_bounds__(CubeTile<WORD>::threads) cube_back(const __grid_constant__ CubeArgs a) {
    rotate<true>(a);
}
