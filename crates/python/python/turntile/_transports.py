"""What connects ranks: an object with `rank`, `ranks`, `exchange(partner, send, receive)` and `gather(number)`.

`exchange` sends the bytes of a read-only memoryview and receives into a writable one, both at once; either may be empty, and is
then neither sent nor received. It keeps neither: the memory may be gone once it returns. `gather` answers the number, below
2**64, that every rank gives.
"""

import ctypes
import sys

import numpy as np


def transport(group, comm):
    """That of a process group of torch.distributed, or of a communicator."""
    if group is not None and comm is not None:
        raise TypeError("group and comm: one of them connects the ranks")
    if comm is None:
        torch = sys.modules.get("torch")
        if torch is None or not torch.distributed.is_available() or not torch.distributed.is_initialized():
            raise TypeError("nothing connects the ranks: pass comm, or begin torch.distributed.init_process_group")
        return Group(group)
    return Communicator(comm) if hasattr(comm, "Sendrecv") else comm


class Group:
    """A process group of torch.distributed that serves tensors of the host."""

    def __init__(self, group):
        import torch.distributed as distributed

        group = distributed.group.WORLD if group is None else group
        backend = distributed.get_backend(group)
        if backend == "nccl":
            raise TypeError("the backend is nccl, which moves memory of GPUs alone: take a group of gloo, or of 'cpu:gloo,cuda:nccl'")
        self.torch_distributed, self.group = distributed, group
        self.rank, self.ranks = distributed.get_rank(group), distributed.get_world_size(group)
        if self.rank < 0:
            raise ValueError("this process is not of the group")

    def exchange(self, partner, send, receive):
        partner = self.torch_distributed.get_global_rank(self.group, partner)
        begun = []
        if send.nbytes:
            begun.append(self.torch_distributed.isend(_tensor(send), partner, self.group))
        if receive.nbytes:
            begun.append(self.torch_distributed.irecv(_tensor(receive), partner, self.group))
        for work in begun:
            work.wait()

    def gather(self, number):
        import torch

        # There are no unsigned tensors everywhere.
        own = torch.tensor([number - (number >> 63 << 64)])
        all = [torch.empty_like(own) for _ in range(self.ranks)]
        self.torch_distributed.all_gather(all, own, self.group)
        return [value.item() % (1 << 64) for value in all]


def _tensor(view):
    """The bytes of a view as a tensor, which may live longer than the view does but is used no longer."""
    import torch

    address = np.frombuffer(view, np.uint8).ctypes.data
    return torch.frombuffer((ctypes.c_ubyte * view.nbytes).from_address(address), dtype=torch.uint8)


class Communicator:
    """A communicator of mpi4py."""

    def __init__(self, comm):
        self.comm, self.rank, self.ranks = comm, comm.Get_rank(), comm.Get_size()

    def exchange(self, partner, send, receive):
        from mpi4py import MPI

        to, source = (partner if view.nbytes else MPI.PROC_NULL for view in (send, receive))
        self.comm.Sendrecv([send, MPI.BYTE], to, 0, [receive, MPI.BYTE], source, 0)

    def gather(self, number):
        return self.comm.allgather(number)
