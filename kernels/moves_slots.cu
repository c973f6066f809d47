// Slot pass of the aligned-slot route, by PTTWAC with flags in global memory.
#include "mover.cuh"

MOVE(slots32, SlotMap<u32>, 1, 8)
MOVE(slots32, SlotMap<u32>, 2, 6)
MOVE(slots32, SlotMap<u32>, 4, 4)
MOVE(slots64, SlotMap<u64>, 1, 5)
MOVE_SHARED(slots, SlotMap<u64>, 5)
