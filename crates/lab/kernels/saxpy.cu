// A SAXPY of elements that lie some words apart: y[i * stride] = a * x[i * stride] + y[i * stride].
#include "word.cuh"

struct SaxpyArgs {
    float *to;         // y
    const float *from; // x
    u32 elements, stride;
    float factor;
    u32 pad;
};
static_assert(sizeof(SaxpyArgs) == 32);

extern "C" __global__ void saxpy_strided(const __grid_constant__ SaxpyArgs a) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= a.elements) return;
    const u64 at = u64(i) * a.stride;
    a.to[at] = fmaf(a.factor, a.from[at], a.to[at]);
}
