"""Arrays that are cut over ranks (processes of `torch.distributed` or mpi4py) transposed, each rank in its own buffer.

Rank r of a matrix of M x N has some of its rows, and then as many of the transpose's as its share is:

    local = turntile.distributed.empty((M, N), "f8", comm=MPI.COMM_WORLD)    # room for the part before and the part after
    local[:] = ...
    local = turntile.distributed.transpose(local, (M, N), comm=MPI.COMM_WORLD)

All ranks call it, and say the same; the old `local` is stale.
"""

import sys
import zlib
from collections.abc import Sequence
from math import prod
from operator import index
from typing import Any

import numpy as np

from . import _arguments, _arrays, _core
from ._core import LostError, RefusedError
from ._device import NOWHERE
from ._run import ALIGNMENT
from ._transports import OnGpu, transport

__all__ = ["LostError", "RefusedError", "capacity", "empty", "redistribute", "transpose"]

#: Bytes of a message between GPUs.
_MESSAGE = 16 << 20

_Parts = str | tuple[Sequence[int], Sequence[int]]
_Axes = Sequence[int] | None


def transpose(
    local: Any,
    shape: Sequence[int],
    axes: _Axes = None,
    *,
    parts: _Parts = "balanced",
    cut: tuple[int, int] = (0, 0),
    group: Any = None,
    comm: Any = None,
    threads: int | None = None,
    workspace_limit: int | None = None,
    message: int | None = None,
) -> Any:
    """Permutes the axes of an array cut over ranks in place, each rank's `local` then stale: use what is returned.

    The array has that shape and is cut along axis `cut[0]`; the result, `array.transpose(axes)`, is cut along its axis
    `cut[1]`. `local` is this rank's part, a C-contiguous NumPy array, or a tensor of the host or of this process's GPU. What its
    storage has behind it is used too, and must have room for the part of the result (see `empty`).

    On a GPU the part begins at a multiple of 16 bytes. All is queued on PyTorch's current stream, which messages by way of the host
    wait for. By NCCL, for which `torch.cuda.set_device` says which GPU a process has, what is lost shows as NCCL reports it.

    parts: "balanced" (`numpy.array_split`), "blocks" (`torch.chunk`), or the extents of all parts before and after
    group: a process group of torch.distributed, whose default is taken when `comm` is None too
    comm: a communicator of mpi4py, or an object with rank, ranks, exchange(partner, send, receive) and gather(number)
    message: most bytes of a message, otherwise 4 MiB, on GPUs 16 MiB; the same on all ranks

    RefusedError: nothing has moved, on no rank. LostError: the transport failed, the data are incomplete.
    """
    ranks = transport(group, comm)

    def prepare():
        change = _Change(shape, axes, parts, cut, ranks.ranks)
        limits = (("threads", threads, 1), ("workspace_limit", workspace_limit, 0), ("message", message, 1))
        limits = [_arguments.count(*limit) for limit in limits]
        # Last, since what has run before may change the array.
        part = _part(local, change.local(ranks.rank, before=True))
        if part.device is None and not getattr(ranks, "serves_host", True):
            raise TypeError("the part is on the host, and the group of nccl alone: take one of gloo, or of 'cpu:gloo,cuda:nccl'")
        if part.device is not None:
            if threads is not None:
                raise ValueError("threads are given, and the part is on no host")
            with part.found.stream(None) as stream:
                if _core.is_capturing(stream):
                    raise _core.CaptureError("a CUDA graph is being captured, and ranks must agree first")
        return part, change, limits

    part, change, limits = _agreed(ranks, prepare)
    what = (change.shape, change.axes, part.itemsize, change.cut, *change.parts)
    if part.device is None:
        _core.redistribute(ranks, what, part.address, part.room, *limits)
    else:
        with part.found.stream(None) as stream:
            limits = limits[1], limits[2] or _MESSAGE
            _core.redistribute_on_gpu(OnGpu(ranks, part.flat()), what, part.device, part.address, part.room, stream, *limits)
    return part.result(change.local(ranks.rank, before=False))


