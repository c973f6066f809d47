// PTTWAC: workers permute super-elements in place along the cycles of an index map. A worker starts at any position.
#pragma once
#include "carrier.cuh"
#include "flags.cuh"

template <class Map> struct MoveArgs {
    char *data;
    GlobalFlags flags; // not used by P-IPT
    u64 units;         // super-elements of all instances
    u32 lanes;         // threads per worker, a power of two
    u32 vectors;       // accesses per super-element
    u32 word, pad;     // bytes of an access
    Map map;
};
static_assert(sizeof(MoveArgs<SlotMap<u32>>) == 184);
static_assert(sizeof(MoveArgs<SlotMap<u64>>) == 256);
static_assert(sizeof(MoveArgs<TileRuns>) == 96);
static_assert(sizeof(MoveArgs<Axes<u32>>) == 232);
static_assert(sizeof(MoveArgs<Axes<u64>>) == 344);
static_assert(sizeof(MoveArgs<FieldMap>) == 840);

// Follows chains until every super-element has moved. A worker is `lanes` neighbouring threads of a warp. All workers
// of a warp run the same code path whether they start a chain or continue one, so that their loads overlap.
//
// Start candidates are first, first + stride, ... below `units`. Every lane tests one, so that a worker passes `lanes`
// claimed candidates per access to the flags. All threads of a block call this. Sums of candidates and strides must fit
// the index type: at most 2^31 super-elements for 32 bits.
template <class Map, class Flags, class Carrier>
__device__ void follow_chains(const Map &map, const Flags &flags, Carrier &carrier, char *data,
                              typename Map::Index units, typename Map::Index first, typename Map::Index stride,
                              u32 lanes) {
    using I = typename Map::Index;
    enum State { Idle, Fresh, Carrying };
    const u32 lane = threadIdx.x % kWarp, sub = lane & (lanes - 1), lead = lane - sub;
    const u32 group = (lanes == kWarp ? kWholeWarp : (1u << lanes) - 1) << lead;
    State state = Idle;
    I candidate = first, at = 0;

    for (;;) {
        const bool want = state == Idle && candidate < units;
        if (__any_sync(kWholeWarp, want)) {
            const I number = candidate + I(sub) * stride, mine = number < units ? map.pick(number) : 0;
            const bool open = want && number < units && !flags.taken(mine) && map.succ(mine) != mine;
            const u32 found = (__ballot_sync(kWholeWarp, open) & group) >> lead;
            if (want) {
                const u32 passed = found ? __ffs(found) : lanes;
                if (found) {
                    at = map.pick(candidate + I(passed - 1) * stride);
                    state = Fresh;
                }
                candidate += I(passed) * stride;
            }
        }
        if (!__any_sync(kWholeWarp, state != Idle || candidate < units)) return;

        char *place = data + map.offset(at);
        if (state != Idle) carrier.fetch(place);
        // A starter must read before it claims. Other workers may claim and read in any order.
        if (__any_sync(kWholeWarp, state == Fresh)) {
            carrier.arrive();
            if (state == Fresh) {
                __syncwarp(group);
                Flags::fence();
            }
            __syncwarp();
        }
        bool won = state != Idle && sub == 0 && flags.claim(at);
        const I next = map.succ(at);
        won = __shfl_sync(kWholeWarp, won, lead);
        if (state == Carrying) {
            if (!won) {
                Flags::fence();
                __syncwarp(group);
            }
            carrier.put(place);
        }
        carrier.arrive();
        carrier.advance();
        state = won ? Carrying : Idle;
        at = next;
    }
}

// Moves all super-elements of a launch.
template <class Map, class Flags, class Carrier>
static __device__ void move_all(const MoveArgs<Map> &a, const Flags &flags, Carrier carrier) {
    using I = typename Map::Index;
    const u32 each = blockDim.x / a.lanes;
    const I first = I(blockIdx.x) * each + threadIdx.x / a.lanes;
    follow_chains(a.map, flags, carrier, a.data, I(a.units), first, I(gridDim.x) * each, a.lanes);
}

// Moves all super-elements of a launch through registers, with at most K accesses per lane.
template <int K, class Map> static __device__ void move_in_registers(const MoveArgs<Map> &a) {
    move_all(a, a.flags, InRegisters<K>(a.word, a.vectors, a.lanes));
}

// Moves all super-elements of a launch through shared memory, with buffers for two super-elements per worker.
template <class Map> static __device__ void move_in_shared(const MoveArgs<Map> &a) {
    extern __shared__ uint4 shared[];
    char *both = (char *)shared + threadIdx.x / a.lanes * (2 * a.vectors * a.word);
    move_all(a, a.flags, InShared(a.word, a.vectors, a.lanes, both));
}

// Defines kernels with at most K accesses per lane, compiled for BLOCKS blocks per multiprocessor. `lower/moves.rs`
// uses the same numbers.
#define MOVE(NAME, MAP, K, BLOCKS)                                                                     \
    extern "C" __global__ void __launch_bounds__(256, BLOCKS)                                          \
        move_##NAME##_##K(const __grid_constant__ MoveArgs<MAP> a) {                                   \
        move_in_registers<K>(a);                                                                       \
    }
#define MOVE_SHARED(NAME, MAP, BLOCKS)                                                                 \
    extern "C" __global__ void __launch_bounds__(256, BLOCKS)                                          \
        move_shared_##NAME(const __grid_constant__ MoveArgs<MAP> a) {                                  \
        move_in_shared(a);                                                                             \
    }
