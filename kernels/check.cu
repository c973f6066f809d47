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

// Counts the elements of [batch][cols][mid][rows][unit] that are not what [batch][rows][mid][cols][unit]
// held, and notes the first.
extern "C" __global__ void check_swapped(const char *data, u64 batch, u64 rows, u64 mid, u64 cols, u64 unit,
                                         u32 bytes, u64 *wrong) {
    const u64 elements = batch * rows * mid * cols * unit, step = u64(gridDim.x) * blockDim.x;
    for (u64 o = u64(blockIdx.x) * blockDim.x + threadIdx.x; o < elements; o += step) {
        const u64 within = o % unit, s = o / unit;
        const u64 outer = s % rows, between = s / rows % mid, inner = s / rows / mid % cols, b = s / rows / mid / cols;
        const u64 from = (((b * rows + outer) * mid + between) * cols + inner) * unit + within;
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
