// Transposes matrices into another buffer. For other shapes, `barrier_block` and `barrier_tile` (barrier.cu) are used.
//
// | kernel | for |
// |---|---|
// | into_micro | rows and columns of whole 16-byte vectors: micro-blocks in registers |
// | into_lines | any sides, any alignment of words: columns are written in whole sectors |
#include "tile_order.cuh"
#include "tiles.cuh"

struct IntoArgs {
    char *to;
    const char *from;
    u64 rows, cols;           // of a matrix, in super-elements
    u64 from_pitch, to_pitch; // bytes from row to row of the source, and of the result
    u64 matrix_bytes;
    u64 bytes; // of the whole batch
    TileOrder order;
};
static_assert(sizeof(IntoArgs) == 104);

template <int W, int T> static __device__ void into_micro(const IntoArgs &a) {
    using Tiles = Tile<W, T>;
    using Vec = typename Tiles::Vec;
    extern __shared__ uint4 shared[];
    Vec *tile = (Vec *)shared;
    u32 which, i, j;
    a.order.find(blockIdx.x, which, i, j);
    const u64 row = u64(i) * T, col = u64(j) * T, matrix = which * a.matrix_bytes;
    const char *from = a.from + matrix + row * a.from_pitch + col * W;
    char *to = a.to + matrix + col * a.to_pitch + row * W;
    const u32 rows = u32(min(u64(T), a.rows - row)), cols = u32(min(u64(T), a.cols - col));
#pragma unroll
    for (int k = 0; k < Tiles::each; k++) {
        const u32 m = threadIdx.x + k * Tiles::threads, p = m / Tiles::side, q = m % Tiles::side;
        Micro<W> x;
        Tiles::load(x, from, a.from_pitch, p, q, rows, cols);
        x.transpose();
        Tiles::mirror(tile, x, p, q);
    }
    __syncthreads();
    Tiles::store(tile, to, a.to_pitch, threadIdx.x, cols, rows);
}

enum : u32 { kIntoThreads = 256, kIntoWarps = kIntoThreads / kWarp };

// N words as one access.
template <int W, int N> struct Pack {
    u32 part[W * N / 4];

    __device__ void set(int k, Word<W> x) {
        if constexpr (W < 4) {
            part[k * W / 4] = (k * W % 4 ? part[k * W / 4] : 0) | u32(x) << (8 * (k * W % 4));
        } else if constexpr (W == 4) {
            part[k] = x;
        } else {
#pragma unroll
            for (int i = 0; i < W / 4; i++) part[k * (W / 4) + i] = ((const u32 *)&x)[i];
        }
    }
    __device__ Word<W> get(int k) const {
        if constexpr (W < 4) {
            return Word<W>(part[k * W / 4] >> (8 * (k * W % 4)));
        } else {
            Word<W> x;
#pragma unroll
            for (int i = 0; i < W / 4; i++) ((u32 *)&x)[i] = part[k * (W / 4) + i];
            return x;
        }
    }
    __device__ void store(char *at) const {
        if constexpr (W * N == 8)
            *(uint2 *)at = make_uint2(part[0], part[1]);
        else
            *(uint4 *)at = make_uint4(part[0], part[1], part[2], part[3]);
    }
};

