// Records between AoS and tiles by barrier-sync at block scope: a block holds whole tiles on chip as records, and writes or reads
// the tiles sixteen bytes at a time.
#include "records.cuh"

struct RetileArgs {
    char *data;
    u64 records;
    u32 block, pad, groups, none;         // records of a block; bytes behind every row on chip, where blocks begin at packs; groups of fields
    Divisor<u32> words, tile, last;       // words of a record, records of a tile, and of the last one
    Divisor<u32> tile_words;
    FieldGroup group[64];
};
static_assert(sizeof(RetileArgs) == 1632);

// All records, one after the other in memory as on chip, with rows apart: from memory or to it.
template <int W, bool Load> static __device__ void move_records(const RetileArgs &a, char *chip, char *data, u32 bytes) {
    const u32 head = min(bytes, (0 - u32(u64(data))) & 15u), vectors = (bytes - head) / 16, rest = bytes - vectors * 16;
    // Rows are as many packs as a record has words.
    const auto held = [&](u32 b) { return chip + b + a.words.div(b / 16) * a.pad; };
    for (u32 v = threadIdx.x; v < vectors; v += blockDim.x) {
        const u32 b = head + v * 16;
        if (Load)
            copy_async<16, kOnce>(held(b), data + b);
        else
            *(uint4 *)(data + b) = *(const uint4 *)held(b);
    }
    for (u32 e = threadIdx.x * W; e < rest; e += blockDim.x * W) {
        const u32 b = e < head ? e : e + vectors * 16;
        if (Load)
            *(Word<W> *)held(b) = *(const Word<W> *)(data + b);
        else
            *(Word<W> *)(data + b) = *(const Word<W> *)held(b);
    }
}

// Four bytes from the chip, or to it; words of one byte lie anywhere.
template <int W, bool Split> __device__ __forceinline__ void move_four(char *held, u32 *four) {
    if (W == 4) {
        if (Split)
            *four = *(const u32 *)held;
        else
            *(u32 *)held = *four;
    } else if (Split) {
        const u32 skew = u32(u64(held) & 3), *lies = (const u32 *)(held - skew);
        *four = __funnelshift_r(lies[0], lies[1], skew * 8);
    } else {
#pragma unroll
        for (u32 n = 0; n < 4; n++) held[n] = char(*four >> n * 8);
    }
}

// Tiles to memory, or from it, in packs of 16 bytes; words of the first and last pack alone where these are not whole.
template <int W, bool Split> static __device__ void move_tiles(const Tiles &tiles, const Aos<W> &aos, char *data, u32 words) {
    enum : u32 { kWords = 16 / W, kFour = 4 / W };
    const u32 lead = u32(u64(data) & 15) / W, all = lead + words, step = blockDim.x;
    char *packs = data - lead * W;
    const auto whole = [&](u32 p) { return (p > 0 || lead == 0) && (p + 1) * kWords <= all; };
    // The next pack is on its way.
    const auto fetch = [&](u32 p) { return !Split && whole(p) ? *(const uint4 *)(packs + u64(p) * 16) : uint4{}; };
    uint4 next = fetch(threadIdx.x);
    for (u32 p = threadIdx.x; p * kWords < all; p += step) {
        uint4 pack = next;
        next = fetch(p + step);
        const bool by_pack = whole(p);
        const u32 begin = p == 0 ? lead : 0, end = min(u32(kWords), all - p * kWords);
        char *place = packs + u64(p) * 16;
        FieldWord w = tiles.at(p * kWords + begin - lead);
        if (by_pack && (w.word | w.width) % kFour == 0 && (w.end - w.record) * w.width >= w.word + kWords) {
            // All of one field and its tile, in four bytes each, wherever they lie.
            char *held = aos.at(w);
            u32 *fours = &pack.x;
#pragma unroll
            for (u32 k = 0; k < 4; k++) {
                move_four<W, Split>(held, fours + k);
                w.word += kFour, held += 4;
                if (w.word == w.width) {
                    w.word = 0, w.record++;
                    held += aos.bytes - w.width * W + (w.record % kWords ? 0 : aos.pad);
                }
            }
            if (Split) *(uint4 *)place = pack;
            continue;
        }
        // Word by word, and not unrolled: the code would be long.
        u32 four = 0;
#pragma unroll 1
        for (u32 k = begin; k < end; k++) {
            if (w.record == w.end) w = tiles.at(p * kWords + k - lead);
            char *held = aos.at(w);
            const u32 shift = k % kFour * W * 8;
            if (!by_pack && Split)
                *(Word<W> *)(place + k * W) = *(const Word<W> *)held;
            else if (!by_pack)
                *(Word<W> *)held = *(const Word<W> *)(place + k * W);
            else if (Split)
                four = (shift ? four : 0) | u32(*(const Word<W> *)held) << shift;
            else
                *(Word<W> *)held = Word<W>(pack.x >> shift);
            // The pack turns by four bytes at a time.
            if ((k + 1) % kFour == 0) {
                const u32 turned = Split ? four : pack.x;
                pack.x = pack.y, pack.y = pack.z, pack.z = pack.w, pack.w = turned;
            }
            const bool over = ++w.word == w.width;
            w.word = over ? 0 : w.word;
            w.record += over;
        }
        if (Split && by_pack) *(uint4 *)place = pack;
    }
}

// From records to tiles, or back.
template <int W, bool Split> static __device__ void retile(const RetileArgs &a) {
    extern __shared__ uint4 shared[];
    FieldGroup *groups = (FieldGroup *)shared;
    const u32 table = a.groups * u32(sizeof(FieldGroup));
    for (u32 e = threadIdx.x * 4; e < table; e += blockDim.x * 4) *(u32 *)((char *)groups + e) = *(const u32 *)((const char *)a.group + e);
    const u64 first = u64(blockIdx.x) * a.block;
    const u32 records = u32(min(u64(a.block), a.records - first)), words = records * a.words.divisor;
    char *data = a.data + first * a.words.divisor * W;
    // Records lie on chip as they stand to 16 bytes in memory.
    char *chip = (char *)shared + (table + 15) / 16 * 16 + (u64(data) & 15);
    if (Split) {
        move_records<W, true>(a, chip, data, words * W);
        copy_async_wait();
    }
    __syncthreads();
    move_tiles<W, Split>({groups, a.groups, records, a.tile, a.last, a.tile_words}, {chip, a.words.divisor * W, a.pad}, data, words);
    if (Split) return;
    __syncthreads();
    move_records<W, false>(a, chip, data, words * W);
}

// Words of four bytes, or of one where fields are not made of those.
#define RETILE(W)                                                                                      \
    extern "C" __global__ void __launch_bounds__(1024) retile_split_##W(const __grid_constant__ RetileArgs a) { retile<W, true>(a); } \
    extern "C" __global__ void __launch_bounds__(1024) retile_join_##W(const __grid_constant__ RetileArgs a) { retile<W, false>(a); }
RETILE(1)
RETILE(4)
