"""Arrays on CUDA devices that export their memory by DLPack only."""

import contextlib

from . import _core, _cuda_interface, _streams

#: DLPack's numbers of the devices kDLCUDA and kDLCUDAManaged.
CUDA = (2, 13)


def on_cuda(a):
    """Returns whether `a` exports memory of a CUDA device."""
    device = getattr(type(a), "__dlpack_device__", None)
    try:
        return device is not None and int(device(a)[0]) in CUDA
    except BufferError as error:
        raise TypeError(f"{type(a).__name__} does not export its memory: {error}") from error


def exported(a, stream=None):
    """Returns the memory of `a`, ready for work on `stream`; by default the legacy stream."""
    try:
        try:
            capsule = a.__dlpack__(stream=stream, max_version=(1, 0), copy=False)
        except TypeError:
            # An exporter of an older version.
            capsule = a.__dlpack__(stream=stream)
        return _core.Dlpack(capsule)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as error:
        raise TypeError(f"{type(a).__name__} does not export its memory: {error}") from error


def dtype_of(array):
    """Returns type code, bits and lanes of the elements of an adapted array of any library."""
    return array.dtype if isinstance(array, Array) else exported(array.array).dtype


class Array(_cuda_interface.Array):
    """Adapter of an exporter; see `_arrays`. `dtype` is type code, bits and lanes."""

    __slots__ = ("memory",)

    def __init__(self, a, memory, write):
        if write and memory.read_only:
            raise ValueError("the array is read-only: take a copy")
        self.array, self.memory = a, memory
        self.address, self.shape, self.dtype = memory.address, memory.shape, memory.dtype
        self.itemsize, self.device = memory.itemsize, memory.device[1]
        steps = memory.strides
        self.strides = steps and tuple([step * self.itemsize for step in steps])
        self._measure()

    def contiguous(self, order, shape):
        return View(self, shape, None)

    @contextlib.contextmanager
    def stream(self, given):
        # DLPack reserves 0; 1 is the same stream.
        handle = _streams.handle(given) or _cuda_interface.LEGACY if given is not None else None
        if handle is not None:
            exported(self.array, handle)
        yield handle or _cuda_interface.LEGACY


class View(_cuda_interface.Reshaped):
    """View that exports its memory by DLPack."""

    __slots__ = ()

    def __dlpack_device__(self):
        return self.memory.memory.device

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if max_version is None or max_version[0] < 1:
            raise BufferError("the consumer must support DLPack 1.0")
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("the memory cannot be copied here")
        # The exporter makes the consumer's stream wait for the work on its own stream.
        exported(self.memory.array, stream)
        item = self.memory.itemsize
        return self.memory.memory.export(self.shape, [step // item for step in self._steps()])
