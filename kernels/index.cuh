// Index arithmetic of the stages: the same closed forms as the crate `turntile-perm`.
#pragma once
#include "word.cuh"

// Division by an invariant (Granlund and Montgomery 1994, figure 4.1); the host fills the fields.
template <class I> struct Divisor;

template <> struct Divisor<u64> {
    u64 divisor, magic;
    u32 pre, post;
    __device__ u64 div(u64 n) const {
        const u64 t = __umul64hi(magic, n);
        return (t + ((n - t) >> pre)) >> post;
    }
};

template <> struct Divisor<u32> {
    u32 divisor, magic, pre, post;
    __device__ u32 div(u32 n) const {
        const u32 t = __umulhi(magic, n);
        return (t + ((n - t) >> pre)) >> post;
    }
};

// [batch][rows][mid][cols] to [batch][cols][mid][rows] on the numbers of super-elements.
// I = u32 serves up to 2^31 of them, which leaves the sums of the candidate search room.
template <class I> struct Swap {
    using Index = I;
    Divisor<I> cols, mid, instance, batch;
    I rows;
    u32 batched;
    u64 unit_bytes;

    __device__ I succ(I s) const {
        I first = 0;
        if (batched) {
            first = instance.div(s) * instance.divisor;
            s -= first;
        }
        const I rest = cols.div(s), inner = s - rest * cols.divisor;
        const I outer = mid.div(rest), between = rest - outer * mid.divisor;
        return first + (inner * mid.divisor + between) * rows + outer;
    }
    __device__ u64 offset(I s) const { return u64(s) * unit_bytes; }
    // The k-th to start from: instance after instance in turn, so that workers do not crowd into one,
    // where each would meet another's start after a step or two.
    __device__ I pick(I k) const {
        if (!batched) return k;
        const I turn = batch.div(k);
        return (k - turn * batch.divisor) * instance.divisor + turn;
    }
};

// The slot pass of the aligned-slot route: which slot goes where. Slots are numbered through the
// batch, `count` a matrix; the last of a matrix, perhaps partial, is a fixed point.
struct SlotMove {
    using Index = u64;
    u64 rows, cols, slot, chunk;
    u64 last_chunk, last_rows; // number and length of the last chunk
    Divisor<u64> rows_div, slot_div, last_rows_div, chunk_div, per_chunk, count;
    u64 unit_bytes, instance_bytes;
    u32 backward, pad;

    __device__ u64 up(u64 n) const { return slot_div.div(n + slot - 1); }

    // Final number of column j's first slot in chunk c, and its place in the chunk.
    __device__ void column(u64 c, u64 j, u64 &first, u64 &place) const {
        const u64 per_column = slot_div.div(chunk);
        first = up(j * rows) + c * per_column;
        place = c == last_chunk ? up(j * last_rows) : j * per_column;
    }
    __device__ u64 dest(u64 s) const {
        u64 c = per_chunk.div(s);
        c = c < last_chunk ? c : last_chunk;
        const u64 within = s - c * per_chunk.divisor;
        const u64 j = c == last_chunk ? last_rows_div.div(within * slot) : chunk_div.div(within * slot);
        u64 first, place;
        column(c, j, first, place);
        return first + (within - place);
    }
    __device__ u64 source(u64 t) const {
        const u64 j = rows_div.div(t * slot), i = t * slot - j * rows;
        u64 c = chunk_div.div(i);
        c = c < last_chunk ? c : last_chunk;
        u64 first, place;
        column(c, j, first, place);
        return c * per_chunk.divisor + place + (t - first);
    }
    __device__ u64 succ(u64 s) const {
        const u64 matrix = count.div(s), first = matrix * count.divisor;
        return first + (backward ? source(s - first) : dest(s - first));
    }
    __device__ u64 offset(u64 s) const {
        const u64 matrix = count.div(s);
        return matrix * instance_bytes + (s - matrix * count.divisor) * unit_bytes;
    }
    __device__ u64 pick(u64 k) const { return k; }
};
