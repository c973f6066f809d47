"""Which library an array is of, found without importing any.

Each library's module answers an object of the same few members:

    address, nbytes     where the elements are
    shape, itemsize     of them
    strides             in bytes; None when C-contiguous
    dtype               the library's own
    device              None for the host, a CUDA device's number, or NOWHERE
    array               what the caller gets back when nothing is to be done
    contiguous(order, shape)   the same memory as a C-contiguous array of `shape`; `order`: its axes as memory has them now
    reversed(array)     all axes of a result reversed, a view
    changed()           notes in the library that the elements were changed
    stream(given)       a context manager that answers a CUDA stream's handle and makes the stream current
    allocate(nbytes)    device memory of the library's allocator, on the current stream: (address, what holds it)
"""

import sys
from functools import partial

import numpy as np

from . import _host


def adapt(a, write=True):
    """What is known of `a`; raises when its elements cannot be moved in place, or not read unless `write`."""
    return found(a, write)()


def found(a, write=True):
    """What answers as `adapt` does, once it is called: whatever code `a` has of its own has run before."""
    kind = type(a)
    if kind is np.ndarray or kind is np.memmap:
        return partial(_host.Array, a, write)
    torch = _loaded("torch", "Tensor", a)
    if torch:
        from . import _torch

        return partial(_torch.adapt, a, write)
    cupy = _loaded("cupy", "ndarray", a)
    if cupy:
        from . import _cupy

        return partial(_cupy.Array, a, write)
    if _loaded("jax", "Array", a):
        raise TypeError(
            "JAX arrays are immutable: nothing can be permuted in place. Use jax.numpy.transpose, or move the elements to NumPy, "
            "PyTorch or CuPy"
        )
    if isinstance(a, np.ma.MaskedArray):
        raise TypeError(
            f"{kind.__name__} has a mask, which would not move with the elements: permute a.data and numpy.ma.getmaskarray(a), "
            "each by itself"
        )
    if isinstance(a, np.ndarray):
        raise TypeError(
            f"{kind.__name__} is a subclass of numpy.ndarray that may hold more than elements; "
            "pass the elements alone: a.view(numpy.ndarray)"
        )
    if hasattr(kind, "__cuda_array_interface__") or hasattr(a, "__cuda_array_interface__"):
        from . import _cuda_interface

        return partial(_cuda_interface.Array, a, write)
    return partial(_host.Array, _host.lent(a, write), write)


def _loaded(module, name, a):
    """Whether `a` is of that class, of a library that somebody has imported."""
    library = sys.modules.get(module)
    kind = getattr(library, name, None) if library is not None else None
    return kind is not None and isinstance(a, kind)
