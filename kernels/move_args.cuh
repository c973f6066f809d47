// What every mover of super-elements is told.
#pragma once
#include "chain.cuh"

template <class Map> struct MoveArgs {
    char *data;
    GlobalFlags flags;
    u64 units;      // super-elements, all instances
    u32 lanes;      // threads of a worker, a power of two
    u32 vectors;    // accesses of WORD bytes that make a super-element
    u32 rows, cols; // of a super-element that is a tile transposed on the way, else 1
    Map map;
};
static_assert(sizeof(MoveArgs<Swap<u32>>) == 152 && AT(MoveArgs<Swap<u32>>, data) == 0 &&
              AT(MoveArgs<Swap<u32>>, flags) == 8 && AT(MoveArgs<Swap<u32>>, units) == 48 &&
              AT(MoveArgs<Swap<u32>>, lanes) == 56 && AT(MoveArgs<Swap<u32>>, vectors) == 60 &&
              AT(MoveArgs<Swap<u32>>, rows) == 64 && AT(MoveArgs<Swap<u32>>, cols) == 68 &&
              AT(MoveArgs<Swap<u32>>, map) == 72);
static_assert(sizeof(MoveArgs<Swap<u64>>) == 192 && AT(MoveArgs<Swap<u64>>, data) == 0 &&
              AT(MoveArgs<Swap<u64>>, flags) == 8 && AT(MoveArgs<Swap<u64>>, units) == 48 &&
              AT(MoveArgs<Swap<u64>>, lanes) == 56 && AT(MoveArgs<Swap<u64>>, vectors) == 60 &&
              AT(MoveArgs<Swap<u64>>, rows) == 64 && AT(MoveArgs<Swap<u64>>, cols) == 68 &&
              AT(MoveArgs<Swap<u64>>, map) == 72);
static_assert(sizeof(MoveArgs<SlotMap<u32>>) == 216 && AT(MoveArgs<SlotMap<u32>>, data) == 0 &&
              AT(MoveArgs<SlotMap<u32>>, flags) == 8 && AT(MoveArgs<SlotMap<u32>>, units) == 48 &&
              AT(MoveArgs<SlotMap<u32>>, lanes) == 56 && AT(MoveArgs<SlotMap<u32>>, vectors) == 60 &&
              AT(MoveArgs<SlotMap<u32>>, rows) == 64 && AT(MoveArgs<SlotMap<u32>>, cols) == 68 &&
              AT(MoveArgs<SlotMap<u32>>, map) == 72);
static_assert(sizeof(MoveArgs<SlotMap<u64>>) == 288 && AT(MoveArgs<SlotMap<u64>>, data) == 0 &&
              AT(MoveArgs<SlotMap<u64>>, flags) == 8 && AT(MoveArgs<SlotMap<u64>>, units) == 48 &&
              AT(MoveArgs<SlotMap<u64>>, lanes) == 56 && AT(MoveArgs<SlotMap<u64>>, vectors) == 60 &&
              AT(MoveArgs<SlotMap<u64>>, rows) == 64 && AT(MoveArgs<SlotMap<u64>>, cols) == 68 &&
              AT(MoveArgs<SlotMap<u64>>, map) == 72);
static_assert(sizeof(MoveArgs<Axes<u32>>) == 264 && AT(MoveArgs<Axes<u32>>, data) == 0 &&
              AT(MoveArgs<Axes<u32>>, flags) == 8 && AT(MoveArgs<Axes<u32>>, units) == 48 &&
              AT(MoveArgs<Axes<u32>>, lanes) == 56 && AT(MoveArgs<Axes<u32>>, vectors) == 60 &&
              AT(MoveArgs<Axes<u32>>, rows) == 64 && AT(MoveArgs<Axes<u32>>, cols) == 68 &&
              AT(MoveArgs<Axes<u32>>, map) == 72);
static_assert(sizeof(MoveArgs<Axes<u64>>) == 368 && AT(MoveArgs<Axes<u64>>, data) == 0 &&
              AT(MoveArgs<Axes<u64>>, flags) == 8 && AT(MoveArgs<Axes<u64>>, units) == 48 &&
              AT(MoveArgs<Axes<u64>>, lanes) == 56 && AT(MoveArgs<Axes<u64>>, vectors) == 60 &&
              AT(MoveArgs<Axes<u64>>, rows) == 64 && AT(MoveArgs<Axes<u64>>, cols) == 68 &&
              AT(MoveArgs<Axes<u64>>, map) == 72);
