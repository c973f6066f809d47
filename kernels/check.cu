// Filling and comparison of arrays in global memory, for tests. Element i is filled with a hash of i.
#include "word.cuh"

static __device__ u64 mix(u64 x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

// Returns byte b of element i of a filled array.
static __device__ u8 byte_of(u64 i, u32 b) { return u8(mix(i * 4 + b / 8 + 1) >> (b % 8 * 8)); }

// Compares element `o` with source element `from`. Counts differences in wrong[0]; wrong[1] is the lowest such index.
static __device__ void compare(const char *data, u64 o, u64 from, u32 bytes, u64 *wrong) {
    bool right = true;
    for (u32 k = 0; k < bytes; k++) right = right && data[o * bytes + k] == char(byte_of(from, k));
    if (!right) {
        atomicAdd(wrong, 1ull);
        atomicMin(wrong + 1, o);
    }
}

extern "C" __global__ void check_fill(char *data, u64 elements, u32 bytes) {
    const u64 step = u64(gridDim.x) * blockDim.x;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < elements; i += step)
        for (u32 b = 0; b < bytes; b++) data[i * bytes + b] = char(byte_of(i, b));
}

// Axes in the order of the result, with extents and strides in the source, in elements; the stride of a reversed axis is
// negative, modulo 2^64. `start` is the source of the first element.
struct PlainAxes {
    u64 rank, start, extents[64], strides[64];
};

// Compares each element with the source element that the permutation moves to its offset.
extern "C" __global__ void check_axes(const char *data, u64 elements, PlainAxes axes, u32 bytes, u64 *wrong) {
    const u64 step = u64(gridDim.x) * blockDim.x;
    for (u64 o = u64(blockIdx.x) * blockDim.x + threadIdx.x; o < elements; o += step) {
        u64 rest = o, from = axes.start;
        for (u32 axis = u32(axes.rank); axis-- > 0;) {
            const u64 next = rest / axes.extents[axis];
            from += (rest - next * axes.extents[axis]) * axes.strides[axis];
            rest = next;
        }
        compare(data, o, from, bytes, wrong);
    }
}

// Applies 2100! to super-elements of lanes * 16 bytes, from one buffer to another. Without flags and cycles, it is a
// lower bound for the time of the in-place movers.
extern "C" __global__ void __launch_bounds__(256, 8)
    check_permute(const char *from, char *to, u64 units, u64 rows, u64 mid, u64 cols, u32 lanes) {
    const u32 sub = threadIdx.x % lanes;
    const u64 workers = u64(gridDim.x) * (blockDim.x / lanes), unit_bytes = lanes * 16;
    for (u64 s = (u64(blockIdx.x) * blockDim.x + threadIdx.x) / lanes; s < units; s += workers) {
        const u64 rest = s / cols, d = (s % cols * mid + rest % mid) * rows + rest / mid;
        *(uint4 *)(to + d * unit_bytes + sub * 16) = *(const uint4 *)(from + s * unit_bytes + sub * 16);
    }
}

// Aligned slots, computed from their definition by plain division.
struct PlainSlots {
    u64 rows, cols, slot, chunk;

    __device__ u64 up(u64 a) const { return (a + slot - 1) / slot; }
    __device__ u64 last() const { return rows / chunk + (rows % chunk >= slot) - 1; }
    __device__ u64 rows_of(u64 c) const { return c == last() ? rows - c * chunk : chunk; }
    // Returns the position of slot t of the result before the slot pass, in slots from the start of the matrix.
    __device__ u64 place(u64 t) const {
        const u64 j = t * slot / rows, c = min((t * slot - j * rows) / chunk, last());
        return c * (chunk / slot) * cols + up(j * rows_of(c)) + t - up(j * rows) - c * (chunk / slot);
    }
    __device__ u64 number(u64 place) const {
        const u64 c = min(place / (chunk / slot * cols), last()), within = place - c * (chunk / slot) * cols;
        const u64 j = within * slot / rows_of(c);
        return up(j * rows) + c * (chunk / slot) + within - up(j * rows_of(c));
    }
};

// Compares `batch` matrices with the result of one pass of aligned slots on data from `check_fill`. `pass`: 0 gather,
// 1 move, 2 gather backward, 3 move backward.
extern "C" __global__ void check_slots(const char *data, u64 batch, PlainSlots s, u32 pass, u32 bytes, u64 *wrong) {
    const u64 elements = s.rows * s.cols, step = u64(gridDim.x) * blockDim.x;
    for (u64 o = u64(blockIdx.x) * blockDim.x + threadIdx.x; o < batch * elements; o += step) {
        const u64 base = o / elements * elements, at = o - base;
        u64 from;
        if (pass == 2) {
            const u64 final = at % s.cols * s.rows + at / s.cols;
            from = s.place(final / s.slot) * s.slot + final % s.slot;
        } else {
            const u64 t = at / s.slot, other = (pass == 1 ? s.place(t) : s.number(t)) * s.slot + at % s.slot;
            from = pass == 0 ? other % s.rows * s.cols + other / s.rows : other;
        }
        compare(data, o, base + from, bytes, wrong);
    }
}

