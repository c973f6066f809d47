"""In-place transposition and axis permutation of arrays, on CPUs and NVIDIA GPUs.

>>> import numpy as np, turntile
>>> a = np.arange(6).reshape(2, 3)
>>> a = turntile.transpose(a)      # the same memory; the old `a` is stale
>>> a
array([[0, 3],
       [1, 4],
       [2, 5]])

Unless `out` is given, a function moves the elements of its argument: write
``a = turntile.transpose(a)``, and keep no other view of that memory.
"""

from ._api import (
    ascontiguousarray,
    asfortranarray,
    cuda_available,
    flip,
    matrix_transpose,
    permute_dims,
    rearrange,
    rot90,
    transpose,
)
from ._bits import transpose_bits
from ._core import CaptureError, CudaError, PlanError, Workspace, __version__
from ._npy import transpose_file
from ._plan import Plan
from ._records import Columns, columns, relayout
from ._run import Interrupted

__all__ = [
    "CaptureError",
    "Columns",
    "CudaError",
    "Interrupted",
    "Plan",
    "PlanError",
    "Workspace",
    "__version__",
    "ascontiguousarray",
    "asfortranarray",
    "columns",
    "cuda_available",
    "flip",
    "matrix_transpose",
    "permute_dims",
    "rearrange",
    "relayout",
    "rot90",
    "transpose",
    "transpose_bits",
    "transpose_file",
]


def __getattr__(name):
    if name == "permute_into":
        raise AttributeError(
            "turntile.permute_into(out, a, axes) is now transpose(a, axes, out=out)"
        )
    raise AttributeError(f"module 'turntile' has no attribute {name!r}")
