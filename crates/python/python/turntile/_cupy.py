"""CuPy arrays."""

import contextlib

import cupy

from . import _streams


class Array:
    """Adapter of a CuPy array; see `_arrays`."""

    __slots__ = ("array", "address", "nbytes", "shape", "itemsize", "strides", "dtype", "device")

    least_shape = (1,)

    def __init__(self, a, write):
        if cupy.cuda.runtime.is_hip:
            raise TypeError("CuPy on an AMD device is not supported")
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

    def copy_from(self, other, axes):
        cupy.copyto(self.array, other.array.transpose(axes))

    @contextlib.contextmanager
    def stream(self, given):
        with cupy.cuda.Device(self.device):
            if given is None:
                yield cupy.cuda.get_current_stream().ptr
                return
            if not isinstance(given, (cupy.cuda.Stream, cupy.cuda.ExternalStream)):
                given = cupy.cuda.ExternalStream(_streams.handle(given))
            # The workspace is allocated from this stream's part of the memory pool.
            with given:
                yield given.ptr

    def allocate(self, nbytes):
        memory = cupy.empty(nbytes, dtype=cupy.uint8)
        return memory.data.ptr, memory
