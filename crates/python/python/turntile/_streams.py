"""Streams of any library, as handles."""

import operator


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
