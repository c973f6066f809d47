// 100!, 0100!, 1000!, 2100!: super-elements moved by PTTWAC, flags in device memory, held in registers.
// WORD is the width of an access: the largest that divides the super-element and the alignment of the
// matrix, whatever the element.
#ifndef WORD
#define WORD 16
#endif
#include "move_registers.cuh"

MOVE(swap32, Swap<u32>, 1, 8)
MOVE(swap32, Swap<u32>, 2, 6)
MOVE(swap32, Swap<u32>, 4, 4)
