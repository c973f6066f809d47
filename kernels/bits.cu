// Transposes matrices of elements of 1, 2 or 4 bits: squares in place, matrices into another buffer, and matrices of at most
// 8 bytes, each by one thread, in place or into another buffer.
//
// A byte stores P elements. A micro-block is P rows by P elements: one byte of each of P rows. A thread loads a unit of
// E by E micro-blocks as E bytes of each of E * P rows, transposes it in registers, and stores it transposed in shared
// memory. When the block has read its tiles, it writes their rows. E is 4 if all rows are whole aligned words of 4 bytes,
// else 1.
//
// If the first element of a byte is in its high bits, positions in a byte are reversed. Then the rows of each
// micro-block are loaded and stored in reverse order, so that one transposition in registers serves both orders.
//
// In shared memory, row r of a tile is rotated by r / (E * P) words of 4 bytes. In rows of 64 bytes, two adjacent rows
// are also swapped if that number is odd. So neither access has bank conflicts if E is 4.
#include "micro.cuh"
#include "tile_order.cuh"

struct BitsArgs {
    char *data;
    u64 pitch, matrix_bytes; // bytes of a row and of a matrix
    u32 rows, cols;          // rows of a matrix, and bytes of a row
    u32 side;                // bytes of a row of a block's square, which has side * P rows
    u32 big;                 // 1 if the first element of a byte is in its high bits
    Divisor<u32> pairs;      // blocks of a square: pairs of tiles, and tiles of the diagonal
    Divisor<u32> across;     // squares across a matrix
    Divisor<u32> down;       // squares down a matrix
    Divisor<u32> small;      // units across one of the squares in a tile; if squares are tiles or larger, units of a square
};
static_assert(sizeof(BitsArgs) == 104);

struct BitsIntoArgs {
    char *to;
    const char *from;
    u64 from_pitch, to_pitch;             // bytes of a row
    u64 from_matrix_bytes, to_matrix_bytes;
    u32 rows, cols;                       // of the source, in elements
    u32 big, pad;                         // 1 if the first element of a byte is in its high bits
    TileOrder order;
};
static_assert(sizeof(BitsIntoArgs) == 104);

struct BitsSmallArgs {
    char *to;
    const char *from; // equals `to` in place
    u64 matrices;
    u32 rows, cols;           // of the source, in elements
    u32 from_bytes, to_bytes; // of a matrix, at most 8
    u32 word;                 // bytes of an access: those of a matrix, or 1
    u32 big;                  // 1 if the first element of a byte is in its high bits
};
static_assert(sizeof(BitsSmallArgs) == 48);

// Bytes of a row of a tile, and threads per block.
template <u32 P> constexpr u32 kLine = P == 2 ? 128 : 64;
template <u32 P> constexpr u32 kThreads = P == 2 ? 512 : 256;

// Returns the offset in shared memory of byte `byte` of row `row` of a tile.
template <u32 P, u32 E> static __device__ u32 place(u32 row, u32 byte) {
    constexpr u32 L = kLine<P>;
    const u32 number = row / (E * P);
    if (L < kWarp * 4) row ^= number & 1;
    return row * L + (byte + number * 4) % L;
}

// Swaps the high half of each group of 2 * Shift bits of `low` with the low half of that group of `high`.
template <u32 Shift> static __device__ void swap_halves(u32 &low, u32 &high) {
    constexpr u32 mask = 0xffffffffu / ((1u << Shift) + 1);
    const u32 changed = ((low >> Shift) ^ high) & mask;
    high ^= changed;
    low ^= changed << Shift;
}

// Transposes micro-blocks: each byte position of P words is one.
template <u32 P> static __device__ void turn(u32 *row) {
#pragma unroll
    for (u32 r = 0; r < P; r++)
        if ((r & P / 2) == 0) swap_halves<4>(row[r], row[r + P / 2]);
    if constexpr (P >= 4) {
#pragma unroll
        for (u32 r = 0; r < P; r++)
            if ((r & P / 4) == 0) swap_halves<2>(row[r], row[r + P / 4]);
    }
    if constexpr (P == 8) {
#pragma unroll
        for (u32 r = 0; r < P; r += 2) swap_halves<1>(row[r], row[r + 1]);
    }
}

