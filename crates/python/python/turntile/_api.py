"""What is called."""

from . import _core
from ._arrays import adapt
from ._axes import normal
from ._run import permute
from ._run import permute_into as _permute_into


def transpose(a, /, axes=None, *, threads=None, workspace=None, stream=None):
    """Permutes the axes of `a` in place; `a` itself is stale afterwards, use what is returned.

    Axis `i` of the result is axis ``axes[i]`` of `a`, as ``numpy.transpose(a, axes)`` has it; None reverses them. The
    result is C-contiguous and lies in the memory of `a`: nothing of its size is allocated. `a`, and every other view of
    that memory, keep their shape over elements that have moved.

    >>> import numpy as np, turntile
    >>> a = np.array([[1, 2, 3], [4, 5, 6]])
    >>> a = turntile.transpose(a)
    >>> a
    array([[1, 4],
           [2, 5],
           [3, 6]])
    >>> image = np.zeros((480, 640, 3), np.uint8)
    >>> image = turntile.transpose(image, (2, 0, 1))
    >>> image.shape
    (3, 480, 640)

    `a` is a NumPy array or memory map, a PyTorch tensor on the host or a CUDA device, a CuPy array, or anything that
    lends its memory (the buffer protocol, ``__array_interface__``, DLPack, ``__cuda_array_interface__``). It may be C- or
    Fortran-ordered, or any transposed view of such.

    On the host at most `threads` threads work, all by default; `workspace` is a `Workspace`. On a GPU the work is queued
    on `stream` (a stream, or its handle), by default the library's current one, and not waited for; `workspace` is an array
    on the device, by default of the library's allocator.

    Raises ValueError, TypeError, MemoryError or CudaError; `a` is then as it was.
    """
    array = adapt(a)
    return permute(array, normal(axes, len(array.shape)), threads, workspace, stream)


def ascontiguousarray(a, /, *, threads=None, workspace=None, stream=None):
    """Makes `a` C-contiguous in place; `a` itself is stale afterwards, use what is returned.

    The result has the shape of `a` and equals it as it was, in the same memory: ``numpy.ascontiguousarray`` and
    ``tensor.contiguous()`` without the copy. What is C-contiguous is returned as it is. For the rest see `transpose`.

    >>> import numpy as np, turntile
    >>> weight = np.zeros((8, 50, 30), np.float32)
    >>> weight = turntile.ascontiguousarray(weight.transpose(0, 2, 1))
    >>> weight.shape, weight.flags.c_contiguous
    ((8, 30, 50), True)
    """
    array = adapt(a)
    if array.strides is None:
        return array.array
    return permute(array, tuple(range(len(array.shape))), threads, workspace, stream)


def asfortranarray(a, /, *, threads=None, workspace=None, stream=None):
    """Makes `a` Fortran-contiguous in place; `a` itself is stale afterwards, use what is returned.

    The result has the shape of `a` and equals it as it was, in the same memory: ``numpy.asfortranarray`` without the copy.
    For the rest see `transpose`.

    >>> import numpy as np, turntile
    >>> a = turntile.asfortranarray(np.arange(6).reshape(2, 3))
    >>> a
    array([[0, 1, 2],
           [3, 4, 5]])
    >>> a.flags.f_contiguous
    True
    """
    array = adapt(a)
    axes = tuple(range(len(array.shape) - 1, -1, -1))
    return array.reversed(permute(array, axes, threads, workspace, stream))


def permute_into(out, a, /, axes=None, *, threads=None, stream=None):
    """Writes `a` with its axes permuted to `out`, for when there is memory for both; `a` stays as it is.

    `out` is C-contiguous, of the permuted shape, with the dtype, library and device of `a`, and overlaps it nowhere; it is
    returned. `a` may be read-only. No workspace is needed, but on a GPU for orders other than a batch of transpositions, and
    for more than eight axes that move apart: those are copied, then permuted in place.

    >>> import numpy as np, turntile
    >>> turntile.permute_into(np.empty((3, 2), int), np.array([[1, 2, 3], [4, 5, 6]]))
    array([[1, 4],
           [2, 5],
           [3, 6]])
    """
    array = adapt(a, write=False)
    _permute_into(adapt(out), array, normal(axes, len(array.shape)), threads, stream)
    return out


def cuda_available():
    """Whether there is an NVIDIA GPU and a driver for it. Never raises.

    >>> import turntile
    >>> turntile.cuda_available() in (True, False)
    True
    """
    return _core.cuda_devices() > 0
