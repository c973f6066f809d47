// Rectangles of words of at most 4 bytes, transposed through shared memory 16 bytes at a time, at any alignment of words.
//
// A thread loads a part of four rows, 16 bytes each, in aligned granules, and stores it transposed. In shared memory each
// column is one run, which is then copied to global memory in aligned granules. A rectangle writes the granules whose first
// words are in its columns, and therefore also loads the E - 1 rows below it. Granules at the ends of a rectangle's rows
// contain words that other blocks may be writing; those words are read and not used.
#pragma once
#include "copy_run.cuh"
#include "micro.cuh"

template <int W> struct Columns {
    static constexpr u32 E = 16 / W;  // columns of a part
    u32 rows, cols;
    u32 above, below; // rows of the matrix above and below the rectangle
    u32 pitch;        // bytes from column to column in shared memory: whole parts

    __device__ u32 loaded() const { return rows + min(below, E - 1); }
    // Returns the offset in shared memory of a column. The padding after E columns puts adjacent parts in different banks.
    __device__ u32 place(u32 column) const { return column * pitch + column / E * (4 * W); }
    // Returns an address modulo 16; it is a multiple of W.
    static __device__ u32 offset(u64 address) { return u32(address) & (16 - W); }

    // Returns word `e` of each of the four rows, in one vector.
    static __device__ __forceinline__ Word<4 * W> column(const uint4 (&row)[4], u32 e) {
        const u32 k = e * W / 4;
        const auto x = [&](int i) { return k == 0 ? row[i].x : k == 1 ? row[i].y : k == 2 ? row[i].z : row[i].w; };
        if constexpr (W == 4) {
            return make_uint4(x(0), x(1), x(2), x(3));
        } else if constexpr (W == 2) {
            return e % 2 ? make_uint2(highs(x(0), x(1)), highs(x(2), x(3))) : make_uint2(lows(x(0), x(1)), lows(x(2), x(3)));
        } else {
            const u32 pairs = e % 4 < 2 ? 0x5140 : 0x7362;
            const u32 a = __byte_perm(x(0), x(1), pairs), b = __byte_perm(x(2), x(3), pairs);
            return e % 2 ? highs(a, b) : lows(a, b);
        }
    }

    // Loads the rectangle at `from`, whose rows are `stride` bytes apart. In shared memory, columns of the last part that are
    // beyond the rectangle get any words. Memory before `begin` and from `end` on is not read.
    __device__ void load(char *tile, const char *from, u32 stride, const char *begin, const char *end) const {
        const u32 parts = (cols + E - 1) / E, down = (loaded() + 3) / 4;
        const u32 step_down = blockDim.x / parts, step_across = blockDim.x % parts;
        const i64 first = begin + 15 - from, past = end - 32 - from;
        for (u32 p = threadIdx.x / parts, q = threadIdx.x % parts; p < down;) {
            const u32 last = min(loaded() - p * 4, 4u) - 1, bytes = min(cols * W - q * 16, 16u);
            const u32 at = p * 4 * stride + q * 16;
            char *to = tile + place(q * E) + p * (4 * W);
            if (at >= first && at + 3 * stride <= past) {
                uint4 low[4], high[4];
                u32 skew[4];
#pragma unroll
                for (u32 i = 0; i < 4; i++) {
                    // Rows beyond the last repeat it; they are stored to the column's padding.
                    const char *row = from + (at + min(i, last) * stride);
                    skew[i] = offset(u64(row));
                    low[i] = *(const uint4 *)(row - skew[i]);
                    high[i] = *(const uint4 *)(row - skew[i] + (skew[i] + bytes > 16 ? 16 : 0));
                }
#pragma unroll
                for (u32 i = 0; i < 4; i++) low[i] = across(low[i], high[i], skew[i]);
#pragma unroll
                for (u32 e = 0; e < E; e++, to += pitch) *(Word<4 * W> *)to = column(low, e);
            } else {
#pragma unroll 1
                for (u32 i = 0; i <= last; i++)
#pragma unroll 1
                    for (u32 b = 0; b < bytes; b += W)
                        *(Word<W> *)(to + b / W * pitch + i * W) = *(const Word<W> *)(from + (at + i * stride + b));
            }
            p += step_down, q += step_across;
            if (q >= parts) q -= parts, p++;
        }
    }
    // Stores the columns at `to`, `stride` bytes apart.
    __device__ void store(const char *tile, char *to, u32 stride) const {
        const u32 granules = (rows * W + 15) / 16;
        const u32 step_down = blockDim.x / granules, step_across = blockDim.x % granules;
        for (u32 c = threadIdx.x / granules, v = threadIdx.x % granules; c < cols;) {
            char *column = to + c * stride;
            const u32 at = v * 16 + offset(0 - u64(column));
            if (at < rows * W && at + 16 <= loaded() * W) {
                const u32 from = place(c) + at, skew = offset(from);
                const uint4 *whole = (const uint4 *)(tile + (from - skew));
                *(uint4 *)(column + at) = across(whole[0], whole[1], skew);
            }
            c += step_down, v += step_across;
            if (v >= granules) v -= granules, c++;
        }
        // Single words before the first granule of the matrix's columns and after the last.
        if (above > 0 && below >= E - 1) return;
        const u32 all = above + rows + below;
        for (u32 n = threadIdx.x; n < cols * (2 * E); n += blockDim.x) {
            const u32 c = n / (2 * E), k = n % E;
            char *column = to + c * stride;
            const u32 head = min(all, offset(above * W - u64(column)) / W), tail = (all - head) % E;
            const u32 first = n & E ? all - tail - above : 0 - above;
            if (k < (n & E ? tail : head) && first < rows)
                *(Word<W> *)(column + (first + k) * W) = *(const Word<W> *)(tile + (place(c) + (first + k) * W));
        }
    }
};
