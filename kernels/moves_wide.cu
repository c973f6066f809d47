// The same for 2^31 super-elements and more.
#ifndef WORD
#define WORD 16
#endif
#include "move_registers.cuh"

MOVE(swap64, Swap<u64>, 1, 6)
MOVE(swap64, Swap<u64>, 4, 3)
