// The out-of-place transpositions of the literature, each as its source has it but for ragged edges: words
// of 4 bytes, tiles of T x T, blocks of T x R threads. T and R are constants, so that the compiler unrolls as
// it sees fit.
#include "index.cuh"

struct LadderArgs {
    u32 *to;
    const u32 *from;
    u32 rows, cols;
    Divisor<u32> across; // tiles
};
static_assert(sizeof(LadderArgs) == 40);

// Where a thread of a block stands: its tile, its column and its rows of the tile.
template <int T> struct Stand {
    u32 rows, cols, i0, j0, x, y;

    __device__ Stand(const LadderArgs &a) : rows(a.rows), cols(a.cols) {
        const u32 i = a.across.div(blockIdx.x);
        i0 = i * T;
        j0 = (blockIdx.x - i * a.across.divisor) * T;
        x = threadIdx.x % T;
        y = threadIdx.x / T;
    }
    // Element (y, x) of the tile, and of the transposed tile, in memory.
    __device__ bool in(u32 y, u64 &at) const {
        at = u64(i0 + y) * cols + j0 + x;
        return i0 + y < rows && j0 + x < cols;
    }
    __device__ bool out(u32 y, u64 &at) const {
        at = u64(j0 + y) * rows + i0 + x;
        return j0 + y < cols && i0 + x < rows;
    }
};

enum Layout { kPlain, kPadded, kDiagonal, kExclusiveOr };

// The place of element (y, x) of a tile on chip; as `Layout::place` of the host has it.
template <Layout L, int T> __device__ u32 place(u32 y, u32 x) {
    constexpr u32 mask = (T % 32 == 0 ? 32 : T % 16 == 0 ? 16 : 8) - 1;
    if constexpr (L == kPlain) return y * T + x;
    if constexpr (L == kPadded) return y * (T + 1) + x;
    if constexpr (L == kDiagonal) return x * T + (x + y) % T; // rows of the tile are diagonals
    return y * T + (x ^ (y & mask));
}

template <int T, int R> static __device__ void copy(const LadderArgs &a) {
    const Stand<T> s(a);
    u64 at;
    for (u32 y = s.y; y < T; y += R)
        if (s.in(y, at)) a.to[at] = a.from[at];
}

template <int T, int R> static __device__ void copy_shared(const LadderArgs &a) {
    __shared__ u32 tile[T * T];
    const Stand<T> s(a);
    u64 at;
    for (u32 y = s.y; y < T; y += R)
        if (s.in(y, at)) tile[place<kPlain, T>(y, s.x)] = a.from[at];
    __syncthreads();
    for (u32 y = s.y; y < T; y += R)
        if (s.in(y, at)) a.to[at] = tile[place<kPlain, T>(y, s.x)];
}

// Reads rows, writes columns.
template <int T, int R> static __device__ void naive(const LadderArgs &a) {
    const Stand<T> s(a);
    u64 at;
    for (u32 y = s.y; y < T; y += R)
        if (s.in(y, at)) a.to[u64(s.j0 + s.x) * s.rows + s.i0 + y] = a.from[at];
}

// Reads columns, writes rows.
template <int T, int R> static __device__ void naive_read(const LadderArgs &a) {
    const Stand<T> s(a);
    u64 at;
    for (u32 y = s.y; y < T; y += R)
        if (s.out(y, at)) a.to[at] = a.from[u64(s.i0 + s.x) * s.cols + s.j0 + y];
}

// Rows to the chip, columns from it.
template <Layout L, int T, int R> static __device__ void through_tile(const LadderArgs &a) {
    __shared__ u32 tile[T * (L == kPadded ? T + 1 : T)];
    const Stand<T> s(a);
    u64 at;
    for (u32 y = s.y; y < T; y += R)
        if (s.in(y, at)) tile[place<L, T>(y, s.x)] = a.from[at];
    __syncthreads();
    for (u32 y = s.y; y < T; y += R)
        if (s.out(y, at)) a.to[at] = tile[place<L, T>(s.x, y)];
}