// Transposes 4 x 4 bytes.
static __device__ void turn_bytes(u32 &a, u32 &b, u32 &c, u32 &d) {
    const u32 even = __byte_perm(a, b, 0x5140), odd = __byte_perm(a, b, 0x7362);
    const u32 even_next = __byte_perm(c, d, 0x5140), odd_next = __byte_perm(c, d, 0x7362);
    a = lows(even, even_next), b = highs(even, even_next);
    c = lows(odd, odd_next), d = highs(odd, odd_next);
}

// Reads a tile of `rows` rows and `bytes` bytes of each into shared memory, transposed. Rows of its last micro-blocks
// that are missing count as zeros. The tile has squares of `small` units each way, each transposed separately.
template <u32 P, u32 E>
static __device__ void load(char *held, const char *from, u64 pitch, u32 rows, u32 bytes, u32 big,
                            const Divisor<u32> &small) {
    constexpr u32 Across = kLine<P> / E, Units = Across * Across;
#pragma unroll 2
    for (u32 unit = threadIdx.x; unit < Units; unit += kThreads<P>) {
        const u32 i = unit / Across, j = unit % Across, first = i * E * P;
        if (first >= rows || j * E >= bytes) continue;
        const u32 last = big ? P - 1 : 0;
        const i64 step = big ? -i64(pitch) : i64(pitch);
        const char *at = from + (first + last) * pitch + j * E;
        u32 row[E * P];
#pragma unroll
        for (u32 e = 0; e < E; e++) {
#pragma unroll
            for (u32 r = 0; r < P; r++) {
                const bool real = first + e * P + (r ^ last) < rows;
                row[e * P + r] = real ? u32(*(const Word<E> *)(at + i64(r) * step)) : 0;
            }
            at += P * pitch;
        }
#pragma unroll
        for (u32 e = 0; e < E; e++) turn<P>(row + e * P);
        if constexpr (E == 4) {
#pragma unroll
            for (u32 r = 0; r < P; r++) turn_bytes(row[r], row[P + r], row[2 * P + r], row[3 * P + r]);
        }
        const u32 square_row = small.div(i) * small.divisor, square_col = small.div(j) * small.divisor;
        const u32 to_row = (square_row + j - square_col) * E * P, to_byte = (square_col + i - square_row) * E;
#pragma unroll
        for (u32 e = 0; e < E; e++)
#pragma unroll
            for (u32 r = 0; r < P; r++)
                *(Word<E> *)(held + place<P, E>(to_row + e * P + (r ^ last), to_byte)) = Word<E>(row[e * P + r]);
    }
}

// Writes `rows` rows of `bytes` bytes each from shared memory.
template <u32 P, u32 E> static __device__ void store(const char *held, char *to, u64 pitch, u32 rows, u32 bytes) {
    constexpr u32 Across = kLine<P> / E, Step = kThreads<P> / Across;
    const u32 byte = threadIdx.x % Across * E;
    if (byte >= bytes) return;
#pragma unroll 4
    for (u32 row = threadIdx.x / Across; row < rows; row += Step)
        *(Word<E> *)(to + row * pitch + byte) = *(const Word<E> *)(held + place<P, E>(row, byte));
}

// Transposes squares in place. Tiles (i, j) and (j, i) of a square are swapped. Squares smaller than a tile are in one
// tile with their neighbours.
template <u32 P, u32 E> static __device__ void in_place(const BitsArgs &a) {
    constexpr u32 L = kLine<P>;
    extern __shared__ uint4 shared[];
    const u32 square = a.pairs.div(blockIdx.x), band = a.across.div(square), matrix = a.down.div(band);
    const u32 col = (square - band * a.across.divisor) * a.side;
    const u32 row = (band - matrix * a.down.divisor) * a.side * P;
    const u32 rows = min(a.side * P, a.rows - row), cols = min(a.side, a.cols - col);
    u32 i, j;
    folded(blockIdx.x - square * a.pairs.divisor, (a.side + L - 1) / L, i, j);
    char *first = a.data + matrix * a.matrix_bytes + row * a.pitch + col;
    const auto at = [&](u32 i, u32 j) { return first + u64(i) * L * P * a.pitch + j * L; };
    const auto height = [&](u32 i) { return min(L * P, rows - i * L * P); };
    const auto width = [&](u32 j) { return min(L, cols - j * L); };
    const u32 tiles = i == j ? 1 : 2;
    const auto held = [&](u32 k) { return (char *)shared + k * L * L * P; };
#pragma unroll 1
    for (u32 k = 0; k < tiles; k++) {
        const u32 r = k == 0 ? i : j, c = k == 0 ? j : i;
        load<P, E>(held(k), at(r, c), a.pitch, height(r), width(c), a.big, a.small);
    }
    __syncthreads();
#pragma unroll 1
    for (u32 k = 0; k < tiles; k++) {
        const u32 r = k == 0 ? j : i, c = k == 0 ? i : j;
        store<P, E>(held(k), at(r, c), a.pitch, height(r), width(c));
    }
}

