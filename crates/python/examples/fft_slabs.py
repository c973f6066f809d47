"""A 3-D FFT of an array that is cut into slabs over processes, in one buffer each, compared with numpy.fft.fftn of the whole.

    mpirun -n 4 python fft_slabs.py [N0 N1 N2]
"""

import sys

import numpy as np
from turntile import distributed


def fftn(slab, shape, comm):
    """The transform of a complex array of that shape, cut along axis 0 before and along axis 1 after.

    `slab` is this rank's part, of `distributed.empty`. What is returned has axis 1 in front: axes (1, 0, 2), the same memory.
    """
    for plane in slab:
        plane[...] = np.fft.fft2(plane)
    slab = distributed.transpose(slab, shape, (1, 0, 2), comm=comm)
    for plane in slab:
        plane[...] = np.fft.fft(plane, axis=0)
    return slab


def main(comm, rank, ranks, shape=(60, 48, 40)):
    whole = np.random.default_rng(0).standard_normal((*shape, 2)).view(complex)[..., 0]
    slab = distributed.empty(shape, complex, (1, 0, 2), comm=comm)
    slab[...] = np.array_split(whole, ranks)[rank]
    slab = fftn(slab, shape, comm)
    expected = np.array_split(np.fft.fftn(whole), ranks, axis=1)[rank]
    return np.allclose(slab, expected.transpose(1, 0, 2))


if __name__ == "__main__":
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    sizes = tuple(map(int, sys.argv[1:])) or (60, 48, 40)
    sys.exit(not main(world, world.rank, world.size, sizes))
