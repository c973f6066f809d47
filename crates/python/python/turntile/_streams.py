"""Streams of any library, as handles."""

import operator


def settled(stream):
    """A stream that has no code of its own left to run: None, one of PyTorch's or CuPy's, or a handle."""
    if stream is None or type(stream).__module__.partition(".")[0] in ("torch", "cupy"):
        return stream
    return handle(stream)


def handle(stream):
    """The `CUstream` of an integer, of `__cuda_stream__`, or of a stream of PyTorch's, CuPy's or Numba's."""
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int(protocol()[1])
    for name in ("cuda_stream", "ptr"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    numba = getattr(stream, "handle", stream)
    numba = getattr(numba, "value", numba)
    if isinstance(numba, bool):
        raise TypeError("a stream is not a bool")
    try:
        return operator.index(numba)
    except TypeError:
        raise TypeError(f"{type(stream).__name__} is no CUDA stream") from None
