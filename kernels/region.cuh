// Rectangles of a matrix, read by rows onto the chip and written by columns, word by word: any shape
// and any alignment that a word has. (See micro_region.cuh for the fast way, where 16 bytes align.)
//
// On chip, element (r, c) of a region lies at r * pitch + c * W bytes; the host picks the pitch so that
// an odd number of granules separates rows, and reading down a column meets no bank twice.
#pragma once
#include "index.cuh"

// A pair of offsets that follow a position of mixed digits (outer, inner) in fixed steps, without
// dividing: `a` on chip, `b` in memory.
struct Walk {
    u32 inner, inners, step_inner;
    u32 a, a_step, a_wrap;
    u64 b, b_step, b_wrap;

    __device__ Walk(u32 start, u32 step, u32 inners_, u32 a_outer, u32 a_inner, u64 b_outer, u64 b_inner)
        : inner(start % inners_), inners(inners_), step_inner(step % inners_) {
        const u32 outer = start / inners, step_outer = step / inners;
        a = outer * a_outer + inner * a_inner;
        a_step = step_outer * a_outer + step_inner * a_inner;
        a_wrap = a_step + a_outer - inners * a_inner;
        b = outer * b_outer + inner * b_inner;
        b_step = step_outer * b_outer + step_inner * b_inner;
        b_wrap = b_step + b_outer - inners * b_inner;
    }
    __device__ void advance() {
        inner += step_inner;
        const bool over = inner >= inners;
        inner -= over ? inners : 0;
        a += over ? a_wrap : a_step;
        b += over ? b_wrap : b_step;
    }
};

// Rows of a region to the chip: `rows` rows of `granules` granules of G bytes, `stride` bytes apart.
template <int G>
__device__ void load_rows(char *tile, u32 pitch, const char *from, u64 stride, u32 rows, u32 granules) {
    const u32 total = rows * granules, step = blockDim.x;
    Walk w(threadIdx.x, step, granules, pitch, G, stride, G);
    if constexpr (G >= 4) {
#pragma unroll 4
        for (u32 e = threadIdx.x; e < total; e += step) {
            copy_async<G>(tile + w.a, from + w.b);
            w.advance();
        }
    } else {
        constexpr int kBatch = 4; // loads in flight
        for (u32 e = threadIdx.x; e < total; e += kBatch * step) {
            Word<G> x[kBatch];
            u32 to[kBatch];
#pragma unroll
            for (int k = 0; k < kBatch; k++) {
                to[k] = w.a;
                if (e + k * step < total) x[k] = *(const Word<G> *)(from + w.b);
                w.advance();
            }
#pragma unroll
            for (int k = 0; k < kBatch; k++)
                if (e + k * step < total) *(Word<G> *)(tile + to[k]) = x[k];
        }
    }
}

// P words of a column, one from each of P rows, as one word.
template <int W, int P> struct Column {
    static __device__ Word<W * P> read(const char *at, u32 pitch) {
        static_assert(P == 1, "narrow words only");
        return *(const Word<W> *)at;
    }
};
template <> struct Column<2, 2> {
    static __device__ u32 read(const char *at, u32 pitch) {
        return *(const u16 *)at | u32(*(const u16 *)(at + pitch)) << 16;
    }
};
template <> struct Column<1, 4> {
    static __device__ u32 read(const char *at, u32 pitch) {
        return *(const u8 *)at | u32(*(const u8 *)(at + pitch)) << 8 | u32(*(const u8 *)(at + 2 * pitch)) << 16 |
               u32(*(const u8 *)(at + 3 * pitch)) << 24;
    }
};

// Columns of a region to memory: column c, `rows` words long, to `to + c * stride`. P divides `rows`.
template <int W, int P>
__device__ void store_columns(const char *tile, u32 pitch, char *to, u64 stride, u32 rows, u32 cols) {
    const u32 packs = rows / P, total = cols * packs, step = blockDim.x;
    Walk w(threadIdx.x, step, packs, W, P * pitch, stride, P * W);
#pragma unroll 4
    for (u32 e = threadIdx.x; e < total; e += step) {
        *(Word<W * P> *)(to + w.b) = Column<W, P>::read(tile + w.a, pitch);
        w.advance();
    }
}

// The same for super-elements of `unit` words, which stay whole. P divides a column's words.
template <int W, int P>
__device__ void store_unit_columns(const char *tile, u32 pitch, char *to, u64 stride, u32 rows, u32 cols,
                                   const Divisor<u32> &unit) {
    const u32 packs = rows * unit.divisor / P, total = cols * packs, step = blockDim.x;
    Walk w(threadIdx.x, step, packs, unit.divisor * W, 0, stride, P * W);
#pragma unroll 4
    for (u32 e = threadIdx.x; e < total; e += step) {
        const u32 r = unit.div(w.inner * P);
        u32 k = w.inner * P - r * unit.divisor;
        const char *at = tile + w.a + r * pitch + k * W;
        if constexpr (P == 1) {
            *(Word<W> *)(to + w.b) = *(const Word<W> *)at;
        } else {
            u32 pack = 0;
#pragma unroll
            for (int i = 0; i < P; i++) {
                pack |= u32(*(const Word<W> *)at) << (8 * W * i);
                const bool last = ++k == unit.divisor;
                at += W + (last ? pitch - unit.divisor * W : 0);
                k = last ? 0 : k;
            }
            *(u32 *)(to + w.b) = pack;
        }
        w.advance();
    }
}

