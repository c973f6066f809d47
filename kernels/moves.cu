// Permutes the axes of an array except the last one, by PTTWAC with flags in global memory. The super-elements are runs
// of the last axis (100!, 0100!, 1000!, 2100!).
#include "mover.cuh"

MOVE(axes32, Axes<u32>, 1, 8)
MOVE(axes32, Axes<u32>, 2, 6)
MOVE(axes32, Axes<u32>, 4, 4)
MOVE(axes64, Axes<u64>, 1, 6)
MOVE_SHARED(axes, Axes<u64>, 8)
