// Permutes axes by an involution of any rank: swaps pairs of tiles. `turntile_perm::TilePairs` has the index map, and
// defines rows, columns, turned digits and squares.
#include "index.cuh"
#include "micro.cuh"

// A digit of a number: its stride in words, and the stride of the digit that it is swapped with.
struct TileDigit {
    u32 extent, before; // number of values; product of the extents of the digits before it
    u64 stride, partner;
};
static_assert(sizeof(TileDigit) == 24);

struct SwapAxesArgs {
    char *data;
    u64 bytes;                         // bytes of the array
    u32 rows, cols;                    // sides of a whole tile, in words
    u32 piece, extent, parts, stays;   // split axis: values in a tile, values, tiles; 1 if the axis is not permuted
    u32 across, blocks, group;         // tiles across a square; blocks of a square; tiles across a group
    u32 row;                           // granules or vectors of a tile's row in shared memory
    u32 turned, within, pairs, fixed;  // number of digits of each kind, stored in this order
    TileDigit digits[16];
};
static_assert(sizeof(SwapAxesArgs) == 456);

struct Tile {
    char *at;
    u32 rows, cols;
};

// Finds the tiles that a block swaps: row y, column x and row x, column y of a square of tiles. Returns `false` if the
// block has none. Each lane computes one digit. The order of tiles is that of `tiles.cu`.
static __device__ bool tiles_of(const SwapAxesArgs &a, Tile (&tiles)[2], bool &one) {
    const u32 number = blockIdx.x % a.blocks, square = blockIdx.x / a.blocks, each = a.group * a.group;
    u32 y, x;
    folded(number / each, (a.across + a.group - 1) / a.group, y, x);
    y = y * a.group + number % each / a.group;
    x = x * a.group + number % a.group;
    if (y > x || x >= a.across) return false;
    one = x == y;
    const u32 lane = threadIdx.x % kWarp;
    u64 there = 0, back = 0;
    if (lane < a.pairs + a.fixed) {
        const TileDigit &d = a.digits[a.turned + a.within + lane];
        if (lane < a.pairs) {
            const u64 dx = x / d.before % d.extent, dy = y / d.before % d.extent;
            there = dx * d.stride + dy * d.partner;
            back = dy * d.stride + dx * d.partner;
        } else {
            there = back = u64(square / d.before % d.extent) * d.stride;
        }
    }
    for (u32 apart = kWarp / 2; apart > 0; apart /= 2) {
        there += __shfl_xor_sync(kWholeWarp, there, apart);
        back += __shfl_xor_sync(kWholeWarp, back, apart);
    }
    const auto left = [&](u32 n) { return min(a.piece, a.extent - n % a.parts * a.piece); };
    const u32 tall[2] = {a.stays ? a.piece : left(y), a.stays ? a.piece : left(x)};
    const u32 wide[2] = {left(a.stays ? square : x), left(a.stays ? square : y)};
    for (u32 k = 0; k < 2; k++)
        tiles[k] = {a.data + (k ? back : there) * WORD, a.rows * tall[k] / a.piece, a.cols * wide[k] / a.piece};
    return true;
}

// Computes the offsets of a tile's rows, in bytes from the first row.
static __device__ void row_offsets(const SwapAxesArgs &a, u64 *offsets) {
    for (u32 r = threadIdx.x; r < a.rows; r += blockDim.x) {
        u64 at = 0;
        for (u32 k = 0; k < a.turned; k++) at += r / a.digits[k].before % a.digits[k].extent * a.digits[k].partner;
        offsets[r] = at * WORD;
    }
}

// Swaps tiles whose rows are whole vectors and whose columns are the rows of the other tile. Transposes in registers.
extern "C" __global__ void __launch_bounds__(512) swap_axes_vectors(const __grid_constant__ SwapAxesArgs a) {
    constexpr u32 E = kMicro<WORD>, V = kVector<WORD>;
    using Vec = Word<V>;
    extern __shared__ uint4 shared[];
    Tile tiles[2];
    bool one;
    if (!tiles_of(a, tiles, one)) return;
    u64 *offsets = (u64 *)shared;
    row_offsets(a, offsets);
    __syncthreads();
    // A vector of padding after every E rows: lanes that write down a column use different banks.
    Vec *held = (Vec *)(offsets + (a.rows + 1) / 2 * 2);
    const u32 size = a.cols * a.row + a.cols / E;
#pragma unroll
    for (u32 k = 0; k < 2; k++) {
        if (k && one) break;
        const Tile &from = tiles[k];
        const u32 across = from.cols / E;
        for (u32 n = threadIdx.x; n < from.rows / E * across; n += blockDim.x) {
            const u32 p = n / across, q = n - p * across;
            Micro<WORD> x;
#pragma unroll
            for (u32 i = 0; i < E; i++) x.row[i] = *(const Vec *)(from.at + offsets[p * E + i] + q * V);
            x.transpose();
#pragma unroll
            for (u32 i = 0; i < E; i++) held[k * size + (q * E + i) * a.row + q + p] = x.row[i];
        }
    }
    __syncthreads();
#pragma unroll
    for (u32 k = 0; k < 2; k++) {
        if (k && one) break;
        const Tile &to = tiles[1 - k];
        const u32 across = to.cols / E;
        for (u32 n = threadIdx.x; n < to.rows * across; n += blockDim.x) {
            const u32 r = n / across, g = n - r * across;
            *(Vec *)(to.at + offsets[r] + g * V) = held[k * size + r * a.row + r / E + g];
        }
    }
}

