// Filling and comparing on the device, for tests: element i holds a hash of i.
#include "word.cuh"

static __device__ u64 mix(u64 x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

// Byte b of element i.
static __device__ u8 byte_of(u64 i, u32 b) { return u8(mix(i * 4 + b / 8 + 1) >> (b % 8 * 8)); }

extern "C" __global__ void check_fill(char *data, u64 elements, u32 bytes) {
    const u64 step = u64(gridDim.x) * blockDim.x;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < elements; i += step)
        for (u32 b = 0; b < bytes; b++) data[i * bytes + b] = char(byte_of(i, b));
}

// Axes in the order of the result, each with the elements that it steps over in the source.
struct PlainAxes {
    u64 rank, extents[64], strides[64];
};

// Counts the elements that are not what the source held where they come from, and notes the first.
extern "C" __global__ void check_axes(const char *data, u64 elements, PlainAxes axes, u32 bytes, u64 *wrong) {
    const u64 step = u64(gridDim.x) * blockDim.x;
    for (u64 o = u64(blockIdx.x) * blockDim.x + threadIdx.x; o < elements; o += step) {
        u64 rest = o, from = 0;
        for (u32 axis = u32(axes.rank); axis-- > 0;) {
            const u64 next = rest / axes.extents[axis];
            from += (rest - next * axes.extents[axis]) * axes.strides[axis];
            rest = next;
        }
        bool right = true;
        for (u32 k = 0; k < bytes; k++) right = right && data[o * bytes + k] == char(byte_of(from, k));
        if (!right) {
            atomicAdd(wrong, 1ull);
            atomicMin(wrong + 1, o);
        }
    }
}

// What moving super-elements can cost at best: the same permutation from one buffer to another, no
// flags, no cycles.
extern "C" __global__ void __launch_bounds__(256, 8)
    check_permute(const char *from, char *to, u64 units, u64 rows, u64 mid, u64 cols, u32 lanes) {
    const u32 sub = threadIdx.x % lanes;
    const u64 workers = u64(gridDim.x) * (blockDim.x / lanes), unit_bytes = lanes * 16;
    for (u64 s = (u64(blockIdx.x) * blockDim.x + threadIdx.x) / lanes; s < units; s += workers) {
        const u64 rest = s / cols, d = (s % cols * mid + rest % mid) * rows + rest / mid;
        *(uint4 *)(to + d * unit_bytes + sub * 16) = *(const uint4 *)(from + s * unit_bytes + sub * 16);
    }
}

// Aligned slots by their definition, in plain division.
struct PlainSlots {
    u64 rows, cols, slot, chunk;

    __device__ u64 up(u64 a) const { return (a + slot - 1) / slot; }
    __device__ u64 last() const { return rows / chunk + (rows % chunk >= slot) - 1; }
    __device__ u64 rows_of(u64 c) const { return c == last() ? rows - c * chunk : chunk; }
    // Where the slot of column j that is final number t lies in its chunk's memory, counted in slots of the matrix.
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

// Counts the elements of `batch` matrices that are not where a pass of aligned slots puts what `check_fill` wrote, and notes the
// first. `pass`: 0 gather, 1 move; 2 and 3 are they backward.
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
        bool right = true;
        for (u32 k = 0; k < bytes; k++) right = right && data[o * bytes + k] == char(byte_of(base + from, k));
        if (!right) {
            atomicAdd(wrong, 1ull);
            atomicMin(wrong + 1, o);
        }
    }
}

// A matrix whose rows lie a pitch apart before and after, in plain numbers.
struct PlainLeading {
    u64 rows, cols, lda, ldb, turned; // before; whether rows become columns
};

// Counts the elements of `span` that are not what a change of leading dimensions makes of what `check_fill` wrote, and
// notes the first. Nothing is said of the source's that are none of the result, unless both pitches are equal.
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
        bool right = true;
        for (u32 k = 0; k < bytes; k++) right = right && data[o * bytes + k] == char(byte_of(from, k));
        if (!right) {
            atomicAdd(wrong, 1ull);
            atomicMin(wrong + 1, o);
        }
    }
}
