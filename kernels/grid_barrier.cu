// Transposes matrices of any shape in place (cooperative launch). A matrix is read into the shared memory and registers of
// all multiprocessors, and what does not fit into a workspace; or into the shared memory of a team
// of blocks.
#include "team.cuh"
#include "wide_barrier.cuh"

static __device__ void wait_for_grid() { cooperative_groups::this_grid().sync(); }

// 88 registers of data per thread is the maximum for 512 threads without spills; a loop over matrices would spill.
extern "C" __global__ void __launch_bounds__(512, 1) barrier_grid(const __grid_constant__ WideArgs a) {
    extern __shared__ uint4 shared[];
    transpose_together<WORD, WORD, 88, false>(a, a.data, blockIdx.x, (char *)shared, {}, wait_for_grid);
}

// Arguments of a transposition by all multiprocessors with a workspace.
struct GridArgs {
    char *data;
    char *kept;         // rows beyond shared memory and registers
    u32 held_rows;      // rows of a rectangle in registers
    u32 kept_bytes;     // of a block
    WideArgs rectangle; // its `data` is not used
};
static_assert(sizeof(GridArgs) == 88);

template <int Granule> static __device__ void transpose_with_workspace(const GridArgs &a) {
    extern __shared__ uint4 shared[];
    const Kept kept = {a.kept + u64(blockIdx.x) * a.kept_bytes, a.held_rows};
    transpose_together<WORD, Granule, 88, true>(a.rectangle, a.data, blockIdx.x, (char *)shared, kept, wait_for_grid);
}

#if WORD >= 4
extern "C" __global__ void __launch_bounds__(512, 1) barrier_grid_kept(const __grid_constant__ GridArgs a) {
    transpose_with_workspace<WORD>(a);
}
#endif

// Arguments of a transposition by teams.
struct TeamArgs {
    char *data;
    char *kept; // counters
    TeamShare share;
    WideArgs rectangle; // its `data` is not used
};
static_assert(sizeof(TeamArgs) == 96);

template <int Granule> static __device__ void transpose_in_teams(const TeamArgs &a) {
    extern __shared__ uint4 shared[];
    in_teams(a.share, a.kept, [&](u64 instance, u32 rank, const TeamWait &wait) {
        char *data = a.data + instance * a.rectangle.instance_bytes;
        transpose_together<WORD, Granule, 0, false>(a.rectangle, data, rank, (char *)shared, {}, wait);
    });
}

// Four blocks per multiprocessor: some read while others write.
extern "C" __global__ void __launch_bounds__(256, 4) barrier_team(const __grid_constant__ TeamArgs a) {
    transpose_in_teams<WORD>(a);
}

#if WORD == 1
extern "C" __global__ void __launch_bounds__(256, 4) barrier_team_micro(const __grid_constant__ TeamArgs a) {
    extern __shared__ uint4 shared[];
    in_teams(a.share, a.kept, [&](u64 instance, u32 rank, const TeamWait &wait) {
        char *data = a.data + instance * a.rectangle.instance_bytes;
        transpose_micro_blocks<WORD>(a.rectangle, data, rank, (char *)shared, wait);
    });
}
#endif

#if WORD <= 4
extern "C" __global__ void __launch_bounds__(256, 4) barrier_team_columns(const __grid_constant__ TeamArgs a) {
    extern __shared__ uint4 shared[];
    const char *end = a.data + a.share.instances * a.rectangle.instance_bytes;
    in_teams(a.share, a.kept, [&](u64 instance, u32 rank, const TeamWait &wait) {
        char *data = a.data + instance * a.rectangle.instance_bytes;
        transpose_columns<WORD>(a.rectangle, data, a.data, end, rank, (char *)shared, wait);
    });
}
#endif

#if WORD < 4
extern "C" __global__ void __launch_bounds__(512, 1) barrier_grid_wide(const __grid_constant__ WideArgs a) {
    extern __shared__ uint4 shared[];
    transpose_together<WORD, 4, 88, false>(a, a.data, blockIdx.x, (char *)shared, {}, wait_for_grid);
}
extern "C" __global__ void __launch_bounds__(512, 1) barrier_grid_kept_wide(const __grid_constant__ GridArgs a) {
    transpose_with_workspace<4>(a);
}
extern "C" __global__ void __launch_bounds__(256, 4) barrier_team_wide(const __grid_constant__ TeamArgs a) {
    transpose_in_teams<4>(a);
}
#endif
