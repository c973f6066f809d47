"""Files of NumPy's .npy format."""

import mmap
import os

import numpy as np

from . import _core
from ._arguments import integers, normal
from ._host import Array

MAGIC = b"\x93NUMPY"

#: Advice for an array whose axes are permuted.
PERMUTED = (
    "use turntile.transpose_file, which changes both, or turntile.transpose with ignore_header=True"
)


def refuse_map(array, advice=PERMUTED):
    """Raises ValueError if the array is in a mapped .npy file, whose header would be wrong."""
    if type(array) is not Array:
        return
    memory, mapped = array.array, None
    if memory.base is None:
        return
    while isinstance(memory, (np.ndarray, memoryview)):
        if mapped is None and isinstance(memory, np.memmap):
            mapped = memory
        memory = memory.obj if isinstance(memory, memoryview) else memory.base
    # With mode "c" the file does not change.
    if mapped is None or not mapped.offset or mapped.mode == "c" or not _has_header(mapped, memory):
        return
    raise ValueError(
        f"the array is a memory map of {mapped.filename}, whose header would keep the old shape: "
        f"{advice}"
    )


def _has_header(mapped, memory):
    """Returns whether the map starts after the header of a .npy file."""
    if mapped.offset < mmap.ALLOCATIONGRANULARITY:
        return isinstance(memory, mmap.mmap) and memory[: len(MAGIC)] == MAGIC
    # The header is longer than a page, so the map does not contain the file's start.
    try:
        with open(mapped.filename, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, TypeError):
        return False


def transpose_file(path, axes=None, out=None):
    """Permutes the axes of the array in a .npy file, header and data.

    Parameters
    ----------
    path : str, bytes or os.PathLike
        File, which may be larger than memory.
    axes : sequence of int, optional
        Permutation of the axes. The default reverses them.
    out : str, bytes or os.PathLike, optional
        File for the result. By default the result replaces `path`.

    Raises
    ------
    OSError, ValueError, MemoryError
        The file is unchanged.

    See Also
    --------
    transpose

    Notes
    -----
    The result is written to a second file, which then replaces the first. So there must be room
    for both, and after an error, a signal or a crash the file is the old one or the new one.
    Permissions, owner and extended attributes are preserved. Ctrl-C takes effect after the call.

    Examples
    --------
    >>> import numpy as np, os, tempfile, turntile
    >>> path = os.path.join(tempfile.mkdtemp(), "images.npy")
    >>> np.save(path, np.zeros((20, 48, 64, 3), np.uint8))
    >>> turntile.transpose_file(path, (0, 3, 1, 2))
    >>> np.load(path, mmap_mode="r").shape
    (20, 3, 48, 64)
    """
    axes = integers(axes)
    if axes is not None:
        axes = normal(axes, len(axes))
    _core.transpose_file(os.fsdecode(path), axes, None if out is None else os.fsdecode(out))
