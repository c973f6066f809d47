"""Arrays in .npy files: maps that are refused, and the call that changes header and data."""

import errno
import fcntl
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading

import numpy as np
import pytest
import turntile


def saved(path, shape=(30, 20), dtype="i4", order="C"):
    a = np.arange(np.prod(shape, dtype=int)).astype(dtype).reshape(shape)
    np.save(path, np.asarray(a, order=order))
    return a


def left(folder):
    return sorted(os.listdir(folder))


@pytest.mark.parametrize("fields", [None, 300], ids=["short header", "header of more than a page"])
def test_maps_of_npy_files_are_refused(tmp_path, fields):
    path = tmp_path / "a.npy"
    dtype = np.dtype("i4" if fields is None else [(f"field{k}", "i4") for k in range(fields)])
    np.save(path, np.zeros((4, 6), dtype))
    before = path.read_bytes()
    mapped = np.load(path, mmap_mode="r+", max_header_size=1 << 20)
    assert (mapped.offset > 4096) == (fields is not None)
    plan = turntile.Plan((4, 6), dtype=dtype)
    views = [mapped, np.asarray(mapped), mapped[1:3].T, mapped.view(np.ndarray)[2:]]
    calls = [turntile.transpose, turntile.asfortranarray]
    if fields is None:
        views.append(memoryview(mapped))
    else:
        calls = calls[:1]
    for call in calls:
        for view in views:
            with pytest.raises(ValueError, match="a.npy, whose header would keep the old shape: use turntile.transpose_file"):
                call(view)
    with pytest.raises(ValueError, match="whose header"):
        turntile.ascontiguousarray(mapped.T)
    with pytest.raises(ValueError, match="use the command `turntile rearrange`"):
        turntile.rearrange(mapped, "a b -> b a")
    with pytest.raises(ValueError, match="use the command `turntile layout`"):
        turntile.relayout(mapped, dtype.itemsize, [(0, dtype.itemsize)], "soa")
    if fields is not None:
        with pytest.raises(ValueError, match="use the command `turntile layout`"):
            turntile.columns(mapped)
    with pytest.raises(ValueError, match="whose header"):
        plan(mapped)
    assert turntile.ascontiguousarray(mapped) is mapped
    mapped.flush()
    assert path.read_bytes() == before


def test_maps_that_have_no_header_to_keep(tmp_path):
    path = tmp_path / "a.npy"
    a = saved(path)
    assert np.array_equal(turntile.transpose(np.load(path, mmap_mode="r+"), ignore_header=True), a.T)
    assert np.load(path).shape == (30, 20)
    a = saved(path)
    assert np.array_equal(turntile.transpose(np.load(path, mmap_mode="c")), a.T)
    assert np.array_equal(turntile.transpose(np.load(path, mmap_mode="r") + 0), a.T)
    assert np.array_equal(np.load(path), a)
    # As the array that is written the header is right.
    target = np.lib.format.open_memmap(tmp_path / "b.npy", "w+", a.dtype, (20, 30))
    turntile.transpose(a, out=target)
    target.flush()
    assert np.array_equal(np.load(tmp_path / "b.npy"), a.T)
    raw = tmp_path / "raw"
    raw.write_bytes(bytes(128) + a.tobytes())
    assert np.array_equal(turntile.transpose(np.memmap(raw, a.dtype, "r+", 128, a.shape)), a.T)
    with pytest.raises(ValueError, match="read-only: open it with mode 'r\\+'"):
        turntile.transpose(np.load(path, mmap_mode="r"))


FILES = [
    ((30, 20), None),
    ((5, 7, 11, 3), (0, 3, 1, 2)),
    ((5, 7, 11), (-1, 0, 1)),
    ((301, 703), (0, 1)),
    ((1, 5), None),
    ((0, 3), None),
    ((7,), None),
    ((), None),
    ((3, 2, 70001), None),
]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["u1", ">f8", [("a", "u1"), ("b", "<f8")]], ids=str)
def test_files(tmp_path, dtype, order):
    for shape, axes in FILES:
        for memory in [1 << 30, 1 << 16]:
            path = tmp_path / "a.npy"
            a = saved(path, shape, dtype, order)
            path.chmod(0o640)
            assert turntile.transpose_file(path, axes, memory=memory, threads=2) == a.transpose(axes).shape
            result = np.load(path)
            assert result.dtype == a.dtype and result.flags.c_contiguous
            assert np.array_equal(result, a.transpose(axes))
            assert path.stat().st_mode & 0o777 == 0o640
            assert left(tmp_path) == ["a.npy"]


