// Teams of co-resident blocks. Each team moves one instance after another, with a barrier of its own, so that one team reads
// while another writes (cooperative launch).
#pragma once
#include <cooperative_groups.h>

#include "signal.cuh"

// Arguments: the blocks of a team share an instance.
struct TeamShare {
    u64 instances;
    u32 blocks; // of a team
    u32 pad;
};
static_assert(sizeof(TeamShare) == 16);

// Bytes per team counter in the workspace: one cache line.
enum : u32 { kTeamBytes = 128 };

// Returns when all blocks of the team have called it.
struct TeamWait {
    Team &team;
    __device__ void operator()() const {
        __syncthreads();
        if (threadIdx.x == 0) team.wait();
        __syncthreads();
    }
};

// Calls move(instance, rank, wait) for each instance of this block's team. `rank` is the block's number in its team.
template <class Move> static __device__ void in_teams(const TeamShare &a, char *counters, Move move) {
    const u32 number = blockIdx.x / a.blocks, rank = blockIdx.x % a.blocks, teams = gridDim.x / a.blocks;
    Team team{(u32 *)(counters + number * kTeamBytes), a.blocks, 0};
    if (rank == 0 && threadIdx.x == 0) *team.count = 0;
    cooperative_groups::this_grid().sync();
    const TeamWait wait{team};
    for (u64 instance = number; instance < a.instances; instance += teams) {
        move(instance, rank, wait);
        // The next instance overwrites shared memory.
        __syncthreads();
    }
}
