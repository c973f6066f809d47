// The gather pass of the aligned-slot route if a chunk fits a block: any shape with few columns. A block walks down a
// run of chunks, with three of them in shared memory: one is read while another is written, and the chunk after that
// has the ends of its slots. Forward reads rows and writes slots; backward reads slots and writes rows.
//
// Row r of the walk is row r mod (3 · chunk) in shared memory. Slots are columns there, so both directions use one
// layout. Rows that two runs share, the first rows and the last chunk are copied to `kept` before any write. The
// columns of the last chunk have different numbers of slots; the chunk is made from that copy.
#include <cooperative_groups.h>

#include "region.cuh"


struct RunArgs {
    char *data, *kept;
    SlotMap<u64> slots; // the index maps; its byte fields are not used
    u64 batch, matrix_bytes;
    u32 runs;           // one for each block
    u32 pitch;          // bytes from row to row in shared memory
    u32 table;          // bytes of the table `leads`
    u32 vectors;        // 1: rows are dense in shared memory, and chunks start at multiples of 16 bytes
    Divisor<u32> grain, per_column; // words of an element; slots of a column in a chunk
};
static_assert(sizeof(RunArgs) == 296);

using W = Word<WORD>;

enum : u32 { kHeld = 3, kThreads = 256 };

static __device__ u64 first_chunk(const RunArgs &a, u64 run) { return a.slots.last_chunk * run / a.runs; }
static __device__ u64 row_words(const RunArgs &a) { return a.slots.cols * a.grain.divisor; }
static __device__ u64 tail_row(const RunArgs &a) { return a.slots.last_chunk * a.slots.chunk; }

// Return the places in `kept`: the first slot - 1 rows of every run (backward: their elements that the gathered
// previous chunk has), then the last chunk.
static __device__ W *start_of(const RunArgs &a, u64 run) { return (W *)a.kept + run * (a.slots.slot - 1) * row_words(a); }
static __device__ W *tail(const RunArgs &a) { return start_of(a, a.runs); }

// Returns the index in the gathered matrix of element (i, j) of the matrix.
static __device__ u64 gathered(const RunArgs &a, u64 i, u64 j) {
    const u64 position = j * a.slots.rows + i, t = a.slots.slot_div.div(position);
    return a.slots.source(t) * a.slots.slot + (position - t * a.slots.slot);
}

template <bool Backward> static __device__ void keep(const RunArgs &a, const W *matrix) {
    const u64 thread = u64(blockIdx.x) * blockDim.x + threadIdx.x, threads = u64(gridDim.x) * blockDim.x;
    const u64 first = first_chunk(a, blockIdx.x) * a.slots.chunk, words = row_words(a), rows = a.slots.slot - 1;
    const u32 grain = a.grain.divisor;
    W *start = start_of(a, blockIdx.x);
    for (u64 e = threadIdx.x; e < rows * words; e += blockDim.x) {
        if (Backward) {
            // Reads down the columns, along the slots. Elements of this chunk or a later one are not used.
            const u64 element = e / grain, j = element / rows, k = element - j * rows, part = e - element * grain;
            start[k * words + j * grain + part] = matrix[gathered(a, first + k, j) * grain + part];
        } else {
            start[e] = matrix[first * words + e];
        }
    }
    for (u64 e = thread; e < a.slots.last_rows * words; e += threads) tail(a)[e] = matrix[tail_row(a) * words + e];
}

// Makes a block's share of the last chunk from the copies of that chunk and of the first rows. Backward skips elements
// that the last full chunk has.
template <bool Backward> static __device__ void make_tail(const RunArgs &a, W *matrix) {
    const SlotMap<u64> &s = a.slots;
    const u64 thread = u64(blockIdx.x) * blockDim.x + threadIdx.x, threads = u64(gridDim.x) * blockDim.x;
    const u64 words = row_words(a), first = tail_row(a) * s.cols, first_slot = s.last_chunk * s.per_chunk.divisor;
    const u32 grain = a.grain.divisor;
    for (u64 e = thread; e < s.last_rows * words; e += threads) {
        const u64 element = e / grain, part = e - element * grain;
        W *to = matrix + first * grain + e;
        if (Backward) {
            const u64 i = element / s.cols, at = gathered(a, tail_row(a) + i, element - i * s.cols);
            if (at >= first) *to = tail(a)[(at - first) * grain + part];
        } else {
            const u64 slot = s.slot_div.div(element);
            const u64 position = s.dest(first_slot + slot) * s.slot + (element - slot * s.slot);
            const u64 j = s.rows_div.div(position), i = position - j * s.rows;
            const W *row = i >= tail_row(a) ? tail(a) + (i - tail_row(a)) * words : start_of(a, 0) + i * words;
            *to = row[j * grain + part];
        }
    }
}

struct Chunks {
    const RunArgs &a;
    const u32 *leads; // per column, number of rows of a chunk before its first slot
    char *ring;
    u32 words, slab_bytes; // words of a row; bytes of a chunk

    __device__ char *slab(u32 n) const { return ring + n % kHeld * slab_bytes; }

