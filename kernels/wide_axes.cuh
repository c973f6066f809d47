// Axes in any order by barrier-sync where several blocks hold an instance together, a tile each.
#pragma once
#include "axes_tile.cuh"

struct WideAxesArgs {
    char *data;
    u64 bytes; // of all instances
    u64 instance_bytes;
    u32 tiles; // of an instance; blocks beyond them only wait
    u32 pad;
    TileMap map;
};
static_assert(sizeof(WideAxesArgs) == 760);

// `block` is this block's number within instance `instance`. What a tile holds may be more than 16 bits count.
template <int W, class Wait>
__device__ void permute_together(const WideAxesArgs &a, u32 instance, u32 block, char *shared, Wait all_wait) {
    AxesTile<W, u32> tile(a.map, shared);
    char *data = a.data + instance * a.instance_bytes;
    tile.move(block, block < a.tiles, data, data, a.data, a.data + a.bytes, all_wait);
}
