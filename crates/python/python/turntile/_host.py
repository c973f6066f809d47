"""NumPy arrays, and other objects that export host memory."""

from contextlib import nullcontext

import numpy as np

from . import _core


class Array:
    """Adapter of a NumPy array; see `_arrays`."""

    __slots__ = ("array", "address", "nbytes", "shape", "itemsize", "strides", "dtype")

    least_shape = (1,)

    device = None

    def __init__(self, a, write):
        flags = a.flags
        if write and not flags.writeable:
            how = "open it with mode 'r+', or take" if isinstance(a, np.memmap) else "take"
            raise ValueError(f"the array is read-only: {how} a copy, a.copy()")
        dtype = a.dtype
        if dtype.hasobject:
            raise TypeError(f"elements of dtype {dtype} are references to objects, not values")
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

    def copy_from(self, other, axes):
        np.copyto(self.array, other.array.transpose(axes))

    def stream(self, given):
        return nullcontext()


#: What to pass instead of an object that holds an array, by library and class.
HELD = {
    ("numpy", "NpzFile"): "one of its arrays, a[name]",
    ("pandas", "DataFrame"): "a.to_numpy(copy=True)",
    ("pandas", "Series"): "a.to_numpy(copy=True)",
    ("xarray", "DataArray"): "a.values",
    ("xarray", "Dataset"): "the values of a variable, a[name].values",
    ("h5py", "Dataset"): "a[:]",
    ("zarr", "Array"): "a[:]",
}


def exported(a, write):
    """Returns the memory that `a` exports, as a NumPy array."""
    kind = type(a)
    if isinstance(a, np.generic):
        raise TypeError(f"{kind.__name__} is a single value, not an array in memory")
    held = HELD.get((kind.__module__.partition(".")[0], kind.__name__))
    if held:
        raise TypeError(f"{kind.__name__} is not an array in memory: pass {held}")
    try:
        array = _exported(a)
    except (BufferError, OverflowError, RuntimeError, ValueError) as error:
        raise TypeError(f"{kind.__name__} does not export its memory: {error}") from error
    if write and not array.flags.writeable:
        copy = "bytearray(a)" if kind is bytes else "numpy.array(a)"
        raise ValueError(f"the memory of {kind.__name__} is read-only: take a copy, {copy}")
    return array


def _exported(a):
    if hasattr(a, "__dlpack_device__"):
        kind, number = a.__dlpack_device__()
        # kDLCPU and kDLCUDAHost.
        if int(kind) not in (1, 3):
            raise TypeError(
                f"{type(a).__name__} exports memory of the DLPack device ({int(kind)}, {number}), "
                "which is neither a CPU nor an NVIDIA GPU"
            )
        return np.from_dlpack(a, copy=False)
    if hasattr(a, "__array_interface__"):
        return np.asarray(a, copy=False)
    try:
        view = memoryview(a)
    except TypeError:
        hint = ": pass numpy.array(a)" if _can_be_copied(a) else ""
        raise TypeError(f"{type(a).__name__} is not an array in memory{hint}") from None
    return np.asarray(view)


def _can_be_copied(a):
    return isinstance(a, (list, tuple)) or hasattr(type(a), "__array__")
