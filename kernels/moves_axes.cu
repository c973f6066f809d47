// Axes in any order by the same movers: the last one stays, and its runs are super-elements.
#ifndef WORD
#define WORD 16
#endif
#include "move_registers.cuh"

MOVE(axes32, Axes<u32>, 1, 8)
MOVE(axes32, Axes<u32>, 2, 6)
MOVE(axes32, Axes<u32>, 4, 4)
MOVE(axes64, Axes<u64>, 1, 6)
MOVE(axes64, Axes<u64>, 4, 3)
