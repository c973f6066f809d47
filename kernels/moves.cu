// Axes in any order by PTTWAC, flags in device memory: the last axis stays, and its runs are super-elements (100!, 0100!,
// 1000!, 2100!), held in registers. WORD is the width of an access: the largest that divides the super-element and the
// alignment of the matrix, whatever the element.
#include "moves.cuh"

MOVE(axes32, Axes<u32>, 1, 8)
MOVE(axes32, Axes<u32>, 2, 6)
MOVE(axes32, Axes<u32>, 4, 4)
MOVE(axes64, Axes<u64>, 1, 6)
MOVE(axes64, Axes<u64>, 4, 3)
