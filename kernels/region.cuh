// Rectangles of a matrix, read by rows into shared memory and written by columns, word by word: any shape and any
// alignment of words. micro_region.cuh is faster if vectors of 16 bytes are aligned.
//
// Element (r, c) of a region is at r * pitch + c * W bytes in shared memory. The host picks the pitch so that an odd
// number of granules separates rows, and reading down a column has no bank conflicts.
#pragma once
#include "index.cuh"

// Offsets of a position of mixed digits (outer, inner) that advances in fixed steps, without division: `a` in shared
// memory, `b` in global memory.
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

// Copies `rows` rows of `granules` granules of G bytes, `stride` bytes apart, to rows `pitch` bytes apart. Each thread has
// `Batch` loads in flight.
template <int G, int Batch>
__device__ void copy_rows(char *to, u32 pitch, const char *from, u64 stride, u32 rows, u32 granules) {
    const u32 total = rows * granules, step = blockDim.x;
    Walk w(threadIdx.x, step, granules, pitch, G, stride, G);
    for (u32 e = threadIdx.x; e < total; e += Batch * step) {
        Word<G> x[Batch];
        u32 at[Batch];
#pragma unroll
        for (int k = 0; k < Batch; k++) {
            at[k] = w.a;
            if (e + k * step < total) x[k] = *(const Word<G> *)(from + w.b);
            w.advance();
        }
#pragma unroll
        for (int k = 0; k < Batch; k++)
            if (e + k * step < total) *(Word<G> *)(to + at[k]) = x[k];
    }
}

// Loads `rows` rows of `granules` granules of G bytes, `stride` bytes apart, into shared memory.
template <int G>
__device__ void load_rows(char *tile, u32 pitch, const char *from, u64 stride, u32 rows, u32 granules) {
    if constexpr (G >= 4) {
        const u32 total = rows * granules, step = blockDim.x;
        Walk w(threadIdx.x, step, granules, pitch, G, stride, G);
#pragma unroll 4
        for (u32 e = threadIdx.x; e < total; e += step) {
            copy_async<G>(tile + w.a, from + w.b);
            w.advance();
        }
    } else {
        copy_rows<G, 4>(tile, pitch, from, stride, rows, granules);
    }
}

// Reads P words of a column, one from each of P rows, as one word.
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

// Stores the columns of a region: column c, `rows` words long, to `to + c * stride`. P divides `rows`.
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

// Stores columns of super-elements of `unit` words, which stay whole. P divides a column's words.
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

// Returns an address modulo 16; 0 if words have 16 bytes.
template <int W> __device__ u32 run_skew(const char *from) { return W < 16 ? u32(u64(from) & 15) : 0; }

// Copies `bytes` contiguous bytes to shared memory at `tile + run_skew(from)`: vectors, and single words before the
// first whole vector and after the last.
template <int W> __device__ void load_run(char *tile, const char *from, u32 bytes) {
    const u32 skew = run_skew<W>(from), head = min(bytes, (16 - skew) & 15u);
    const u32 vectors = (bytes - head) / 16, tail = head + vectors * 16;
    for (u32 v = threadIdx.x; v < vectors; v += blockDim.x)
        copy_async<16, kOnce>(tile + skew + head + v * 16, from + head + v * 16);
    for (u32 b = threadIdx.x * W; b < head; b += blockDim.x * W)
        *(Word<W> *)(tile + skew + b) = *(const Word<W> *)(from + b);
    for (u32 b = tail + threadIdx.x * W; b < bytes; b += blockDim.x * W)
        *(Word<W> *)(tile + skew + b) = *(const Word<W> *)(from + b);
}

// Positions in shared memory of the words of transposed instances, numbered through all instances.
struct Stack {
    Divisor<u32> rows, instance; // rows, and rows * cols, of an instance

    struct Place {
        u32 row, col, first; // `first`: first row of its instance in shared memory
    };
    __device__ Place find(u32 word) const {
        const u32 i = instance.div(word), within = word - i * instance.divisor;
        const u32 col = rows.div(within);
        return {within - col * rows.divisor, col, i * rows.divisor};
    }
    // Advances to the next word.
    __device__ void advance(Place &p, u32 cols) const {
        if (++p.row < rows.divisor) return;
        p.row = 0;
        if (++p.col < cols) return;
        p.col = 0;
        p.first += rows.divisor;
    }
};
static_assert(sizeof(Stack) == 32);

// Stores transposed instances as `words` contiguous words: word by word, or narrow words 16 bytes at a time, which
// saves a division per word.
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
        // Words of the first granule that precede the first word.
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

// Transposes square tiles in place: `cols` columns of tiles that are adjacent in a row. Row c of all tiles is one run.
template <int W>
__device__ void store_tiles(const char *tile, u32 pitch, char *to, u64 stride, u32 cols, const Divisor<u32> &side) {
    const u32 total = side.divisor * cols, step = blockDim.x, back = side.divisor * (pitch - W);
    Walk w(threadIdx.x, step, cols, W, pitch, stride, W);
#pragma unroll 4
    for (u32 e = threadIdx.x; e < total; e += step) {
        *(Word<W> *)(to + w.b) = *(const Word<W> *)(tile + w.a - side.div(w.inner) * back);
        w.advance();
    }
}

// Flags chosen by the host. `kWideLoads`, `kWideStores`: narrow words are moved in aligned granules of 4 bytes.
// `kRuns`: contiguous instances are written as one run. `kRunLoads`: they are also read as one. `kSquares`: a tile is a
// row of squares, and each square is transposed in place.
enum : u32 { kWideLoads = 1, kWideStores = 2, kRuns = 4, kRunLoads = 8, kSquares = 16 };

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
