"""CuPy arrays, and objects with `__cuda_array_interface__`."""

from collections.abc import Mapping
from typing import Any

import cupy
import turntile


class Image:
    """Memory of a GPU that another library owns."""

    @property
    def __cuda_array_interface__(self) -> Mapping[str, Any]:
        return {"shape": (480, 640), "typestr": "|u1", "data": (1 << 20, False), "version": 3}


a = cupy.zeros((300, 200), cupy.float32)
stream = cupy.cuda.Stream(non_blocking=True)
a = turntile.asfortranarray(a, stream=stream)
out = turntile.transpose(a, out=cupy.empty((200, 300), cupy.float32))
turntile.transpose(Image(), stream=7, workspace=cupy.empty(16 << 20, cupy.uint8))
