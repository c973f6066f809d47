"""Functions that permute axes."""

import operator
import re
import sys
from functools import lru_cache, partial

from numpy.lib.array_utils import normalize_axis_tuple

from . import _core
from ._arguments import integers, normal, size
from ._arrays import adapt
from ._npy import refuse_map
from ._run import copy_into, permute, settled


def transpose(
    a, /, axes=None, *, out=None, threads=None, workspace=None, stream=None, ignore_header=False
):
    """Permutes the axes of `a` in place; `a` itself is stale afterwards, use the result.

    Axis ``i`` of the result is axis ``axes[i]`` of `a`, as in ``numpy.transpose(a, axes)``. The
    result is C-contiguous and uses the memory of `a`. With `out`, the result is written there
    and `a` is unchanged.

    Parameters
    ----------
    a : array
        NumPy array or memory map, PyTorch tensor, CuPy array, or an object that exports its memory
        (buffer protocol, ``__array_interface__``, DLPack, ``__cuda_array_interface__``). In place,
        it must be C- or Fortran-contiguous, or a transposed view of such an array.
    axes : sequence of int, optional
        Permutation of the axes. The default reverses them.
    out : array, optional
        Array for the result. It has the result's shape and the dtype, library and device of `a`,
        and does not overlap `a`. Strides are free for `a` and `out`.
    threads : int, optional
        Maximum number of CPU threads. The default is one per core.
    workspace : Workspace or array, optional
        On the CPU a `Workspace`; on a GPU an array on the same device, which the library of `a`
        allocates by default.
    stream : stream or int, optional
        CUDA stream, or its handle, on which the work is queued. The default is the current stream
        of the array's library. The call does not wait for the work.
    ignore_header : bool, optional
        Accepts the memory map of a .npy file, whose header would keep the old shape.

    Returns
    -------
    array
        View of the memory of `a`, or `out`.

    Raises
    ------
    ValueError, TypeError, MemoryError, CudaError
        The data are unchanged, unless the message says that they are incomplete.

    See Also
    --------
    ascontiguousarray, asfortranarray, matrix_transpose, rearrange, transpose_file, Plan

    Notes
    -----
    After a call in place, `a` and every other view of its memory keep their shape, over elements
    that have moved. On the CPU the workspace is at most 2% of the array plus 1 MiB per thread. On
    a GPU it is the larger of 2% and 16 MiB.

    If `a` or `out` is strided (not contiguous in any order of the axes), the array's library makes
    the copy to `out`, as in ``numpy.copyto(out, a.transpose(axes))``.

    Examples
    --------
    >>> import numpy as np, turntile
    >>> a = np.array([[1, 2, 3], [4, 5, 6]])
    >>> a = turntile.transpose(a)
    >>> a
    array([[1, 4],
           [2, 5],
           [3, 6]])
    >>> image = np.zeros((480, 640, 3), np.uint8)
    >>> planes = np.empty((3, 480, 640), np.uint8)
    >>> turntile.transpose(image, (2, 0, 1), out=planes) is planes
    True
    """
    axes, ignore_header = integers(axes), bool(ignore_header)
    options = settled(threads, workspace, stream)
    return _transposed(a, partial(normal, axes), out, options, ignore_header)


#: The array API's name of `transpose`, as in NumPy.
permute_dims = transpose


def matrix_transpose(a, /, *, out=None, threads=None, workspace=None, stream=None):
    """Swaps the last two axes of `a` in place; `a` itself is stale afterwards, use the result.

    Transposes a matrix, or each matrix of a batch, as ``numpy.matrix_transpose``.

    Parameters
    ----------
    a : array
        Array of at least two dimensions.
    out, threads, workspace, stream
        As for `transpose`.

    Returns
    -------
    array
        View of the memory of `a`, or `out`.

    See Also
    --------
    transpose

    Examples
    --------
    >>> import numpy as np, turntile
    >>> turntile.matrix_transpose(np.zeros((8, 50, 30))).shape
    (8, 30, 50)
    """
    return _transposed(a, _last_two, out, settled(threads, workspace, stream), False)


def _last_two(rank):
    if rank < 2:
        raise ValueError(f"input array must be at least 2-dimensional, but it is {rank}")
    return (*range(rank - 2), rank - 1, rank - 2)


