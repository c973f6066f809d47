"""Values of an adapter's `device` besides None, the host, and the number of a CUDA device."""

#: Device of arrays that have no elements in memory.
NOWHERE = -1
