// The sources' other movers of super-elements: by a block and its barriers (thesis Algorithm 2), through shared memory
// whatever their length, with tiles transposed on the way (4.8.3, "+fusion"), and flags on chip in every layout (4.5.1).
#include "mover.cuh"

struct MovedArgs {
    char *data;
    u32 *flags; // a bit a super-element
    u32 units;
    u32 lanes, vectors;
    u32 rows, cols; // of a super-element that is a tile transposed on the way, else 1
    u32 pad;
    SmallSwap map;
};
static_assert(sizeof(MovedArgs) == 64);

extern "C" __global__ void __launch_bounds__(256) moved_clear(const __grid_constant__ MovedArgs a) {
    for (u32 w = blockIdx.x * blockDim.x + threadIdx.x; w < (a.units + 31) / 32; w += gridDim.x * blockDim.x)
        a.flags[w] = 0;
}

// Puts super-elements down transposed, words of V bytes as elements.
template <int V> struct Turning : InShared {
    u32 rows, cols;

    __device__ Turning(const MovedArgs &a, char *both)
        : InShared(V, a.vectors, a.lanes, both), rows(a.rows), cols(a.cols) {}

    __device__ void put(char *place) const {
        for (u32 v = sub; v < vectors; v += lanes) {
            const u32 from = rows > 1 ? v % rows * cols + v / rows : v;
            uint4 x;
            load_shared<V>(x, carried + from * V);
            store_relaxed<V>(place + u64(v) * V, x);
        }
    }
};

template <int V> static __device__ void shared_moves(const MovedArgs &a) {
    extern __shared__ uint4 shared[];
    const u32 each = blockDim.x / a.lanes, worker = threadIdx.x / a.lanes;
    const u32 first = blockIdx.x * each + worker, workers = gridDim.x * each;
    Turning<V> carrier(a, (char *)shared + worker * (2 * a.vectors * V));
    // No chain meets a tile that stays where it is. All workers of a warp go round as often.
    for (u32 k = 0; a.rows > 1 && k < a.units; k += workers) {
        const u32 s = k + first;
        const bool stays = s < a.units && a.map.succ(s) == s;
        char *place = a.data + a.map.offset(s);
        if (stays) carrier.fetch(place);
        carrier.arrive();
        carrier.advance();
        if (stays) carrier.put(place);
        __syncwarp();
    }
    follow_chains(a.map, GlobalFlags{a.flags}, carrier, a.data, a.units, first, workers, a.lanes);
}

extern "C" __global__ void __launch_bounds__(256) moved_shared_4(const __grid_constant__ MovedArgs a) {
    shared_moves<4>(a);
}
extern "C" __global__ void __launch_bounds__(256) moved_shared_16(const __grid_constant__ MovedArgs a) {
    shared_moves<16>(a);
}

// One block a super-element, a barrier a step.
template <int V> static __device__ void block_moves(const MovedArgs &a) {
    __shared__ bool decision;
    const GlobalFlags flags = {a.flags};
    const bool mine = threadIdx.x < a.vectors;
    const u64 lane_offset = u64(threadIdx.x) * V;
    const auto all_hear = [&](bool said) {
        if (threadIdx.x == 0) decision = said;
        __syncthreads();
        const bool heard = decision;
        __syncthreads();
        return heard;
    };
    for (u32 s = blockIdx.x; s < a.units; s += gridDim.x) {
        if (all_hear(threadIdx.x == 0 && (flags.taken(s) || a.map.succ(s) == s))) continue;
        uint4 carried, fetched;
        if (mine) load_relaxed<V>(carried, a.data + a.map.offset(s) + lane_offset);
        __syncthreads();
        if (threadIdx.x == 0) GlobalFlags::fence();
        if (!all_hear(threadIdx.x == 0 && flags.claim(s))) continue;
        for (u32 at = a.map.succ(s);; at = a.map.succ(at)) {
            char *place = a.data + a.map.offset(at) + lane_offset;
            if (mine) load_relaxed<V>(fetched, place);
            const bool won = all_hear(threadIdx.x == 0 && flags.claim(at));
            if (!won) {
                if (threadIdx.x == 0) GlobalFlags::fence();
                __syncthreads();
            }
            if (mine) store_relaxed<V>(place, carried);
            if (!won) break;
            carried = fetched;
        }
    }
}

extern "C" __global__ void __launch_bounds__(1024) moved_block_4(const __grid_constant__ MovedArgs a) {
    block_moves<4>(a);
}
extern "C" __global__ void __launch_bounds__(1024) moved_block_16(const __grid_constant__ MovedArgs a) {
    block_moves<16>(a);
}

// Position to word and bit.
struct FlagLayout {
    u32 shift;    // flags a word = 2^shift: 5 packed, 0 spread by 32
    u32 padded;   // every 33rd word stays unused
    u32 remapped; // neighbours in different words
    u32 pad;
    Divisor<u32> words; // remapped: number of words

    __device__ void place(u32 p, u32 &word, u32 &bit) const {
        if (remapped) {
            const u32 turn = words.div(p);
            word = p - turn * words.divisor;
            bit = 1u << turn;
            return;
        }
        word = p >> shift;
        bit = 1u << (p & 31u);
        if (padded) word += word >> 5;
    }
};
static_assert(sizeof(FlagLayout) == 32);

struct LaidOut {
    u32 *words;
    FlagLayout layout;

    __device__ bool taken(u32 p) const {
        u32 word, bit;
        layout.place(p, word, bit);
        return (*(volatile u32 *)(words + word) & bit) != 0;
    }
    __device__ bool claim(u32 p) const {
        u32 word, bit;
        layout.place(p, word, bit);
        return (atomicOr_block(words + word, bit) & bit) == 0;
    }
    static __device__ void fence() { SharedFlags::fence(); }
};

struct LaidOutArgs {
    char *data;
    u64 instances, instance_bytes;
    FlagLayout layout;
    u32 flag_words;
    u32 units; // elements of an instance
    SmallSwap map;
};
static_assert(sizeof(LaidOutArgs) == 88);

// An element of 4 bytes in a register. Accesses at the scope of a block go through the first-level cache.
struct OneElement {
    u32 carried, fetched;

    __device__ void fetch(const char *place) {
        asm volatile("ld.relaxed.cta.global.u32 %0, [%1];"
                     : "=r"(fetched) : "l"(__cvta_generic_to_global(place)) : "memory");
    }
    __device__ void arrive() {}
    __device__ void put(char *place) const {
        asm volatile("st.relaxed.cta.global.u32 [%0], %1;"
                     ::"l"(__cvta_generic_to_global(place)), "r"(carried) : "memory");
    }
    __device__ void advance() { carried = fetched; }
};

// Transposes matrices of elements of 4 bytes, one block per matrix (thesis Algorithm 1).
extern "C" __global__ void __launch_bounds__(1024) moved_on_chip(const __grid_constant__ LaidOutArgs a) {
    extern __shared__ u32 words[];
    const LaidOut flags = {words, a.layout};
    for (u64 i = blockIdx.x; i < a.instances; i += gridDim.x) {
        for (u32 w = threadIdx.x; w < a.flag_words; w += blockDim.x) words[w] = 0;
        __syncthreads();
        OneElement carrier;
        follow_chains(a.map, flags, carrier, a.data + i * a.instance_bytes, a.units, threadIdx.x, blockDim.x, 1);
        __syncthreads();
    }
}