def _traced(a, options):
    """Returns the module of operators if `a` is a tensor of a graph that PyTorch traces."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(a, torch.Tensor) or not torch.compiler.is_compiling():
        return None
    if options != (None, None, None):
        raise ValueError("a graph takes no threads, workspace or stream")
    from . import torch_ops

    return torch_ops


def _transposed(a, axes_of, out, options, ignore_header):
    """Permutes the axes of `a` in place or into `out`; `axes_of(rank)` returns the permutation."""
    operators = _traced(a, options)
    if operators is not None:
        return operators.transposed(a, axes_of(a.dim()), out)
    if out is not None:
        return copy_into(out, a, axes_of, *options)
    array = adapt(a)
    ignore_header or refuse_map(array)
    return permute(array, axes_of(len(array.shape)), options)


def flip(a, /, axis=None, *, threads=None, workspace=None, stream=None):
    """Reverses the order of elements along axes in place; use the result, `a` may be stale.

    The result equals ``numpy.flip(a, axis)``, is C-contiguous and uses the memory of `a`.

    Parameters
    ----------
    a : array
        As for `transpose`.
    axis : int or sequence of int, optional
        Axes to reverse. The default reverses all axes.
    threads, workspace, stream
        As for `transpose`.

    Returns
    -------
    array
        View of the memory of `a`.

    See Also
    --------
    rot90, transpose

    Examples
    --------
    >>> import numpy as np, turntile
    >>> turntile.flip(np.array([[1, 2, 3], [4, 5, 6]]), axis=1)
    array([[3, 2, 1],
           [6, 5, 4]])
    """
    axis, options = integers(axis), settled(threads, workspace, stream)
    array = adapt(a)
    rank = len(array.shape)
    reverses = normalize_axis_tuple(range(rank) if axis is None else axis, rank)
    return _flipped(array, range(rank), reverses, options)


def rot90(a, /, k=1, axes=(0, 1), *, threads=None, workspace=None, stream=None):
    """Rotates an array in place by quarter turns; `a` itself is stale afterwards, use the result.

    The result equals ``numpy.rot90(a, k, axes)``, is C-contiguous and uses the memory of `a`.

    Parameters
    ----------
    a : array
        As for `transpose`, of at least two dimensions.
    k : int, optional
        Number of turns, from the first of `axes` towards the second. Negative turns go back.
    axes : sequence of two int, optional
        Axes of the plane that is rotated.
    threads, workspace, stream
        As for `transpose`.

    Returns
    -------
    array
        View of the memory of `a`.

    See Also
    --------
    flip, transpose

    Examples
    --------
    >>> import numpy as np, turntile
    >>> turntile.rot90(np.array([[1, 2, 3], [4, 5, 6]]))
    array([[3, 6],
           [2, 5],
           [1, 4]])
    """
    k, axes, options = operator.index(k) % 4, integers(axes), settled(threads, workspace, stream)
    if axes is None or len(axes) != 2:
        raise ValueError("len(axes) must be 2")
    array = adapt(a)
    rank = len(array.shape)
    first, second = normalize_axis_tuple(axes, rank, "axes")
    order = list(range(rank))
    if k % 2:
        order[first], order[second] = second, first
    return _flipped(array, order, ((), (first,), (first, second), (second,))[k], options)


def _flipped(array, order, reverses, options):
    """Permutes `array` in place to `order`, and reverses these axes of the result."""
    if array.strides is not None or tuple(order) != tuple(range(len(order))):
        refuse_map(array, "use the command `turntile rot90`, which changes both, or pass a copy")
    axes = tuple([~axis if to in reverses else axis for to, axis in enumerate(order)])
    return permute(array, axes, options)


#: Patterns of the last calls.
_pattern = lru_cache(256)(_core.Pattern)

#: Names of options, which no axis with a given size can have.
_OPTIONS = {"threads", "workspace", "stream"}


def rearrange(a, pattern, /, *, threads=None, workspace=None, stream=None, **sizes):
    """Splits, permutes and merges axes in place; `a` itself is stale afterwards, use the result.

    The result equals ``einops.rearrange(a, pattern, **sizes)``, is C-contiguous and uses the memory
    of `a`.

    Parameters
    ----------
    a : array
        As for `transpose`.
    pattern : str
        Axes of `a`, ``->``, axes of the result. Parentheses split an axis on the left and merge
        axes on the right; ``1`` and ``()`` are axes of extent 1; ``...`` stands for all unnamed
        axes.
    threads, workspace, stream
        As for `transpose`.
    **sizes : int
        Extents of named axes. Each split axis needs the extents of all its parts but one.

    Returns
    -------
    array
        View of the memory of `a`.

    Raises
    ------
    ValueError
        The pattern repeats or reduces an axis, or does not match the shape; `a` is unchanged.
        Other errors are those of `transpose`.

    See Also
    --------
    transpose

    Examples
    --------
    >>> import numpy as np, turntile
    >>> images = np.zeros((8, 3, 64, 48), np.uint8)
    >>> patches = turntile.rearrange(images, "b c (h p) (w q) -> b (h w) (p q c)", p=16, q=16)
    >>> patches.shape
    (8, 12, 768)
    """
    if not isinstance(pattern, str):
        raise TypeError(f"pattern must be a str, not {pattern!r}")
    # Plain strings: a subclass may define a hash function that runs user code.
    pattern = str.__str__(pattern)
    named = [
        (str.__str__(name), size(f"the size of axis {name}", given, 0))
        for name, given in sizes.items()
    ]
    options = settled(threads, workspace, stream)
    array = adapt(a)
    refuse_map(array, "use the command `turntile rearrange`, which changes both")
    try:
        axes = _pattern(pattern, array.shape, tuple(named))
    except ValueError as error:
        taken = ", ".join(sorted(_OPTIONS.intersection(re.findall(r"\w+", pattern))))
        if not taken:
            raise
        raise ValueError(
            f"{error}: {taken} is an option of rearrange, so rename the axis to give it a size"
        ) from None
    return permute(array, axes, options)


def ascontiguousarray(a, /, *, threads=None, workspace=None, stream=None):
    """Makes `a` C-contiguous in place; `a` itself is stale afterwards, use the result.

    The result equals ``numpy.ascontiguousarray(a)`` or ``tensor.contiguous()``, in the memory of
    `a`. If `a` is C-contiguous, it is returned. As in these libraries, an array of zero dimensions
    becomes one of shape ``(1,)``, but a tensor keeps its shape.

    Parameters
    ----------
    a : array
        As for `transpose`: usually a transposed view.
    threads, workspace, stream
        As for `transpose`.

    Returns
    -------
    array
        View of the memory of `a`, with its shape.

    See Also
    --------
    asfortranarray, transpose

    Examples
    --------
    >>> import numpy as np, turntile
    >>> weight = np.zeros((8, 50, 30), np.float32)
    >>> weight = turntile.ascontiguousarray(weight.transpose(0, 2, 1))
    >>> weight.shape, weight.flags.c_contiguous
    ((8, 30, 50), True)
    """
    options = settled(threads, workspace, stream)
    operators = _traced(a, options)
    if operators is not None:
        return a if a.is_contiguous() else operators.transposed(a, range(a.dim()))
    array = adapt(a)
    if array.strides is None:
        return array.array if array.shape else array.contiguous(None, array.least_shape)
    refuse_map(array)
    return permute(array, tuple(range(len(array.shape))), options)


def asfortranarray(a, /, *, threads=None, workspace=None, stream=None):
    """Makes `a` Fortran-contiguous in place; `a` itself is stale afterwards, use the result.

    The result equals ``numpy.asfortranarray(a)``, in the memory of `a`. An array of zero dimensions
    is treated as by `ascontiguousarray`.

    Parameters
    ----------
    a : array
        As for `transpose`.
    threads, workspace, stream
        As for `transpose`.

    Returns
    -------
    array
        View of the memory of `a`, with its shape.

    See Also
    --------
    ascontiguousarray, transpose

    Examples
    --------
    >>> import numpy as np, turntile
    >>> a = turntile.asfortranarray(np.arange(6).reshape(2, 3))
    >>> a
    array([[0, 1, 2],
           [3, 4, 5]])
    >>> a.flags.f_contiguous
    True
    """
    options = settled(threads, workspace, stream)
    array = adapt(a)
    if not array.shape:
        return array.contiguous(None, array.least_shape)
    refuse_map(array)
    return permute(array, tuple(range(len(array.shape) - 1, -1, -1)), options, reverse=True)


def cuda_available():
    """Returns whether there is an NVIDIA GPU with a driver. Never raises, and creates no context.

    Examples
    --------
    >>> import turntile
    >>> turntile.cuda_available() in (True, False)
    True
    """
    return _core.cuda_devices() > 0
