// A block's strip of columns in the gather pass. Moves rows and slots between global memory and a ring of rows in
// shared memory.
#pragma once
#include "region.cuh"


struct GatherArgs {
    char *data, *kept;
    SlotMap<u64> slots;         // the index maps; its byte fields are not used
    u64 batch, matrix_bytes, kept_bytes; // `kept_bytes`: workspace of a run, including alignment
    u32 runs, teams, blocks;    // runs of a matrix; teams of the grid; blocks of a team
    u32 block_cols;
    u32 depth, readers;         // chunks in shared memory; warps that read
    // In shared memory, rows are `pitch` bytes apart, with `granule` bytes of padding after every 2^period rows. A row
    // keeps its global address modulo `granule`, so whole granules move. `ring_rows` is a multiple of 2^period.
    u32 ring_rows, pitch, period, granule;
    Divisor<u32> grain;         // words of an element
};
static_assert(sizeof(GatherArgs) == 312);

using W = Word<WORD>;

struct Strip {
    const GatherArgs &a;
    const u32 *leads; // per column, and for the column after: number of rows of a chunk before its first slot
    char *ring;
    u32 ring_bytes;
    u32 c0, cols;
    char *matrix;
    u64 first, chunks;  // first chunk of the run; number of chunks
    u64 end_row;        // first row after the run; from it on, rows are read from `kept`
    char *kept;
    u32 thread, threads; // number of this thread, and count, among the reading or the writing threads

    __device__ u32 element_bytes() const { return a.grain.divisor * WORD; }
    __device__ u32 stride() const { return u32(a.slots.cols) * element_bytes(); }
    __device__ char *row(u64 i) const { return matrix + i * stride() + c0 * element_bytes(); }
    __device__ bool is_last(u64 n) const { return first + n == a.slots.last_chunk; }
    __device__ u32 rows_of(u64 n) const { return u32(is_last(n) ? a.slots.last_rows : a.slots.chunk); }
    // Returns the ring row of the first row of chunk n of the run.
    __device__ u32 place_of(u64 n) const { return u32(n * a.slots.chunk % a.ring_rows); }
    __device__ u32 wrapped(u32 p) const { return p >= a.ring_rows ? p - a.ring_rows : p; }
    // Returns the shared-memory address of ring row p, which may be past the ring's end.
    __device__ char *line(u32 p) const { return ring + p * a.pitch + (p >> a.period) * a.granule; }

