// Index maps of the stages, with the closed forms of the crate `turntile-perm`.
#pragma once
#include "word.cuh"

__device__ __forceinline__ u32 high_product(u32 a, u32 b) { return __umulhi(a, b); }
__device__ __forceinline__ u64 high_product(u64 a, u64 b) { return __umul64hi(a, b); }

// Division by an invariant (Granlund and Montgomery 1994, figure 4.1); the host fills the fields.
template <class I> struct Divisor {
    I divisor, magic;
    u32 pre, post;
    __device__ I div(I n) const {
        const I t = high_product(magic, n);
        return (t + ((n - t) >> pre)) >> post;
    }
};
static_assert(sizeof(Divisor<u32>) == 16);
static_assert(sizeof(Divisor<u64>) == 24);

// Finds row i <= column j of the pair of tiles `number` across the diagonal. The triangle is folded into a rectangle,
// so that neighbouring numbers are neighbours in a row.
static __device__ void folded(u32 number, u32 across, u32 &i, u32 &j) {
    const u32 width = across | 1u; // across + 1 when even
    const u32 y = number / width, x = number % width;
    if (across % 2) {
        const bool upper = x >= y;
        i = upper ? y : across - y;
        j = upper ? x : across - 1 - x;
    } else {
        const bool upper = x > y;
        i = upper ? y : across - 1 - y;
        j = upper ? x - 1 : across - 1 - x;
    }
}

// A digit of a source number: the divisor that extracts it, and its stride in the destination number.
template <class I> struct Digit {
    Divisor<I> by;
    I stride;
};
static_assert(sizeof(Digit<u32>) == 20);
static_assert(sizeof(Digit<u64>) == 32);

// Index map of an axis permutation, on numbers of super-elements. Digits are extracted from the last axis on; the
// first axis is the last quotient. At least one digit is used, with divisor 1 if there is only one axis. I = u32 is
// for at most 2^31 super-elements, so that sums of the candidate search do not overflow. The stride of a reversed axis is
// negative (modulo the size of I), and `start` is where its first value moves.
template <class I> struct Axes {
    using Index = I;
    Digit<I> d0, d1, d2, d3, d4, d5, d6;
    I first;  // stride of the first axis
    I start;  // destination of the first super-element
    I digits; // axes without the first
    Divisor<I> instance, batch;
    u64 unit_bytes;

    __device__ I succ(I s) const {
        I to = start;
        const auto divide = [&](const Digit<I> &d) {
            const I rest = d.by.div(s);
            to += (s - rest * d.by.divisor) * d.stride;
            s = rest;
        };
        divide(d0);
        if (digits > 1) divide(d1);
        if (digits > 2) divide(d2);
        if (digits > 3) {
            divide(d3);
            if (digits > 4) divide(d4);
            if (digits > 5) divide(d5);
            if (digits > 6) divide(d6);
        }
        return to + s * first;
    }
    __device__ u64 offset(I s) const { return u64(s) * unit_bytes; }
    // Returns the k-th start candidate. Consecutive candidates are in different instances of the batch: in one
    // instance, workers would reach each other's starts after a step or two.
    __device__ I pick(I k) const {
        if (batch.divisor == 1) return k;
        const I turn = batch.div(k);
        return (k - turn * batch.divisor) * instance.divisor + turn;
    }
};
static_assert(sizeof(Axes<u32>) == 192);
static_assert(sizeof(Axes<u64>) == 304);

// Index map from [rows][cols] to [cols][rows] in one instance, with 32-bit byte offsets.
struct SmallSwap {
    using Index = u32;
    Divisor<u32> cols;
    u32 rows, unit_bytes;

    __device__ u32 succ(u32 s) const {
        const u32 outer = cols.div(s);
        return (s - outer * cols.divisor) * rows + outer;
    }
    __device__ u64 offset(u32 s) const { return s * unit_bytes; }
    __device__ u32 pick(u32 k) const { return k; }
};
static_assert(sizeof(SmallSwap) == 24);

// Index map of the rows (runs) of square tiles, from a matrix of `from` runs per row to one of `to`. Only runs from the
// first `rows` rows to the first `cols` rows move. All other positions are gaps, which count as claimed.
struct TileRuns {
    using Index = u32;
    Divisor<u32> from, side;
    u32 to, rows, cols, pad;
    u64 unit_bytes;

