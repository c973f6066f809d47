// Converts records between AoS and tiles by barrier-sync at block scope. A block stores whole tiles in shared memory,
// as records, and accesses the tiles in global memory 16 bytes at a time.
#include "records.cuh"

struct RetileArgs {
    char *data;
    u64 records;
    u32 block, pad, groups, slab;         // records of a block; bytes of padding after every row in shared memory;
                                          // field groups; packs of one word of a tile's records, 0 to disable slabs
    u32 words, none;                      // words of a record; unused
    Divisor<u32> row, tile, last;         // packs of a row; records of a tile and of the last tile
    Divisor<u32> tile_words, tiles;       // words of a tile; tiles of a block
    FieldGroup group[64];
};
static_assert(sizeof(RetileArgs) == 1656);

// Order of the packs of a block of whole tiles: by word of the record, then by tile. The lanes of a warp then process
// words of one field. Fields of different widths differ in time by large factors.
struct PackOrder {
    u32 slab, packs; // packs of one word of a tile's records (0: packs in memory order); packs of a tile
    const Divisor<u32> &tiles;

    __device__ u32 operator()(u32 number) const {
        if (slab == 0) return number;
        const u32 run = number / slab, word = tiles.div(run), tile = run - word * tiles.divisor;
        return tile * packs + word * slab + number % slab;
    }
};

// Moves all records between global memory, where they are contiguous, and shared memory, where rows are padded.
// `Load` moves to shared memory.
template <int W, bool Load> static __device__ void move_records(const RetileArgs &a, char *chip, char *data, u32 bytes) {
    const u32 head = min(bytes, (0 - u32(u64(data))) & 15u), vectors = (bytes - head) / 16, rest = bytes - vectors * 16;
    const auto held = [&](u32 b) { return chip + b + a.row.div(b / 16) * a.pad; };
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

// Moves 4 bytes from shared memory (`Split`) or to it. One-byte words may have any address there, unless `aligned`.
template <int W, bool Split> __device__ __forceinline__ void move_four(char *held, u32 *four, bool aligned) {
    if (W == 4 || aligned) {
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

// Moves a pack of one-byte words in parts of `Part` bytes each; `pass` advances by one part.
template <int Part, bool Split, class Pass> static __device__ __forceinline__ void move_parts(char *&held, uint4 &pack, const Pass &pass) {
    Word<Part> *parts = (Word<Part> *)&pack;
#pragma unroll
    for (u32 k = 0; k < 16 / Part; k++) {
        if (Split)
            parts[k] = *(const Word<Part> *)held;
        else
            *(Word<Part> *)held = parts[k];
        pass(Part);
    }
}

// Moves tiles to global memory (`Split`) or from it, in packs of 16 bytes. Words of an incomplete first or last pack
// move one by one.
template <int W, bool Split>
static __device__ void move_tiles(const Tiles &tiles, const Aos<W> &aos, const PackOrder &order, char *data, u32 words) {
    enum : u32 { kWords = 16 / W, kFour = 4 / W };
    const u32 lead = u32(u64(data) & 15) / W, all = lead + words, step = blockDim.x;
    char *packs = data - lead * W;
    const auto whole = [&](u32 p) { return (p > 0 || lead == 0) && (p + 1) * kWords <= all; };
    // To join, each pack is loaded one iteration ahead.
    const auto fetch = [&](u32 p) { return !Split && whole(p) ? *(const uint4 *)(packs + u64(p) * 16) : uint4{}; };
    uint4 next = fetch(order(threadIdx.x));
    for (u32 number = threadIdx.x; number * kWords < all; number += step) {
        const u32 p = order(number);
        uint4 pack = next;
        next = fetch(order(number + step));
        const bool by_pack = whole(p);
        const u32 begin = p == 0 ? lead : 0, end = min(u32(kWords), all - p * kWords);
        char *place = packs + u64(p) * 16;
        FieldWord w = tiles.at(p * kWords + begin - lead);
        if (by_pack && (w.end - w.record) * w.width >= w.word + kWords) {
            // All words have one field and tile. Parts have 8, 4 or 2 bytes if widths and addresses allow, else a word.
            char *held = aos.at(w);
            u32 *fours = &pack.x;
            const auto pass = [&](u32 count) {
                w.word += count, held += count * W;
                if (w.word == w.width) {
                    w.word = 0, w.record++;
                    held += aos.bytes - w.width * W + (w.record % kWords ? 0 : aos.step);
                }
            };
            const u32 apart = w.word | w.width, lies = u32(u64(held)) | aos.bytes;
            if (W == 1 && (apart | lies) % 8 == 0) {
                move_parts<8, Split>(held, pack, pass);
            } else if (apart % kFour == 0) {
                const bool aligned = lies % 4 == 0;
#pragma unroll
                for (u32 k = 0; k < 4; k++) {
                    move_four<W, Split>(held, fours + k, aligned);
                    pass(kFour);
                }
            } else if (W == 1 && (apart | lies) % 2 == 0) {
                move_parts<2, Split>(held, pack, pass);
            } else {
#pragma unroll
                for (u32 k = 0; k < kWords; k++) {
                    const u32 shift = k % kFour * W * 8;
                    if (Split)
                        fours[k / kFour] |= u32(*(const Word<W> *)held) << shift;
                    else
                        *(Word<W> *)held = Word<W>(fours[k / kFour] >> shift);
                    pass(1);
                }
            }
            if (Split) *(uint4 *)place = pack;
            continue;
        }
        // Moves word by word. Unrolled code would be long.
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
            // Rotate the pack by 4 bytes.
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

// Converts a block's records to tiles (`Split`) or its tiles to records.
template <int W, bool Split> static __device__ void retile(const RetileArgs &a) {
    extern __shared__ uint4 shared[];
    FieldGroup *groups = (FieldGroup *)shared;
    const u32 table = a.groups * u32(sizeof(FieldGroup));
    for (u32 e = threadIdx.x * 4; e < table; e += blockDim.x * 4) *(u32 *)((char *)groups + e) = *(const u32 *)((const char *)a.group + e);
    const u64 first = u64(blockIdx.x) * a.block;
    const u32 records = u32(min(u64(a.block), a.records - first)), words = records * a.words;
    char *data = a.data + first * a.words * W;
    // Records have equal addresses modulo 16 in shared and global memory.
    char *chip = (char *)shared + (table + 15) / 16 * 16 + (u64(data) & 15);
    if (Split) {
        move_records<W, true>(a, chip, data, words * W);
        copy_async_wait();
    }
    __syncthreads();
    const bool even = W == 1 && records == a.tiles.divisor * a.tile.divisor && u64(data) % 16 == 0;
    move_tiles<W, Split>({groups, a.groups, records, a.tile, a.last, a.tile_words}, {chip, a.words * W, a.pad, W == 1 && a.slab ? 0 : a.pad, a.row},
                         {even ? a.slab : 0, a.tile_words.divisor * W / 16, a.tiles}, data, words);
    if (Split) return;
    __syncthreads();
    move_records<W, false>(a, chip, data, words * W);
}

// Words have 4 bytes, or 1 if fields are not whole 4-byte words.
#define RETILE(W)                                                                                      \
    extern "C" __global__ void __launch_bounds__(1024) retile_split_##W(const __grid_constant__ RetileArgs a) { retile<W, true>(a); } \
    extern "C" __global__ void __launch_bounds__(1024) retile_join_##W(const __grid_constant__ RetileArgs a) { retile<W, false>(a); }
RETILE(1)
RETILE(4)
