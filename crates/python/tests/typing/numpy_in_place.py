"""NumPy arrays permuted in place."""

from typing import assert_type

import numpy as np
import numpy.typing as npt
import turntile


def planes(image: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    return turntile.transpose(image, (2, 0, 1))


def swapped(matrix: np.ndarray[tuple[int, int], np.dtype[np.float32]]) -> None:
    assert_type(turntile.matrix_transpose(matrix), np.ndarray[tuple[int, int], np.dtype[np.float32]])


a = np.zeros((3, 4), np.float32)
a = turntile.transpose(a, threads=2)
a = turntile.permute_dims(a, [1, 0])
a = turntile.flip(turntile.rot90(a, -1, axes=(1, 0)), axis=0, threads=1)
a = turntile.transpose(a, np.argsort([1, 0]).tolist(), workspace=turntile.Workspace(1 << 20))
b = turntile.transpose_bits(np.zeros((8, 4), np.uint8), bits=2, bitorder="little")
f = turntile.asfortranarray(planes(np.zeros((48, 64, 3), np.uint8)))
c = turntile.ascontiguousarray(f)
print(planes(c).mean(), turntile.cuda_available())

try:
    a = turntile.ascontiguousarray(a.T)
except turntile.Interrupted as interrupted:
    a = interrupted.result
except (turntile.PlanError, turntile.CudaError, MemoryError) as error:
    print(error)

turntile.transpose("abc")  # type: ignore[call-overload]
turntile.transpose([[1, 2]])  # type: ignore[call-overload]
turntile.transpose(a, stream="default")  # type: ignore[call-overload]