def test_two_passes(tmp_path):
    """In so little memory that parts go through a scratch."""
    path = tmp_path / "a.npy"
    a = saved(path, (3001, 2003), "u2")
    turntile.transpose_file(path, memory=100_000)
    assert np.array_equal(np.load(path), a.T)
    assert left(tmp_path) == ["a.npy"]


def test_links_are_followed(tmp_path):
    a = saved(tmp_path / "a.npy")
    (tmp_path / "link").symlink_to("a.npy")
    old = np.load(tmp_path / "a.npy", mmap_mode="r")
    turntile.transpose_file(str(tmp_path / "link"))
    assert (tmp_path / "link").is_symlink()
    assert np.array_equal(np.load(tmp_path / "a.npy"), a.T)
    assert np.array_equal(old, a)


def test_refused_files_stay(tmp_path):
    path = tmp_path / "a.npy"

    def refused(error, words, contents=None, axes=None, **how):
        saved(path)
        if contents is not None:
            path.write_bytes(contents(path.read_bytes()))
        before = path.read_bytes()
        with pytest.raises(error, match=words):
            turntile.transpose_file(path, axes, **how)
        assert path.read_bytes() == before and left(tmp_path) == ["a.npy"]

    refused(ValueError, "a.npy is not a whole .npy file: .*magic", lambda old: b"not an array")
    refused(ValueError, "a.npy is not a whole .npy file: .*mmap length", lambda old: old[:-1])
    refused(ValueError, "a.npy is not a whole .npy file: EOF", lambda old: old[:5])
    refused(ValueError, "a.npy is not a whole .npy file: .*'<f1'", lambda old: old.replace(b"<i4", b"<f1"))
    refused(ValueError, "a.npy is not a whole .npy file", lambda old: old.replace(b"{'descr'", b"(((((((("))
    refused(ValueError, "has 2529 bytes, its header and array 2528", lambda old: old + b"x")
    refused(ValueError, "is a .npz archive: .* --member", lambda old: b"PK\3\4" + old)
    refused(np.exceptions.AxisError, "axis 2 is out of bounds", axes=(0, 2))
    refused(ValueError, "axes don't match array: 3 axes for 2 dimensions", axes=(0, 1, 2))
    refused(ValueError, "threads is 0", threads=0)
    refused(TypeError, "memory must be an integer, not 'all'", memory="all")
    refused(TypeError, "memory must be an integer, not None", memory=None)
    with pytest.raises(FileNotFoundError):
        turntile.transpose_file(tmp_path / "none.npy")
    path.chmod(0o444)
    with pytest.raises(PermissionError, match="write-protected"):
        turntile.transpose_file(path)
    path.chmod(0o644)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="not a regular file"):
        turntile.transpose_file(tmp_path / "pipe")
    np.save(path, np.array([[1, "a"]], object), allow_pickle=True)
    with pytest.raises(ValueError, match="objects"):
        turntile.transpose_file(path)


def test_calls_on_one_file_take_turns(tmp_path):
    """Who waited for the lock has the file that is there then."""
    path = tmp_path / "a.npy"
    a, turned = saved(path), saved(tmp_path / "b.npy", (3, 4))
    done = []
    with open(path, "r+b") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        waiting = threading.Thread(target=lambda: done.append(turntile.transpose_file(path)))
        waiting.start()
        waiting.join(0.2)
        assert not done and np.array_equal(np.load(path), a)
        os.replace(tmp_path / "b.npy", path)
    waiting.join(60)
    assert done == [(4, 3)] and np.array_equal(np.load(path), turned.T)


def test_what_fails_on_the_way_leaves_the_file(tmp_path, monkeypatch):
    path = tmp_path / "a.npy"
    a = saved(path)

    def changed(*_):
        saved(path, (3, 4))

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(turntile._core, "permute_file", full)
        with pytest.raises(OSError, match="No space"):
            turntile.transpose_file(path)
        assert np.array_equal(np.load(path), a)
        patch.setattr(turntile._core, "permute_file", changed)
        with pytest.raises(ValueError, match="changed by another program"):
            turntile.transpose_file(path)
        assert np.load(path).shape == (3, 4)
    assert left(tmp_path) == ["a.npy"]


