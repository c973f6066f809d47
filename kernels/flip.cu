// Reverses axes in place: pieces of an array swap with their mirror images, through shared memory.
//
// The array is [heads][rows][units][unit]: units, which are runs of bytes, are reversed, and heads are indices of further
// axes, some of them reversed. A piece is some whole rows of a head, some units of a row, or a part of one unit. `lanes`
// threads read a piece and its image, wait, and write each to the place of the other. Whole rows of a head that is its
// own image are their own images too.
//
// In shared memory a piece keeps its address modulo 16, so that whole granules are read. The granules at both ends of a
// piece also contain bytes of neighbouring pieces, which another block may be writing. They are read but not used.
#include "copy_run.cuh"
#include "index.cuh"

enum : u32 { kThreads = 256, kGranule = 16 };

struct FlipArgs {
    char *data;
    u64 bytes;                      // of the array
    u64 pieces;                     // of the heads in the first half of the first reversed axis
    u64 rows, units, unit_bytes;    // rows of a head, units of a row, bytes of a unit
    u32 piece_rows, piece_units, piece_bytes; // rows, units and bytes of a unit in a piece
    u32 lanes, held, pad;           // threads per piece; bytes of shared memory for it, and for its image
    Divisor<u64> deep, along, down; // pieces of a unit, of a row, of the rows of a head
    Divisor<u64> half;              // heads of one index of the axes before the first reversed one, in its first half
    u64 skipped;                    // heads in its other half
    Divisor<u32> of_row, of_unit;   // bytes of a row and of a unit, limited to more than a piece
    Axes<u64> mirror;               // from heads to their images
};
static_assert(sizeof(FlipArgs) == 512);

// Copies `bytes` bytes at `from` to `to`, which is the same address modulo 16 in shared memory, asynchronously.
static __device__ void load(const FlipArgs &a, char *to, const char *from, u32 bytes, u32 lane) {
    const u32 before = u64(from) % kGranule, stop = before + bytes;
    const char *end = a.data + a.bytes;
    from -= before, to -= before;
#pragma unroll 4
    for (u32 at = lane * kGranule; at < stop; at += a.lanes * kGranule) {
        // Memory before and after the array may be unmapped.
        if (from + at >= a.data && from + at + kGranule <= end) {
            copy_async<kGranule, kOnce>(to + at, from + at);
        } else {
            for (u32 k = at; k < at + kGranule; k += WORD)
                if (k >= before && k < stop) *(Word<WORD> *)(to + k) = *(const Word<WORD> *)(from + k);
        }
    }
}

// Returns 16 bytes of shared memory at any address.
static __device__ uint4 load_any(const char *at) {
    const u32 skew = u64(at) % kGranule;
    const uint4 *whole = (const uint4 *)(at - skew);
    return skew == 0 ? whole[0] : across(whole[0], whole[1], skew);
}

// Returns the words of a vector in reverse order.
static __device__ uint4 reversed(uint4 v) {
    if constexpr (WORD >= 8) return make_uint4(v.z, v.w, v.x, v.y);
    const auto turn = [](u32 x) { return __byte_perm(x, 0, WORD == 1 ? 0x0123 : WORD == 2 ? 0x1032 : 0x3210); };
    return make_uint4(turn(v.w), turn(v.z), turn(v.y), turn(v.x));
}

// Writes the mirror image of the piece in shared memory at `held` to `to`. Rows have `row` bytes, units `unit`.
static __device__ void store(const FlipArgs &a, char *to, const char *held, u32 bytes, u32 row, u32 unit, u32 lane) {
    constexpr u32 E = kGranule / WORD;
    using W = Word<WORD>;
    const u32 before = u64(to) % kGranule;
    for (u32 at = lane * kGranule; at < before + bytes; at += a.lanes * kGranule) {
        const u32 begin = max(at, before) - before, end = min(at + kGranule - before, bytes);
        const u32 rows = a.of_row.div(begin), within = begin - rows * a.of_row.divisor;
        const u32 number = a.of_unit.div(within), k = within - number * a.of_unit.divisor;
        const bool whole = end - begin == kGranule;
        const char *from = held + (rows + 1) * row - (number + 1) * unit + k;
        if (whole && k + kGranule <= unit) {
            *(uint4 *)(to + begin) = load_any(from);
        } else if (WORD < 16 && whole && unit == WORD && within + kGranule <= row) {
            *(uint4 *)(to + begin) = reversed(load_any(from + WORD - kGranule));
        } else {
            u32 of_unit = unit - k, of_row = row - within;
            const auto next = [&] {
                const W word = *(const W *)from;
                from += WORD, of_unit -= WORD, of_row -= WORD;
                from += (of_row == 0 ? 2 * row : 0) - (of_unit == 0 ? 2 * u64(unit) : 0);
                of_unit = of_unit == 0 ? unit : of_unit;
                of_row = of_row == 0 ? row : of_row;
                return word;
            };
            if (whole) {
                union {
                    W words[E];
                    uint4 vector;
                } x;
#pragma unroll
                for (u32 e = 0; e < E; e++) x.words[e] = next();
                *(uint4 *)(to + begin) = x.vector;
            } else {
                for (u32 b = begin; b < end; b += WORD) *(W *)(to + b) = next();
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(kThreads) flip(const __grid_constant__ FlipArgs a) {
    extern __shared__ uint4 shared[];
    const u32 lane = threadIdx.x % a.lanes, slot = threadIdx.x / a.lanes;
    const u64 piece = u64(blockIdx.x) * (kThreads / a.lanes) + slot;
    const u64 in_row = a.deep.div(piece), in_head = a.along.div(in_row), number = a.down.div(in_head);
    const u64 byte = (piece - in_row * a.deep.divisor) * a.piece_bytes;
    const u64 unit = (in_row - in_head * a.along.divisor) * a.piece_units;
    const u64 row = (in_head - number * a.down.divisor) * a.piece_rows;
    const u64 head = number + a.half.div(number) * a.skipped, image = a.mirror.succ(head);
    // In a head that is its own image, the first half of each row swaps with the other, or whole rows with themselves.
    const bool own = head == image, one = own && a.piece_units == a.units;
    const u64 end = own && !one ? a.units / 2 : a.units;
    const bool real = piece < a.pieces && head <= image && unit < end;

    const u32 units = u32(min(u64(a.piece_units), end - unit));
    const u32 unit_bytes = u32(min(u64(a.piece_bytes), a.unit_bytes - byte)), row_bytes = units * unit_bytes;
    const u32 bytes = u32(min(u64(a.piece_rows), a.rows - row)) * row_bytes;
    char *first = a.data + ((head * a.rows + row) * a.units + unit) * a.unit_bytes + byte;
    char *second = a.data + ((image * a.rows + row) * a.units + a.units - unit - units) * a.unit_bytes + byte;
    char *held = (char *)shared + 2 * slot * a.held;
    char *upper = held + u64(first) % kGranule, *lower = held + a.held + u64(second) % kGranule;
    if (real) {
        load(a, upper, first, bytes, lane);
        if (!one) load(a, lower, second, bytes, lane);
    }
    copy_async_wait();
    __syncthreads();
    if (real) {
        store(a, second, upper, bytes, row_bytes, unit_bytes, lane);
        if (!one) store(a, first, lower, bytes, row_bytes, unit_bytes, lane);
    }
}
