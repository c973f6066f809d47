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
