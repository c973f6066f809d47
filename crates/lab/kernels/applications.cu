// The thesis's applications (3.7 and 5.6), each written once over where fields lie; a record a thread. The same as
// crates/lab/src/applications.rs runs on a host.
#include <turntile/layout.cuh>

#include "word.cuh"

struct ApplicationArgs {
    float *to;
    const float *from;
    u64 records;
    u32 side; // of the cube of cells
    u32 pad;
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

// Cells pull from their neighbours and relax.
template <int N, class Layout> static __device__ void lbm(Layout at, const ApplicationArgs &a, u64 i) {
    const u32 side = a.side, cell_number = u32(i);
    const u32 x = cell_number % side, y = cell_number / side % side, z = cell_number / side / side;
    float cell[N], rho = 0.f, fx = 0.f, fy = 0.f, fz = 0.f;
#define PULL(Q, X, Y, Z, W)                                                                                            \
    cell[Q] = a.from[at.at((u64(shifted(z, Z, side)) * side + shifted(y, Y, side)) * side + shifted(x, X, side), Q)];  \
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
        a.to[at.at(i, Q)] = cell[Q] + 1.2f * (settled - cell[Q]);                                                      \
    }
    VELOCITIES(RELAX)
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
