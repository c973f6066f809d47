"""Files of NumPy's format .npy: maps of them, and the call that changes one with its header."""

import contextlib
import errno
import mmap
import os
import secrets
import stat
import tempfile

import numpy as np

from . import _core
from ._arguments import MOST, integers, count, normal, size
from ._host import Array
from ._run import interrupted

#: Longest header accepted, in bytes, as by the command; NumPy's own limit is 10 000.
MOST_HEADER = 1 << 20

MAGIC = b"\x93NUMPY"

#: What an archive of such files begins with.
ARCHIVE = b"PK\x03\x04"


def refuse_map(array, instead="turntile.transpose_file"):
    """Raises when the array lies in a .npy file that is mapped: its header would keep the old shape. `instead` changes both."""
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
        f"the array is a memory map of {mapped.filename}, whose header would keep the old shape: "
        f"use {instead}, which changes both, or turntile.transpose with ignore_header=True"
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
    file, which has no name until it is complete and then replaces the first. So an error, a signal or a crash leaves the old
    file and nothing else; on a file system without ``O_TMPFILE`` the second file is ``.turntile-*.tmp``, which a signal that
    ends the process, or a crash, leaves. Who has the old file open or mapped keeps the old data.

    Symbolic links are followed; another hard link keeps the old data. Permissions, access lists and extended attributes are
    kept. Owner and group are kept if the process may set them; the owner is the process's otherwise, without set-id bits. The
    file is locked as the command `turntile` locks it (``flock``): calls on one file take turns.

    Raises ValueError or TypeError for other files and wrong axes, OSError, MemoryError; the file is then as it was. `Interrupted`
    is raised when it is already the new one.

    >>> import numpy as np, os, tempfile, turntile
    >>> path = os.path.join(tempfile.mkdtemp(), "images.npy")
    >>> np.save(path, np.zeros((20, 48, 64, 3), np.uint8))
    >>> turntile.transpose_file(path, (0, 3, 1, 2))
    (20, 3, 48, 64)
    >>> np.load(path, mmap_mode="r").shape
    (20, 3, 48, 64)
    """
    axes, threads, memory = integers(axes), count("threads", threads, 1), min(size("memory", memory, 1), MOST)
    path = os.path.realpath(os.fsdecode(path))
    # All names are looked up in this directory, whatever has its name meanwhile.
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        with _locked(folder, path) as file:
            return _changed(file, folder, path, axes, threads, memory)
    finally:
        os.close(folder)


def _changed(file, folder, path, axes, threads, memory):
    before, name = os.fstat(file.fileno()), os.path.basename(path)
    if file.read(len(ARCHIVE)) == ARCHIVE:
        raise ValueError(f"{path} is a .npz archive: `turntile permute FILE.npz --member NAME --axes I,J,...` changes one")
    try:
        source = np.lib.format.open_memmap(_opened(file.fileno()), mode="r", max_header_size=MOST_HEADER)
    except (OSError, MemoryError):
        raise
    except Exception as error:
        raise ValueError(f"{path} is not a whole .npy file: {error}") from error
    array = Array(source, write=False)
    order, extents, places, shape = _core.arrange(
        array.shape, array.strides, array.itemsize, normal(axes, len(array.shape))
    )
    end = source.offset + array.nbytes
    if before.st_size != end:
        raise ValueError(f"{path} has {before.st_size} bytes, its header and array {end}")
    if order is None and places == tuple(range(len(places))):
        return shape
    number, beside = _created(folder)
    try:
        dest = np.lib.format.open_memmap(_opened(number), mode="w+", dtype=array.dtype, shape=shape).offset
        if array.nbytes:
            with open("scratch", "w+b", opener=lambda *_: _scratch(folder)) as scratch:
                files = (_opened(file.fileno()), source.offset), (_opened(number), dest), _opened(scratch.fileno())
                _core.permute_file(*files, extents, places, array.itemsize, memory, threads)
        _keep(number, file.fileno(), before)
        os.fsync(number)
        if _state(os.stat(name, dir_fd=folder, follow_symlinks=False)) != _state(before):
            raise ValueError(f"{path} was changed by another program meanwhile, and is as that left it")
        if beside is None:
            beside = f".turntile-{secrets.token_hex(8)}.tmp"
            # With a directory it follows the link.
            os.link(_opened(number), beside, dst_dir_fd=folder)
        os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
        if not _has_replaced(number, folder, name):
            raise ValueError(f"{path} was replaced by another program meanwhile")
        # Makes the new name outlast a power cut, where directories can be synced.
        with contextlib.suppress(OSError):
            os.fsync(folder)
        return shape
    except BaseException as raised:
        if _has_replaced(number, folder, name):
            raise interrupted(raised, shape) from None
        if beside is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(beside, dir_fd=folder)
        raise
    finally:
        os.close(number)


def _opened(number):
    """What opens the file of a descriptor anew, whatever has its name meanwhile, if it has one."""
    return f"/proc/self/fd/{number}"


def _created(folder):
    """A new file in a directory, which only its owner may read or write: its descriptor, and its name if it needs one."""
    try:
        return os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600, dir_fd=folder), None
    except (AttributeError, OSError):
        number, path = tempfile.mkstemp(prefix=".turntile-", suffix=".tmp", dir=_opened(folder))
        return number, os.path.basename(path)


def _scratch(folder):
    """The descriptor of a file in a directory that has no name."""
    number, name = _created(folder)
    if name is not None:
        os.unlink(name, dir_fd=folder)
    return number


def _has_replaced(number, folder, name):
    """Whether that name in the directory is the open file's."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(number), os.stat(name, dir_fd=folder, follow_symlinks=False))
    return False


