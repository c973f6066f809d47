// Matrices whose rows lie a pitch apart: squares of any elements, and what lies in gaps.
#include "index.cuh"


struct UnitSwapArgs {
    char *data;
    u64 pitch;         // bytes from row to row
    u32 side;          // of the square, in elements
    u32 across, pairs; // tiles across it, and pairs of them, the diagonal's included
    u32 tile;          // elements of a tile's side
    u32 row;           // bytes from row to row of a tile on chip; 0 where nothing is held there
    u32 pad;
    Divisor<u32> unit; // words of an element
};
static_assert(sizeof(UnitSwapArgs) == 56);

using W = Word<WORD>;

// A corner of a tile, and what it has of rows and of words in a row.
struct Corner {
    char *at;
    u32 rows, words;
};

static __device__ Corner corner_of(const UnitSwapArgs &a, u32 i, u32 j) {
    const u64 r = u64(i) * a.tile, c = u64(j) * a.tile;
    return {a.data + r * a.pitch + c * a.unit.divisor * WORD, u32(min(u64(a.tile), a.side - r)),
            u32(min(u64(a.tile), a.side - c)) * a.unit.divisor};
}

// A tile's words to the chip, a row a warp.
static __device__ void hold(char *tile, const Corner &from, const UnitSwapArgs &a) {
    for (u32 r = threadIdx.x / kWarp; r < from.rows; r += blockDim.x / kWarp)
        for (u32 k = threadIdx.x % kWarp; k < from.words; k += kWarp)
            *(W *)(tile + r * a.row + k * WORD) = *(const W *)(from.at + r * a.pitch + k * WORD);
}

// The mirror image of what is held.
static __device__ void put(const char *tile, const Corner &to, const UnitSwapArgs &a) {
    for (u32 r = threadIdx.x / kWarp; r < to.rows; r += blockDim.x / kWarp)
        for (u32 k = threadIdx.x % kWarp; k < to.words; k += kWarp) {
            const u32 c = a.unit.div(k), w = k - c * a.unit.divisor;
            *(W *)(to.at + r * a.pitch + k * WORD) = *(const W *)(tile + c * a.row + (r * a.unit.divisor + w) * WORD);
        }
}

// Elements of several words of a square change places with their mirror images. Short ones by pairs of tiles held on
// chip, long ones where they lie.
extern "C" __global__ void __launch_bounds__(256) pitched_swap(const __grid_constant__ UnitSwapArgs a) {
    extern __shared__ uint4 shared[];
    u32 i, j;
    folded(blockIdx.x, a.across, i, j);
    const Corner upper = corner_of(a, i, j), lower = corner_of(a, j, i);
    if (a.row) {
        char *first = (char *)shared, *second = first + a.tile * a.row;
        hold(first, upper, a);
        if (i != j) hold(second, lower, a);
        __syncthreads();
        put(first, lower, a);
        if (i != j) put(second, upper, a);
        return;
    }
    for (u32 r = 0; r < upper.rows; r++)
        for (u32 k = threadIdx.x; k < upper.words; k += blockDim.x) {
            const u32 c = a.unit.div(k), w = k - c * a.unit.divisor;
            if (i == j && c <= r) continue;
            W *x = (W *)(upper.at + r * a.pitch) + k, *y = (W *)(lower.at + c * a.pitch) + r * a.unit.divisor + w;
            const W held = *x;
            *x = *y, *y = held;
        }
}

struct UnitTurnArgs {
    char *to;
    const char *from;
    u64 words;                // all
    u64 from_pitch, to_pitch; // bytes from row to row
    Divisor<u64> row, unit;   // words of a row of the result, and of an element
};
static_assert(sizeof(UnitTurnArgs) == 88);

