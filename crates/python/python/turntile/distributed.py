"""In-place transposition of arrays that are sharded over processes (`torch.distributed` or mpi4py).

Each rank has some rows of a matrix of shape (M, N), and then some rows of the transpose:

    local = turntile.distributed.empty((M, N), "f8", comm=MPI.COMM_WORLD)    # room for both parts
    local[:] = ...
    local = turntile.distributed.transpose(local, (M, N), comm=MPI.COMM_WORLD)

All ranks call it with the same arguments; the old `local` is stale.
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

__all__ = [
    "LostError",
    "Planned",
    "RefusedError",
    "capacity",
    "empty",
    "plan",
    "redistribute",
    "transpose",
]

#: Default size of a message between GPUs, in bytes.
_MESSAGE = 16 << 20
#: Average size of a part, in bytes, from which `transpose` maps the parts of other processes. Two processes map and unmap in 22 ms,
#: four in 45 ms: (60000, 40000) floats took 34 ms mapped and 32 by messages on two H200s, (65536, 65536) 37 and 51.
_MAPPED = 6 << 30

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
    """Permutes the axes of a sharded array in place; `local` itself is stale afterwards.

    Parameters
    ----------
    local : array
        Part of this rank: a C-contiguous NumPy array, or a tensor on the host or on this process's
        GPU, where it starts at a multiple of 16 bytes. The rest of its storage is used too, and
        must have room for the part of the result: see `empty`.
    shape : sequence of int
        Shape of the whole array.
    axes : sequence of int, optional
        Permutation of the axes. The default reverses them.
    parts : str or pair of sequences of int, optional
        ``"balanced"`` (`numpy.array_split`), ``"blocks"`` (`torch.chunk`), or the extents of all
        parts before and after.
    cut : pair of int, optional
        Axis along which the array is sharded, and that of the result, ``array.transpose(axes)``.
    group : ProcessGroup, optional
        Process group of torch.distributed. The default group is used if `comm` is None too.
    comm : communicator, optional
        Communicator of mpi4py, or an object with ``rank``, ``ranks``, ``exchange(partner, send,
        receive)`` and ``gather(number)``.
    threads, workspace_limit : int, optional
        Limits per rank.
    message : int, optional
        Maximum size of a message in bytes, equal on all ranks. The default is 4 MiB, on GPUs
        16 MiB.

    Returns
    -------
    array
        Part of the result, in the memory of `local`.

    Raises
    ------
    RefusedError
        No data has moved on any rank.
    LostError
        The transport failed, and the data are incomplete.

    Notes
    -----
    On a GPU the work is queued on PyTorch's current stream; messages that pass through the host
    wait for it. With NCCL, ``torch.cuda.set_device`` selects the GPU of a process, and NCCL reports
    lost messages. Processes of one host map each other's large parts during the call, where `plan`
    can: then the call returns after all ranks have read and written them.
    """
    ranks = transport(group, comm)
    limits = dict(threads=threads, workspace_limit=workspace_limit, message=message)
    part, change, limits, maps = _prepared(ranks, local, (shape, axes, parts, cut), limits, _MAPPED)
    if part.device is None:
        what = (change.shape, change.axes, part.itemsize, change.cut, *change.parts)
        _core.redistribute(ranks, what, part.address, part.room, *limits)
        return part.result(change.local(ranks.rank, before=False))
    with Planned(ranks, part, change, limits, maps) as planned:
        return planned.run()


def plan(
    local: Any,
    shape: Sequence[int],
    axes: _Axes = None,
    *,
    parts: _Parts = "balanced",
    cut: tuple[int, int] = (0, 0),
    group: Any = None,
    comm: Any = None,
    workspace_limit: int | None = None,
    message: int | None = None,
) -> "Planned":
    """Plans `transpose` of a tensor on a GPU, to be run any number of times.

    Arguments are those of `transpose`. Processes of one host map each other's tensors, if all can,
    until the result is closed; otherwise they exchange messages. The result keeps the tensor alive.
    """
    ranks = transport(group, comm)
    limits = dict(threads=None, workspace_limit=workspace_limit, message=message)
    made = _prepared(ranks, local, (shape, axes, parts, cut), limits, 0)
    if made[0].device is None:
        raise TypeError("the part is on the host: call transpose")
    return Planned(ranks, *made)


class Planned:
    """Transposition of one tensor per rank, made by `plan`. All calls are collective.

    ``str`` prints how ranks exchange data, and why if it is by messages. Use it in a ``with``
    statement, or call `close` on all ranks before the tensor's memory is freed.
    """

    def __init__(self, ranks, part, change, limits, maps):
        self._ranks, self._part, self._change, self._limits = ranks, part, change, limits[1:]
        self._what = (change.shape, change.axes, part.itemsize, change.cut, *change.parts)
        self._on_gpu = OnGpu(ranks, part.flat())
        self._mapped, self._why = None, "parts are small"
        if maps:
            with part.found.stream(None):
                made = _core.connect_on_gpu(*self._arguments())
            self._mapped, self._why = (None, made) if isinstance(made, str) else (made, None)

    def _arguments(self, *stream):
        part, (cap, message) = self._part, self._limits
        what = (self._on_gpu, self._what, part.device, *part.place(), *stream)
        return *what, cap, message or _MESSAGE

    @property
    def mapped(self) -> bool:
        """Whether ranks read and write each other's memory; if not, they exchange messages."""
        return self._mapped is not None

    def __str__(self) -> str:
        if self._on_gpu is None:
            return "closed"
        return str(self._mapped) if self.mapped else f"messages: {self._why}"

    def run(self) -> Any:
        """Transposes the tensor and returns this rank's part of the result, in its memory."""
        # Another thread may close the plan.
        mapped, on_gpu, part = self._mapped, self._on_gpu, self._part
        if on_gpu is None or (mapped is None and self._why is None):
            raise ValueError("the plan is closed")
        with part.found.stream(None) as stream:
            if mapped:
                mapped.run(on_gpu, part.place(), stream, on_gpu.workspace)
            else:
                try:
                    _check_capture(part)
                except _core.CaptureError:
                    # Other ranks return an error, unless their gather would be captured too.
                    if not hasattr(self._ranks, "gather_bytes_on"):
                        self._ranks.gather(0)
                    raise
                # The tensor may have other storage than when the plan was made.
                part.address, part.room = part.place()
                self._on_gpu = OnGpu(self._ranks, part.flat())
                _core.redistribute_on_gpu(*self._arguments(stream))
        return part.result(self._change.local(self._ranks.rank, before=False))

    def close(self) -> None:
        """Unmaps the memory of the other ranks, and waits until they have done so too."""
        mapped, on_gpu = self._mapped, self._on_gpu
        self._mapped = self._on_gpu = None
        if mapped:
            mapped.close(on_gpu)

    def __enter__(self) -> "Planned":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            self.close()
        except Exception:
            if error is None:
                raise


