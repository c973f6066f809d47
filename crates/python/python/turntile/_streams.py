"""Conversion of streams to handles."""

import operator


def settled(stream):
    """Returns None, a stream of PyTorch or CuPy, or a handle: no user code is left to run."""
    if stream is None or type(stream).__module__.partition(".")[0] in ("torch", "cupy"):
        return stream
    return handle(stream)


def handle(stream):
    """Returns the `CUstream` of a stream: an integer, or an object of any of four protocols."""
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int(protocol()[1])
    for name in ("cuda_stream", "ptr"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    numba = getattr(stream, "handle", stream)
    numba = getattr(numba, "value", numba)
    if isinstance(numba, bool):
        raise TypeError("stream must not be a bool")
    try:
        return operator.index(numba)
    except TypeError:
        raise TypeError(f"{type(stream).__name__} is not a CUDA stream") from None