    // Moves `count` rows of `bytes` bytes between global memory at `place` and the ring from row p on, in granules of
    // G bytes. `Load` moves to the ring, and may read bytes before a row, except before the matrix's `first` row.
    template <int G, bool Load>
    __device__ void move_rows(char *place, u32 bytes, u32 p, u32 count, bool first) const {
        const u32 granules = (bytes + 2 * G - WORD - 1) / G;
        const u32 step_r = threads / granules, step_v = threads % granules;
        u32 r = thread / granules, v = thread % granules;
        while (r < count) {
            char *row = place + u64(r) * stride();
            char *on_chip = line(wrapped(p + r)) + v * G;
            const i32 at = i32(v * G) - i32(u32(u64(row)) % G);
            if (!Load) {
                if (at >= 0 && at + G <= i32(bytes)) *(Word<G> *)(row + at) = *(const Word<G> *)on_chip;
            } else if (first && r == 0 && at < 0) {
                for (i32 b = 0; b < min(at + G, i32(bytes)); b += WORD) *(W *)(on_chip - at + b) = *(const W *)(row + b);
            } else if (at < i32(bytes)) {
                copy_async_part<G>(on_chip, row + at, u32(min(G, i32(bytes) - at)));
            }
            r += step_r, v += step_v;
            if (v >= granules) v -= granules, r++;
        }
        if constexpr (!Load && G > WORD) store_ends<G>(place, bytes, p, count);
    }
    // Stores the words of rows before the first whole granule and after the last.
    template <int G> __device__ void store_ends(char *place, u32 bytes, u32 p, u32 count) const {
        constexpr u32 kMost = G / WORD - 1;
        if (kMost < 4 || bytes < G) {
            for (u32 e = thread; e < 2 * kMost * count; e += threads) {
                const u32 r = e / (2 * kMost), k = e % (2 * kMost);
                char *row = place + u64(r) * stride();
                const u32 skew = u32(u64(row)) % G, head = min(bytes, (G - skew) % G), tail = (bytes - head) % G;
                const u32 b = k < kMost ? k * WORD : bytes - tail + (k - kMost) * WORD;
                if (b < (k < kMost ? head : bytes)) *(W *)(row + b) = *(const W *)(line(wrapped(p + r)) + skew + b);
            }
            return;
        }
        // Narrow words move in aligned parts of at most 8 bytes: growing up to the first whole granule, shrinking
        // after the last.
        constexpr u32 kSizes = kMost == 15 ? 4 : 3;
        for (u32 r = thread, k = 0;; r += threads) {
            for (; r >= count; r -= count) k++;
            if (k >= 2 * kSizes) return;
            char *row = place + u64(r) * stride();
            const u32 skew = u32(u64(row)) % G, head = (G - skew) % G, tail = (bytes - head) % G;
            const bool first = k < kSizes;
            const u32 size = WORD << (first ? k : k - kSizes);
            if (((first ? head : tail) & size) == 0) continue;
            const u32 b = first ? head & (size - 1) : bytes - (tail & (2 * size - 1));
            move_part(row + b, line(wrapped(p + r)) + skew + b, size);
        }
    }
    static __device__ void move_part(char *to, const char *from, u32 size) {
        switch (size) {
            case 1: *(u8 *)to = *(const u8 *)from; return;
            case 2: *(u16 *)to = *(const u16 *)from; return;
            case 4: *(u32 *)to = *(const u32 *)from; return;
            case 8: *(u64 *)to = *(const u64 *)from; return;
        }
    }
    template <bool Load> __device__ void move_rows(char *place, u32 width, u32 p, u32 count, bool first) const {
        const u32 bytes = width * element_bytes();
        if (bytes == 0) return;
        if (a.granule == 16)
            move_rows<16, Load>(place, bytes, p, count, first);
        else
            move_rows<WORD < 4 ? 4 : WORD, Load>(place, bytes, p, count, first);
    }

