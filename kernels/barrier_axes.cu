// Permutes axes in place by thread blocks. A block reads whole instances into shared memory, waits, and writes them in
// the order of the result. A thread reads its words at any offset in shared memory.
#include "region.cuh"


struct AxesArgs {
    char *data;
    u64 instances, instance_bytes;
    u32 words;      // per instance
    u32 stacked;    // instances per block
    u32 row, pitch; // bytes of a contiguous run in shared memory, and from run to run
    u32 granule;    // bytes of an access to a run: 4 or 16; 0: all data is one run
    u32 pack;       // words that a thread writes at a time: 16 bytes, or the fewest that make 4
    Axes<u32> source; // from words of the results to bytes in shared memory; the result's last axis first
};
static_assert(sizeof(AxesArgs) == 240);

// P words of W bytes, stored in one access. The k-th word that a thread reads is word (k + turn) mod P of the pack.
template <int W, int P> struct Pack {
    static constexpr int N = W * P / 4;
    u32 q[N];

    __device__ void clear() {
#pragma unroll
        for (int n = 0; n < N; n++) q[n] = 0;
    }
    __device__ void set(int k, const char *from) {
        if constexpr (W == 8) {
            const uint2 x = *(const uint2 *)from;
            q[2 * k] = x.x, q[2 * k + 1] = x.y;
        } else {
            q[k * W / 4] |= u32(*(const Word<W> *)from) << (8 * (k * W % 4));
        }
    }
    // Appends a word and drops the first one.
    __device__ void push(const char *from) {
        if constexpr (W == 8) {
            const uint2 x = *(const uint2 *)from;
            q[0] = q[2], q[1] = q[3], q[2] = x.x, q[3] = x.y;
        } else {
            const u32 x = *(const Word<W> *)from;
#pragma unroll
            for (int n = 0; n < N; n++) {
                const u32 next = n + 1 < N ? q[n + 1] : x;
                q[n] = W == 4 ? next : __funnelshift_r(q[n], next, 8 * W);
            }
        }
    }
    __device__ void rotate(u32 turn) {
        const u32 words = turn * W / 4, bits = turn * W % 4 * 8;
        u32 r[N];
#pragma unroll
        for (int k = 1; k < N; k *= 2) {
#pragma unroll
            for (int n = 0; n < N; n++) r[n] = words & k ? q[(n + N - k) % N] : q[n];
#pragma unroll
            for (int n = 0; n < N; n++) q[n] = r[n];
        }
        if constexpr (W >= 4) return;
#pragma unroll
        for (int n = 0; n < N; n++) r[n] = __funnelshift_l(q[(n + N - 1) % N], q[n], bits);
#pragma unroll
        for (int n = 0; n < N; n++) q[n] = r[n];
    }
    __device__ void store(char *to) const {
        if constexpr (N == 4)
            *(uint4 *)to = make_uint4(q[0], q[1], q[2], q[3]);
        else
            *(u32 *)to = q[0];
    }
};

// Stores words of the result in global memory, P at a time.
template <int W, int P> static __device__ void store_packs(const AxesArgs &a, const char *tile, char *to, u32 words) {
    const auto held = [&](u32 word) { return tile + a.source.succ(word); };
    // Words before the first whole pack and after the last.
    const u32 head = min(words, (0 - u32(u64(to))) % (W * P) / W), packs = (words - head) / P, end = head + packs * P;
    for (u32 e = threadIdx.x; e < words - packs * P; e += blockDim.x) {
        const u32 g = e < head ? e : end + e - head;
        *(Word<W> *)(to + g * W) = *(const Word<W> *)held(g);
    }
    // The P words of a thread are `last.stride` bytes apart. Lanes start at different words of their packs, so that
    // they use different banks.
    const Digit<u32> &last = a.source.d0;
    const u32 turn = threadIdx.x % kWarp / (kWarp / P);
    for (u32 p = threadIdx.x; p < packs; p += blockDim.x) {
        const u32 g = head + p * P;
        u32 digit = g - last.by.div(g) * last.by.divisor;
        const char *from = held(g);
        Pack<W, P> pack;
        pack.clear();
        if (digit + P <= last.by.divisor) {
#pragma unroll
            for (u32 k = 0; k < P; k++) pack.set(k, from + (k + turn) % P * last.stride);
            pack.rotate(turn);
        } else {
#pragma unroll 1
            for (u32 k = 0; k < P; k++, digit++, from += last.stride) {
                if (digit == last.by.divisor) from = held(g + k), digit = 0;
                pack.push(from);
            }
        }
        pack.store(to + g * W);
    }
}

template <int W> static __device__ void store_words(const AxesArgs &a, const char *tile, char *to, u32 words) {
    if constexpr (W < 16)
        if (a.pack * W == 16) return store_packs<W, 16 / W>(a, tile, to, words);
    if constexpr (W < 4) {
        store_packs<W, 4 / W>(a, tile, to, words);
    } else {
#pragma unroll 4
        for (u32 g = threadIdx.x; g < words; g += blockDim.x)
            *(Word<W> *)(to + u64(g) * W) = *(const Word<W> *)(tile + a.source.succ(g));
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
