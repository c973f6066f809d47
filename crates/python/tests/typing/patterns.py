"""Patterns of axes."""

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt
import turntile


def patches(images: npt.NDArray[np.float32], side: int) -> npt.NDArray[np.float32]:
    return turntile.rearrange(images, "b c (h p) (w q) -> b (h w) (p q c)", p=side, q=side)


flat = turntile.rearrange(np.zeros((2, 3), np.int64), "a b -> (b a)")
assert_type(flat, np.ndarray[Any, np.dtype[np.int64]])
print(patches(np.zeros((8, 3, 64, 48), np.float32), 16).shape)
turntile.rearrange(flat, "(a b) -> b a", a=2.5)  # type: ignore[call-overload]
