// Order in which thread blocks process the tiles of a batch of matrices.
#pragma once
#include "index.cuh"

// Tiles are numbered in swaths of `high` rows of tiles, column by column within a swath, so that neighbouring blocks
// also write neighbouring memory.
struct TileOrder {
    Divisor<u32> matrix, swath; // tiles of a matrix and of a swath
    u32 down, high;             // rows of tiles of a matrix and of a swath

    // Finds the matrix, the row and the column of tile `number`.
    __device__ void find(u32 number, u32 &which, u32 &i, u32 &j) const {
        which = matrix.div(number);
        number -= which * matrix.divisor;
        const u32 s = swath.div(number), rows = min(high, down - s * high);
        number -= s * swath.divisor;
        j = number / rows;
        i = s * high + number - j * rows;
    }
};
static_assert(sizeof(TileOrder) == 40);