def redistribute(dtensor: Any, placements: Sequence[Any], *, threads: int | None = None, workspace_limit: int | None = None) -> Any:
    """Changes a DTensor from Shard(i) to Shard(j) in place, in its own storage; the old DTensor is stale, use what is returned.

    Storage is never made larger: where one has no room for its part of the result, RefusedError says need and have.
    """
    import torch
    from torch.distributed.tensor import DTensor, Shard

    mesh = dtensor.device_mesh
    if mesh.ndim != 1:
        raise ValueError(f"the mesh has {mesh.ndim} dimensions: only those of one are supported")
    pair = (*dtensor.placements, *placements)
    if len(pair) != 2 or not all(type(placement) is Shard for placement in pair):
        raise ValueError(f"from {dtensor.placements} to {tuple(placements)}: only from one Shard to another is supported")
    cut = tuple(placement.dim % dtensor.ndim for placement in pair)
    with torch.no_grad():
        local = dtensor.to_local().detach()
        order = tuple(range(dtensor.ndim))
        options = dict(group=mesh.get_group(), threads=threads, workspace_limit=workspace_limit)
        local = transpose(local, dtensor.shape, order, parts="blocks", cut=cut, **options)
        return DTensor.from_local(local, mesh, placements, run_check=False, shape=dtensor.shape, stride=dtensor.stride())


def capacity(
    shape: Sequence[int],
    axes: _Axes = None,
    *,
    parts: _Parts = "balanced",
    cut: tuple[int, int] = (0, 0),
    group: Any = None,
    comm: Any = None,
) -> int:
    """Elements that this rank's buffer needs: the larger of its parts before and after."""
    ranks = transport(group, comm)
    change = _Change(shape, axes, parts, cut, ranks.ranks)
    return max(prod(change.local(ranks.rank, before)) for before in (True, False))


def empty(
    shape: Sequence[int],
    dtype: Any,
    axes: _Axes = None,
    *,
    parts: _Parts = "balanced",
    cut: tuple[int, int] = (0, 0),
    group: Any = None,
    comm: Any = None,
    device: Any = None,
) -> Any:
    """This rank's part before, in a buffer of `capacity`: a tensor if `dtype` is PyTorch's, there on `device`, otherwise a NumPy
    array."""
    ranks = transport(group, comm)
    change = _Change(shape, axes, parts, cut, ranks.ranks)
    before, after = (change.local(ranks.rank, before) for before in (True, False))
    room = max(prod(before), prod(after))
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(dtype, torch.dtype):
        flat = torch.empty(room, dtype=dtype, device=device)
    elif device is not None:
        raise TypeError("device is given, but dtype is not a PyTorch dtype")
    else:
        flat = np.empty(room, dtype)
    return flat[: prod(before)].reshape(before)


class _Change:
    """What all ranks are asked for, checked."""

    def __init__(self, shape, axes, parts, cut, ranks):
        self.shape = _arguments.extents(shape)
        self.axes = _arguments.normal(_arguments.integers(axes), len(self.shape))
        i, q = (index(axis) for axis in cut)
        for axis in (i, q):
            if not -len(self.shape) <= axis < len(self.shape):
                raise ValueError(f"axis {axis} is cut, the array has {len(self.shape)}")
        self.cut = (i % len(self.shape), q % len(self.shape))
        extents = (self.shape[self.cut[0]], self.shape[self.axes[self.cut[1]]])
        if isinstance(parts, str):
            if parts not in _PARTS:
                raise ValueError(f"parts {parts!r}: 'balanced', 'blocks', or the extents of all parts before and after")
            self.parts = tuple(_PARTS[parts](extent, ranks) for extent in extents)
        else:
            before, after = parts
            self.parts = tuple([index(part) for part in side] for side in (before, after))
            for side, extent in zip(self.parts, extents, strict=True):
                if len(side) != ranks or sum(side) != extent or min(side) < 0:
                    raise ValueError(f"the parts {side} are not {ranks} of an axis of {extent}")

    def local(self, rank, before):
        shape = list(self.shape if before else (self.shape[axis] for axis in self.axes))
        shape[self.cut[not before]] = self.parts[not before][rank]
        return tuple(shape)


