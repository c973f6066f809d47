// The slot pass of the aligned-slot route, by the same movers.
#include "moves.cuh"

MOVE(slots32, SlotMap<u32>, 1, 8)
MOVE(slots32, SlotMap<u32>, 2, 6)
MOVE(slots32, SlotMap<u32>, 4, 4)
MOVE(slots64, SlotMap<u64>, 1, 6)
MOVE(slots64, SlotMap<u64>, 4, 3)
