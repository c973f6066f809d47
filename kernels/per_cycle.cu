// P-IPT: one worker per cycle, without flags and workspace. Walks the cycle of every candidate, and moves it if the
// candidate is its smallest position, the leader.
#include "mover.cuh"

constexpr int kAhead = 4;

// Returns `true` if `s` is the smallest position of a cycle longer than 1.
template <class Map> static __device__ bool leads(const Map &map, typename Map::Index s) {
    typename Map::Index p = map.succ(s);
    if (p == s) return false;
    while (p > s) p = map.succ(p);
    return p == s;
}

// Moves the cycle of `s`, one word of the super-elements at a time per lane. Loads from at most kAhead positions at
// once, so register use does not depend on the length of super-elements.
template <class Map> static __device__ void move_cycle(const MoveArgs<Map> &a, u32 sub, typename Map::Index s) {
    for (u32 v = sub; v < a.vectors; v += a.lanes) {
        char *base = a.data + u64(v) * a.word;
        uint4 carried, fetched[kAhead];
        BY_WIDTH(a.word, load_relaxed<V>(carried, base + a.map.offset(s)));
        auto p = s;
        do {
            u64 place[kAhead];
            int count = 0;
#pragma unroll
            for (int k = 0; k < kAhead; k++) {
                if (k > 0 && p == s) continue;
                p = a.map.succ(p);
                place[k] = a.map.offset(p);
                BY_WIDTH(a.word, load_relaxed<V>(fetched[k], base + place[k]));
                count = k + 1;
            }
#pragma unroll
            for (int k = 0; k < kAhead; k++) {
                if (k >= count) continue;
                BY_WIDTH(a.word, store_relaxed<V>(base + place[k], carried));
                carried = fetched[k];
            }
        } while (p != s);
    }
}

// Each lane of a worker tests its own candidate, `workers` apart. Then all lanes move the cycle of each leader found.
template <class Map> static __device__ void per_cycle(const MoveArgs<Map> &a) {
    using I = typename Map::Index;
    const u32 sub = threadIdx.x & (a.lanes - 1), lead = threadIdx.x % kWarp - sub;
    const u32 group = a.lanes == kWarp ? kWholeWarp : (1u << a.lanes) - 1;
    const I each = blockDim.x / a.lanes, workers = I(gridDim.x) * each;
    const I worker = I(blockIdx.x) * each + threadIdx.x / a.lanes;
    for (I base = 0; base < I(a.units); base += workers * a.lanes) {
        const I mine = base + sub * workers + worker;
        u32 found = __ballot_sync(kWholeWarp, mine < I(a.units) && leads(a.map, mine)) >> lead & group;
        for (; found; found &= found - 1) move_cycle(a, sub, I(base + (__ffs(found) - 1) * workers + worker));
    }
}

extern "C" __global__ void __launch_bounds__(256, 3) per_cycle_slots(const __grid_constant__ MoveArgs<SlotMap<u64>> a) {
    per_cycle(a);
}
extern "C" __global__ void __launch_bounds__(256, WORD == 16 ? 4 : 5)
    per_cycle_axes32(const __grid_constant__ MoveArgs<Axes<u32>> a) {
    per_cycle(a);
}
extern "C" __global__ void __launch_bounds__(256) per_cycle_axes64(const __grid_constant__ MoveArgs<Axes<u64>> a) {
    per_cycle(a);
}
