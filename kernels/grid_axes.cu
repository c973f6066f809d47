// Permutes axes in place (cooperative launch). An array is read into the shared memories of all multiprocessors, or of a team
// of blocks.
#include "axes_tile.cuh"
#include "team.cuh"

static __device__ void permute_in_grid(const AxesTileArgs &a) {
    const auto wait = [] { cooperative_groups::this_grid().sync(); };
    for (u64 k = 0; k * a.instance_bytes < a.bytes; k++) {
        permute_tile<WORD, u32>(a, k, blockIdx.x, wait);
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(1024, 1) barrier_grid_axes(const __grid_constant__ AxesTileArgs a) {
    permute_in_grid(a);
}

// Arguments of a permutation by teams.
struct TeamAxesArgs {
    char *data;
    char *kept; // counters
    u64 bytes;  // of all instances
    TeamShare share;
    u64 instance_bytes;
    u32 tiles; // tiles per instance; blocks beyond them only wait
    u32 pad;
    TileMap map;
};
static_assert(sizeof(TeamAxesArgs) == 784);

static __device__ void permute_in_teams(const TeamAxesArgs &a) {
    extern __shared__ uint4 shared[];
    in_teams(a.share, a.kept, [&](u64 instance, u32 rank, const TeamWait &wait) {
        char *data = a.data + instance * a.instance_bytes;
        AxesTile<WORD, u32> tile(a.map, (char *)shared);
        tile.move(rank, rank < a.tiles, data, data, a.data, a.data + a.bytes, wait);
    });
}

// Two blocks per multiprocessor: one reads while the other writes.
extern "C" __global__ void __launch_bounds__(512, 2) barrier_team_axes(const __grid_constant__ TeamAxesArgs a) {
    permute_in_teams(a);
}