// Transposes matrices into another buffer. Padding bits of the source are in rows that are not written.
template <u32 P, u32 E> static __device__ void into(const BitsIntoArgs &a) {
    constexpr u32 L = kLine<P>;
    extern __shared__ uint4 shared[];
    u32 matrix, i, j;
    a.order.find(blockIdx.x, matrix, i, j);
    const u32 row = i * L * P, col = j * L * P, rows = min(L * P, a.rows - row), cols = min(L * P, a.cols - col);
    const char *from = a.from + matrix * a.from_matrix_bytes + row * a.from_pitch + j * L;
    char *to = a.to + matrix * a.to_matrix_bytes + col * a.to_pitch + i * L;
    load<P, E>((char *)shared, from, a.from_pitch, rows, (cols + P - 1) / P, a.big, {0, 0, 0, 0});
    __syncthreads();
    store<P, E>((char *)shared, to, a.to_pitch, cols, (rows + P - 1) / P);
}

// Returns `bytes` bytes from `at` on, the first in the low bits; `at` is a multiple of `word`.
static __device__ u64 read_bytes(const char *at, u32 bytes, u32 word) {
    u64 value = 0;
    switch (word) {
    case 8: return *(const u64 *)at;
    case 4: return *(const u32 *)at;
    case 2: return *(const u16 *)at;
    default:
        for (u32 k = 0; k < bytes; k++) value |= u64(*(const u8 *)(at + k)) << 8 * k;
        return value;
    }
}

static __device__ void write_bytes(char *at, u64 value, u32 bytes, u32 word) {
    switch (word) {
    case 8: *(u64 *)at = value; return;
    case 4: *(u32 *)at = u32(value); return;
    case 2: *(u16 *)at = u16(value); return;
    default:
        for (u32 k = 0; k < bytes; k++) *(u8 *)(at + k) = u8(value >> 8 * k);
    }
}

// Transposes matrices of at most 8 bytes, each in the registers of a thread. In place no other thread accesses its bytes.
template <u32 Bits> static __device__ void small(const BitsSmallArgs &a) {
    constexpr u32 P = 8 / Bits;
    const u64 matrix = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    if (matrix >= a.matrices) return;
    const u64 from = read_bytes(a.from + matrix * a.from_bytes, a.from_bytes, a.word);
    const u32 from_row = (a.cols + P - 1) / P * P, to_row = (a.rows + P - 1) / P * P, reversed = a.big ? P - 1 : 0;
    u64 to = 0;
    for (u32 c = 0; c < a.cols; c++)
        for (u32 r = 0; r < a.rows; r++) {
            const u64 element = from >> ((r * from_row + c) ^ reversed) * Bits & ((1u << Bits) - 1);
            to |= element << ((c * to_row + r) ^ reversed) * Bits;
        }
    write_bytes(a.to + matrix * a.to_bytes, to, a.to_bytes, a.word);
}

#define SMALL(BITS)                                                                                                 \
    extern "C" __global__ void __launch_bounds__(256) bits_small_##BITS(const __grid_constant__ BitsSmallArgs a) {  \
        small<BITS>(a);                                                                                             \
    }
SMALL(1)
SMALL(2)
SMALL(4)

#define KERNELS(BITS, E, NAME)                                                                                      \
    extern "C" __global__ void __launch_bounds__(kThreads<8 / BITS>, 3) bits_swap_##NAME(                           \
        const __grid_constant__ BitsArgs a) {                                                                       \
        in_place<8 / BITS, E>(a);                                                                                   \
    }                                                                                                               \
    extern "C" __global__ void __launch_bounds__(kThreads<8 / BITS>, 3) bits_into_##NAME(                           \
        const __grid_constant__ BitsIntoArgs a) {                                                                   \
        into<8 / BITS, E>(a);                                                                                       \
    }
KERNELS(1, 4, 1_words)
KERNELS(2, 4, 2_words)
KERNELS(4, 4, 4_words)
KERNELS(1, 1, 1_bytes)
KERNELS(2, 1, 2_bytes)
KERNELS(4, 1, 4_bytes)
