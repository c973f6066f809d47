"""Axes of arrays permuted in place: transposition without a second array, on CPUs and NVIDIA GPUs.

>>> import numpy as np, turntile
>>> a = np.arange(6).reshape(2, 3)
>>> a = turntile.transpose(a)      # the same memory; the old `a` is stale
>>> a
array([[0, 3],
       [1, 4],
       [2, 5]])

Every function but `permute_into` destroys the order of what it is given: write ``a = turntile.transpose(a)``, and keep no
other view of that memory.
"""

from ._api import ascontiguousarray, asfortranarray, cuda_available, permute_into, rearrange, transpose
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
    "permute_into",
    "rearrange",
    "relayout",
    "transpose",
    "transpose_file",
]