def test_errors_of_the_system_have_their_numbers(tmp_path):
    """A limit on the size of files stops the result half-way."""
    path = tmp_path / "a.npy"
    code = f"""
import errno, os, resource, signal, numpy as np, turntile
a = np.arange(1000 * 3000.).reshape(1000, 3000)
np.save({str(path)!r}, a)
# What is written behind the header's place must fail, not the map's length.
core, real = turntile._core, turntile._core.permute_file
def limited(*what):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    return real(*what)
core.permute_file = limited
try:
    turntile.transpose_file({str(path)!r})
except OSError as error:
    assert error.errno == errno.EFBIG, error
else:
    raise SystemExit("written")
assert np.array_equal(np.load({str(path)!r}), a)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert left(tmp_path) == ["a.npy"]


def ended(path, ends):
    """How a process ends that gets a signal while it transposes the file, in little memory so that it takes long, into one without
    a name."""
    code = f"""
import signal, sys, turntile
signal.signal(signal.SIGINT, signal.default_int_handler)   # ignored in a job in the background
signal.signal(signal.SIGHUP, signal.SIG_DFL)               # ignored under nohup
try:
    turntile.transpose_file({str(path)!r}, memory=200_000, threads=1)
except KeyboardInterrupt as raised:
    sys.exit(8 if isinstance(raised, turntile.Interrupted) else 7)