// A matrix with leading dimensions `lda` in the source and `ldb` in the result, in elements.
struct PlainLeading {
    u64 rows, cols, lda, ldb, turned; // rows and columns of the source; 1 if transposed
};

// Compares `span` elements with the result of a change of leading dimensions on data from `check_fill`. If `lda` and
// `ldb` differ, source elements outside the result may have any value. All other gaps must be unchanged.
extern "C" __global__ void check_leading(const char *data, u64 span, PlainLeading p, u32 bytes, u64 *wrong) {
    const u64 rows = p.turned ? p.cols : p.rows, cols = p.turned ? p.rows : p.cols;
    const u64 step = u64(gridDim.x) * blockDim.x;
    for (u64 o = u64(blockIdx.x) * blockDim.x + threadIdx.x; o < span; o += step) {
        const u64 r = o / p.ldb, c = o % p.ldb;
        u64 from = o;
        if (r < rows && c < cols)
            from = p.turned ? c * p.lda + r : r * p.lda + c;
        else if (p.lda != p.ldb && o / p.lda < p.rows && o % p.lda < p.cols)
            continue;
        compare(data, o, from, bytes, wrong);
    }
}

// Records of at most 64 fields, in tiles of `from` records in the source and `to` in the result. 0 is AoS, with fields
// at the offsets `places`, in words.
struct PlainRecords {
    u64 records, words, fields, from, to;
    u32 widths[64], places[64];

    __device__ u64 held(u64 tile, u64 first) const { return min(max(tile, u64(1)), records - first); }
};

// Compares each word of the result with the word of the source that moves to its offset, field by field.
extern "C" __global__ void check_records(const char *data, PlainRecords r, u32 bytes, u64 *wrong) {
    const u64 step = u64(gridDim.x) * blockDim.x, to = max(r.to, u64(1)), from = max(r.from, u64(1));
    for (u64 o = u64(blockIdx.x) * blockDim.x + threadIdx.x; o < r.records * r.words; o += step) {
        const u64 first = o / r.words / to * to, count = r.held(to, first), within = o - first * r.words;
        u64 begin = 0;
        for (u32 f = 0; f < r.fields; begin += r.widths[f], f++) {
            const u64 width = r.widths[f], lies = r.to ? begin * count : r.places[f];
            if (within < lies || within >= lies + count * width) continue;
            const u64 i = first + (within - lies) / width, word = (within - lies) % width, other = i / from * from;
            const u64 place = r.from ? begin * r.held(from, other) : r.places[f];
            compare(data, o, other * r.words + place + (i - other) * width + word, bytes, wrong);
            break;
        }
    }
}

// Matrices of elements of less than a byte. A row starts at a byte.
struct PlainBits {
    u64 batch, rows, cols, per_byte, big; // of the source; `big` is 1 if the first element of a byte is in its high bits

    // Returns element `k` of a row.
    __device__ u32 element(const char *row, u64 k) const {
        const u32 bits = 8 / u32(per_byte), at = u32(k % per_byte);
        return u8(row[k / per_byte]) >> bits * (big ? u32(per_byte) - 1 - at : at) & ((1u << bits) - 1);
    }
};

// Compares each byte of the transposed matrices with the elements of the source. Padding bits must be 0.
extern "C" __global__ void check_bits(const char *data, const char *from, PlainBits p, u64 *wrong) {
    const u64 from_row = (p.cols + p.per_byte - 1) / p.per_byte, to_row = (p.rows + p.per_byte - 1) / p.per_byte;
    const u64 step = u64(gridDim.x) * blockDim.x;
    for (u64 o = u64(blockIdx.x) * blockDim.x + threadIdx.x; o < p.batch * p.cols * to_row; o += step) {
        const u64 c = o / to_row % p.cols, matrix = o / to_row / p.cols;
        bool right = true;
        for (u64 k = 0; k < p.per_byte; k++) {
            const u64 r = o % to_row * p.per_byte + k;
            const u32 want = r < p.rows ? p.element(from + (matrix * p.rows + r) * from_row, c) : 0;
            right = right && p.element(data + o, k) == want;
        }
        if (!right) {
            atomicAdd(wrong, 1ull);
            atomicMin(wrong + 1, o);
        }
    }
}