    // Moves the slots of chunk n of the run, one warp per column. `Load` (backward) moves them to the ring.
    template <bool Load> __device__ void move_slots(u64 n) const {
        const u32 lane = thread % kWarp, warps = threads / kWarp, grain = a.grain.divisor, unit = element_bytes();
        const u32 rows = rows_of(n), p = place_of(n);
        const bool last = is_last(n);
        char *memory = row((first + n) * a.slots.chunk) - c0 * unit;
        const u32 top = u32(u64(memory)) + c0 * unit;
        constexpr u32 kPack = WORD < 4 ? 4 / WORD : 1;
        if (!last && grain == 1 && (WORD >= 4 || u64(memory) % 4 == 0)) switch (rows) {
            case 16 * kPack: return move_whole_columns<16, 1, Load>(memory, p, top);
            case 32 * kPack: return move_whole_columns<32, 1, Load>(memory, p, top);
            case 64 * kPack: return move_whole_columns<32, 2, Load>(memory, p, top);
            // A store of 16-byte words would take 16 registers per lane.
            case 128 * kPack:
                if constexpr (WORD < 16 || Load) return move_whole_columns<32, 4, Load>(memory, p, top);
        }
        char *place = memory + u64(c0 + thread / kWarp) * rows * unit;
        u32 next = leads[min(thread / kWarp, cols)];
        for (u32 c = thread / kWarp; c < cols; c += warps) {
            const u32 lo = next;
            next = leads[min(c + warps, cols)];
            // In the last chunk, the slots of a column start at row `lo`. Forward, they continue into the next column.
            // Backward, the run that starts with those rows loads them.
            const u32 count = !last ? rows : Load ? rows - lo : rows + leads[c + 1] - lo;
            char *slots = place + (last ? lo * unit : 0);
            if (grain == 1) {
                move_column<WORD, Load>(slots, lo, count, p, top, c);
            } else {
                for (u32 w = lane; w < count * grain; w += kWarp) {
                    const u32 k = a.grain.div(w), r = lo + k;
                    move_word<WORD, Load>(held(p, r, top) + (c * grain + w - k * grain) * WORD, slots + w * WORD);
                }
            }
            place += warps * rows * unit;
        }
    }
    // Moves slots of columns of S * L words (or 4-byte packs of narrow words), L lanes per column. Instruction issue
    // limits the speed of the moves, so index arithmetic is minimal.
    template <u32 L, u32 S, bool Load> __device__ void move_whole_columns(char *memory, u32 p, u32 top) const {
        constexpr u32 P = WORD < 4 ? 4 / WORD : 1, kRows = S * L * P;
        using Moved = Word<P * WORD>;
        const u32 lane = thread % L, columns = threads / L, begin = thread / L;
        const u32 step = P * L * a.pitch + (P * L >> a.period) * a.granule, mask = a.granule - 1;
        const u32 row_bytes = stride(), low = top + lane * P * row_bytes;
        char *to = memory + (u64(c0 + begin) * kRows + lane * P) * WORD, *column = ring + begin * WORD;
        const u64 next_columns = u64(columns) * kRows * WORD;
        for (u32 c = begin; c < cols; c += columns) {
            const u32 lo = leads[c], q = wrapped(p + lo + lane * P);
            // Offsets of ring rows q, q + 1, ...
            u32 on_chip[P];
#pragma unroll
            for (u32 k = 0; k < P; k++)
                on_chip[k] = (q + k) * a.pitch + (q + k >> a.period) * a.granule + ((low + (lo + k) * row_bytes) & mask);
            Moved x[S];
            if constexpr (Load && P > 1) {
#pragma unroll
                for (u32 j = 0; j < S; j++) x[j] = *(const Moved *)(to + j * L * 4);
            }
            const bool ends = wrapped(p + lo) + kRows > a.ring_rows;
            u32 r = q;
#pragma unroll
            for (u32 j = 0; j < S; j++) {
                if constexpr (P == 1) {
                    if constexpr (Load)
                        copy_async<WORD>(column + on_chip[0], to + j * L * WORD);
                    else
                        x[j] = *(const W *)(column + on_chip[0]);
                } else {
                    if (!Load) x[j] = 0;
#pragma unroll
                    for (u32 k = 0; k < P; k++) {
                        W *held = (W *)(column + on_chip[k] - (ends && r + k >= a.ring_rows ? ring_bytes : 0));
                        if (Load)
                            *held = W(x[j] >> (8 * WORD * k));
                        else
                            x[j] |= u32(*held) << (8 * WORD * k);
                    }
                }
#pragma unroll
                for (u32 k = 0; k < P; k++) on_chip[k] += step;
                if (ends) {
                    r += P * L;
                    if (r >= a.ring_rows) {
                        r -= a.ring_rows;
#pragma unroll
                        for (u32 k = 0; k < P; k++) on_chip[k] -= ring_bytes;
                    }
                }
            }
            if constexpr (!Load) {
#pragma unroll
                for (u32 j = 0; j < S; j++) *(Moved *)(to + j * L * P * WORD) = x[j];
            }
            to += next_columns, column += columns * WORD;
        }
    }
    // Returns the shared-memory address of row r, counted from the row in ring row p with global address `top`.
    __device__ char *held(u32 p, u32 r, u32 top) const {
        return line(wrapped(p + r)) + ((top + r * stride()) & (a.granule - 1));
    }

