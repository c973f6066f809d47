"""NumPy arrays permuted into another array."""

from typing import assert_type

import numpy as np
import numpy.typing as npt
import turntile



def into(a: npt.NDArray[np.float64], out: npt.NDArray[np.float64]) -> None:
    assert_type(turntile.transpose(a, out=out), npt.NDArray[np.float64])


a = np.arange(12.0).reshape(3, 4)
out = np.empty((4, 3), order="F")
into(a, out)
turntile.matrix_transpose(a[:, ::2], out=out[:2])
view = memoryview(bytearray(6)).cast("B", (2, 3))
small = np.empty((3, 2), np.uint8)
small = turntile.transpose(view, out=small)
turntile.transpose(a, out=turntile.Workspace(8))  # type: ignore[call-overload]