// Bytes that lie together, `bytes` of them, to the chip at `tile + (address mod 16)`: vectors, and
// single words before the first whole one and after the last.
template <int W> __device__ void load_run(char *tile, const char *from, u32 bytes) {
    const u32 skew = u32(u64(from) & 15), head = min(bytes, (16 - skew) & 15u);
    const u32 vectors = (bytes - head) / 16, tail = head + vectors * 16;
    for (u32 v = threadIdx.x; v < vectors; v += blockDim.x)
        copy_async<16, kOnce>(tile + skew + head + v * 16, from + head + v * 16);
    for (u32 b = threadIdx.x * W; b < head; b += blockDim.x * W) *(Word<W> *)(tile + skew + b) = *(const Word<W> *)(from + b);
    for (u32 b = tail + threadIdx.x * W; b < bytes; b += blockDim.x * W)
        *(Word<W> *)(tile + skew + b) = *(const Word<W> *)(from + b);
}

// Where a word of the transposed instances, counted through them, lies on chip.
struct Stack {
    Divisor<u32> rows, instance; // rows, and rows * cols, of an instance

    struct Place {
        u32 row, col, first; // `first` line of its instance on chip
    };
    __device__ Place find(u32 word) const {
        const u32 i = instance.div(word), within = word - i * instance.divisor;
        const u32 col = rows.div(within);
        return {within - col * rows.divisor, col, i * rows.divisor};
    }
    // The next word's place.
    __device__ void advance(Place &p, u32 cols) const {
        if (++p.row < rows.divisor) return;
        p.row = 0;
        if (++p.col < cols) return;
        p.col = 0;
        p.first += rows.divisor;
    }
};
static_assert(sizeof(Stack) == 32);

// Transposed instances, `words` words that lie together, to memory: word by word, narrow ones sixteen
// bytes at a time, which saves dividing for every word.
template <int W>
__device__ void store_run(const char *tile, u32 pitch, char *to, u32 words, u32 cols, const Stack &stack) {
    const auto held = [&](const Stack::Place &p) {
        return *(const Word<W> *)(tile + (p.first + p.row) * pitch + p.col * W);
    };
    if constexpr (W >= 4) {
#pragma unroll 4
        for (u32 g = threadIdx.x; g < words; g += blockDim.x) *(Word<W> *)(to + u64(g) * W) = held(stack.find(g));
    } else {
        constexpr u32 P = 16 / W;
        // Words before the first within its 16 bytes.
        const u32 lead = u32(u64(to) & 15) / W, packs = (words + lead + P - 1) / P;
        for (u32 g = threadIdx.x; g < packs; g += blockDim.x) {
            const u32 begin = g * P < lead ? lead - g * P : 0, end = min(P, words + lead - g * P);
            char *place = to + i64(g * P) * W - i64(lead) * W;
            Stack::Place p = stack.find(g * P + begin - lead);
            if (begin == 0 && end == P) {
                u32 pack[4] = {};
#pragma unroll
                for (u32 k = 0; k < P; k++) {
                    pack[k * W / 4] |= u32(held(p)) << (8 * (k * W % 4));
                    stack.advance(p, cols);
                }
                *(uint4 *)place = make_uint4(pack[0], pack[1], pack[2], pack[3]);
            } else {
                for (u32 k = begin; k < end; k++) {
                    *(Word<W> *)(place + k * W) = held(p);
                    stack.advance(p, cols);
                }
            }
        }
    }
}

// Square tiles side by side, `count` of them, each transposed where it lies: row c of them all is one run.
template <int W>
__device__ void store_tiles(const char *tile, u32 pitch, char *to, u64 stride, u32 count, const Divisor<u32> &side) {
    const u32 run = count * side.divisor, total = side.divisor * run, step = blockDim.x;
    Walk w(threadIdx.x, step, run, W, 0, stride, W);
#pragma unroll 4
    for (u32 e = threadIdx.x; e < total; e += step) {
        const u32 i = side.div(w.inner), r = w.inner - i * side.divisor;
        *(Word<W> *)(to + w.b) = *(const Word<W> *)(tile + w.a + r * pitch + i * side.divisor * W);
        w.advance();
    }
}

// How the host found it best to move narrow words: in granules of 4 bytes where alignment allows.
// `kRuns`: instances that lie together are written as one run, and `kRunLoads`: read as one too.
enum : u32 { kWideLoads = 1, kWideStores = 2, kRuns = 4, kRunLoads = 8 };

template <int W> constexpr int kPack = W < 4 ? 4 / W : 1;

template <int W>
__device__ void load_region(char *tile, u32 pitch, const char *from, u64 stride, u32 rows, u32 cols, u32 wide) {
    if (W < 4 && (wide & kWideLoads))
        load_rows<4>(tile, pitch, from, stride, rows, cols / kPack<W>);
    else
        load_rows<W>(tile, pitch, from, stride, rows, cols);
}

template <int W>
__device__ void store_region(const char *tile, u32 pitch, char *to, u64 stride, u32 rows, u32 cols,
                             const Divisor<u32> &unit, u32 wide) {
    const bool packs = W < 4 && (wide & kWideStores);
    if (unit.divisor > 1 && packs)
        store_unit_columns<W, kPack<W>>(tile, pitch, to, stride, rows, cols, unit);
    else if (unit.divisor > 1)
        store_unit_columns<W, 1>(tile, pitch, to, stride, rows, cols, unit);
    else if (packs)
        store_columns<W, kPack<W>>(tile, pitch, to, stride, rows, cols);
    else
        store_columns<W, 1>(tile, pitch, to, stride, rows, cols);
}
