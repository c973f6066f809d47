// Swaps the elements of a square with their mirror images, in place: elements of several words, rows a pitch apart.
#include "index.cuh"

struct UnitSwapArgs {
    char *data;
    u64 pitch;         // bytes from row to row
    u32 side;          // of the square, in elements
    u32 across, pairs; // tiles across the square; pairs of tiles, including tiles of the diagonal
    u32 tile;          // side of a tile, in elements
    u32 row;           // bytes from row to row of a tile in shared memory; 0: elements are swapped in place
    u32 pad;
    Divisor<u32> unit; // words of an element
};
static_assert(sizeof(UnitSwapArgs) == 56);

using W = Word<WORD>;

// A tile: address of its first element, number of rows, and words of a row.
struct Corner {
    char *at;
    u32 rows, words;
};

static __device__ Corner corner_of(const UnitSwapArgs &a, u32 i, u32 j) {
    const u64 r = u64(i) * a.tile, c = u64(j) * a.tile;
    return {a.data + r * a.pitch + c * a.unit.divisor * WORD, u32(min(u64(a.tile), a.side - r)),
            u32(min(u64(a.tile), a.side - c)) * a.unit.divisor};
}

// Loads a tile into shared memory. Each warp loads whole rows.
static __device__ void load(char *tile, const Corner &source, const UnitSwapArgs &a) {
    for (u32 r = threadIdx.x / kWarp; r < source.rows; r += blockDim.x / kWarp)
        for (u32 k = threadIdx.x % kWarp; k < source.words; k += kWarp)
            *(W *)(tile + r * a.row + k * WORD) = *(const W *)(source.at + r * a.pitch + k * WORD);
}

// Stores a tile's transpose at its mirror image.
static __device__ void store(const char *tile, const Corner &target, const UnitSwapArgs &a) {
    for (u32 r = threadIdx.x / kWarp; r < target.rows; r += blockDim.x / kWarp)
        for (u32 k = threadIdx.x % kWarp; k < target.words; k += kWarp) {
            const u32 c = a.unit.div(k), w = k - c * a.unit.divisor;
            *(W *)(target.at + r * a.pitch + k * WORD) = *(const W *)(tile + c * a.row + (r * a.unit.divisor + w) * WORD);
        }
}

// Swaps short elements by pairs of tiles in shared memory, and long ones in place.
extern "C" __global__ void __launch_bounds__(256) pitched_swap(const __grid_constant__ UnitSwapArgs a) {
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
            W *x = (W *)(upper.at + r * a.pitch) + k, *y = (W *)(lower.at + c * a.pitch) + r * a.unit.divisor + w;
            const W carried = *x;
            *x = *y, *y = carried;
        }
}
