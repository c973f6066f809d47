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
            how = "open it with mode 'r+', or take" if isinstance(a, np.memmap) else "take"
            raise ValueError(f"the array is read-only: {how} a copy, a.copy()")
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


#: What to pass in place of objects that hold an array, by library and class.
HELD = {
    ("numpy", "NpzFile"): "one of its arrays, a[name]",
    ("pandas", "DataFrame"): "a.to_numpy(copy=True)",
    ("pandas", "Series"): "a.to_numpy(copy=True)",
    ("xarray", "DataArray"): "a.values",
    ("xarray", "Dataset"): "a variable's, a[name].values",
    ("h5py", "Dataset"): "a[:], which reads it",
    ("zarr", "Array"): "a[:], which reads it",
}


def lent(a, write):
    """Memory lent by the buffer protocol, `__array_interface__` or DLPack, as a NumPy array."""
    kind = type(a)
    if isinstance(a, np.generic):
        raise TypeError(f"{kind.__name__} is a single value, no array in memory: it has no axes")
    held = HELD.get((kind.__module__.partition(".")[0], kind.__name__))
    if held:
        raise TypeError(f"{kind.__name__} is no array in memory: pass {held}")
    try:
        array = _lent(a)
    except (BufferError, OverflowError, RuntimeError, ValueError) as error:
        raise TypeError(f"{kind.__name__} does not lend its memory: {error}") from error
    if write and not array.flags.writeable:
        copy = "bytearray(a)" if kind is bytes else "numpy.array(a)"
        raise ValueError(f"the memory that {kind.__name__} lends is read-only: take a copy, {copy}")
    return array


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
        raise TypeError(f"{type(a).__name__} is no array in memory that can be permuted in place{_copied(a)}") from None
    return np.asarray(view)


def _copied(a):
    """How to make an array of what holds elements elsewhere."""
    return ": numpy.array(a) makes one" if isinstance(a, (list, tuple)) or hasattr(type(a), "__array__") else ""
