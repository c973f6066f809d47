"""Plans run on arrays."""

import contextlib
import os

from . import _core, _streams
from ._arguments import count
from ._arrays import adapt
from ._cache import Plans
from ._device import NOWHERE

_plans = Plans()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_plans.forget)

#: Bytes of arrays that need no plan on the host.
SMALL = 16 << 10

#: Alignment of every allocation on a device, in bytes; plans ask for no more.
ALIGNMENT = 16


def settled(threads, workspace, stream):
    """Arguments whose own code, if there is any, has run: then only is the array looked at."""
    if threads is workspace is stream is None:
        return None, None, None
    if workspace is not None and not isinstance(workspace, _core.Workspace):
        try:
            workspace = adapt(workspace)
        except (TypeError, ValueError) as error:
            raise type(error)(f"workspace: {error}") from None
    return count("threads", threads, 1), workspace, _streams.settled(stream)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C came while elements were being moved, which was completed: `result` is what the call would have returned."""

    result = None


def interrupted(raised, result):
    """What to raise in place of `raised`, which came after the elements had moved, so that the result is not lost."""
    error = Interrupted(*raised.args).with_traceback(raised.__traceback__) if type(raised) is KeyboardInterrupt else raised
    error.result = result
    return error


def permute(array, axes, threads=None, workspace=None, stream=None, reverse=False):
    """Moves the elements so that axis `i` is axis `axes[i]`, or as the pattern `axes` says, and answers the result, with all
    its axes reversed if that is asked."""
    device = array.device
    if device is None and 0 < array.nbytes <= SMALL and threads is workspace is stream is None:
        moved = _core.Moved()
        try:
            done = _core.permute_if_small(array.address, array.shape, array.strides, array.itemsize, axes, moved)
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
    return in_place(array, result, asked, (_core.HostPlan, _core.CudaPlan), threads, workspace, stream)


def _result(array, order, shape, reverse):
    result = array.contiguous(order, shape)
    return array.reversed(result) if reverse else result


def in_place(array, result, asked, makers, threads, workspace, stream):
    """Does in place what is asked, by a plan of what makes those of the host, or of a device, and answers the result."""
    of_host, of_device = makers
    if array.device is not None and threads is not None:
        raise ValueError("threads are given, and the array is on no host")
    plan = None
    if array.device is None and array.nbytes:
        plan = host_plan(of_host, *asked, threads)
    elif array.device != NOWHERE and array.nbytes:
        plan = (of_device, array.device, *asked, min(array.address & -array.address, ALIGNMENT))
    return move(array, result, plan, workspace, stream, _core.Moved())


def move(array, result, plan, workspace, stream, moved):
    """Runs a plan, or on a device what to make it of, in place, once for each `moved`, and answers the result; None moves nothing.

    The result was made before: nothing that could be interrupted is called once the elements have moved.
    """
    device = array.device
    try:
        if device is None and stream is not None:
            raise ValueError("stream is given, and the array is on the host")
        if plan is None or device is not None and not array.nbytes:
            return result
        if device is None:
            if not isinstance(workspace, (_core.Workspace, type(None))):
                raise TypeError(f"the host's workspace is a turntile.Workspace, not {type(workspace.array).__name__}")
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
    """A plan of the host, made or found; `make`: what makes it, and of what."""
    return _plans.get(make) or _plans.put(make, make[0](*make[1:]))


def device_plan(make, stream):
    """A plan of a device with its kernels loaded, made or found; made it is not while the stream is captured."""
    plan = _plans.get(make)
    if plan is None:
        if _core.is_capturing(stream):
            raise _core.CaptureError(
                "a CUDA graph is being captured and this shape's kernels are not loaded: run it once, or make a "
                "turntile.Plan, before the capture"
            )
        plan = _plans.put(make, make[0](*make[1:]))
    return plan


def on_device(array, make, workspace, stream, moved):
    """Queues a run in place; `make`: a plan, or what to make it of."""
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
    """Address and bytes of a workspace on a device."""
    if isinstance(memory, _core.Workspace):
        raise TypeError("a turntile.Workspace is the host's memory; pass an array on the device")
    if memory.device != device:
        raise ValueError("the workspace is not on the array's device")
    if memory.strides is not None:
        raise ValueError("the workspace is not contiguous")
    return memory.address, memory.nbytes


def permute_into(to, array, axes, threads=None, stream=None):
    """Writes the elements of `array` to `to`, axis `i` being axis `axes[i]`."""
    order, extents, places, shape = _core.arrange(array.shape, array.strides, array.itemsize, axes)
    if type(to) is not type(array) or to.device != array.device:
        raise TypeError("out and a are not of one library and device")
    if to.shape != shape:
        raise ValueError(f"out has shape {to.shape}, {shape} is needed")
    if to.dtype != array.dtype:
        raise TypeError(f"out has elements of {to.dtype}, a of {array.dtype}")
    if to.strides is not None:
        raise ValueError("out is not C-contiguous")
    apart = to.address >= array.address + array.nbytes or array.address >= to.address + to.nbytes
    if to.device != NOWHERE and not apart:
        raise ValueError("out and a overlap in memory")
    device = to.device
    if device is None and stream is not None:
        raise ValueError("stream is given, and the arrays are on the host")
    if device is not None and threads is not None:
        raise ValueError("threads are given, and the arrays are on no host")
    if not to.nbytes or device == NOWHERE:
        return
    try:
        if device is None:
            plan = host_plan(_core.HostPlan, extents, places, to.itemsize, threads, None, True)
            plan.run_into(to.address, array.address, to.nbytes)
        else:
            # Any element's alignment will do: two kernels are planned where that matters.
            make = (_core.CudaPlan, device, extents, places, to.itemsize, ALIGNMENT, None, True)
            with array.stream(stream), to.stream(stream) as handle:
                device_plan(make, handle).run_into(to.address, array.address, to.nbytes, handle)
        to.changed()
    except _core.PlanError:
        # No kernel writes this order elsewhere: copied as it is, then permuted in place.
        with contextlib.nullcontext() if device is None else to.stream(stream):
            to.copy_from(array.contiguous(order, (-1,)))
        permute(_Copied(to, extents), places, threads, None, stream)


class _Copied:
    """An array that holds another's memory, of that one's extents."""

    def __init__(self, to, extents):
        self._to, self.shape, self.strides = to, extents, None

    def contiguous(self, order, shape):
        return self._to.array

    def __getattr__(self, name):
        return getattr(self._to, name)
