"""Other arrays on CUDA devices that have `__cuda_array_interface__`, such as those of Numba."""

import contextlib
import operator

import numpy as np

from . import _core, _streams
from ._arguments import MOST

#: Number of the legacy default stream in version 3 of the interface.
LEGACY = 1


class Array:
    """Adapter of an object with `__cuda_array_interface__`; see `_arrays`."""

    __slots__ = (
        "array",
        "address",
        "nbytes",
        "shape",
        "itemsize",
        "strides",
        "dtype",
        "device",
        "_stream",
    )

    least_shape = (1,)

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
            raise TypeError(
                f"the __cuda_array_interface__ of {type(a).__name__} has no {key}"
            ) from None
        except (AttributeError, TypeError, ValueError) as error:
            raise TypeError(
                f"the __cuda_array_interface__ of {type(a).__name__} is not valid: {error}"
            ) from None
        if mask is not None:
            raise TypeError("masked arrays are not supported")
        if write and read_only:
            raise ValueError("the array is read-only: take a copy")
        if dtype.hasobject:
            raise TypeError("elements of dtype object are references to objects, not values")
        self.array = a
        self.itemsize = dtype.itemsize
        self._measure()
        self.device = _core.device_of(self.address) if self.nbytes else 0
        if self.device is None:
            raise _core.CudaError(f"{self.address:#x} is not device memory, or there is no driver")

    def _measure(self):
        """Checks the numbers, sets `nbytes`, and drops the strides of C-contiguous arrays."""
        if min(self.shape, default=0) < 0:
            raise ValueError(f"shape {self.shape} has a negative extent")
        if self.address < 0 or any(
            abs(number) > MOST for number in (self.address, *self.shape, *(self.strides or ()))
        ):
            raise ValueError(
                f"address {self.address}, shape {self.shape}, strides {self.strides}: out of range"
            )
        self.nbytes = self.itemsize * int(np.prod(self.shape, dtype=object))
        step, contiguous = self.itemsize, True
        for extent, stride in zip(reversed(self.shape), reversed(self.strides or ()), strict=False):
            contiguous = contiguous and (extent == 1 or stride == step)
            step *= extent
        if contiguous or not self.nbytes:
            self.strides = None

    def contiguous(self, order, shape):
        return View(self, shape, None)

    @staticmethod
    def reversed(view):
        return type(view)(view.memory, view.shape[::-1], view._steps()[::-1])

    def changed(self):
        pass

    def copy_from(self, other, axes):
        raise ValueError("a or out is strided: only PyTorch and CuPy can make this copy")

    @contextlib.contextmanager
    def stream(self, given):
        if given is None:
            given = LEGACY if self._stream is None else self._stream
        yield _streams.handle(given)

    def allocate(self, nbytes):
        if nbytes == 0:
            return 0, None
        raise ValueError(f"{nbytes} bytes of device memory are needed: pass workspace")


class Reshaped:
    """View of the memory of another object, with another shape."""

    __slots__ = ("memory", "shape", "_strides")

    def __init__(self, memory, shape, strides):
        self.memory, self.shape, self._strides = memory, shape, strides

    def _steps(self):
        """Strides in bytes."""
        if self._strides is not None:
            return self._strides
        steps, step = [], self.memory.itemsize
        for extent in reversed(self.shape):
            steps.append(step)
            step *= extent
        return tuple(steps[::-1])

    @property
    def base(self):
        """Owner of the memory."""
        return self.memory.array


class View(Reshaped):
    """View that exports its memory by `__cuda_array_interface__`."""

    __slots__ = ()

    @property
    def __cuda_array_interface__(self):
        said = self.memory.array.__cuda_array_interface__
        return {**said, "shape": self.shape, "strides": self._strides}