"""
    process = subprocess.Popen([sys.executable, "-c", code])
    descriptors = f"/proc/{process.pid}/fd"
    while process.poll() is None:
        for number in os.listdir(descriptors) if os.path.isdir(descriptors) else ():
            try:
                name = os.readlink(f"{descriptors}/{number}")
            except OSError:
                continue
            if name.startswith(str(path.parent)) and name.endswith(" (deleted)"):
                process.send_signal(ends)
                return process.wait(120)
    return process.returncode


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="needs files without names")
@pytest.mark.parametrize("ends", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL], ids=lambda ends: ends.name)
def test_signals_leave_the_file_and_nothing_else(tmp_path, ends):
    path = tmp_path / "a.npy"
    for _ in range(5):
        a = saved(path, (4000, 6000), "f4")
        how = ended(path, ends)
        # Otherwise it was done before the signal came.
        if how:
            break
    assert how == (7 if ends is signal.SIGINT else -ends)
    assert np.array_equal(np.load(path), a)
    assert left(tmp_path) == ["a.npy"]


def test_an_interrupt_that_comes_late_has_the_shape(tmp_path, monkeypatch):
    path = tmp_path / "a.npy"
    a, real = saved(path), os.replace

    def replaced(*names, **folders):
        real(*names, **folders)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", replaced)
    with pytest.raises(turntile.Interrupted) as found:
        turntile.transpose_file(path)
    assert found.value.result == (20, 30)
    assert np.array_equal(np.load(path), a.T) and left(tmp_path) == ["a.npy"]


@pytest.mark.parametrize("has_names", [False, True], ids=["without a name", "with a name"])
@pytest.mark.parametrize("at", ["open_memmap", "permute_file", "replace"])
def test_temporary_names_that_others_exchange_are_not_opened(tmp_path, monkeypatch, has_names, at):
    """Whoever may write in the directory puts a link to another file in place of every temporary name, before each step."""
    victim, folder = tmp_path / "victim", tmp_path / "folder"
    folder.mkdir()
    victim.write_bytes(b"keep me")
    path = folder / "a.npy"
    a, exchanged = saved(path, (3000, 500)), []

    def exchanging(module, name):
        real = getattr(module, name)

        def call(*arguments, **options):
            for other in folder.glob(".turntile-*"):
                other.unlink()
                other.symlink_to(victim)
                exchanged.append(other)
            return real(*arguments, **options)

        monkeypatch.setattr(module, name, call)

    exchanging({"open_memmap": np.lib.format, "permute_file": turntile._core, "replace": os}[at], at)
    if has_names:
        opened = os.open

        def refused(name, flags, *more, **options):
            if flags & os.O_TMPFILE == os.O_TMPFILE:
                raise OSError(errno.EOPNOTSUPP, "Operation not supported")
            return opened(name, flags, *more, **options)

        monkeypatch.setattr(os, "open", refused)
    for memory in [1 << 30, 50_000]:
        try:
            turntile.transpose_file(path, memory=memory)
        except ValueError as error:
            assert "was replaced by another program" in str(error)
            assert exchanged and path.is_symlink()
            path.unlink()
        else:
            assert not exchanged and np.array_equal(np.load(path), a.T)
        assert victim.read_bytes() == b"keep me"
        assert left(folder) == ([] if exchanged else ["a.npy"])
        saved(path, (3000, 500))
        exchanged.clear()


def test_directories_that_others_exchange_are_not_entered(tmp_path, monkeypatch):
    """The directory is renamed in the midst, and a link to another put in its place."""
    folder, elsewhere, real = tmp_path / "folder", tmp_path / "elsewhere", turntile._core.permute_file
    folder.mkdir()
    elsewhere.mkdir()
    a = saved(folder / "a.npy")
    saved(elsewhere / "a.npy", (3, 4))
    before = (elsewhere / "a.npy").read_bytes()

    def exchanged(*arguments):
        folder.rename(tmp_path / "moved")
        folder.symlink_to(elsewhere)
        return real(*arguments)

    monkeypatch.setattr(turntile._core, "permute_file", exchanged)
    turntile.transpose_file(folder / "a.npy")
    assert np.array_equal(np.load(tmp_path / "moved" / "a.npy"), a.T)
    assert (elsewhere / "a.npy").read_bytes() == before and left(elsewhere) == ["a.npy"]


def test_attributes_are_kept(tmp_path):
    path = tmp_path / "a.npy"
    saved(path)
    try:
        os.setxattr(path, "user.note", b"kept")
    except OSError:
        pytest.skip("no attributes on this file system")
    # An access list of user 1 and group 2: version, then tag, permissions, number of each entry.
    entries = [(0x01, 6, -1), (0x02, 4, 1), (0x04, 4, -1), (0x08, 4, 2), (0x10, 4, -1), (0x20, 0, -1)]
    access = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    try:
        os.setxattr(path, "system.posix_acl_access", access)
    except OSError:
        access = None
    before = {name: os.getxattr(path, name) for name in os.listxattr(path)}
    turntile.transpose_file(path)
    assert {name: os.getxattr(path, name) for name in os.listxattr(path)} == before
    assert np.load(path).shape == (20, 30)
    if access:
        # What the directory gives to new files, a file without a list of its own does not get.
        os.removexattr(path, "system.posix_acl_access")
        os.setxattr(tmp_path, "system.posix_acl_default", access)
        path.chmod(0o640)
        turntile.transpose_file(path)
        assert os.listxattr(path) == ["user.note"] and path.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_owners_are_kept_or_set_id_bits_cleared():
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "a.npy")
    try:
        saved(path)
        try:
            os.chown(path, 65534, 65534)
        except OSError as refused:
            pytest.skip(f"files may not be given away here: {refused}")  # a user namespace with one user
        os.chmod(path, 0o4755)
        turntile.transpose_file(path)
        found = os.stat(path)
        assert (found.st_uid, found.st_gid, found.st_mode & 0o7777) == (65534, 65534, 0o4755)
        os.chown(path, 0, 0)
        os.chmod(path, 0o6666)
        os.chmod(folder, 0o777)
        # Without root's rights the owner becomes another, who may not have what the bits give.
        code = f"""
import os, turntile, numpy
numpy.save({path!r} + "2", numpy.zeros((2, 3)))
turntile.transpose_file({path!r} + "2.npy")
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
turntile.transpose_file({path!r})
"""
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
        found = os.stat(path)
        assert (found.st_uid, found.st_gid, found.st_mode & 0o7777) == (65534, 65534, 0o666)
    finally:
        shutil.rmtree(folder)


def test_long_headers(tmp_path):
    """Longer than the 10 000 characters that NumPy reads unless it is told to read more."""
    path = tmp_path / "a.npy"
    saved(path, (3, 4), [(f"field{k}", "i4") for k in range(600)])
    assert turntile.transpose_file(path) == (4, 3)
    assert np.load(path, max_header_size=1 << 20).shape == (4, 3)
