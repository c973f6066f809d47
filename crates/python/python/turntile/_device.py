"""What an array's `device` is where it is neither None, the host, nor a CUDA device's number."""

#: The device of arrays without elements in memory.
NOWHERE = -1
