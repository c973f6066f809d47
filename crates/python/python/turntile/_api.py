"""What is called."""

import re
from functools import lru_cache

from . import _core
from ._arguments import integers, normal, size
from ._arrays import adapt, found
from ._npy import refuse_map
from ._run import permute, settled
from ._run import permute_into as _permute_into


def transpose(a, /, axes=None, *, threads=None, workspace=None, stream=None, ignore_header=False):
    """Permutes the axes of `a` in place; `a` itself is stale afterwards, use what is returned.

    Axis `i` of the result is axis ``axes[i]`` of `a`, as ``numpy.transpose(a, axes)`` has it; None reverses them. The
    result is C-contiguous and in the memory of `a`. On the host at most 2% of its size and 1 MiB per thread are allocated
    besides. `a`, and every other view of that memory, keep their shape over elements that have moved.

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

    The memory map of a .npy file is refused, because the file's header would keep the old shape: `transpose_file` changes
    both, and `ignore_header` allows it.

    Raises ValueError, TypeError, MemoryError or CudaError; `a` is then unchanged, unless the
    message says that the data are incomplete.
    """
    axes, ignore_header = integers(axes), bool(ignore_header)
    threads, workspace, stream = settled(threads, workspace, stream)
    array = adapt(a)
    ignore_header or refuse_map(array)
    return permute(array, normal(axes, len(array.shape)), threads, workspace, stream)


#: Patterns as they were read last.
_pattern = lru_cache(256)(_core.Pattern)

#: Names that no axis has to which `rearrange` is given a size.
_OPTIONS = {"threads", "workspace", "stream", "ignore_header"}


def rearrange(a, pattern, /, *, threads=None, workspace=None, stream=None, ignore_header=False, **sizes):
    """Splits, permutes and joins the axes of `a` in place; `a` itself is stale afterwards, use what is returned.

    The result is that of ``einops.rearrange(a, pattern, **sizes)``, C-contiguous and in the memory of `a`. A pattern names
    the axes, an arrow, and the axes of the result. Parentheses split an axis on the left, and join axes on the right; ``1``
    and ``()`` are axes of one element; ``...`` stands for all axes that have no name. Of the parts of an axis that is split
    `sizes` are needed for all but one. The other options have no axes of their names. For the rest see `transpose`.

    >>> import numpy as np, turntile
    >>> images = np.zeros((8, 3, 64, 48), np.uint8)
    >>> patches = turntile.rearrange(images, "b c (h p) (w q) -> b (h w) (p q c)", p=16, q=16)
    >>> patches.shape
    (8, 12, 768)

    Raises ValueError too for patterns that repeat or reduce, or do not fit; `a` is then as it was.
    """
    if not isinstance(pattern, str):
        raise TypeError(f"a pattern is a str, not {pattern!r}")
    # Not of a subclass, which may be hashed by code of its own; nor are the names.
    pattern = str.__str__(pattern)
    sizes = tuple([(str.__str__(name), size(f"the size of axis {name}", given, 0)) for name, given in sizes.items()])
    (threads, workspace, stream), ignore_header = settled(threads, workspace, stream), bool(ignore_header)
    array = adapt(a)
    ignore_header or refuse_map(array, "the command `turntile rearrange`")
    try:
        axes = _pattern(pattern, array.shape, sizes)
    except ValueError as error:
        named = ", ".join(sorted(_OPTIONS.intersection(re.findall(r"\w+", pattern))))
        if not named:
            raise
        raise ValueError(f"{error}. Give an axis another name than {named}, an option of rearrange, to give it a size") from None
    return permute(array, axes, threads, workspace, stream)


def ascontiguousarray(a, /, *, threads=None, workspace=None, stream=None, ignore_header=False):
    """Makes `a` C-contiguous in place; `a` itself is stale afterwards, use what is returned.

    The result has the shape of `a` and equals it as it was, in the same memory: ``numpy.ascontiguousarray`` and
    ``tensor.contiguous()`` without the copy. What is C-contiguous is returned as it is. For the rest see `transpose`.

    >>> import numpy as np, turntile
    >>> weight = np.zeros((8, 50, 30), np.float32)
    >>> weight = turntile.ascontiguousarray(weight.transpose(0, 2, 1))
    >>> weight.shape, weight.flags.c_contiguous
    ((8, 30, 50), True)
    """
    (threads, workspace, stream), ignore_header = settled(threads, workspace, stream), bool(ignore_header)
    array = adapt(a)
    if array.strides is None:
        return array.array
    ignore_header or refuse_map(array)
    return permute(array, tuple(range(len(array.shape))), threads, workspace, stream)


def asfortranarray(a, /, *, threads=None, workspace=None, stream=None, ignore_header=False):
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
    (threads, workspace, stream), ignore_header = settled(threads, workspace, stream), bool(ignore_header)
    array = adapt(a)
    ignore_header or refuse_map(array)
    axes = tuple(range(len(array.shape) - 1, -1, -1))
    return permute(array, axes, threads, workspace, stream, True)


def permute_into(out, a, /, axes=None, *, threads=None, stream=None):
    """Writes `a` with its axes permuted to `out`, for when there is memory for both; `a` stays as it is.

    `out` is C-contiguous, of the permuted shape, with the dtype, library and device of `a`, and overlaps it nowhere; it is
    returned. `a` may be read-only. No workspace is needed, but for more than 28 axes that move apart, on a GPU
    eight: those are copied, then permuted in place.

    >>> import numpy as np, turntile
    >>> turntile.permute_into(np.empty((3, 2), int), np.array([[1, 2, 3], [4, 5, 6]]))
    array([[1, 4],
           [2, 5],
           [3, 6]])
    """
    axes, (threads, _, stream) = integers(axes), settled(threads, None, stream)
    source, dest = found(a, write=False), found(out)
    array = source()
    _permute_into(dest(), array, normal(axes, len(array.shape)), threads, stream)
    return out


def cuda_available():
    """Whether there is an NVIDIA GPU and a driver for it. Never raises.

    >>> import turntile
    >>> turntile.cuda_available() in (True, False)
    True
    """
    return _core.cuda_devices() > 0
