// A recursive (infinite impulse response) filter down the columns of an image of floats, one thread a
// column: a causal pass down and an anticausal pass up are added (Deriche 1992).
#include "word.cuh"

struct GaussianArgs {
    float *to;
    const float *from;
    u32 rows, cols;
    float a0, a1, a2, a3; // of the inputs: this and the one before; the next and the one after
    float b1, b2;         // of the outputs
    float before, after;  // what a constant beyond the edge has settled at, per unit of it
};
static_assert(sizeof(GaussianArgs) == 56);

enum : u32 { kAhead = 16 }; // rows on their way while others are filtered

extern "C" __global__ void __launch_bounds__(32) gaussian_columns(const __grid_constant__ GaussianArgs a) {
    const u32 col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= a.cols) return;
    const float *from = a.from + col;
    float *to = a.to + col;
    const u64 pitch = a.cols;
    const u32 rows = a.rows;
    float x[kAhead], next[kAhead], sum[kAhead], next_sum[kAhead];

    const auto down = [&](float *into, u32 first) {
#pragma unroll
        for (u32 k = 0; k < kAhead; k++) into[k] = first + k < rows ? from[(first + k) * pitch] : 0.f;
    };
    float x1 = from[0], y1 = a.before * x1, y2 = y1;
    down(x, 0);
    for (u32 first = 0; first < rows; first += kAhead) {
        down(next, first + kAhead);
#pragma unroll
        for (u32 k = 0; k < kAhead; k++) {
            const float y = fmaf(a.a0, x[k], fmaf(a.a1, x1, fmaf(-a.b2, y2, -a.b1 * y1)));
            if (first + k < rows) to[(first + k) * pitch] = y;
            x1 = x[k];
            y2 = y1;
            y1 = y;
            x[k] = next[k];
        }
    }

    // Row `rows - 1 - n` is the n-th on the way up.
    const auto up = [&](float *into, float *sums, u32 n) {
#pragma unroll
        for (u32 k = 0; k < kAhead; k++) {
            const bool there = n + k < rows;
            const u64 at = there ? (rows - 1 - n - k) * pitch : 0;
            into[k] = there ? from[at] : 0.f;
            sums[k] = there ? to[at] : 0.f;
        }
    };
    x1 = from[(rows - 1) * pitch];
    float x2 = x1;
    y1 = a.after * x1;
    y2 = y1;
    up(x, sum, 0);
    for (u32 n = 0; n < rows; n += kAhead) {
        up(next, next_sum, n + kAhead);
#pragma unroll
        for (u32 k = 0; k < kAhead; k++) {
            const float y = fmaf(a.a2, x1, fmaf(a.a3, x2, fmaf(-a.b2, y2, -a.b1 * y1)));
            if (n + k < rows) to[(rows - 1 - n - k) * pitch] = sum[k] + y;
            x2 = x1;
            x1 = x[k];
            y2 = y1;
            y1 = y;
            x[k] = next[k];
            sum[k] = next_sum[k];
        }
    }
}
