"""Transports between ranks: objects with `rank`, `ranks`, `exchange` and `gather`.

`exchange(partner, send, receive)` sends the bytes of a read-only memoryview and receives into a
writable one at the same time. An empty view is not sent or received. It must not keep the views,
whose memory is only valid during the call. `gather(number)` returns the numbers, below 2**64, of
all ranks.

Parts on GPUs are sent through host memory, unless the object has `exchange_tensors(partner, send,
receive)`. It takes flat tensors of bytes on the GPU, which may be empty, and works in the order of
the current stream, on which the caller uses them again.

Processes of one host that map each other's parts wait for each other in shared memory, for `timeout`
seconds if the object has it and it is not None.
"""

import ctypes
import sys

import numpy as np


def transport(group, comm):
    """Returns the transport of a process group of torch.distributed, or of a communicator."""
    if group is not None and comm is not None:
        raise TypeError("only one of group and comm can be given")
    if comm is None:
        torch = sys.modules.get("torch")
        if (
            torch is None
            or not torch.distributed.is_available()
            or not torch.distributed.is_initialized()
        ):
            raise TypeError("pass comm, or call torch.distributed.init_process_group first")
        return Group(group)
    return Communicator(comm) if hasattr(comm, "Sendrecv") else comm


class Group:
    """Process group of torch.distributed. With NCCL, tensors are sent directly between GPUs."""

    def __init__(self, group):
        import torch.distributed as distributed

        group = distributed.group.WORLD if group is None else group
        self.torch_distributed, self.group = distributed, group
        self.rank, self.ranks = distributed.get_rank(group), distributed.get_world_size(group)
        if self.rank < 0:
            raise ValueError("this process is not in the group")
        backends = str(distributed.get_backend_config(group))
        self.serves_host = "cpu:" in backends
        if "cuda:nccl" in backends:
            self.exchange_tensors, self.gather_bytes_on = self._exchange_by_nccl, self._gather

    @property
    def timeout(self):
        """Seconds for which the group waits for a rank."""
        import torch

        device = torch.device("cpu" if self.serves_host else "cuda")
        try:
            # No public function returns the limit.
            limit = self.group._get_backend(device).options._timeout
        except (AttributeError, RuntimeError):
            limit = self.torch_distributed.distributed_c10d.default_pg_timeout
        return limit.total_seconds()

    def _exchange_by_nccl(self, partner, send, receive):
        distributed, partner = (
            self.torch_distributed,
            self.torch_distributed.get_global_rank(self.group, partner),
        )
        both = [(distributed.isend, send), (distributed.irecv, receive)]
        both = [
            distributed.P2POp(op, tensor, partner, self.group)
            for op, tensor in both
            if tensor.numel()
        ]
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
        return [int.from_bytes(one, "little") for one in self.gather_bytes(number.to_bytes(8, "little"))]

    def gather_bytes(self, own):
        return self._gather("cpu" if self.serves_host else "cuda", own)

    def _gather(self, device, own):
        import torch

        own = torch.frombuffer(bytearray(own), dtype=torch.uint8).to(device)
        all = [torch.empty_like(own) for _ in range(self.ranks)]
        self.torch_distributed.all_gather(all, own, self.group)
        return [bytes(one) for one in torch.stack(all).tolist()]


def _tensor(view):
    """Returns the bytes of a view as a tensor, valid until the view is released."""
    import torch

    address = np.frombuffer(view, np.uint8).ctypes.data
    return torch.frombuffer((ctypes.c_ubyte * view.nbytes).from_address(address), dtype=torch.uint8)


def through_host(exchange):
    """Returns an `exchange_tensors` that copies through host memory."""

    def exchange_tensors(partner, send, receive):
        import torch

        sent, got = send.cpu().numpy(), np.empty(receive.numel(), np.uint8)
        exchange(partner, memoryview(sent).toreadonly(), memoryview(got))
        receive.copy_(torch.from_numpy(got))

    return exchange_tensors


class OnGpu:
    """Rank whose part is on a GPU. Its messages are tensors of bytes there."""

    def __init__(self, ranks, part):
        self.rank, self.ranks, self._ranks = ranks.rank, ranks.ranks, ranks
        self._exchange = getattr(ranks, "exchange_tensors", None) or through_host(ranks.exchange)
        self._part = part

    @property
    def timeout(self):
        """Seconds for which it waits for a rank in shared memory, or None."""
        limit = getattr(self._ranks, "timeout", None)
        return limit.total_seconds() if hasattr(limit, "total_seconds") else limit

    def gather(self, number):
        """Gathers numbers."""
        return [int.from_bytes(one, "little") for one in self.gather_bytes(number.to_bytes(8, "little"))]

    def gather_bytes(self, own):
        """Gathers bytes, a multiple of 8."""
        # NCCL works in the order of the stream. Its first operation must involve all ranks, but
        # some ranks may have no messages.
        gather_on = getattr(self._ranks, "gather_bytes_on", None)
        if gather_on:
            return gather_on(self._part.device, own)
        gather = getattr(self._ranks, "gather_bytes", None)
        if gather:
            return gather(own)
        words = [int.from_bytes(own[at : at + 8], "little") for at in range(0, len(own), 8)]
        words = zip(*[self._ranks.gather(word) for word in words], strict=True)
        return [b"".join(word.to_bytes(8, "little") for word in one) for one in words]

    def begin(self, workspace, bounce):
        self._workspace, self._bounce = (
            self._part.new_empty(workspace),
            self._part.new_empty(bounce),
        )
        return self._workspace.data_ptr()

    @property
    def workspace(self):
        """Address and bytes of the workspace, for work on the current stream."""
        import torch

        # A run may use another stream than the one on which `begin` allocated.
        stream = torch.cuda.current_stream(self._part.device)
        self._workspace.record_stream(stream)
        self._bounce.record_stream(stream)
        return self._workspace.data_ptr(), len(self._workspace)

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
    """Communicator of mpi4py."""

    def __init__(self, comm):
        self.comm, self.rank, self.ranks = comm, comm.Get_rank(), comm.Get_size()

    def exchange(self, partner, send, receive):
        from mpi4py import MPI

        to, source = (partner if view.nbytes else MPI.PROC_NULL for view in (send, receive))
        self.comm.Sendrecv([send, MPI.BYTE], to, 0, [receive, MPI.BYTE], source, 0)

    def gather(self, number):
        return [int.from_bytes(one, "little") for one in self.gather_bytes(number.to_bytes(8, "little"))]

    def gather_bytes(self, own):
        return self.comm.allgather(own)
