// Matrices with a pitch: transposes long elements out of place, and saves or restores gap elements. The word size is
// an argument, equal for all threads: 1, 2, 4, 8 or 16 bytes.
#include "index.cuh"

// Copies a word.
template <int W> static __device__ __forceinline__ void copy_word(char *to, const char *from) {
    *(Word<W> *)to = *(const Word<W> *)from;
}
static __device__ __forceinline__ void copy_word(u32 word, char *to, const char *from) {
    switch (word) {
    case 1: return copy_word<1>(to, from);
    case 2: return copy_word<2>(to, from);
    case 4: return copy_word<4>(to, from);
    case 8: return copy_word<8>(to, from);
    default: return copy_word<16>(to, from);
    }
}

struct UnitTurnArgs {
    char *to;
    const char *from;
    u64 words;                // of the matrix
    u64 from_pitch, to_pitch; // bytes from row to row
    Divisor<u64> row, unit;   // words of a row of the result and of an element
    u32 word, pad;            // bytes of a word
};
static_assert(sizeof(UnitTurnArgs) == 96);

template <int W> static __device__ void turn(const UnitTurnArgs &a) {
    const u64 step = u64(gridDim.x) * blockDim.x;
#pragma unroll 4
    for (u64 n = u64(blockIdx.x) * blockDim.x + threadIdx.x; n < a.words; n += step) {
        const u64 j = a.row.div(n), along = n - j * a.row.divisor;
        const u64 i = a.unit.div(along), w = along - i * a.unit.divisor;
        const char *from = a.from + i * a.from_pitch + (j * a.unit.divisor + w) * W;
        *(Word<W> *)(a.to + j * a.to_pitch + along * W) = *(const Word<W> *)from;
    }
}

// Transposes a matrix of long elements into another buffer.
extern "C" __global__ void __launch_bounds__(256) pitched_turn(const __grid_constant__ UnitTurnArgs a) {
    switch (a.word) {
    case 1: return turn<1>(a);
    case 2: return turn<2>(a);
    case 4: return turn<4>(a);
    case 8: return turn<8>(a);
    default: return turn<16>(a);
    }
}

// Lengths are in words. A window is a gap of the side (source or result) that has fewer rows. The kernels save the
// words of windows that are also in a gap of the other side, in order of address.
struct GapArgs {
    char *data;
    char *kept;
    u64 len;                       // of the matrix without gaps
    u64 windows, cols, pitch;      // of the side with fewer rows
    u64 other_cols;
    u64 total;                     // words saved
    Divisor<u64> other, other_gap; // the other side's pitch and its gap
    u32 word, pad;                 // bytes of a word

    // Returns the number of words of the other side's gaps before an offset.
    __device__ u64 before(u64 offset) const {
        const u64 row = other.div(offset), within = offset - row * other.divisor;
        return row * other_gap.divisor + (within > other_cols ? within - other_cols : 0);
    }
    // Return the numbers of words of the other side's gaps before a window and in it.
    __device__ u64 first(u64 window) const { return before(window * pitch + cols); }
    __device__ u64 count(u64 window) const { return before(min((window + 1) * pitch, len)) - first(window); }
    // Returns the offset of word `number` of the other side's gaps.
    __device__ u64 place(u64 number) const {
        const u64 row = other_gap.div(number);
        return row * other.divisor + other_cols + (number - row * other_gap.divisor);
    }
};
static_assert(sizeof(GapArgs) == 120);

enum : u32 { kGapThreads = 512 };

// Returns the sum of `x` over the block's threads up to this one, inclusive.
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

// Moves a block's share of the saved words between matrix and workspace. The block counts through the windows to find
// its share.
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
            // Find the first window that ends after word n.
            u32 which = 0;
#pragma unroll
            for (u32 step = kGapThreads / 2; step > 0; step /= 2)
                if (up_to[which + step - 1] <= n - passed) which += step;
            const u64 before = which ? up_to[which - 1] : 0;
            char *place = a.data + a.place(a.first(window + which) + (n - passed - before)) * a.word;
            char *kept = a.kept + n * a.word;
            char *to = Back ? place : kept, *from = Back ? kept : place;
            copy_word(a.word, to, from);
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