// "Selective Copying": the tile is transposed on chip, along diagonals, by the threads above its own.
template <int T, int R> static __device__ void selective(const LadderArgs &a) {
    __shared__ u32 tile[T * T];
    const Stand<T> s(a);
    u64 at;
    for (u32 y = s.y; y < T; y += R)
        if (s.in(y, at)) tile[y * T + s.x] = a.from[at];
    __syncthreads();
    for (u32 y = s.y; y < T; y += R) {
        const u32 across = (s.x + y) % T, down = s.x;
        if (down > across) {
            const u32 lower = tile[down * T + across], upper = tile[across * T + down];
            tile[across * T + down] = lower;
            tile[down * T + across] = upper;
        }
    }
    __syncthreads();
    for (u32 y = s.y; y < T; y += R)
        if (s.out(y, at)) a.to[at] = tile[y * T + s.x];
}

// Parallel Write with block rows known to the compiler: all loads of a thread before its first store.
template <int T, int R> static __device__ void unrolled(const LadderArgs &a) {
    __shared__ u32 tile[T * T];
    const Stand<T> s(a);
    u64 at;
    u32 held[T / R];
#pragma unroll
    for (int k = 0; k < T / R; k++)
        if (s.in(s.y + k * R, at)) held[k] = a.from[at];
#pragma unroll
    for (int k = 0; k < T / R; k++) tile[place<kDiagonal, T>(s.y + k * R, s.x)] = held[k];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < T / R; k++)
        if (s.out(s.y + k * R, at)) a.to[at] = tile[place<kDiagonal, T>(s.x, s.y + k * R)];
}

#define RUNG(NAME, T, R, BODY)                                                                         \
    extern "C" __global__ void __launch_bounds__(T * R)                                                \
        NAME##_##T##_##R(const __grid_constant__ LadderArgs a) {                                       \
        BODY;                                                                                          \
    }
#define LADDER(T, R)                                                                                   \
    RUNG(ladder_copy, T, R, (copy<T, R>(a)))                                                           \
    RUNG(ladder_copy_shared, T, R, (copy_shared<T, R>(a)))                                             \
    RUNG(ladder_naive, T, R, (naive<T, R>(a)))                                                         \
    RUNG(ladder_naive_read, T, R, (naive_read<T, R>(a)))                                               \
    RUNG(ladder_coalesced, T, R, (through_tile<kPlain, T, R>(a)))                                      \
    RUNG(ladder_padded, T, R, (through_tile<kPadded, T, R>(a)))                                        \
    RUNG(ladder_selective, T, R, (selective<T, R>(a)))                                                 \
    RUNG(ladder_parallel_write, T, R, (through_tile<kDiagonal, T, R>(a)))                              \
    RUNG(ladder_exclusive_or, T, R, (through_tile<kExclusiveOr, T, R>(a)))
LADDER(8, 1)
LADDER(8, 2)
LADDER(8, 4)
LADDER(8, 8)
LADDER(16, 1)
LADDER(16, 2)
LADDER(16, 4)
LADDER(16, 8)
LADDER(16, 16)
LADDER(32, 1)
LADDER(32, 2)
LADDER(32, 4)
LADDER(32, 8)
LADDER(32, 16)
LADDER(32, 32)
LADDER(48, 1)
LADDER(48, 2)
LADDER(48, 4)
LADDER(48, 6)
LADDER(48, 8)
LADDER(48, 12)
LADDER(48, 16)
LADDER(64, 1)
LADDER(64, 2)
LADDER(64, 4)
LADDER(64, 8)
LADDER(64, 16)

#define UNROLLED(T, R)                                                                                 \
    extern "C" __global__ void __launch_bounds__(T * R)                                                \
        ladder_unrolled_##T##_##R(const __grid_constant__ LadderArgs a) {                              \
        unrolled<T, R>(a);                                                                             \
    }
UNROLLED(8, 2)
UNROLLED(8, 4)
UNROLLED(16, 4)
UNROLLED(16, 8)
UNROLLED(32, 4)
UNROLLED(32, 8)
UNROLLED(32, 16)
UNROLLED(48, 6)
UNROLLED(48, 12)
UNROLLED(64, 4)
UNROLLED(64, 8)
UNROLLED(64, 16)