    __device__ bool moves(u32 s) const {
        const u32 x = from.div(s);
        return x < rows && u64(s - x * from.divisor) * side.divisor + (x - side.div(x) * side.divisor) < cols;
    }
    __device__ u32 succ(u32 s) const {
        const u32 x = from.div(s), tile = side.div(x);
        return ((s - x * from.divisor) * side.divisor + (x - tile * side.divisor)) * to + tile;
    }
    __device__ u64 offset(u32 s) const { return s * unit_bytes; }
    __device__ u32 pick(u32 k) const { return k; }
};
static_assert(sizeof(TileRuns) == 56);

// Index map of the slot pass of the aligned-slot route. Slots are numbered through the batch, `count` per matrix. The
// last slot of a matrix may be partial and is a fixed point. I = u32 is for matrices whose elements it can count.
template <class I> struct SlotMap {
    using Index = I;
    I rows, cols, slot, chunk;
    I last_chunk, last_rows; // number and length of the last chunk
    Divisor<I> rows_div, slot_div, last_rows_div, chunk_div, per_chunk, count;
    u64 unit_bytes, instance_bytes;
    u32 backward, batched;

    __device__ I up(I n) const { return slot_div.div(n + slot - 1); }

    // Finds the final number of column j's first slot in chunk c, and its position in the chunk, in slots.
    __device__ void column(I c, I j, I &first, I &place) const {
        const I per_column = slot_div.div(chunk);
        first = up(j * rows) + c * per_column;
        place = c == last_chunk ? up(j * last_rows) : j * per_column;
    }
    __device__ I dest(I s) const {
        const I c = min(per_chunk.div(s), last_chunk), within = (s - c * per_chunk.divisor) * slot;
        const I j = c == last_chunk ? last_rows_div.div(within) : chunk_div.div(within);
        I first, place;
        column(c, j, first, place);
        return first + (s - c * per_chunk.divisor - place);
    }
    __device__ I source(I t) const {
        const I j = rows_div.div(t * slot), i = t * slot - j * rows;
        const I c = min(chunk_div.div(i), last_chunk);
        I first, place;
        column(c, j, first, place);
        return c * per_chunk.divisor + place + (t - first);
    }
    __device__ I succ(I s) const {
        if (!batched) return backward ? source(s) : dest(s);
        const I matrix = count.div(s), first = matrix * count.divisor;
        return first + (backward ? source(s - first) : dest(s - first));
    }
    __device__ u64 offset(I s) const {
        if (!batched) return s * unit_bytes;
        const I matrix = count.div(s);
        return matrix * instance_bytes + (s - matrix * count.divisor) * unit_bytes;
    }
    __device__ I pick(I k) const { return k; }
};
static_assert(sizeof(SlotMap<u32>) == 144);
static_assert(sizeof(SlotMap<u64>) == 216);

// Finds the last of `count` entries, of `step` numbers each, whose first number is at most `value`. The first entry's
// number is 0, and the numbers ascend.
static __device__ u32 last_below(const u32 *table, u32 step, u32 count, u32 value) {
    u32 low = 0;
#pragma unroll 1
    for (u32 left = count; left > 1;) {
        const u32 half = left / 2;
        low += table[(low + half) * step] <= value ? half : 0;
        left -= half;
    }
    return low;
}

// Slots of one field of records.
struct FieldSlot {
    u32 first, place, last; // final number of the first slot; slots before the field in a chunk, and in the last chunk
};
static_assert(sizeof(FieldSlot) == 12);

// Index map of the slot pass for records with fields of any widths.
struct FieldMap {
    using Index = u32;
    u32 fields, chunks; // chunks without the last one
    u32 backward, unit_bytes;
    Divisor<u32> per_chunk; // slots of a chunk
    FieldSlot field[64];

    // Returns the number of slots of a field in a chunk.
    __device__ u32 of_chunk(u32 f) const {
        return (f + 1 < fields ? field[f + 1].place : per_chunk.divisor) - field[f].place;
    }
    __device__ u32 succ(u32 s) const {
        u32 c = min(per_chunk.div(s), chunks), before = c * per_chunk.divisor;
        const u32 which = backward ? 0 : c == chunks ? 2 : 1;
        const u32 f = last_below(&field[0].first + which, 3, fields, backward ? s : s - before);
        const u32 of_field = field[f].first;
        if (backward) c = min((s - of_field) / of_chunk(f), chunks), before = c * per_chunk.divisor;
        const u32 slot = of_field + c * of_chunk(f), place = before + (c == chunks ? field[f].last : field[f].place);
        return backward ? s - slot + place : s - place + slot;
    }
    __device__ u64 offset(u32 s) const { return u64(s) * unit_bytes; }
    __device__ u32 pick(u32 k) const { return k; }
};
static_assert(sizeof(FieldMap) == 800);
