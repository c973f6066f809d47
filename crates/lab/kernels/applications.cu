// The thesis's applications (3.7 and 5.6), each written once over where fields lie; a record a thread. The same as
// crates/lab/src/applications.rs runs on a host.
#include <turntile/layout.cuh>

#include "flattening.cuh"
#include "word.cuh"

struct ApplicationArgs {
    float *to;
    const float *from;
    u64 records;
    u32 side;  // of the cube of cells
    u32 pitch; // cells from row to row, where a block has one
};
static_assert(sizeof(ApplicationArgs) == 32);

// The sum of a structure's members, written to every member of another.
template <int N, class Layout> static __device__ void members(Layout at, const ApplicationArgs &a, u64 i) {
    float sum = 0.f;
    for (int f = 0; f < N; f++) sum += a.from[at.at(i, f)];
    for (int f = 0; f < N; f++) a.to[at.at(i, f)] = sum;
}

// D3Q19: number, direction, and what a cell at rest has of it.
#define VELOCITIES(V)                                                                                                  \
    V(0, 0, 0, 0, 1.f / 3) V(1, 1, 0, 0, 1.f / 18) V(2, -1, 0, 0, 1.f / 18) V(3, 0, 1, 0, 1.f / 18)                    \
    V(4, 0, -1, 0, 1.f / 18) V(5, 0, 0, 1, 1.f / 18) V(6, 0, 0, -1, 1.f / 18) V(7, 1, 1, 0, 1.f / 36)                  \
    V(8, -1, -1, 0, 1.f / 36) V(9, 1, -1, 0, 1.f / 36) V(10, -1, 1, 0, 1.f / 36) V(11, 1, 0, 1, 1.f / 36)              \
    V(12, -1, 0, -1, 1.f / 36) V(13, 1, 0, -1, 1.f / 36) V(14, -1, 0, 1, 1.f / 36) V(15, 0, 1, 1, 1.f / 36)            \
    V(16, 0, -1, -1, 1.f / 36) V(17, 0, 1, -1, 1.f / 36) V(18, 0, -1, 1, 1.f / 36)

// Where what moves so comes from, around the edge.
static __device__ u32 shifted(u32 at, int by, u32 side) {
    if (by == 0) return at;
    if (by > 0) return at == 0 ? side - 1 : at - 1;
    return at + 1 == side ? 0 : at + 1;
}

// A cell pulls from its neighbours and relaxes.
template <class Cells> static __device__ void relax(Cells at, const ApplicationArgs &a, u32 z, u32 y, u32 x) {
    const u32 side = a.side;
    float cell[19], rho = 0.f, fx = 0.f, fy = 0.f, fz = 0.f;
#define PULL(Q, X, Y, Z, W)                                                                                            \
    cell[Q] = a.from[at.at(shifted(z, Z, side), shifted(y, Y, side), shifted(x, X, side), Q)];                         \
    rho += cell[Q];                                                                                                    \
    fx += float(X) * cell[Q];                                                                                          \
    fy += float(Y) * cell[Q];                                                                                          \
    fz += float(Z) * cell[Q];
    VELOCITIES(PULL)
    const float ux = fx / rho, uy = fy / rho, uz = fz / rho;
    const float square = 1.5f * (ux * ux + uy * uy + uz * uz);
#define RELAX(Q, X, Y, Z, W)                                                                                           \
    {                                                                                                                  \
        const float along = float(X) * ux + float(Y) * uy + float(Z) * uz;                                             \
        const float settled = W * rho * (1.f + 3.f * along + 4.5f * along * along - square);                           \
        a.to[at.at(z, y, x, Q)] = cell[Q] + 1.2f * (settled - cell[Q]);                                                \
    }
    VELOCITIES(RELAX)
}

// Cells as records, one row after the other.
template <class Layout> struct Records {
    Layout layout;
    u32 side;
    __device__ u64 at(u32 z, u32 y, u32 x, u32 q) const { return layout.at((u64(z) * side + y) * side + x, q); }
};

template <int N, class Layout> static __device__ void lbm(Layout at, const ApplicationArgs &a, u64 i) {
    const u32 side = a.side, cell = u32(i);
    relax(Records<Layout>{at, side}, a, cell / side / side, cell / side % side, cell % side);
}

// Of the six neighbours, around the edges.
template <class Cells>
static __device__ float around(Cells at, const float *from, u32 side, u32 z, u32 y, u32 x) {
    return from[at.at(shifted(z, 1, side), y, x, 0)] + from[at.at(shifted(z, -1, side), y, x, 0)] +
           from[at.at(z, shifted(y, 1, side), x, 0)] + from[at.at(z, shifted(y, -1, side), x, 0)] +
           from[at.at(z, y, shifted(x, 1, side), 0)] + from[at.at(z, y, shifted(x, -1, side), 0)];
}

template <class Cells> static __device__ void heat(Cells at, const ApplicationArgs &a, u32 z, u32 y, u32 x) {
    const float own = a.from[at.at(z, y, x, 0)];
    a.to[at.at(z, y, x, 0)] = own + 0.125f * (around(at, a.from, a.side, z, y, x) - 6.f * own);
}

// Half of the cells, by the parity of their place.
template <int COLOUR, class Cells>
static __device__ void sweep(Cells at, const ApplicationArgs &a, u32 z, u32 y, u32 pair) {
    const u32 x = 2 * pair + (z + y + COLOUR) % 2;
    a.to[at.at(z, y, x, 0)] = around(at, a.from, a.side, z, y, x) * (1.f / 6);
}

