"""What connects ranks: an object with `rank`, `ranks`, `exchange(partner, send, receive)` and `gather(number)`.

`exchange` sends the bytes of a read-only memoryview and receives into a writable one, both at once; either may be empty, and is
then neither sent nor received. It keeps neither: the memory may be gone once it returns. `gather` answers the number, below
2**64, that every rank gives.

Parts on GPUs go through the host's memory, unless there is `exchange_tensors(partner, send, receive)`: it takes flat tensors of
bytes on the GPU, either perhaps empty, and works in the order of the current stream, on which they are used again at once.
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
    """A process group of torch.distributed; by NCCL, if it has that, tensors of GPUs are sent from where they are."""

    def __init__(self, group):
        import torch.distributed as distributed

        group = distributed.group.WORLD if group is None else group
        self.torch_distributed, self.group = distributed, group
        self.rank, self.ranks = distributed.get_rank(group), distributed.get_world_size(group)
        if self.rank < 0:
            raise ValueError("this process is not of the group")
        backends = str(distributed.get_backend_config(group))
        self.serves_host = "cpu:" in backends
        if "cuda:nccl" in backends:
            self.exchange_tensors, self.gather_on = self._exchange_by_nccl, self._gather

    def _exchange_by_nccl(self, partner, send, receive):
        distributed, partner = self.torch_distributed, self.torch_distributed.get_global_rank(self.group, partner)
        both = [(distributed.isend, send), (distributed.irecv, receive)]
        both = [distributed.P2POp(op, tensor, partner, self.group) for op, tensor in both if tensor.numel()]
        for work in distributed.batch_isend_irecv(both) if both else []:
            work.wait()

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
        return self._gather("cpu" if self.serves_host else "cuda", number)

    def _gather(self, device, number):
        import torch

        # There are no unsigned tensors everywhere.
        own = torch.tensor([number - (number >> 63 << 64)], device=device)
        all = [torch.empty_like(own) for _ in range(self.ranks)]
        self.torch_distributed.all_gather(all, own, self.group)
        return [value % (1 << 64) for value in torch.cat(all).tolist()]


def _tensor(view):
    """The bytes of a view as a tensor, which may live longer than the view does but is used no longer."""
    import torch

    address = np.frombuffer(view, np.uint8).ctypes.data
    return torch.frombuffer((ctypes.c_ubyte * view.nbytes).from_address(address), dtype=torch.uint8)


def through_host(exchange):
    """`exchange` of tensors of a GPU."""

    def exchange_tensors(partner, send, receive):
        import torch

        sent, got = send.cpu().numpy(), np.empty(receive.numel(), np.uint8)
        exchange(partner, memoryview(sent).toreadonly(), memoryview(got))
        receive.copy_(torch.from_numpy(got))

    return exchange_tensors


class OnGpu:
    """A rank whose part is on a GPU: its messages are tensors of bytes there."""

    def __init__(self, ranks, part):
        self.rank, self.ranks, self._ranks = ranks.rank, ranks.ranks, ranks
        self._exchange = getattr(ranks, "exchange_tensors", None) or through_host(ranks.exchange)
        self._part = part

    def gather(self, number):
        # The first that NCCL does must be done by all ranks: messages are not, where some have none.
        gather_on = getattr(self._ranks, "gather_on", None)
        return gather_on(self._part.device, number) if gather_on else self._ranks.gather(number)

    def begin(self, workspace, bounce):
        self._workspace, self._bounce = self._part.new_empty(workspace), self._part.new_empty(bounce)
        return self._workspace.data_ptr()

    def swap(self, partner, begin, end):
        own, sent = self._part[begin:end], self._bounce[: end - begin]
        sent.copy_(own)
        self._exchange(partner, sent, own)

    def send(self, partner, begin, end):
        self._exchange(partner, self._part[begin:end], self._part[:0])

    def receive(self, partner, begin, end):
        self._exchange(partner, self._part[:0], self._part[begin:end])

    def slide(self, begin, to, nbytes):
        if abs(begin - to) >= nbytes:
            self._part[to : to + nbytes].copy_(self._part[begin : begin + nbytes])
            return
        pieces = range(0, nbytes, len(self._bounce))
        for done in reversed(pieces) if to > begin else pieces:
            bounce = self._bounce[: nbytes - done]
            bounce.copy_(self._part[begin + done :][: len(bounce)])
            self._part[to + done :][: len(bounce)].copy_(bounce)


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