def _check_capture(part):
    with part.found.stream(None) as stream:
        if _core.is_capturing(stream):
            raise _core.CaptureError(
                "a CUDA graph is being captured, but the ranks must agree first"
            )


def _prepared(ranks, local, what, limits, maps_from):
    """Returns the part, the change, the limits and whether to map parts, checked on all ranks."""

    def prepare():
        change = _Change(*what, ranks.ranks)
        checked = [
            _arguments.count(name, limit, int(name != "workspace_limit"))
            for name, limit in limits.items()
        ]
        # Last, since what has run before may change the array.
        part = _part(local, change.local(ranks.rank, before=True))
        if part.device is None and not getattr(ranks, "serves_host", True):
            raise TypeError(
                "the part is on the host, but the group has only nccl: use 'cpu:gloo,cuda:nccl'"
            )
        if part.device is not None:
            if limits["threads"] is not None:
                raise ValueError("threads is given, but the part is not on the host")
            _check_capture(part)
        maps = prod(change.shape) * part.itemsize // ranks.ranks >= maps_from
        return part, change, checked, maps

    return _agreed(ranks, prepare)


def redistribute(
    dtensor: Any,
    placements: Sequence[Any],
    *,
    threads: int | None = None,
    workspace_limit: int | None = None,
) -> Any:
    """Changes a DTensor from Shard(i) to Shard(j) in place; `dtensor` itself is stale afterwards.

    The storage is not enlarged: if it has no room for a part of the result, RefusedError reports
    the needed and the available bytes.
    """
    import torch
    from torch.distributed.tensor import DTensor, Shard

    mesh = dtensor.device_mesh
    if mesh.ndim != 1:
        raise ValueError(f"the mesh has {mesh.ndim} dimensions: only one dimension is supported")
    pair = (*dtensor.placements, *placements)
    if len(pair) != 2 or not all(type(placement) is Shard for placement in pair):
        raise ValueError(
            f"from {dtensor.placements} to {tuple(placements)}: "
            "only from one Shard to another is supported"
        )
    cut = tuple(placement.dim % dtensor.ndim for placement in pair)
    with torch.no_grad():
        local = dtensor.to_local().detach()
        order = tuple(range(dtensor.ndim))
        options = dict(group=mesh.get_group(), threads=threads, workspace_limit=workspace_limit)
        local = transpose(local, dtensor.shape, order, parts="blocks", cut=cut, **options)
        return DTensor.from_local(
            local, mesh, placements, run_check=False, shape=dtensor.shape, stride=dtensor.stride()
        )