// Transposes tiles of R x C words whose columns are written in whole sectors. A column starts up to A - 1 rows above
// the tile, where its address in the result is a multiple of A words. A warp writes a column, P words per lane. The P
// rows that a lane packs are `apart` rows from each other in shared memory, so that lanes use different banks. Words
// of 1 and 2 bytes are read 4 bytes at a time, and rows keep their addresses modulo 4 in shared memory.
template <int W, int R, int C, int A> static __device__ void into_lines(const IntoArgs &a) {
    extern __shared__ uint4 shared[];
    constexpr u32 P = R / kWarp, high = R + A - 1, apart = (high + P - 1) / P;
    constexpr u32 G = W < 4 ? 4 : W, granules = C * W / G, lead = W < 4 ? 1 : 0;
    constexpr u32 pitch = (granules + lead | 1) * G;
    constexpr u32 step = kIntoThreads / granules; // rows that the block reads at a time
    static_assert(A % P == 0 && step % P == 0 && kIntoThreads % granules == 0, "packs align");
    static_assert(W >= 4 || granules == kWarp, "a warp reads a row");
    char *tile = (char *)shared;
    u32 which, i, j;
    a.order.find(blockIdx.x, which, i, j);
    const i64 row = i64(i) * R, first = row - (A - 1), rows = a.rows;
    const u64 col = u64(j) * C, matrix = which * a.matrix_bytes;
    const u32 cols = u32(min(u64(C), a.cols - col));
    const char *corner = a.from + matrix + col * W;
    {
        const u32 g = threadIdx.x % granules, r0 = threadIdx.x / granules;
        // Rows of the tile that are inside the matrix.
        const u32 begin = first < 0 ? u32(-first) : 0, end = u32(min(i64(high), rows - first));
        char *to = tile + (r0 % P * apart + r0 / P) * pitch + g * G;
        const char *from = corner + (first + r0) * i64(a.from_pitch) + g * G;
        const u64 rows_on = step * a.from_pitch;
        if constexpr (W >= 4) {
            if (g < cols) {
#pragma unroll 8
                for (u32 r = r0; r < end; r += step) {
                    if (r >= begin) copy_async<G, kWholeLines>(to, from);
                    to += step / P * pitch;
                    from += rows_on;
                }
            }
        } else {
            const char *all = a.from, *past = a.from + a.bytes;
            const auto fetch = [&](const char *at, char *place) {
                if (at >= all && at + 4 <= past)
                    copy_async<4, kWholeLines>(place, at);
                else // the first or the last bytes of the source
                    for (int b = 0; b < 4; b++)
                        if (at + b >= all && at + b < past) place[b] = at[b];
            };
#pragma unroll 4
            for (u32 r = r0; r < end; r += step) {
                const u32 skew = u32(u64(from) & 3), needed = (skew + cols * W + 3) / 4;
                if (r >= begin && g < needed) fetch(from - skew, to);
                if (r >= begin && g == 0 && needed > kWarp) fetch(from - skew + kWarp * 4, to + kWarp * 4);
                to += step / P * pitch;
                from += rows_on;
            }
        }
    }
    copy_async_wait();
    __syncthreads();
    const u32 lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    char *column = a.to + matrix + (col + warp) * a.to_pitch + row * W;
    const char *lanes = tile + lane * pitch;
    const u32 source = u32(u64(corner)) + u32(first) * u32(a.from_pitch); // modulo 4
#pragma unroll 2
    for (u32 c = warp; c < cols; c += kIntoWarps) {
        const u32 up = u32(u64(column) / W) & (A - 1), start = A - 1 - up;
        Pack<W, P> pack;
#pragma unroll
        for (u32 k = 0; k < P; k++) {
            const u32 r = start + k;
            const u32 skew = W < 4 ? source + r * u32(a.from_pitch) & 3 : 0;
            pack.set(k, *(const Word<W> *)(lanes + (r % P * apart + r / P) * pitch + c * W + skew));
        }
        const i64 at = row + lane * P - i64(up);
        char *place = column + (i32(lane * P) - i32(up)) * W;
        if (at >= 0 && at + P <= rows) {
            pack.store(place);
        } else {
#pragma unroll
            for (u32 k = 0; k < P; k++)
                if (at + k >= 0 && at + k < rows) *(Word<W> *)(place + k * W) = pack.get(k);
        }
        column += kIntoWarps * a.to_pitch;
    }
}

#define MICRO(T)                                                                                       \
    extern "C" __global__ void __launch_bounds__(256) into_micro_##T(const __grid_constant__ IntoArgs a) { \
        into_micro<WORD, T>(a);                                                                        \
    }
// COLUMN and ROW are the bytes of a column and of a row of a tile. Columns are aligned to 32 bytes, a sector.
#define LINES(COLUMN, ROW)                                                                             \
    extern "C" __global__ void __launch_bounds__(256)                                                  \
        into_lines_##COLUMN##_##ROW(const __grid_constant__ IntoArgs a) {                              \
        into_lines<WORD, COLUMN / WORD, ROW / WORD, 32 / WORD>(a);                                     \
    }

#if WORD == 1
MICRO(128)
LINES(256, 128)
#elif WORD == 2
MICRO(128)
LINES(512, 128)
#elif WORD == 4
MICRO(64)
LINES(512, 128)
#else
LINES(512, 256)
#endif
