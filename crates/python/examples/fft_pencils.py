"""A 3-D FFT of an array that is cut into pencils over a grid of processes, in one buffer each, compared with numpy.fft.fftn of the whole.

    mpirun -n 6 python fft_pencils.py [N0 N1 N2]
"""

import math
import sys

import numpy as np
from turntile import distributed


def who(comm):
    """Rank and ranks, of mpi4py's or another's."""
    return (comm.Get_rank(), comm.Get_size()) if hasattr(comm, "Get_rank") else (comm.rank, comm.ranks)


def changes(shape, rows, over_0, over_1):
    """Returns shape, axes, cut and communicator of both changes of a pencil: axis 2 is cut in place of axis 1, then axis 1
    in place of axis 0."""
    rank, ranks = who(over_1)
    columns = shape[2] // ranks + (rank < shape[2] % ranks)
    return [
        ((rows, shape[1], shape[2]), (0, 2, 1), (1, 1), over_1),
        ((shape[0], columns, shape[1]), (1, 2, 0), (0, 1), over_0),
    ]


def fftn(pencil, shape, over_0, over_1):
    """The transform of a complex array of that shape, cut along axis 0 over the ranks of `over_0` and along axis 1 over those of
    `over_1`. What is returned has axes (2, 1, 0), cut along axis 2 over `over_1` and axis 1 over `over_0`; the same memory.
    """
    pencil[...] = np.fft.fft(pencil)
    for shape, axes, cut, comm in changes(shape, len(pencil), over_0, over_1):
        pencil = distributed.transpose(pencil, shape, axes, cut=cut, comm=comm)
        pencil[...] = np.fft.fft(pencil)
    return pencil


def main(over_0, over_1, shape=(60, 48, 40)):
    (p, rows), (q, columns) = who(over_0), who(over_1)
    whole = np.random.default_rng(0).standard_normal((*shape, 2)).view(complex)[..., 0]
    part = np.array_split(np.array_split(whole, rows)[p], columns, axis=1)[q]
    room = [distributed.capacity(s, axes, cut=cut, comm=comm) for s, axes, cut, comm in changes(shape, len(part), over_0, over_1)]
    pencil = np.empty(max(room), complex)[: math.prod(part.shape)].reshape(part.shape)
    pencil[...] = part
    pencil = fftn(pencil, shape, over_0, over_1)
    expected = np.fft.fftn(whole).transpose(2, 1, 0)
    return np.allclose(pencil, np.array_split(np.array_split(expected, columns)[q], rows, axis=1)[p])


if __name__ == "__main__":
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    grid = world.Create_cart(MPI.Compute_dims(world.size, 2))
    sizes = tuple(map(int, sys.argv[1:])) or (60, 48, 40)
    sys.exit(not main(grid.Sub([True, False]), grid.Sub([False, True]), sizes))