// The share of a normal distribution below d (Abramowitz and Stegun 26.2.17).
static __device__ float normal(float d) {
    const float k = 1.f / (1.f + 0.2316419f * fabsf(d));
    const float sum =
        k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    const float tail = 0.39894228f * expf(-0.5f * d * d) * sum;
    return d > 0.f ? 1.f - tail : tail;
}

// A call and a put, by Black and Scholes.
template <int N, class Layout> static __device__ void options(Layout at, const ApplicationArgs &a, u64 i) {
    const float price = a.to[at.at(i, 0)], strike = a.to[at.at(i, 1)], years = a.to[at.at(i, 2)];
    const float rate = 0.02f, volatility = 0.3f, spread = volatility * sqrtf(years);
    const float d1 = (logf(price / strike) + (rate + 0.5f * volatility * volatility) * years) / spread;
    const float up = normal(d1), down = normal(d1 - spread), later = strike * expf(-rate * years);
    a.to[at.at(i, 3)] = price * up - later * down;
    a.to[at.at(i, 4)] = later * (1.f - down) - price * (1.f - up);
}

// A row of a sparse matrix times a vector: values, columns and the vector lie one after the other.
template <int N, class Layout> static __device__ void ell(Layout at, const ApplicationArgs &a, u64 i) {
    const float *values = a.from, *x = a.from + 2 * a.records * N;
    const u32 *columns = (const u32 *)(a.from + a.records * N);
    float sum = 0.f;
    for (int k = 0; k < N; k++) sum += values[at.at(i, k)] * x[columns[at.at(i, k)]];
    a.to[i] = sum;
}

template <turntile::size_t N> using aos = turntile::aos<N>;
template <turntile::size_t N> using soa = turntile::soa<N>;
template <turntile::size_t N> using asta = turntile::asta<N, 32>;

#define ON(NAME, KERNEL, N, LAYOUT)                                                                                    \
    extern "C" __global__ void __launch_bounds__(256) NAME##_##LAYOUT(const __grid_constant__ ApplicationArgs a) {     \
        const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;                                                      \
        if (i < a.records) KERNEL<N>(LAYOUT<N>{a.records}, a, i);                                                      \
    }
#define EACH(NAME, KERNEL, N) ON(NAME, KERNEL, N, aos) ON(NAME, KERNEL, N, asta) ON(NAME, KERNEL, N, soa)

EACH(members_1, members, 1)
EACH(members_2, members, 2)
EACH(members_4, members, 4)
EACH(members_8, members, 8)
EACH(members_16, members, 16)
EACH(members_32, members, 32)
EACH(lbm, lbm, 19)
EACH(options, options, 5)
EACH(ell_39, ell, 39)
EACH(ell_40, ell, 40)
EACH(ell_59, ell, 59)
EACH(ell_62, ell, 62)
EACH(ell_197, ell, 197)
EACH(ell_215, ell, 215)

// Cubes in the layouts of crates/lab/src/grids.rs: plane, row, place in it, value. A block has a row.
using turntile::strip_of;
using in_rows = turntile::flattening<strip_of<0>, strip_of<1>, strip_of<2>, strip_of<3>>;
using in_columns = turntile::flattening<strip_of<3>, strip_of<0>, strip_of<1>, strip_of<2>>;
using in_tiles = turntile::flattening<strip_of<0>, strip_of<1>, strip_of<2, 32>, strip_of<3>, strip_of<2, 1, 32>>;
using in_strips = turntile::flattening<strip_of<0>, strip_of<1, 32>, strip_of<2, 128>, strip_of<3>, strip_of<1, 1, 32>,
                                       strip_of<2, 1, 128>>;
using in_halves = turntile::flattening<strip_of<0>, strip_of<1>, strip_of<2, 64>, strip_of<2, 1, 2>, strip_of<3>,
                                       strip_of<2, 2, 32>>;
using in_half_strips = turntile::flattening<strip_of<0>, strip_of<1, 32>, strip_of<2, 256>, strip_of<2, 1, 2>,
                                            strip_of<3>, strip_of<1, 1, 32>, strip_of<2, 2, 128>>;

#define CUBE(NAME, KERNEL, VALUES, STEP, LAYOUT)                                                                       \
    extern "C" __global__ void __launch_bounds__(128, 8) NAME##_##LAYOUT(const __grid_constant__ ApplicationArgs a) {  \
        const LAYOUT grid{{a.side, a.side, a.pitch, VALUES}};                                                          \
        for (u32 x = threadIdx.x; STEP * x < a.side; x += 128) {                                                       \
            u32 row = blockIdx.x;                                                                                      \
            /* New in every turn to the compiler, which would keep places from turn to turn in registers. */           \
            asm volatile("" : "+r"(row));                                                                              \
            KERNEL(grid, a, row / a.side, row % a.side, x);                                                            \
        }                                                                                                              \
    }
#define RED_BLACK(LAYOUT) CUBE(red, sweep<0>, 1, 2, LAYOUT) CUBE(black, sweep<1>, 1, 2, LAYOUT)

CUBE(cells, relax, 19, 1, in_rows)
CUBE(cells, relax, 19, 1, in_columns)
CUBE(cells, relax, 19, 1, in_tiles)
CUBE(cells, relax, 19, 1, in_strips)
CUBE(heat, heat, 1, 1, in_rows)
CUBE(heat, heat, 1, 1, in_strips)
RED_BLACK(in_rows)
RED_BLACK(in_halves)
RED_BLACK(in_half_strips)