// Swaps tiles with rows of any length and alignment, in granules of 16 bytes. In shared memory a row keeps its address
// modulo 16, as in `granules.cuh`.
extern "C" __global__ void __launch_bounds__(512) swap_axes_granules(const __grid_constant__ SwapAxesArgs a) {
    constexpr u32 kGranule = 16, E = kGranule / WORD, kLanes = 8;
    using W = Word<WORD>;
    extern __shared__ uint4 shared[];
    Tile tiles[2];
    bool one;
    if (!tiles_of(a, tiles, one)) return;
    // Offset of each row and the shift of its elements in bytes; offset of each column of a tile in shared memory.
    u64 *offsets = (u64 *)shared;
    u32 *shifts = (u32 *)(offsets + a.rows), *places = shifts + a.rows;
    const u32 tables = (a.rows * 12 + 2 * a.cols * 4 + kGranule - 1) / kGranule;
    char *held = (char *)(shared + tables);
    const u32 size = (a.rows * a.row + a.rows / E + 1) * kGranule;
    const auto begin = [&](u32 r) { return (r * a.row + r / E) * kGranule; };
    row_offsets(a, offsets);
    for (u32 r = threadIdx.x; r < a.rows; r += blockDim.x) {
        u32 shift = 0;
        for (u32 k = 0; k < a.turned; k++)
            shift += r / a.digits[k].before % a.digits[k].extent * u32(a.digits[k].stride);
        shifts[r] = shift * WORD;
    }
    __syncthreads();
    const u32 lane = threadIdx.x % kLanes, warp_rows = blockDim.x / kLanes;
    const char *end = a.data + a.bytes;
#pragma unroll
    for (u32 k = 0; k < 2; k++) {
        if (k && one) break;
        const Tile &tile = tiles[k];
        for (u32 c = threadIdx.x; c < tiles[1 - k].cols; c += blockDim.x) {
            u32 r = 0, from = 0;
            for (u32 d = 0; d < a.turned; d++)
                r += c / u32(a.digits[d].stride) % a.digits[d].extent * a.digits[d].before;
            for (u32 d = a.turned; d < a.turned + a.within; d++)
                from += c / u32(a.digits[d].stride) % a.digits[d].extent * u32(a.digits[d].partner);
            places[k * a.cols + c] = begin(r) + u32(u64(tile.at + offsets[r]) % kGranule) + from * WORD;
        }
        for (u32 r = threadIdx.x / kLanes; r < tile.rows; r += warp_rows) {
            const char *from = tile.at + offsets[r];
            const u32 before = u64(from) % kGranule, stop = before + tile.cols * WORD;
            char *to = held + k * size + begin(r);
            from -= before;
#pragma unroll 4
            for (u32 at = lane * kGranule; at < stop; at += kLanes * kGranule) {
                // Words of other tiles are read too and not used. Memory beyond the array is not read.
                if (from + at >= a.data && from + at + kGranule <= end) {
                    copy_async<16>(to + at, from + at);
                } else {
                    for (u32 e = at; e < at + kGranule; e += WORD)
                        if (e >= before && e < stop) *(W *)(to + e) = *(const W *)(from + e);
                }
            }
        }
    }
    copy_async_wait();
    __syncthreads();
#pragma unroll
    for (u32 k = 0; k < 2; k++) {
        if (k && one) break;
        const Tile &tile = tiles[1 - k];
        const u32 *place = places + k * a.cols;
        for (u32 r = threadIdx.x / kLanes; r < tile.rows; r += warp_rows) {
            char *to = tile.at + offsets[r];
            const char *column = held + k * size + shifts[r];
            const auto word = [&](u32 c) { return *(const W *)(column + place[c]); };
            const u32 head = min(tile.cols, u32(-u64(to)) % kGranule / WORD), tail = (tile.cols - head) % E;
#pragma unroll 2
            for (u32 c = head + lane * E; c + E <= tile.cols; c += kLanes * E) {
                union {
                    W words[E];
                    uint4 whole;
                } x;
#pragma unroll
                for (u32 e = 0; e < E; e++) x.words[e] = word(c + e);
                *(uint4 *)(to + c * WORD) = x.whole;
            }
            // Words before the first whole granule and after the last, one per lane.
#pragma unroll
            for (u32 l = lane; l < 2 * (E - 1); l += kLanes) {
                const bool in_head = l < E - 1;
                const u32 n = in_head ? l : l - (E - 1);
                if (n >= (in_head ? head : tail)) continue;
                const u32 c = in_head ? n : tile.cols - tail + n;
                *(W *)(to + c * WORD) = word(c);
            }
        }
    }
}
