// Moves rows in place from one pitch to another (thesis section 4.1.1). All lengths and offsets are in bytes.
#include "word.cuh"

enum Side { kMemory, kShared };

// Returns the 16 bytes that begin `skew` bytes into the 32 bytes of `a` and `b`.
static __device__ __forceinline__ uint4 across(uint4 a, uint4 b, u32 skew) {
    const bool two = skew & 8, one = skew & 4;
    const u32 w[6] = {two ? a.z : a.x, two ? a.w : a.y, two ? b.x : a.z, two ? b.y : a.w, two ? b.z : b.x, two ? b.w : b.y};
    u32 x[5];
#pragma unroll
    for (int k = 0; k < 5; k++) x[k] = one ? w[k + 1] : w[k];
#pragma unroll
    for (int k = 0; k < 4; k++) x[k] = __funnelshift_r(x[k], x[k + 1], skew % 4 * 8);
    return make_uint4(x[0], x[1], x[2], x[3]);
}

// Copies `bytes` bytes between global or shared memory at any alignment; the calling thread is `lane` of `lanes`.
// Whole 16-byte vectors are written, and assembled by shifts if source and destination differ in alignment.
// The counter type N has 32 bits if the bytes fit in shared memory.
template <Side To, Side From, class N = u32>
static __device__ __forceinline__ void copy_run(char *to, const char *from, N bytes, u32 lane, u32 lanes) {
    const N head = min(bytes, N(-i64(to) & 15));
    for (N k = lane; k < head; k += lanes) to[k] = from[k];
    to += head, from += head;
    const N left = bytes - head, vectors = left / 16;
    const u32 skew = u64(from) & 15;
    if (skew == 0) {
#pragma unroll 4
        for (N v = lane; v < vectors; v += lanes) {
            if constexpr (To == kShared)
                copy_async<16>(to + v * 16, from + v * 16);
            else
                ((uint4 *)to)[v] = ((const uint4 *)from)[v];
        }
    } else if (From == kShared) {
        // 4-byte loads would have 4-way bank conflicts. Both vectors contain bytes of this run: shared memory has them.
        const uint4 *whole = (const uint4 *)(from - skew);
#pragma unroll 2
        for (N v = lane; v < vectors; v += lanes) ((uint4 *)to)[v] = across(whole[v], whole[v + 1], skew);
    } else if (skew % 4 == 0) {
#pragma unroll 4
        for (N v = lane; v < vectors; v += lanes) {
            const u32 *w = (const u32 *)(from + v * 16);
            ((uint4 *)to)[v] = make_uint4(w[0], w[1], w[2], w[3]);
        }
    } else {
        // The 4-byte words at both ends may contain bytes that other blocks write: end vectors are copied by byte.
        for (N v = lane; v < vectors; v += lanes) {
            if (v == 0 || v + 1 == vectors) {
                for (u32 k = 0; k < 16; k++) to[v * 16 + k] = from[v * 16 + k];
            } else {
                const u32 *w = (const u32 *)(from + v * 16 - skew % 4);
                u32 x[5];
#pragma unroll
                for (int k = 0; k < 5; k++) x[k] = w[k];
#pragma unroll
                for (int k = 0; k < 4; k++) x[k] = __funnelshift_r(x[k], x[k + 1], skew % 4 * 8);
                ((uint4 *)to)[v] = make_uint4(x[0], x[1], x[2], x[3]);
            }
        }
    }
    for (N k = vectors * 16 + lane; k < left; k += lanes) to[k] = from[k];
}

// Bytes of a row from which on all threads of a block move one row at a time.
enum : u64 { kLongRow = 4096 };

// Rows of `cols` bytes. Rows without gaps are passed as a single row of all bytes, unless `apart` is set.
struct Rows {
    u64 cols, pitch;

    __device__ u64 offset(u64 k) const { return k / cols * pitch + k % cols; }
    __device__ u64 before(u64 offset) const { return offset / pitch * cols + min(offset % pitch, cols); }
};
static_assert(sizeof(Rows) == 16);

struct SlideArgs {
    char *data;
    u32 *flags; // number of blocks started, then one flag per block: 1 once it has been read
    u64 len;
    Rows from, to;
    u32 block, blocks;
    u32 up;    // 1 if rows move to higher addresses
    u32 apart; // 1: rows in shared memory keep their source address modulo 16, with up to 32 more bytes per row
};
static_assert(sizeof(SlideArgs) == 72);