    // Moves `count` elements of column c from row lo on, between the ring and `slots` in global memory. Rows whose
    // numbers are equal modulo 16 have equal addresses modulo 16.
    template <int B, bool Load>
    __device__ void move_column(char *slots, u32 lo, u32 count, u32 p, u32 top, u32 c) const {
        constexpr u32 P = B < 4 ? 4 / B : 1, kBatch = P == 1 ? (B == 4 ? 4 : B == 8 ? 2 : 1) : Load ? 8 : 2;
        using Moved = Word<P * B>;
        const u32 lane = thread % kWarp;
        // Narrow words before the first whole 4 bytes and after the last move one by one.
        const u32 head = P == 1 ? 0 : min(count, (0 - u32(u64(slots))) % 4 / B), packs = (count - head) / P;
        const u32 step = P * kWarp * a.pitch + (P * kWarp >> a.period) * a.granule;
        u32 r = lo + head + lane * P, q = wrapped(p + r);
        char *on_chip = held(p, r, top) + c * B, *to = slots + (head + lane * P) * B;
        u32 more[P];
#pragma unroll
        for (u32 k = 0; k < P; k++)
            more[k] = u32(line(q + k) + ((top + (r + k) * stride()) & (a.granule - 1)) + c * B - on_chip);
        for (u32 n = lane; n < packs; n += kBatch * kWarp) {
            Moved x[kBatch];
            if constexpr (Load && P > 1) {
#pragma unroll
                for (u32 j = 0; j < kBatch; j++)
                    if (n + j * kWarp < packs) x[j] = *(const u32 *)(to + j * kWarp * 4);
            }
#pragma unroll
            for (u32 j = 0; j < kBatch; j++) {
                if (n + j * kWarp < packs) {
                    if constexpr (P > 1) {
                        // The ring may end within a pack.
                        const u32 left = a.ring_rows - q;
                        if (!Load) x[j] = 0;
#pragma unroll
                        for (u32 k = 0; k < P; k++) {
                            char *at = on_chip + more[k] - (k < left ? 0 : ring_bytes);
                            if (Load)
                                *(Word<B> *)at = Word<B>(x[j] >> (8 * B * k));
                            else
                                x[j] |= u32(*(const Word<B> *)at) << (8 * B * k);
                        }
                    } else if constexpr (Load) {
                        copy_async<B>(on_chip, to + j * kWarp * B);
                    } else {
                        x[j] = *(const Word<B> *)on_chip;
                    }
                }
                q += P * kWarp, on_chip += step;
                if (q >= a.ring_rows) q -= a.ring_rows, on_chip -= ring_bytes;
            }
            if constexpr (!Load) {
#pragma unroll
                for (u32 j = 0; j < kBatch; j++)
                    if (n + j * kWarp < packs) *(Moved *)(to + j * kWarp * P * B) = x[j];
            }
            to += kBatch * kWarp * P * B;
        }
        if (P == 1) return;
        const u32 end = head + packs * P;
        if (lane < head) move_word<WORD, Load>(held(p, lo + lane, top) + c * B, slots + lane * B);
        if (end + lane < count) move_word<WORD, Load>(held(p, lo + end + lane, top) + c * B, slots + (end + lane) * B);
    }

    // Loads the elements in the run's first rows that belong to earlier slots: the end of one slot per column.
    __device__ void load_ends() const {
        const SlotMap<u64> &s = a.slots;
        const u32 lane = thread % kWarp, warps = threads / kWarp, grain = a.grain.divisor;
        const u32 top = u32(u64(row(first * s.chunk)));
        for (u32 c = thread / kWarp; c < cols; c += warps) {
            const u32 lead = leads[c];
            if (lead == 0) continue;
            u64 number, place;
            s.column(first, c0 + c, number, place);
            const char *end = matrix + ((s.source(number - 1) + 1) * s.slot - lead) * element_bytes();
            for (u32 w = lane; w < lead * grain; w += kWarp) {
                const u32 r = grain == 1 ? w : a.grain.div(w);
                *(W *)(held(0, r, top) + (c * grain + w - r * grain) * WORD) = *(const W *)(end + w * WORD);
            }
        }
    }

    // Loads the data for chunk n of the run: forward, rows up to slot - 1 after the chunk; backward, its slots.
    template <bool Backward> __device__ void load(u64 n) const {
        if (Backward) {
            move_slots<true>(n);
            return;
        }
        const u32 more = u32(a.slots.slot) - 1, before = n == 0 ? 0 : more, count = rows_of(n) + more - before;
        const u64 i = (first + n) * a.slots.chunk + before;
        const u32 p = wrapped(place_of(n) + before), own = u32(min(u64(count), end_row - min(i, end_row)));
        move_rows<true>(row(i), cols, p, own, i == 0 && c0 == 0);
        if (own == count) return;
        // Rows past the matrix's last row are rows of the next column. The last column has none.
        const bool none = cols > 0 && end_row == a.slots.rows && c0 + cols == a.slots.cols;
        char *from = kept + (i + own - end_row) * stride() + c0 * element_bytes();
        move_rows<true>(from, cols - none, wrapped(p + own), count - own, false);
    }
    template <bool Backward> __device__ void store(u64 n) const {
        if (Backward)
            move_rows<false>(row((first + n) * a.slots.chunk), cols, place_of(n), rows_of(n), false);
        else
            move_slots<false>(n);
    }
};
