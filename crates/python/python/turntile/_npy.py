"""Files of NumPy's format .npy: maps of them, and the call that changes one with its header."""

import errno
import mmap
import os
import stat
import tempfile

import numpy as np

from . import _core
from ._arguments import count, integers, normal
from ._host import Array

MAGIC = b"\x93NUMPY"

#: What an archive of such files begins with.
ARCHIVE = b"PK\x03\x04"


def refuse_map(array):
    """Raises when the array lies in a .npy file that is mapped: its header would keep the old shape."""
    if type(array) is not Array:
        return
    memory, mapped = array.array, None
    if memory.base is None:
        return
    while isinstance(memory, (np.ndarray, memoryview)):
        if mapped is None and isinstance(memory, np.memmap):
            mapped = memory
        memory = memory.obj if isinstance(memory, memoryview) else memory.base
    # Of mode "c" the file does not change.
    if mapped is None or not mapped.offset or mapped.mode == "c" or not _has_header(mapped, memory):
        return
    raise ValueError(
        f"the array is a memory map of {mapped.filename}, whose header would keep the old shape: use turntile.transpose_file, "
        "which changes both, or pass ignore_header=True"
    )


def _has_header(mapped, memory):
    """Whether the map is of a .npy file, from behind its header on."""
    if mapped.offset < mmap.ALLOCATIONGRANULARITY:
        return isinstance(memory, mmap.mmap) and memory[: len(MAGIC)] == MAGIC
    # A map begins with the page where its first element is: behind a header as long as this, of many fields.
    try:
        with open(mapped.filename, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, TypeError):
        return False


def transpose_file(path, axes=None, *, threads=None, memory=1 << 30):
    """Permutes the axes of the array in a .npy file, header and data; returns the new shape.

    The file is then what ``numpy.save(path, numpy.load(path).transpose(axes))`` would write, in C order, but it may be larger
    than memory: at most `memory` bytes are used beside 1 MiB for each thread. On the disk there must be room for a second
    file: the result is written beside the first and takes its name when it is complete. An error, a signal or a crash
    leaves the old file; a crash also a file ``.turntile-*.tmp``. Who has the old file open or mapped keeps the old data.

    Symbolic links are followed; permissions stay, the owner is the process's, and another hard link keeps the old data. The
    file is locked as the command `turntile` locks it (``flock``): calls on one file take turns.

    Raises ValueError or TypeError for other files and wrong axes, OSError, MemoryError; the file is then as it was.

    >>> import numpy as np, os, tempfile, turntile
    >>> path = os.path.join(tempfile.mkdtemp(), "images.npy")
    >>> np.save(path, np.zeros((20, 48, 64, 3), np.uint8))
    >>> turntile.transpose_file(path, (0, 3, 1, 2))
    (20, 3, 48, 64)
    >>> np.load(path, mmap_mode="r").shape
    (20, 3, 48, 64)
    """
    axes, threads, memory = integers(axes), count("threads", threads, 1), count("memory", memory, 1)
    path = os.path.realpath(os.fsdecode(path))
    with _locked(path) as file:
        return _changed(file, path, axes, threads, memory)


def _changed(file, path, axes, threads, memory):
    before = _state(path)
    if file.read(len(ARCHIVE)) == ARCHIVE:
        raise ValueError(f"{path} is a .npz archive: `turntile permute FILE.npz --member NAME --axes I,J,...` changes one")
    source = np.lib.format.open_memmap(path, mode="r")
    array = Array(source, write=False)
    order, extents, places, shape = _core.arrange(
        array.shape, array.strides, array.itemsize, normal(axes, len(array.shape))
    )
    end = source.offset + array.nbytes
    if before[2] != end:
        raise ValueError(f"{path} has {before[2]} bytes, its header and array {end}")
    if order is None and places == tuple(range(len(places))):
        return shape
    folder = os.path.dirname(path)
    number, beside = tempfile.mkstemp(prefix=".turntile-", suffix=".tmp", dir=folder)
    try:
        dest = np.lib.format.open_memmap(beside, mode="w+", dtype=array.dtype, shape=shape).offset
        if array.nbytes:
            _core.permute_file(
                (path, source.offset), (beside, dest), extents, places, array.itemsize, memory, threads
            )
        os.fchmod(number, os.stat(path).st_mode & 0o7777)
        os.fsync(number)
        if _state(path) != before:
            raise ValueError(f"{path} was changed by another program meanwhile, and is as that left it")
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
    finally:
        os.close(number)
    _sync(folder)
    return shape


def _locked(path):
    """The file, open, and locked where there are locks; who has waited looks again, for it has been replaced since."""
    try:
        import fcntl
    except ImportError:
        fcntl = None
    while True:
        mode = os.stat(path).st_mode
        # A pipe would be waited for.
        if not stat.S_ISREG(mode):
            raise ValueError(f"{path} is not a regular file")
        if not mode & 0o222:
            raise PermissionError(errno.EACCES, "write-protected", path)
        file = open(path, "r+b")
        try:
            if fcntl:
                fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.ENOLCK, errno.ENOSYS, errno.EINVAL):
                raise
        if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
            return file
        file.close()


def _state(path):
    """What changes when a file is written or replaced; its length is the third."""
    found = os.stat(path)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _sync(folder):
    """Makes a new name outlast a power cut, where directories can be synced."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    except OSError:
        pass
    finally:
        os.close(number)
