"""Other arrays on CUDA devices, by `__cuda_array_interface__` (Numba's, for one)."""

import contextlib
import operator

import numpy as np

from . import _core, _streams
from ._arguments import MOST

#: The default stream, as the interface's third version numbers it.
LEGACY = 1


class Array:
    """An array that says where it is; see `_arrays`."""

    __slots__ = ("array", "address", "nbytes", "shape", "itemsize", "strides", "dtype", "device", "_stream")

    def __init__(self, a, write):
        said = a.__cuda_array_interface__
        try:
            address, read_only = said["data"]
            self.address = operator.index(address)
            self.shape = tuple(map(operator.index, said["shape"]))
            self.dtype = said["typestr"]
            dtype = np.dtype(self.dtype)
            mask, strides, self._stream = map(said.get, ("mask", "strides", "stream"))
            self.strides = None if strides is None else tuple(map(operator.index, strides))
        except KeyError as key:
            raise TypeError(f"the __cuda_array_interface__ of {type(a).__name__} has no {key}") from None
        except (AttributeError, TypeError, ValueError) as error:
            raise TypeError(f"the __cuda_array_interface__ of {type(a).__name__} is not as its protocol says: {error}") from None
        if mask is not None:
            raise TypeError("a masked array is more than its elements")
        if write and read_only:
            raise ValueError("the array is read-only: take a copy")
        if dtype.hasobject:
            raise TypeError("elements of dtype object are references, not values")
        if min(self.shape, default=0) < 0:
            raise ValueError(f"shape {self.shape} is no array's")
        if self.address < 0 or any(abs(number) > MOST for number in (self.address, *self.shape, *(self.strides or ()))):
            raise ValueError(f"no memory has address {self.address}, shape {self.shape}, strides {self.strides}")
        self.array = a
        self.itemsize = dtype.itemsize
        self.nbytes = self.itemsize * int(np.prod(self.shape, dtype=object))
        self.device = _core.device_of(self.address) if self.nbytes else 0
        if self.device is None:
            raise _core.CudaError(f"the driver knows of no device's memory at {self.address:#x}, or there is no driver")

    def contiguous(self, order, shape):
        return View(self, shape, None)

    @staticmethod
    def reversed(view):
        shape = view.shape[::-1]
        steps, step = [], view.memory.itemsize
        for extent in shape:
            steps.append(step)
            step *= extent
        return View(view.memory, shape, tuple(steps))

    def changed(self):
        pass

    def copy_from(self, flat):
        raise NotImplementedError("a GPU writes this order of axes into another array by PyTorch or CuPy alone")

    @contextlib.contextmanager
    def stream(self, given):
        if given is None:
            given = LEGACY if self._stream is None else self._stream
        yield _streams.handle(given)

    def allocate(self, nbytes):
        if nbytes == 0:
            return 0, None
        raise ValueError(f"{nbytes} bytes of device memory are needed, and who allocates them for this array is not known: pass workspace")


class View:
    """The memory of another object, which it holds, in another shape."""

    __slots__ = ("memory", "shape", "_strides")

    def __init__(self, memory, shape, strides):
        self.memory, self.shape, self._strides = memory, shape, strides

    @property
    def base(self):
        """Whose memory it is."""
        return self.memory.array

    @property
    def __cuda_array_interface__(self):
        said = self.memory.array.__cuda_array_interface__
        return {**said, "shape": self.shape, "strides": self._strides}
