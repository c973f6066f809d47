"""NumPy arrays, and whatever lends the host's memory."""

import contextlib

import numpy as np

from . import _core


class Array:
    """A NumPy array; see `_arrays`."""

    __slots__ = ("array", "address", "nbytes", "shape", "itemsize", "strides", "dtype")

    device = None

    def __init__(self, a, write):
        flags = a.flags
        if write and not flags.writeable:
            raise ValueError("the array is read-only")
        dtype = a.dtype
        if dtype.hasobject:
            raise TypeError(f"elements of dtype {dtype} hold references to objects, not values")
        self.array = a
        self.address = _core.address_of(a.__array_struct__)
        self.nbytes = a.nbytes
        self.shape = a.shape
        self.itemsize = dtype.itemsize
        self.strides = None if flags.c_contiguous else a.strides
        self.dtype = dtype

    def contiguous(self, order, shape):
        a = self.array
        return (a if order is None else a.transpose(order)).reshape(shape)

    @staticmethod
    def reversed(array):
        return array.T

    def changed(self):
        pass

    def copy_from(self, flat):
        np.copyto(self.array.reshape(-1), flat)

    @contextlib.contextmanager
    def stream(self, given):
        raise TypeError("the host has no streams")
        yield


def of_protocol(a, write):
    """Memory lent by the buffer protocol, `__array_interface__` or DLPack, as a NumPy array."""
    try:
        lent = _lent(a)
    except (BufferError, RuntimeError, ValueError) as error:
        raise TypeError(f"{type(a).__name__} does not lend its memory: {error}") from error
    return Array(lent, write)


def _lent(a):
    if hasattr(a, "__dlpack_device__"):
        kind, number = a.__dlpack_device__()
        # 1 and 3: the host's memory, pageable or pinned.
        if int(kind) not in (1, 3):
            raise TypeError(
                f"{type(a).__name__} lends memory of DLPack's device ({int(kind)}, {number}) and has no "
                "__cuda_array_interface__; for CUDA, pass torch.from_dlpack(a)"
            )
        return np.from_dlpack(a, copy=False)
    if hasattr(a, "__array_interface__"):
        return np.asarray(a, copy=False)
    try:
        view = memoryview(a)
    except TypeError:
        raise TypeError(f"{type(a).__name__} is no array in memory that can be permuted in place") from None
    return np.asarray(view)
