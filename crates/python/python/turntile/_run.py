"""Runs of plans on arrays."""

import os

import numpy as np

from . import _core, _dlpack, _streams
from ._arguments import count
from ._arrays import adapt, found
from ._cache import Plans
from ._device import NOWHERE

_plans = Plans()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_plans.forget)

#: Largest host array that needs no plan, in bytes.
SMALL = 16 << 10

#: Alignment that plans for a GPU assume, in bytes. Every device allocation has it.
ALIGNMENT = 16

#: Steps of the search for an element that `out` and `a` share. Strides that need more are rejected.
OVERLAP_STEPS = 1 << 16


def settled(threads, workspace, stream):
    """Returns the options converted, so that no user code runs once the array is inspected."""
    if threads is workspace is stream is None:
        return None, None, None
    if workspace is not None and not isinstance(workspace, _core.Workspace):
        try:
            workspace = adapt(workspace)
        except (TypeError, ValueError) as error:
            raise type(error)(f"workspace: {error}") from None
    return count("threads", threads, 1), workspace, _streams.settled(stream)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run, which was completed. `result` is what the call would have returned."""

    result = None


def interrupted(raised, result):
    """Returns the exception to raise instead of `raised` after a run, with `result`."""
    error = raised
    if type(raised) is KeyboardInterrupt:
        error = Interrupted(*raised.args).with_traceback(raised.__traceback__)
    error.result = result
    return error


def permute(array, axes, options, reverse=False):
    """Permutes `array` in place by `axes`, a permutation or a pattern, and returns the result.

    `options` are threads, workspace and stream. With `reverse`, the axes of the returned view are
    reversed. Callers pass the tuple: in Python 3.11 a signal after a call with unpacked arguments
    raises before the result is returned.
    """
    threads, workspace, stream = options
    device = array.device
    if device is None and 0 < array.nbytes <= SMALL and threads is workspace is stream is None:
        moved = _core.Moved()
        try:
            done = _core.permute_if_small(
                array.address, array.shape, array.strides, array.itemsize, axes, moved
            )
            if done:
                array.changed()
                return _result(array, *done, reverse)
        except BaseException as raised:
            if not moved:
                raise
            order, _, _, shape = _core.arrange(array.shape, array.strides, array.itemsize, axes)
            raise interrupted(raised, _result(array, order, shape, reverse)) from None
    order, extents, places, shape = _core.arrange(array.shape, array.strides, array.itemsize, axes)
    result = _result(array, order, shape, reverse)
    asked = (extents, places, array.itemsize)
    makers = (_core.HostPlan, _core.CudaPlan)
    return in_place(array, result, asked, makers, threads, workspace, stream)


def _result(array, order, shape, reverse):
    result = array.contiguous(order, shape)
    return array.reversed(result) if reverse else result


def in_place(array, result, asked, makers, threads, workspace, stream):
    """Runs the operation `asked` in place and returns `result`."""
    plan = plan_of(array, asked, makers, threads)
    return move(array, result, plan, workspace, stream, _core.Moved())


def plan_of(array, asked, makers, threads):
    """Returns the plan of the operation `asked`; on a GPU the arguments that make it.

    `makers` are the plan types of the host and of a GPU.
    """
    of_host, of_device = makers
    if array.device is not None and threads is not None:
        raise ValueError("threads is given, but the array is not on the host")
    if array.device == NOWHERE or not array.nbytes:
        return None
    if array.device is None:
        return host_plan(of_host, *asked, threads)
    return of_device, array.device, *asked, min(array.address & -array.address, ALIGNMENT)


def move(array, result, plan, workspace, stream, moved):
    """Runs `plan` in place, at most once for each `moved`, and returns `result`.

    On a GPU `plan` may also be the arguments that make the plan. None moves nothing. The caller
    makes `result` before, so that an interrupt after the move does not lose it.
    """
    device = array.device
    try:
        if device is None and stream is not None:
            raise ValueError("stream is given, but the array is on the host")
        if plan is None or device is not None and not array.nbytes:
            return result
        if device is None:
            if not isinstance(workspace, (_core.Workspace, type(None))):
                kind = type(workspace.array).__name__
                raise TypeError(f"workspace on the host must be a turntile.Workspace, not {kind}")
            plan.run(array.address, array.nbytes, workspace, moved)
        else:
            on_device(array, plan, workspace, stream, moved)
        array.changed()
        return result
    except BaseException as raised:
        if not moved:
            raise
        raise interrupted(raised, result) from None


def host_plan(*make):
    """Returns the cached plan for the host, or makes it: `make` is the type and its arguments."""
    return _plans.get(make) or _plans.put(make, make[0](*make[1:]))


def device_plan(make, stream):
    """Returns the cached plan for a GPU, or makes it, unless `stream` is being captured."""
    plan = _plans.get(make)
    if plan is None:
        if _core.is_capturing(stream):
            raise _core.CaptureError(
                "a CUDA graph is being captured and the kernels for this shape are not loaded: "
                "run the call once, or make a turntile.Plan, before the capture"
            )
        plan = _plans.put(make, make[0](*make[1:]))
    return plan


def on_device(array, make, workspace, stream, moved):
    """Queues a run in place. `make` is a plan, or the type and arguments that make it."""
    with array.stream(stream) as handle:
        plan = device_plan(make, handle) if isinstance(make, tuple) else make
        need = plan.workspace_bytes
        if workspace is not None:
            beside = beside_of(workspace, array.device)
            held = workspace
        else:
            address, held = array.allocate(need) if need else (0, None)
            beside = (address, need)
        plan.run(array.address, array.nbytes, handle, beside, moved)
        del held


def beside_of(memory, device):
    """Returns the address and bytes of a workspace on a GPU."""
    if isinstance(memory, _core.Workspace):
        raise TypeError("a turntile.Workspace is host memory: pass an array on the array's device")
    if memory.device != device:
        raise ValueError("the workspace is not on the array's device")
    if memory.strides is not None:
        raise ValueError("the workspace is not contiguous")
    return memory.address, memory.nbytes


def copy_into(out, a, axes_of, threads, workspace, stream):
    """Copies `a` with its axes permuted to `out`, and returns `out`."""
    source, dest = found(a, write=False), found(out)
    array, to = source(), dest()
    axes, device = axes_of(len(array.shape)), to.device
    shape = tuple([array.shape[axis] for axis in axes])
    # Any library can read what is exported by DLPack.
    mixed = type(to) is not type(array)
    if mixed and not isinstance(array, _dlpack.Array) or device != array.device:
        raise TypeError("out must be an array of the same library and on the same device as a")
    if to.shape != shape:
        raise ValueError(f"out has shape {to.shape}, but the result has shape {shape}")
    if (_dlpack.dtype_of(to) if mixed else to.dtype) != array.dtype:
        raise TypeError(f"out has dtype {to.dtype}, but a has dtype {array.dtype}")
    if to.nbytes and device != NOWHERE and overlap(to, array):
        raise ValueError("out overlaps a")
    if workspace is not None:
        raise ValueError("workspace is given, but a copy to out uses none")
    if device is None and stream is not None:
        raise ValueError("stream is given, but the arrays are on the host")
    if device is not None and threads is not None:
        raise ValueError("threads is given, but the arrays are not on the host")
    if not to.nbytes or device == NOWHERE:
        return out
    with to.stream(stream) as handle, array.stream(handle if mixed else stream):
        try:
            plan = _copy_plan(to, array, axes, threads, handle)
        except ValueError:
            if mixed:
                raise
            # Strided, or more axes than the kernels take.
            to.copy_from(array, axes)
        else:
            plan.run_into(
                to.address, array.address, to.nbytes, *(() if device is None else (handle,))
            )
        to.changed()
    return out


def _copy_plan(to, array, axes, threads, stream):
    """Returns the plan of a copy; raises ValueError if `to` or `array` is strided."""
    # `to` is C-contiguous with its axes in this order.
    order = _core.arrange(to.shape, to.strides, to.itemsize, range(len(axes)))[0]
    axes = axes if order is None else [axes[axis] for axis in order]
    _, *permutation, _ = _core.arrange(array.shape, array.strides, array.itemsize, axes)
    if to.device is not None:
        # A plan of a copy has kernels for other alignments too.
        make = (_core.CudaPlan, to.device, *permutation, to.itemsize, ALIGNMENT, None, True)
        return device_plan(make, stream)
    plan = host_plan(_core.HostPlan, *permutation, to.itemsize, threads, None, True)
    plan.prepare()
    return plan


class _Memory:
    """The bytes of an adapted array, for NumPy, which only looks at their addresses."""

    def __init__(self, array):
        # Not as elements of `itemsize` bytes: NumPy 2.1 reads elements of dtype void.
        strides, axes = array.strides, [axis for axis, n in enumerate(array.shape) if n > 1]
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": (*[array.shape[axis] for axis in axes], array.itemsize),
            "strides": strides and (*[strides[axis] for axis in axes], 1),
            "data": (array.address, True),
        }


def overlap(to, array):
    """Returns whether two arrays share an element, or may, if that takes long to find out."""
    if to.strides is array.strides is None:
        first, second = sorted([to, array], key=lambda each: each.address)
        return first.address + first.nbytes > second.address
    try:
        return np.shares_memory(_Memory(to), _Memory(array), max_work=OVERLAP_STEPS)
    except np.exceptions.TooHardError:
        return True