    // Moves `count` rows of chunk n of the walk: `Load` to shared memory, else to global memory.
    template <bool Load> __device__ void rows(u32 n, W *from, u32 count) const {
        char *held = slab(n);
        if (a.vectors && count == a.slots.chunk) {
            uint4 *place = (uint4 *)from;
            for (u32 v = threadIdx.x; v < slab_bytes / 16; v += kThreads) {
                if (Load)
                    copy_async<16, kOnce>(held + v * 16, place + v);
                else
                    place[v] = ((const uint4 *)held)[v];
            }
            return;
        }
        Walk w(threadIdx.x, kThreads, words, a.pitch, WORD, words, 1);
#pragma unroll 4
        for (u32 e = threadIdx.x; e < count * words; e += kThreads) {
            move_word<WORD, Load>(held + w.a, from + w.b);
            w.advance();
        }
    }

    // Moves the slots of chunk n of the walk, which starts at `from`, with a warp or part of it per slot.
    template <bool Load> __device__ void slots(u32 n, W *from) const {
        const u32 slot = u32(a.slots.slot), grain = a.grain.divisor, slot_words = slot * grain;
        const u32 lanes = slot_words >= kWarp ? kWarp : 1u << (32 - __clz(slot_words - 1));
        const u32 lane = threadIdx.x % lanes, count = u32(a.slots.per_chunk.divisor);
        char *here = slab(n), *end = ring + kHeld * slab_bytes;
#pragma unroll 4
        for (u32 q = threadIdx.x / lanes; q < count; q += kThreads / lanes) {
            const u32 c = a.per_column.div(q), p = q - c * a.per_column.divisor;
            W *place = from + q * slot_words;
            char *first = here + (leads[c] + p * slot) * a.pitch + c * grain * WORD;
#pragma unroll 2
            for (u32 k = lane; k < slot_words; k += lanes) {
                const u32 element = grain == 1 ? k : a.grain.div(k);
                char *held = first + element * a.pitch + (k - element * grain) * WORD;
                if (held >= end) held -= kHeld * slab_bytes;
                move_word<WORD, Load>(held, place + k);
            }
        }
    }

    // Moves the elements in the first rows of chunk n that belong to slots of the previous chunk.
    template <bool Load> __device__ void ends(u32 n, W *place) const {
        for (u32 e = threadIdx.x; e < (a.slots.slot - 1) * words; e += kThreads) {
            const u32 r = e / words, w = e - r * words;
            W *held = (W *)(slab(n) + r * a.pitch + w * WORD);
            if (r >= leads[w / a.grain.divisor]) continue;
            if (Load)
                *held = place[e];
            else
                place[e] = *held;
        }
    }
};

template <bool Backward> static __device__ void walk(const RunArgs &a, const Chunks &chip, W *matrix) {
    const u64 first = first_chunk(a, blockIdx.x), words = row_words(a), chunk_words = a.slots.chunk * words;
    const u32 chunks = u32(first_chunk(a, blockIdx.x + 1) - first);
    if (chunks == 0) return;
    W *top = matrix + first * chunk_words;
    // Loads chunk n of the run. Forward, chunk `chunks` consists of the slot - 1 rows after the run.
    const auto load = [&](u32 n) {
        W *from = top + n * chunk_words;
        if (n < chunks) {
            if (Backward)
                chip.slots<true>(n, from);
            else
                chip.rows<true>(n, from, u32(a.slots.chunk));
        } else if (!Backward && n == chunks) {
            chip.rows<true>(n, blockIdx.x + 1 < a.runs ? start_of(a, blockIdx.x + 1) : tail(a), u32(a.slots.slot - 1));
        }
        copy_async_commit();
    };
    // Chunks loaded ahead of the one stored. Backward loads fewer, since its slots extend into the next chunk.
    constexpr u32 kAhead = Backward ? 1 : 2;
    if (Backward) chip.ends<true>(0, start_of(a, blockIdx.x));
    for (u32 n = 0; n < kAhead; n++) load(n);
    for (u32 n = 0; n < chunks; n++) {
        load(n + kAhead);
        copy_async_wait_but_last();
        __syncthreads();
        if (Backward)
            chip.rows<false>(n, top + n * chunk_words, u32(a.slots.chunk));
        else
            chip.slots<false>(n, top + n * chunk_words);
        __syncthreads();
    }
    if (Backward && blockIdx.x + 1 == a.runs) chip.ends<false>(chunks, top + chunks * chunk_words);
}

template <bool Backward> static __device__ void all(const RunArgs &a) {
    extern __shared__ uint4 shared[];
    const auto grid = cooperative_groups::this_grid();
    const SlotMap<u64> &s = a.slots;
    u32 *leads = (u32 *)shared;
    const Chunks chip{a, leads, (char *)shared + a.table, u32(row_words(a)), u32(s.chunk) * a.pitch};
    if (s.last_chunk > 0)
        for (u64 c = threadIdx.x; c < s.cols; c += kThreads) leads[c] = u32(s.up(c * s.rows) * s.slot - c * s.rows);
    for (u64 m = 0; m < a.batch; m++) {
        W *matrix = (W *)(a.data + m * a.matrix_bytes);
        keep<Backward>(a, matrix);
        grid.sync();
        make_tail<Backward>(a, matrix);
        walk<Backward>(a, chip, matrix);
        grid.sync();
    }
}

extern "C" __global__ void __launch_bounds__(kThreads, 4) slot_runs(const __grid_constant__ RunArgs a) { all<false>(a); }
extern "C" __global__ void __launch_bounds__(kThreads, 4) slot_runs_back(const __grid_constant__ RunArgs a) { all<true>(a); }