#: Attributes of the contents, which become others, or of programs: they are not kept.
OF_CONTENTS = {"security.ima", "security.evm", "security.capability"}


def _keep(new, old, before):
    """Gives the file `new` the owner, if the process may, and the attributes and permissions of the file `old`."""
    for owner in (before.st_uid, -1):
        with contextlib.suppress(OSError):
            os.fchown(new, owner, before.st_gid)
            break
    wanted, made = _attributes(old), _attributes(new)
    # As the directory gives them to new files.
    for name in made.keys() - wanted.keys():
        if not name.startswith("security."):
            os.removexattr(new, name)
    for name in wanted.keys() - OF_CONTENTS:
        if made.get(name) != wanted[name]:
            os.setxattr(new, name, wanted[name])
    mode, found = before.st_mode & 0o7777, os.fstat(new)
    if (found.st_uid, found.st_gid) != (before.st_uid, before.st_gid):
        mode &= 0o1777
    if found.st_gid != before.st_gid:
        # The new group gets no more than others have.
        mode &= 0o1707 | (mode & 0o007) << 3
    os.fchmod(new, mode)


def _attributes(number):
    """The extended attributes of an open file, access lists among them; none where there are no such."""
    try:
        return {name: os.getxattr(number, name) for name in os.listxattr(number)}
    except AttributeError:
        return {}
    except OSError as error:
        if error.errno not in (errno.ENOTSUP, errno.ENOSYS):
            raise
        return {}


def _locked(folder, path):
    """The file, open, and locked where there are locks; who has waited looks again, for it has been replaced since."""
    try:
        import fcntl
    except ImportError:
        fcntl = None
    name = os.path.basename(path)
    while True:
        found = os.stat(name, dir_fd=folder)
        # A pipe would be waited for.
        if not stat.S_ISREG(found.st_mode):
            raise ValueError(f"{path} is not a regular file")
        if not found.st_mode & 0o222:
            raise PermissionError(errno.EACCES, "write-protected", path)
        file = open(name, "r+b", opener=lambda name, flags: os.open(name, flags, dir_fd=folder))
        try:
            if fcntl:
                fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.ENOLCK, errno.ENOSYS, errno.EINVAL):
                raise
        if os.path.samestat(os.fstat(file.fileno()), os.stat(name, dir_fd=folder)):
            return file
        file.close()


def _state(found):
    """What changes when a file is written or replaced."""
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
