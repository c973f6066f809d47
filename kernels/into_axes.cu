// Axes in any order from one place to another, a tile to a block.
#include "axes_tile.cuh"


struct IntoAxesArgs {
    char *to;
    const char *from;
    u64 bytes; // of all
    TileMap map;
};
static_assert(sizeof(IntoAxesArgs) == 752);

extern "C" __global__ void __launch_bounds__(256) into_axes(const __grid_constant__ IntoAxesArgs a) {
    extern __shared__ uint4 shared[];
    AxesTile<WORD, u16> tile(a.map, (char *)shared);
    tile.move(blockIdx.x, true, a.from, a.to, a.from, a.from + a.bytes, [] { __syncthreads(); });
}
