// Matrices whose rows are a pitch apart: squares of elements of any size, long elements, and the contents of gaps. The
// size of a word is an argument: 1, 2, 4, 8 or 16 bytes, the same for all threads.
#include "index.cuh"

// Copies words of W bytes from `from(n)` to `to(n)`, for each bit n < N of `which`. Reads all words before it writes
// any.
template <int W, int N, class To, class From>
static __device__ __forceinline__ void copy_batch(u32 which, To to, From from) {
    Word<W> x[N];
#pragma unroll
    for (int n = 0; n < N; n++)
        if (which >> n & 1) x[n] = *(const Word<W> *)from(n);
#pragma unroll
    for (int n = 0; n < N; n++)
        if (which >> n & 1) *(Word<W> *)to(n) = x[n];
}

template <int N, class To, class From>
static __device__ __forceinline__ void copy_words(u32 word, u32 which, To to, From from) {
    switch (word) {
    case 1: return copy_batch<1, N>(which, to, from);
    case 2: return copy_batch<2, N>(which, to, from);
    case 4: return copy_batch<4, N>(which, to, from);
    case 8: return copy_batch<8, N>(which, to, from);
    default: return copy_batch<16, N>(which, to, from);
    }
}

struct UnitSwapArgs {
    char *data;
    u64 pitch;         // bytes from row to row
    u32 side;          // of the square, in elements
    u32 across, pairs; // tiles across it, and pairs of them, the diagonal's included
    u32 tile;          // elements of a tile's side
    u32 row;           // bytes from row to row of a tile in shared memory; 0: elements are swapped in place
    u32 word;          // bytes of a word
    Divisor<u32> unit; // words of an element
};
static_assert(sizeof(UnitSwapArgs) == 56);

// First element of a tile, its rows, and the words of a row.
struct Corner {
    char *at;
    u32 rows, words;
};

static __device__ Corner corner_of(const UnitSwapArgs &a, u32 i, u32 j) {
    const u64 r = u64(i) * a.tile, c = u64(j) * a.tile;
    return {a.data + r * a.pitch + c * a.unit.divisor * a.word, u32(min(u64(a.tile), a.side - r)),
            u32(min(u64(a.tile), a.side - c)) * a.unit.divisor};
}

enum : u32 { kBatch = 2 };

// Calls `copy(r, k, which)` for the words of all rows: bit n of `which` stands for word k + 32 n of row r. A warp moves
// a row.
template <class Copy> static __device__ __forceinline__ void each_row(u32 rows, u32 words, Copy copy) {
    for (u32 r = threadIdx.x / kWarp; r < rows; r += blockDim.x / kWarp)
        for (u32 k = threadIdx.x % kWarp; k < words; k += kBatch * kWarp) {
            u32 which = 0;
#pragma unroll
            for (u32 n = 0; n < kBatch; n++) which |= u32(k + n * kWarp < words) << n;
            copy(r, k, which);
        }
}

static __device__ void load(char *tile, const Corner &source, const UnitSwapArgs &a) {
    const u32 step = kWarp * a.word;
    each_row(source.rows, source.words, [&](u32 r, u32 k, u32 which) {
        char *to = tile + r * a.row + k * a.word;
        const char *from = source.at + r * a.pitch + k * a.word;
        copy_words<kBatch>(a.word, which, [&](u32 n) { return to + n * step; }, [&](u32 n) { return from + n * step; });
    });
}

// Stores the mirror image of a tile.
static __device__ void store(const char *tile, const Corner &target, const UnitSwapArgs &a) {
    const u32 step = kWarp * a.word;
    each_row(target.rows, target.words, [&](u32 r, u32 k, u32 which) {
        char *to = target.at + r * a.pitch + k * a.word;
        u32 from[kBatch];
#pragma unroll
        for (u32 n = 0; n < kBatch; n++) {
            const u32 c = a.unit.div(k + n * kWarp), w = k + n * kWarp - c * a.unit.divisor;
            from[n] = c * a.row + (r * a.unit.divisor + w) * a.word;
        }
        copy_words<kBatch>(a.word, which, [&](u32 n) { return to + n * step; }, [&](u32 n) { return tile + from[n]; });
    });
}

// Swaps the elements of a square, several words each, with their mirror images: short ones by pairs of tiles in shared
// memory, long ones in place.
extern "C" __global__ void __launch_bounds__(256, 6) pitched_swap(const __grid_constant__ UnitSwapArgs a) {
    extern __shared__ uint4 shared[];
    u32 i, j;
    folded(blockIdx.x, a.across, i, j);
    const Corner upper = corner_of(a, i, j), lower = corner_of(a, j, i);
    if (a.row) {
        char *first = (char *)shared, *second = first + a.tile * a.row;
        load(first, upper, a);
        if (i != j) load(second, lower, a);
        __syncthreads();
        store(first, lower, a);
        if (i != j) store(second, upper, a);
        return;
    }
    for (u32 r = 0; r < upper.rows; r++)
        for (u32 k = threadIdx.x; k < upper.words; k += blockDim.x) {
            const u32 c = a.unit.div(k), w = k - c * a.unit.divisor;
            if (i == j && c <= r) continue;
            char *x = upper.at + r * a.pitch + u64(k) * a.word;
            char *y = lower.at + c * a.pitch + u64(r * a.unit.divisor + w) * a.word;
            copy_words<2>(a.word, 3, [&](u32 n) { return n ? y : x; }, [&](u32 n) { return n ? x : y; });
        }
}

struct UnitTurnArgs {
    char *to;
    const char *from;
    u64 words;                // all
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

// Lengths are counted in words. A window is a gap of the side that has fewer rows. Saved are the words of windows that
// are also in a gap of the other side, in order of place.
struct GapArgs {
    char *data;
    char *kept;
    u64 len;                       // of the matrix without gaps
    u64 windows, cols, pitch;      // of the side with fewer rows
    u64 other_cols;
    u64 total;                     // words saved
    Divisor<u64> other, other_gap; // the other side's pitch and its gap
    u32 word, pad;                 // bytes of a word

    // Number of words of the other side's gaps before an offset.
    __device__ u64 before(u64 offset) const {
        const u64 row = other.div(offset), within = offset - row * other.divisor;
        return row * other_gap.divisor + (within > other_cols ? within - other_cols : 0);
    }
    // Numbers of them before a window and in it.
    __device__ u64 first(u64 window) const { return before(window * pitch + cols); }
    __device__ u64 count(u64 window) const { return before(min((window + 1) * pitch, len)) - first(window); }
    // Offset of a word of the other side's gaps.
    __device__ u64 place(u64 number) const {
        const u64 row = other_gap.div(number);
        return row * other.divisor + other_cols + (number - row * other_gap.divisor);
    }
};
static_assert(sizeof(GapArgs) == 120);

enum : u32 { kGapThreads = 512 };

// Returns the sum of `x` over the threads up to this one, inclusive.
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

// Moves a block's share of the saved words: it counts through the windows up to its own.
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
            // Find the first window that ends behind word n.
            u32 which = 0;
#pragma unroll
            for (u32 step = kGapThreads / 2; step > 0; step /= 2)
                if (up_to[which + step - 1] <= n - passed) which += step;
            const u64 before = which ? up_to[which - 1] : 0;
            char *place = a.data + a.place(a.first(window + which) + (n - passed - before)) * a.word;
            char *kept = a.kept + n * a.word;
            char *to = Back ? place : kept, *from = Back ? kept : place;
            copy_words<1>(a.word, 1, [&](u32) { return to; }, [&](u32) { return from; });
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
