"""Adapters of arrays, chosen without importing any array library.

Each library's module has an adapter with these members:

    address, nbytes     memory of the elements
    shape, itemsize
    strides             in bytes; None if C-contiguous
    dtype               the library's dtype
    device              None for the host, the number of a CUDA device, or NOWHERE
    least_shape         shape that an array of zero dimensions has once it is made contiguous
    array               the adapted array
    contiguous(order, shape)   returns the memory as a C-contiguous array; `order`: axes as stored
    reversed(array)     returns a view with all axes reversed
    changed()           reports to the library that the elements were changed
    copy_from(other, axes)     copies `other` with its axes permuted, by the library's own copy
    stream(given)       context manager that makes a stream current; its handle, None on the host
    allocate(nbytes)    returns address and owner of new device memory, on the current stream
"""

import sys
from functools import partial

import numpy as np

from . import _dlpack, _host


def adapt(a, write=True):
    """Returns the adapter of `a`; raises if its elements cannot be moved (or only read)."""
    return found(a, write)()


def found(a, write=True):
    """Returns a function that returns the adapter. Any user code of `a` has run before."""
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
        if write or isinstance(a, sys.modules["jax"].core.Tracer):
            raise TypeError(
                "JAX arrays are immutable: pass out, an array of another library, or use "
                "turntile.jax.transpose in a function compiled by jax.jit"
            )
        if _dlpack.on_cuda(a):
            return partial(_dlpack.Array, a, _dlpack.exported(a), write)
        return partial(_host.Array, np.asarray(a), write)
    if isinstance(a, np.ma.MaskedArray):
        raise TypeError(
            f"{kind.__name__} has a mask, which would not move with the elements: permute a.data "
            "and numpy.ma.getmaskarray(a) separately"
        )
    if isinstance(a, np.ndarray):
        raise TypeError(
            f"{kind.__name__} is a subclass of numpy.ndarray, which may hold more than elements: "
            "pass a.view(numpy.ndarray)"
        )
    if hasattr(kind, "__cuda_array_interface__") or hasattr(a, "__cuda_array_interface__"):
        from . import _cuda_interface

        return partial(_cuda_interface.Array, a, write)
    if _dlpack.on_cuda(a):
        return partial(_dlpack.Array, a, _dlpack.exported(a), write)
    return partial(_host.Array, _host.exported(a, write), write)


def _loaded(module, name, a):
    """Returns whether `a` is an instance of a class of a library that has been imported."""
    library = sys.modules.get(module)
    kind = getattr(library, name, None) if library is not None else None
    return kind is not None and isinstance(a, kind)
