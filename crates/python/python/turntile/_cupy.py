"""CuPy's arrays."""

import contextlib

import cupy

from . import _streams


class Array:
    """An array on a CUDA device; see `_arrays`."""

    __slots__ = ("array", "address", "nbytes", "shape", "itemsize", "strides", "dtype", "device")

    def __init__(self, a, write):
        if cupy.cuda.runtime.is_hip:
            raise TypeError("a CuPy array on an AMD device: only NVIDIA's are known")
        self.array = a
        self.device = a.device.id
        self.address = a.data.ptr
        self.nbytes = a.nbytes
        self.shape = a.shape
        self.itemsize = a.itemsize
        self.strides = None if a.flags.c_contiguous else a.strides
        self.dtype = a.dtype

    def contiguous(self, order, shape):
        a = self.array
        return (a if order is None else a.transpose(order)).reshape(shape)

    @staticmethod
    def reversed(a):
        return a.T

    def changed(self):
        pass

    def copy_from(self, flat):
        self.array.reshape(-1)[...] = flat

    @contextlib.contextmanager
    def stream(self, given):
        with cupy.cuda.Device(self.device):
            if given is None:
                yield cupy.cuda.get_current_stream().ptr
                return
            if not isinstance(given, (cupy.cuda.Stream, cupy.cuda.ExternalStream)):
                given = cupy.cuda.ExternalStream(_streams.handle(given))
            # What is allocated meanwhile belongs to that stream's part of the pool.
            with given:
                yield given.ptr

    def allocate(self, nbytes):
        memory = cupy.empty(nbytes, dtype=cupy.uint8)
        return memory.data.ptr, memory
