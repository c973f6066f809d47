// PTTWAC: workers follow cycles of super-elements together, wherever they start.
#pragma once
#include "carrier.cuh"
#include "flags.cuh"

// A worker is `lanes` neighbouring threads of a warp. The workers of a warp advance in step: no
// branch separates one that starts from one that carries, so their fetches overlap.
//
// Candidates to start from are first, first + stride, ... below units; every lane tests one of them,
// so that a worker passes `lanes` taken ones for one access to the flags. All threads of a block call
// this together; `units` leaves the sums room (2^31 for 32-bit numbers).
// `Single`: a worker is one thread, and needs none of the warp's help.
template <bool Single = false, class Map, class Flags, class Carrier>
__device__ void follow_chains(const Map &map, const Flags &flags, Carrier &carrier, char *data,
                              typename Map::Index units, typename Map::Index first, typename Map::Index stride,
                              u32 lanes) {
    using I = typename Map::Index;
    enum State { Idle, Fresh, Carrying };
    if (Single) lanes = 1;
    const u32 lane = threadIdx.x % kWarp, sub = Single ? 0 : lane & (lanes - 1), lead = lane - sub;
    const u32 group = (lanes == kWarp ? kWholeWarp : (1u << lanes) - 1) << lead;
    State state = Idle;
    I candidate = first, at = 0;

    for (;;) {
        const bool want = state == Idle && candidate < units;
        if (__any_sync(kWholeWarp, want)) {
            const I number = candidate + I(sub) * stride, mine = number < units ? map.pick(number) : 0;
            const bool open = want && number < units && !flags.taken(mine) && map.succ(mine) != mine;
            const u32 found = Single ? open : (__ballot_sync(kWholeWarp, open) & group) >> lead;
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
        // A starter claims what it has read; the others may claim and read in any order.
        if (__any_sync(kWholeWarp, state == Fresh)) {
            carrier.arrive();
            if (state == Fresh) {
                if (!Single) __syncwarp(group);
                Flags::fence();
            }
            if (!Single) __syncwarp();
        }
        bool won = state != Idle && sub == 0 && flags.claim(at);
        const I next = map.succ(at);
        if (!Single) won = __shfl_sync(kWholeWarp, won, lead);
        if (state == Carrying) {
            if (!won) {
                Flags::fence();
                if (!Single) __syncwarp(group);
            }
            carrier.put(place);
        }
        carrier.arrive();
        carrier.advance();
        state = won ? Carrying : Idle;
        at = next;
    }
}
