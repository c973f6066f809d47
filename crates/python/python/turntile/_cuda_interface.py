"""Other arrays on CUDA devices, by `__cuda_array_interface__` (Numba's, for one)."""

import contextlib

import numpy as np

from . import _core, _streams

#: The default stream, as the interface's third version numbers it.
LEGACY = 1


class Array:
    """An array that says where it is; see `_arrays`."""

    __slots__ = ("array", "address", "nbytes", "shape", "itemsize", "strides", "dtype", "device", "_stream")

    def __init__(self, a, write):
        said = a.__cuda_array_interface__
        if said.get("mask") is not None:
            raise TypeError("a masked array is more than its elements")
        self.address, read_only = said["data"]
        if write and read_only:
            raise ValueError("the array is read-only")
        self.array = a
        self.shape = tuple(said["shape"])
        self.dtype = said["typestr"]
        if self.dtype[1] == "O":
            raise TypeError("elements of dtype object are references, not values")
        self.itemsize = np.dtype(self.dtype).itemsize
        self.nbytes = self.itemsize * int(np.prod(self.shape, dtype=object))
        self.strides = said.get("strides")
        self._stream = said.get("stream")
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