// Copies the part of every row within bytes start .. end between global memory and the shared memory at `held`.
template <Side To, Side From>
static __device__ void copy_rows(const SlideArgs &all, const Rows &a, char *held, u64 start, u64 end) {
    // A short row is copied by about one thread per vector: 4, 8, 16 or 32.
    u32 lanes = 4;
    while (lanes < kWarp && lanes * 16 < a.cols) lanes *= 2;
    if (a.cols >= kLongRow) lanes = blockDim.x;
    const u32 lane = threadIdx.x % lanes, worker = threadIdx.x / lanes, workers = blockDim.x / lanes;
    const u64 first = start / a.cols;
    for (u64 r = first + worker; r * a.cols < end; r += workers) {
        const u64 low = max(start, r * a.cols), high = min(end, (r + 1) * a.cols), along = low - r * a.cols;
        char *place = all.data + r * a.pitch + along, *shared = held + (low - start);
        if (all.apart)
            shared = held + (low - start + 15) / 16 * 16 + 32 * (r - first) + (u64(all.data + r * all.from.pitch + along) & 15);
        copy_run<To, From>(To == kShared ? shared : place, From == kShared ? shared : place, u32(high - low), lane, lanes);
    }
}

// Data sliding. A thread block reads one block of the rows' bytes and sets its flag. It then waits for the flags of
// the blocks at its destination, and writes. Thread blocks take numbers as they start, in the order in which blocks
// free each other's destinations: awaited blocks have started, and wait only for earlier ones. Gaps are unchanged.
// Rows all move up, or all down.
//
// Order: all reads of a block, barrier, release of its flag; acquire of the flag, barrier, write. Only blocks
// that wait for this block's flag write its source range.
extern "C" __global__ void __launch_bounds__(512) pad_slide(const __grid_constant__ SlideArgs a) {
    extern __shared__ uint4 shared[];
    __shared__ u32 number;
    char *held = (char *)shared;
    if (threadIdx.x == 0) number = atomicAdd(a.flags, 1u);
    __syncthreads();
    const u32 b = a.up ? a.blocks - 1 - number : number;
    const u64 start = u64(b) * a.block, end = min(a.len, start + a.block);
    copy_rows<kShared, kMemory>(a, a.from, held, start, end);
    copy_async_wait();
    __syncthreads();
    u32 *read = a.flags + 1;
    if (threadIdx.x == 0) asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(__cvta_generic_to_global(read + b)) : "memory");
    // Blocks first .. last are stored at this block's destination.
    u64 first = a.from.before(a.to.offset(start)) / a.block;
    u64 last = (min(a.len, a.from.before(a.to.offset(end - 1) + 1)) + a.block - 1) / a.block;
    if (a.up)
        first = max(first, u64(b) + 1);
    else
        last = min(last, u64(b));
    for (u64 q = first + threadIdx.x; q < last; q += blockDim.x) {
        u32 seen;
        do {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(__cvta_generic_to_global(read + q)) : "memory");
        } while (!seen);
    }
    __syncthreads();
    copy_rows<kMemory, kShared>(a, a.to, held, start, end);
}

struct SpreadArgs {
    char *to;
    const char *from;
    u64 rows, cols, pitch;
};
static_assert(sizeof(SpreadArgs) == 40);

// Copies dense rows to another buffer, where they start `pitch` bytes apart.
extern "C" __global__ void __launch_bounds__(512) pad_spread(const __grid_constant__ SpreadArgs a) {
    const u32 lanes = a.cols >= 4096 ? blockDim.x : kWarp;
    const u32 lane = threadIdx.x % lanes, each = blockDim.x / lanes;
    for (u64 r = u64(blockIdx.x) * each + threadIdx.x / lanes; r < a.rows; r += u64(gridDim.x) * each)
        copy_run<kMemory, kMemory, u64>(a.to + r * a.pitch, a.from + r * a.cols, a.cols, lane, lanes);
}

struct RowsArgs {
    char *data;
    u64 first, count; // rows
    u64 cols;
    u64 from, to; // pitch in bytes before and after
    u32 held, pad; // bytes that fit in shared memory
};
static_assert(sizeof(RowsArgs) == 56);

// Moves rows whose sources overlap no destination, one thread block per row.
extern "C" __global__ void __launch_bounds__(512) pad_rows_together(const __grid_constant__ RowsArgs a) {
    const u64 r = a.first + blockIdx.x;
    copy_run<kMemory, kMemory, u64>(a.data + r * a.to, a.data + r * a.from, a.cols, threadIdx.x, blockDim.x);
}

// Moves rows one by one with one thread block. Each piece is read into shared memory before it is written; pieces
// follow the order in which they free each other's destinations.
extern "C" __global__ void __launch_bounds__(512) pad_rows_alone(const __grid_constant__ RowsArgs a) {
    extern __shared__ uint4 shared[];
    char *held = (char *)shared;
    const u64 pieces = (a.cols + a.held - 1) / a.held;
    for (u64 k = 0; k < a.count * pieces; k++) {
        const u64 turn = a.to < a.from ? k : a.count * pieces - 1 - k;
        const u64 r = a.first + turn / pieces, at = turn % pieces * a.held, bytes = min(u64(a.held), a.cols - at);
        copy_run<kShared, kMemory>(held, a.data + r * a.from + at, u32(bytes), threadIdx.x, blockDim.x);
        copy_async_wait();
        __syncthreads();
        copy_run<kMemory, kShared>(a.data + r * a.to + at, held, u32(bytes), threadIdx.x, blockDim.x);
        __syncthreads();
    }
}
