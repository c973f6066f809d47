// What memory does with strides (thesis section 6.1): blocks of one thread that go from place to place, each place saying which
// is next. Places count words; none is beyond the memory, whatever it says.
#include "word.cuh"

struct SteeringArgs {
    u32 *to;         // the memory; where blocks begin and end
    const u32 *from; // the places; the memory
    u32 words;       // of the memory
    u32 count;       // places, or blocks
    u32 ahead;       // how many places on the next one is
    u32 steps;       // of a block
};
static_assert(sizeof(SteeringArgs) == 32);

extern "C" __global__ void __launch_bounds__(256) steering_fill(const __grid_constant__ SteeringArgs a) {
    const u32 k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= a.count) return;
    const u32 next = (k + a.ahead) % a.count;
    if (a.from[k] < a.words) a.to[a.from[k]] = a.from[next];
}

// Past the first-level cache: every access asks the second.
extern "C" __global__ void __launch_bounds__(1) steering_chase(const __grid_constant__ SteeringArgs a) {
    if (blockIdx.x >= a.count) return;
    u32 at = a.to[blockIdx.x];
    for (u32 k = 0; k < a.steps; k++) {
        asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(at) : "l"(__cvta_generic_to_global(a.from + min(at, a.words - 1))) : "memory");
    }
    a.to[blockIdx.x] = at;
}