def _balanced(extent, ranks):
    return [extent // ranks + (rank < extent % ranks) for rank in range(ranks)]


def _blocks(extent, ranks):
    block = -(-extent // ranks)
    return [max(0, min(block, extent - rank * block)) for rank in range(ranks)]


_PARTS = {"balanced": _balanced, "blocks": _blocks}


def _agreed(ranks, prepare):
    """What `prepare` answers, on all ranks or none: an error of one is an error of all."""
    prepared, error, word = None, None, 0
    try:
        prepared = prepare()
        # Elements of one size and another kind would move, and mean something else.
        part = prepared[0]
        word = 1 + zlib.crc32(f"{part.kind} {part.device is None}".encode())
    except Exception as raised:
        error = raised
    try:
        words = list(ranks.gather(word))
    except Exception as raised:
        raise RefusedError("nothing has moved: ranks could not be reached") from (error or raised)
    if error:
        raise error
    for rank, other in enumerate(words):
        if other == 0:
            raise RefusedError(f"rank {rank} could not begin; its own error says why")
        if other != words[0]:
            raise RefusedError(f"rank {rank} has elements of another dtype than rank 0, or in another kind of memory")
    return prepared


def _part(local, shape):
    """The part that `local` holds, and what its storage has room for."""
    found = _arrays.adapt(local)
    torch = sys.modules.get("torch")
    is_tensor = torch is not None and isinstance(found.array, torch.Tensor)
    if found.device is not None and (found.device == NOWHERE or not is_tensor):
        raise TypeError("the part is on a device, and no tensor of a GPU")
    if found.shape != shape:
        raise ValueError(f"this rank's part has the shape {shape}, `local` has {found.shape}")
    if found.strides is not None:
        raise ValueError(f"the part is not C-contiguous: its strides are {found.strides} bytes")
    part = (_Tensor if is_tensor else _Array)(found)
    if part.device is not None and part.address % ALIGNMENT:
        raise ValueError(f"the part begins at {part.address:#x}: on a GPU only at a multiple of {ALIGNMENT}")
    return part


class _Array:
    """A part in a NumPy array."""

    device = None

    def __init__(self, found):
        array = found.array
        self.itemsize, self.address, self.dtype = found.itemsize, found.address, array.dtype
        self.kind = str(array.dtype)
        root = array
        # An array that lies as its memory does; what it is of may be anything.
        while type(root.base) in (np.ndarray, np.memmap) and root.base.flags.c_contiguous and not root.base.dtype.hasobject:
            root = root.base
        self.flat = root.reshape(-1).view(np.uint8)
        self.start = self.address - _core.address_of(root.__array_struct__)
        self.room = root.nbytes - self.start

    def result(self, shape):
        return self.flat[self.start : self.start + prod(shape) * self.itemsize].view(self.dtype).reshape(shape)


class _Tensor:
    """A part in a tensor."""

    def __init__(self, found):
        self.found, self.tensor, self.itemsize, self.device = found, found.array, found.itemsize, found.device
        self.kind = str(self.tensor.dtype).removeprefix("torch.")
        storage, self.start = self.tensor.untyped_storage(), self.tensor.storage_offset()
        self.room = max(0, storage.nbytes() - self.start * self.itemsize)
        self.address = storage.data_ptr() + self.start * self.itemsize if self.room else 0

    def flat(self):
        """All that there is room for, as bytes."""
        import torch

        bytes = torch.empty(0, dtype=torch.uint8, device=self.tensor.device)
        return bytes.set_(self.tensor.untyped_storage(), self.start * self.itemsize, (self.room,), (1,))

    def result(self, shape):
        steps = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
        self.found.changed()
        return self.tensor.as_strided(shape, steps, self.start)
