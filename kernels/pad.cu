// Moves rows in place from one pitch to another (thesis section 4.1.1). All lengths and offsets are in bytes.
#include "copy_run.cuh"

// Bytes of a row from which on all threads of a block move one row at a time.
enum : u64 { kLongRow = 4096 };

// Position of a run: its number among all runs, and its row and panel of the matrix.
struct RowAt {
    u64 number, row;
    u32 panel;
};

// Rows of `cols` bytes. Rows without gaps are passed as a single row of all bytes, unless `apart` is set.
struct Rows {
    u64 cols, pitch;

    // Returns the row of byte `k` of all rows.
    __device__ RowAt at(u64 k) const { return {k / cols, k / cols, 0}; }
    // Returns the offset of the row `ahead` rows after `first`.
    __device__ u64 start(const RowAt &first, u32 ahead) const { return (first.row + ahead) * pitch; }
    __device__ u64 before(u64 offset) const { return offset / pitch * cols + min(offset % pitch, cols); }
};
static_assert(sizeof(Rows) == 16);

// The first `cols` bytes of each panel of a row are a run. The kernel treats each run as a row.
// Panel p begins p * step + min(p, longer) * extra bytes after the start of a row.
struct PanelRows {
    u64 cols, pitch, step;
    u32 panels, longer, extra, pad;

    __device__ u64 begin(u32 p) const { return p * step + min(p, longer) * extra; }
    __device__ RowAt at(u64 k) const { return {k / cols, k / cols / panels, u32(k / cols % panels)}; }
    __device__ u64 start(const RowAt &first, u32 ahead) const {
        const u32 p = first.panel + ahead;
        return (first.row + p / panels) * pitch + begin(p % panels);
    }
    __device__ u64 before(u64 offset) const {
        const u64 row = offset / pitch, along = offset % pitch;
        u32 p = u32(min(along / step, u64(panels - 1)));
        while (begin(p) > along) p--;
        return (row * panels + p) * cols + min(along - begin(p), cols);
    }
};
static_assert(sizeof(PanelRows) == 40);

template <class Map> struct SlideArgs {
    char *data;
    u32 *flags; // number of blocks started, then one flag per block: 1 once it has been read
    u64 len;
    Map from, to;
    u32 block, blocks;
    u32 up;    // 1 if rows move to higher addresses
    u32 apart; // 1: rows in shared memory keep their source address modulo 16, with up to 32 more bytes per row
};
static_assert(sizeof(SlideArgs<Rows>) == 72);
static_assert(sizeof(SlideArgs<PanelRows>) == 120);

// Copies the part of every row within bytes start .. end between global memory and the shared memory at `held`. Byte
// `start` is in row `first` of `a`, and in row `source` of the source.
template <Side To, Side From, class Map>
static __device__ void copy_rows(const SlideArgs<Map> &all, const Map &a, const RowAt &first, const RowAt &source, char *held,
                                 u64 start, u64 end) {
    // A short row is copied by about one thread per vector: 4, 8, 16 or 32.
    u32 lanes = 4;
    while (lanes < kWarp && lanes * 16 < a.cols) lanes *= 2;
    if (a.cols >= kLongRow) lanes = blockDim.x;
    const u32 lane = threadIdx.x % lanes, worker = threadIdx.x / lanes, workers = blockDim.x / lanes;
    for (u32 ahead = worker; (first.number + ahead) * a.cols < end; ahead += workers) {
        const u64 begin = (first.number + ahead) * a.cols;
        const u64 low = max(start, begin), high = min(end, begin + a.cols), along = low - begin;
        char *place = all.data + a.start(first, ahead) + along, *shared = held + (low - start);
        if (all.apart)
            shared = held + (low - start + 15) / 16 * 16 + 32 * ahead + (u64(all.data + all.from.start(source, ahead) + along) & 15);
        copy_run<To, From>(To == kShared ? shared : place, From == kShared ? shared : place, u32(high - low), lane, lanes);
    }
}

// Data sliding. A thread block reads one block of the rows' bytes and sets its flag. It then waits for the flags of
// the blocks at its destination, and writes. Thread blocks take numbers as they start, in the order in which blocks
// free each other's destinations: awaited blocks have started, and wait only for earlier ones. Gaps are unchanged.
// Rows all move up, or all down. Only one thread does each 64-bit division: divisions by all threads took
// longer than the memory accesses.
//
// Order: all reads of a block, barrier, release of its flag; acquire of the flag, barrier, write. Only blocks
// that wait for this block's flag write its source range.
template <class Map> static __device__ void slide(const SlideArgs<Map> &a) {
    extern __shared__ uint4 shared[];
    __shared__ RowAt from, to;
    __shared__ u64 first, last; // blocks first .. last are stored at this block's destination
    __shared__ u32 number;
    char *held = (char *)shared;
    if (threadIdx.x == 0) {
        number = atomicAdd(a.flags, 1u);
        from = a.from.at(u64(a.up ? a.blocks - 1 - number : number) * a.block);
    }
    __syncthreads();
    const u32 b = a.up ? a.blocks - 1 - number : number;
    const u64 start = u64(b) * a.block, end = min(a.len, start + a.block);
    copy_rows<kShared, kMemory>(a, a.from, from, from, held, start, end);
    const auto dest = [&](const RowAt &row, u64 k) { return a.to.start(row, 0) + (k - row.number * a.to.cols); };
    if (threadIdx.x == 0) {
        to = a.to.at(start);
        first = a.from.before(dest(to, start)) / a.block;
        if (a.up) first = max(first, u64(b) + 1);
    } else if (threadIdx.x == kWarp) {
        last = (min(a.len, a.from.before(dest(a.to.at(end - 1), end - 1) + 1)) + a.block - 1) / a.block;
        if (!a.up) last = min(last, u64(b));
    }
    copy_async_wait();
    __syncthreads();
    u32 *read = a.flags + 1;
    if (threadIdx.x == 0) asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(__cvta_generic_to_global(read + b)) : "memory");
    for (u64 q = first + threadIdx.x; q < last; q += blockDim.x) {
        u32 seen;
        do {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(__cvta_generic_to_global(read + q)) : "memory");
        } while (!seen);
    }
    __syncthreads();
    copy_rows<kMemory, kShared>(a, a.to, to, from, held, start, end);
}

extern "C" __global__ void __launch_bounds__(512) pad_slide(const __grid_constant__ SlideArgs<Rows> a) { slide(a); }
extern "C" __global__ void __launch_bounds__(512) pad_slide_panels(const __grid_constant__ SlideArgs<PanelRows> a) { slide(a); }

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