def capacity(
    shape: Sequence[int],
    axes: _Axes = None,
    *,
    parts: _Parts = "balanced",
    cut: tuple[int, int] = (0, 0),
    group: Any = None,
    comm: Any = None,
) -> int:
    """Returns the elements of this rank's buffer: the larger of its parts before and after."""
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
    """Allocates this rank's part before the call, in a buffer of `capacity` elements.

    Returns a tensor on `device` if `dtype` is a PyTorch dtype, otherwise a NumPy array.
    """
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
    """Checked arguments that all ranks share."""

    def __init__(self, shape, axes, parts, cut, ranks):
        self.shape = _arguments.extents(shape)
        self.axes = _arguments.normal(_arguments.integers(axes), len(self.shape))
        i, q = (index(axis) for axis in cut)
        for axis in (i, q):
            if not -len(self.shape) <= axis < len(self.shape):
                raise ValueError(
                    f"cut axis {axis} is out of bounds for array of dimension {len(self.shape)}"
                )
        self.cut = (i % len(self.shape), q % len(self.shape))
        extents = (self.shape[self.cut[0]], self.shape[self.axes[self.cut[1]]])
        if isinstance(parts, str):
            if parts not in _PARTS:
                raise ValueError(
                    f"parts must be 'balanced', 'blocks' or two sequences of extents, not {parts!r}"
                )
            self.parts = tuple(_PARTS[parts](extent, ranks) for extent in extents)
        else:
            before, after = parts
            self.parts = tuple([index(part) for part in side] for side in (before, after))
            for side, extent in zip(self.parts, extents, strict=True):
                if len(side) != ranks or sum(side) != extent or min(side) < 0:
                    raise ValueError(
                        f"parts {side} are not {ranks} parts of an axis of extent {extent}"
                    )

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
    """Returns the result of `prepare`; if it raises on one rank, all ranks raise."""
    prepared, error, word = None, None, 0
    try:
        prepared = prepare()
        # Elements of another dtype with the same size would be misread. Ranks that map parts and
        # ranks that do not would wait for each other.
        part, maps = prepared[0], prepared[-1]
        word = 1 + zlib.crc32(f"{part.kind} {part.device is None} {maps}".encode())
    except Exception as raised:
        error = raised
    try:
        words = list(ranks.gather(word))
    except Exception as raised:
        raise RefusedError("no data has moved: other ranks cannot be reached") from (
            error or raised
        )
    if error:
        raise error
    for rank, other in enumerate(words):
        if other == 0:
            raise RefusedError(f"rank {rank} could not begin: see its error")
        if other != words[0]:
            raise RefusedError(
                f"rank {rank} has another dtype than rank 0, or another kind or size of memory"
            )
    return prepared


def _part(local, shape):
    """Returns the part in `local`, and how much its storage can hold."""
    found = _arrays.adapt(local)
    torch = sys.modules.get("torch")
    is_tensor = torch is not None and isinstance(found.array, torch.Tensor)
    if found.device is not None and (found.device == NOWHERE or not is_tensor):
        raise TypeError("a part on a GPU must be a tensor")
    if found.shape != shape:
        raise ValueError(
            f"the part of this rank has shape {shape}, but local has shape {found.shape}"
        )
    if found.strides is not None:
        raise ValueError(f"the part is not C-contiguous: strides {found.strides}")
    part = (_Tensor if is_tensor else _Array)(found)
    if part.device is not None and part.address % ALIGNMENT:
        raise ValueError(
            f"the part starts at {part.address:#x}, not a multiple of {ALIGNMENT} bytes"
        )
    return part


class _Array:
    """Part in a NumPy array."""

    device = None

    def __init__(self, found):
        array = found.array
        self.itemsize, self.address, self.dtype = found.itemsize, found.address, array.dtype
        self.kind = str(array.dtype)
        root = array
        # The largest contiguous array that owns the memory.
        while (
            type(root.base) in (np.ndarray, np.memmap)
            and root.base.flags.c_contiguous
            and not root.base.dtype.hasobject
        ):
            root = root.base
        self.flat = root.reshape(-1).view(np.uint8)
        self.start = self.address - _core.address_of(root.__array_struct__)
        self.room = root.nbytes - self.start

    def result(self, shape):
        return (
            self.flat[self.start : self.start + prod(shape) * self.itemsize]
            .view(self.dtype)
            .reshape(shape)
        )


class _Tensor:
    """Part in a tensor."""

    def __init__(self, found):
        self.found, self.tensor, self.itemsize, self.device = (
            found,
            found.array,
            found.itemsize,
            found.device,
        )
        self.kind = str(self.tensor.dtype).removeprefix("torch.")
        self.start = self.tensor.storage_offset()
        self.address, self.room = self.place()

    def place(self):
        """Returns the current address and the bytes from there to the end of the storage."""
        storage, start = self.tensor.untyped_storage(), self.start * self.itemsize
        room = max(0, storage.nbytes() - start)
        return storage.data_ptr() + start if room else 0, room

    def flat(self):
        """Returns the whole room as bytes."""
        import torch

        bytes = torch.empty(0, dtype=torch.uint8, device=self.tensor.device)
        return bytes.set_(
            self.tensor.untyped_storage(), self.start * self.itemsize, (self.room,), (1,)
        )

    def result(self, shape):
        steps = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
        self.found.changed()
        return self.tensor.as_strided(shape, steps, self.start)
