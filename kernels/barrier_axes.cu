// Axes in any order by barrier-sync at block scope: a block reads instances as they lie in memory, waits, and writes them in the
// order of the result, each thread its words of it wherever they lie on chip.
#include "region.cuh"

#ifndef WORD
#define WORD 4
#endif

struct AxesArgs {
    char *data;
    u64 instances, instance_bytes;
    u32 words;      // of an instance
    u32 stacked;    // instances of a block
    u32 row, pitch; // bytes that lie together on chip, and from one such run to the next
    u32 granule;    // bytes that runs are read by: 4 or 16; or 0, everything as one run
    u32 pad;
    Axes<u32> source; // bytes on chip where a word of the results comes from; digits from the result's last axis on
};
static_assert(sizeof(AxesArgs) == 240 && AT(AxesArgs, data) == 0 && AT(AxesArgs, instances) == 8 &&
              AT(AxesArgs, instance_bytes) == 16 && AT(AxesArgs, words) == 24 &&
              AT(AxesArgs, stacked) == 28 && AT(AxesArgs, row) == 32 && AT(AxesArgs, pitch) == 36 &&
              AT(AxesArgs, granule) == 40 && AT(AxesArgs, pad) == 44 && AT(AxesArgs, source) == 48);

// Words of the result to memory: narrow ones 4 bytes at a time.
template <int W> static __device__ void store_words(const AxesArgs &a, const char *tile, char *to, u32 words) {
    const auto held = [&](u32 word) { return *(const Word<W> *)(tile + a.source.succ(word)); };
    if constexpr (W >= 4) {
#pragma unroll 4
        for (u32 g = threadIdx.x; g < words; g += blockDim.x) *(Word<W> *)(to + u64(g) * W) = held(g);
    } else {
        constexpr u32 P = 4 / W;
        // Words before the first whole 4 bytes and after the last.
        const u32 head = min(words, (0 - u32(u64(to))) % 4 / W), packs = (words - head) / P, end = head + packs * P;
        if (threadIdx.x < head) *(Word<W> *)(to + threadIdx.x * W) = held(threadIdx.x);
        if (end + threadIdx.x < words) *(Word<W> *)(to + (end + threadIdx.x) * W) = held(end + threadIdx.x);
        // A thread's words are as many rows apart as it has; neighbours begin with others of theirs, so that they
        // meet other banks.
        const u32 turn = threadIdx.x % kWarp / (kWarp / P);
        const Digit<u32> &last = a.source.d0;
        for (u32 p = threadIdx.x; p < packs; p += blockDim.x) {
            const u32 g = head + p * P, digit = g - last.by.div(g) * last.by.divisor;
            u32 pack = 0;
            if (digit + P <= last.by.divisor) {
                const char *from = tile + a.source.succ(g);
#pragma unroll
                for (u32 k = 0; k < P; k++) {
                    const u32 i = (k + turn) % P;
                    pack |= u32(*(const Word<W> *)(from + i * last.stride)) << (8 * W * i);
                }
            } else {
#pragma unroll
                for (u32 k = 0; k < P; k++) pack |= u32(held(g + k)) << (8 * W * k);
            }
            *(u32 *)(to + g * W) = pack;
        }
    }
}

extern "C" __global__ void __launch_bounds__(1024) barrier_axes(const __grid_constant__ AxesArgs a) {
    extern __shared__ uint4 shared[];
    char *tile = (char *)shared;
    const u64 first = u64(blockIdx.x) * a.stacked;
    const u32 words = u32(min(u64(a.stacked), a.instances - first)) * a.words, bytes = words * WORD;
    char *at = a.data + first * a.instance_bytes;
    if (a.granule == 16) {
        load_rows<16>(tile, a.pitch, at, a.row, bytes / a.row, a.row / 16);
    } else if (WORD < 4 && a.granule == 4) {
        load_rows<4>(tile, a.pitch, at, a.row, bytes / a.row, a.row / 4);
    } else {
        load_run<WORD>(tile, at, bytes);
        tile += u64(at) & 15;
    }
    copy_async_wait();
    __syncthreads();
    store_words<WORD>(a, tile, at, words);
}
