// Permutes axes of long super-elements into another buffer, without shared memory.
//
// The result is written in order, in aligned granules of 16 bytes. If the source of a granule straddles two granules,
// it is combined from both by shifts. A granule that two super-elements share is moved word by word.
#include "index.cuh"

enum : u32 { kThreads = 256, kEach = 4, kGranule = 16 };

struct UnitArgs {
    char *to;
    const char *from;
    u64 bytes;            // of the array
    Divisor<u64> unit;    // bytes of a super-element
    Divisor<u32> of_part; // the same, limited to more than a block writes
    Axes<u32> source;     // from super-elements of the result to those in the source
    u32 word, pad;        // bytes of the widest word that all super-elements are aligned to
};
static_assert(sizeof(UnitArgs) == 264);

// Returns 16 bytes of two adjacent granules, from byte `by` on (1 to 15).
static __device__ uint4 shifted(const uint4 &low, const uint4 &high, u32 by) {
    u32 x[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
    for (u32 i = 0; i < 6; i++) x[i] = by & 8 ? x[i + 2] : x[i];
#pragma unroll
    for (u32 i = 0; i < 5; i++) x[i] = by & 4 ? x[i + 1] : x[i];
    const u32 bits = by % 4 * 8;
    return make_uint4(__funnelshift_r(x[0], x[1], bits), __funnelshift_r(x[1], x[2], bits),
                      __funnelshift_r(x[2], x[3], bits), __funnelshift_r(x[3], x[4], bits));
}

static __device__ void copy_word(char *to, const char *from, u32 bytes) {
    if (bytes == 8)
        *(uint2 *)to = *(const uint2 *)from;
    else if (bytes == 4)
        *(u32 *)to = *(const u32 *)from;
    else if (bytes == 2)
        *(u16 *)to = *(const u16 *)from;
    else
        *to = *from;
}

extern "C" __global__ void __launch_bounds__(kThreads, 4) into_units(const __grid_constant__ UnitArgs a) {
    // Granules are aligned in global memory: the first one may begin before the result.
    const u32 before = blockIdx.x == 0 ? u32(u64(a.to) % kGranule) : 0;
    const u64 begin = blockIdx.x == 0 ? 0 : u64(blockIdx.x) * (kThreads * kEach * kGranule) - u64(a.to) % kGranule;
    const u64 first = a.unit.div(begin), within = begin - first * a.unit.divisor, left = a.unit.divisor - within;
    const char *past = a.from + a.bytes;
    char *to = a.to + begin;
    const i64 end = i64(a.bytes - begin);

    // Returns the source address of result byte begin + k. `room` is the rest of its super-element, in bytes.
    const auto find = [&](u32 k, u64 &room) {
        const u32 beyond = k - u32(left), others = a.of_part.div(beyond);
        const bool in_first = k < left;
        const u32 number = u32(first) + (in_first ? 0 : 1 + others);
        const u64 along = in_first ? within + k : beyond - others * a.of_part.divisor;
        room = a.unit.divisor - along;
        return a.from + u64(a.source.succ(number)) * a.unit.divisor + along;
    };
    const auto granule = [&](u32 k) { return i32((k * kThreads + threadIdx.x) * kGranule) - i32(before); };

    uint4 low[kEach], high[kEach];
    u32 by[kEach], whole = 0, torn = 0;
#pragma unroll
    for (u32 k = 0; k < kEach; k++) {
        const i32 at = granule(k);
        if (at >= end) continue;
        torn |= 1 << k;
        if (at < 0 || at + i32(kGranule) > end) continue;
        u64 room;
        const char *source = find(at, room);
        by[k] = u64(source) % kGranule;
        source -= by[k];
        // Memory before and after the array may be unmapped.
        if (room < kGranule || by[k] && (source < a.from || source + 2 * kGranule > past)) continue;
        low[k] = __ldg((const uint4 *)source);
        if (by[k]) high[k] = __ldg((const uint4 *)(source + kGranule));
        whole |= 1 << k;
    }
#pragma unroll
    for (u32 k = 0; k < kEach; k++)
        if (whole >> k & 1) *(uint4 *)(to + granule(k)) = by[k] ? shifted(low[k], high[k], by[k]) : low[k];
    torn &= ~whole;
#pragma unroll 1
    for (u32 k = 0; torn >> k; k++) {
        if (!(torn >> k & 1)) continue;
        // Words of one super-element, then of the next.
        const i64 last = min(i64(granule(k)) + kGranule, end);
#pragma unroll 1
        for (i64 at = max(granule(k), 0); at < last;) {
            u64 room;
            const char *source = find(u32(at), room);
#pragma unroll 1
            for (const i64 stop = min(last, at + i64(room)); at < stop; at += a.word, source += a.word)
                copy_word(to + at, source, a.word);
        }
    }
}
