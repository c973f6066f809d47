"""Memory maps, and other objects that export memory."""

import mmap
from array import array
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt
import turntile

mapped = np.memmap("images.raw", np.uint8, "r+", shape=(20, 480, 640, 3))
mapped = turntile.transpose(mapped, (0, 3, 1, 2))
mapped.flush()
loaded: npt.NDArray[np.float32] = np.load("a.npy", mmap_mode="r+")
loaded = turntile.transpose(loaded, ignore_header=True)
assert_type(turntile.transpose(bytearray(6)), npt.NDArray[Any])
assert_type(turntile.ascontiguousarray(array("d", [1.0, 2.0])), npt.NDArray[Any])
with mmap.mmap(-1, 4096) as memory:
    print(turntile.rearrange(memory, "(a b) -> (b a)", a=64).shape)