// A matrix of long elements transposed from one place to another.
extern "C" __global__ void __launch_bounds__(256) pitched_turn(const __grid_constant__ UnitTurnArgs a) {
    const u64 step = u64(gridDim.x) * blockDim.x;
#pragma unroll 4
    for (u64 n = u64(blockIdx.x) * blockDim.x + threadIdx.x; n < a.words; n += step) {
        const u64 j = a.row.div(n), along = n - j * a.row.divisor;
        const u64 i = a.unit.div(along), w = along - i * a.unit.divisor;
        const char *from = a.from + i * a.from_pitch + (j * a.unit.divisor + w) * WORD;
        *(W *)(a.to + j * a.to_pitch + along * WORD) = *(const W *)from;
    }
}

// Everything in words. A window is a gap of the side that has fewer rows; what is kept of it is what lies in a gap of
// the other side too, counted in order of place.
struct GapArgs {
    char *data;
    char *kept;
    u64 len;                      // where the matrix has no gaps for a while
    u64 windows, cols, pitch;     // of the side with fewer rows
    u64 other_cols;
    u64 total;                    // kept in all
    Divisor<u64> other, other_gap; // the other side's pitch, and its gap

    // Words of the other side's gaps before an offset.
    __device__ u64 before(u64 offset) const {
        const u64 row = other.div(offset), within = offset - row * other.divisor;
        return row * other_gap.divisor + (within > other_cols ? within - other_cols : 0);
    }
    // Those before a window, and in it.
    __device__ u64 first(u64 window) const { return before(window * pitch + cols); }
    __device__ u64 count(u64 window) const { return before(min((window + 1) * pitch, len)) - first(window); }
    // Where a word of the other side's gaps lies.
    __device__ u64 place(u64 number) const {
        const u64 row = other_gap.div(number);
        return row * other.divisor + other_cols + (number - row * other_gap.divisor);
    }
};
static_assert(sizeof(GapArgs) == 112);

enum : u32 { kGapThreads = 512 };

// Sums of `x` over the threads up to and with this one.
static __device__ u64 sum_up(u64 x, u64 *warps) {
    const u32 lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
#pragma unroll
    for (u32 apart = 1; apart < kWarp; apart *= 2) {
        const u64 below = __shfl_up_sync(kWholeWarp, x, apart);
        if (lane >= apart) x += below;
    }
    if (lane == kWarp - 1) warps[warp] = x;
    __syncthreads();
    for (u32 k = 0; k < warp; k++) x += warps[k];
    __syncthreads();
    return x;
}

// A block's share of all that is kept: it counts through the windows until it comes to its own.
template <bool Back> static __device__ void move_gaps(const GapArgs &a) {
    __shared__ u64 warps[kGapThreads / kWarp], up_to[kGapThreads];
    const u64 begin = a.total / gridDim.x * blockIdx.x + min(u64(blockIdx.x), a.total % gridDim.x);
    const u64 end = begin + a.total / gridDim.x + (blockIdx.x < a.total % gridDim.x);
    u64 passed = 0;
    for (u64 window = 0; window < a.windows && passed < end; window += kGapThreads) {
        const u64 mine = window + threadIdx.x;
        up_to[threadIdx.x] = sum_up(mine < a.windows ? a.count(mine) : 0, warps);
        __syncthreads();
        const u64 here = up_to[kGapThreads - 1];
        const u64 low = max(begin, passed), high = min(end, passed + here);
        for (u64 n = low + threadIdx.x; n < high; n += kGapThreads) {
            // The first window that ends behind it.
            u32 which = 0;
#pragma unroll
            for (u32 step = kGapThreads / 2; step > 0; step /= 2)
                if (up_to[which + step - 1] <= n - passed) which += step;
            const u64 before = which ? up_to[which - 1] : 0;
            W *place = (W *)a.data + a.place(a.first(window + which) + (n - passed - before)), *kept = (W *)a.kept + n;
            if (Back)
                *place = *kept;
            else
                *kept = *place;
        }
        passed += here;
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(kGapThreads) gaps_keep(const __grid_constant__ GapArgs a) {
    move_gaps<false>(a);
}
extern "C" __global__ void __launch_bounds__(kGapThreads) gaps_restore(const __grid_constant__ GapArgs a) {
    move_gaps<true>(a);
}
