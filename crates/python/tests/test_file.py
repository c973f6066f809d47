"""Arrays in .npy files: maps that are rejected, files that are changed with their header, and the command."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import turntile


def saved(path, shape=(30, 20), dtype="i4", order="C"):
    a = np.arange(np.prod(shape, dtype=int)).astype(dtype).reshape(shape)
    np.save(path, np.asarray(a, order=order))
    return a


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
    with pytest.raises(ValueError, match=r"old shape: pass a copy, a.copy\(\)"):
        turntile.relayout(mapped, dtype.itemsize, [(0, dtype.itemsize)], "soa")
    if fields is not None:
        with pytest.raises(ValueError, match="`turntile split` writes each field"):
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
    # For the written array the header is right.
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
        path, out = tmp_path / "a.npy", tmp_path / "b.npy"
        a = saved(path, shape, dtype, order)
        path.chmod(0o640)
        before = path.read_bytes()
        turntile.transpose_file(os.fsencode(path), axes, out)
        assert path.read_bytes() == before
        turntile.transpose_file(str(path), axes)
        for result in np.load(path), np.load(out):
            assert result.dtype == a.dtype and result.shape == a.transpose(axes).shape
            assert np.array_equal(result, a.transpose(axes))
        assert path.stat().st_mode & 0o777 == 0o640
        assert sorted(os.listdir(tmp_path)) == ["a.npy", "b.npy"]


def test_rejected_files_are_unchanged(tmp_path):
    path = tmp_path / "a.npy"
    for contents, options, error, words in [
        (lambda old: b"not an array", {}, ValueError, "not a .npy file"),
        (lambda old: old[:-1], {}, ValueError, "expected 2400 bytes of data .* got 2399"),
        (lambda old: old + b"x", {}, ValueError, "expected 2400 bytes of data .* got 2401"),
        (lambda old: old, {"axes": (0, 2)}, np.exceptions.AxisError, "axis 2 is out of bounds"),
        (lambda old: old, {"axes": (1, -1)}, ValueError, "repeated axis in transpose"),
        (lambda old: old, {"axes": (0, 1, 2)}, ValueError, "axes don't match array"),
        (lambda old: old, {"axes": "ab"}, TypeError, "axes must be integers"),
        (lambda old: old, {"out": tmp_path / "none" / "b.npy"}, ValueError, "no directory"),
        (lambda old: old, {"out": 3}, TypeError, "int"),
    ]:
        saved(path)
        path.write_bytes(contents(path.read_bytes()))
        before = path.read_bytes()
        with pytest.raises(error, match=words):
            turntile.transpose_file(path, **options)
        assert path.read_bytes() == before and os.listdir(tmp_path) == ["a.npy"]
    with pytest.raises(FileNotFoundError, match="cannot open .*none.npy"):
        turntile.transpose_file(tmp_path / "none.npy")
    with pytest.raises(ValueError, match="not a regular file"):
        turntile.transpose_file(tmp_path)


def test_errors_of_the_system_have_their_numbers(tmp_path):
    """A limit on the size of files stops the result."""
    path = tmp_path / "a.npy"
    code = f"""
import errno, resource, signal, numpy as np, turntile
a = np.arange(1000 * 3000.).reshape(1000, 3000)
np.save({str(path)!r}, a)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    turntile.transpose_file({str(path)!r})
except OSError as error:
    assert error.errno == errno.EFBIG, error
else:
    raise SystemExit("written")
assert np.array_equal(np.load({str(path)!r}), a)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert os.listdir(tmp_path) == ["a.npy"]


COMMANDS = [[sys.executable, "-m", "turntile"], [os.path.join(os.path.dirname(sys.executable), "turntile")]]


@pytest.mark.parametrize("command", COMMANDS, ids=["module", "script"])
def test_command(command, tmp_path):
    path, out = tmp_path / "\udcff.npy", tmp_path / "b.npy"
    a = saved(path, (5, 7, 11))

    def run(*words):
        done = subprocess.run([*command, *words], capture_output=True, text=True, errors="replace")
        return done.returncode, done.stdout, done.stderr

    code, said, errors = run("transpose", "--axes", "2,0,1", path, "-o", out)
    assert (code, errors) == (0, "") and "b.npy" in said
    assert np.array_equal(np.load(out), a.transpose(2, 0, 1)) and np.array_equal(np.load(path), a)
    assert run("--version")[:2] == (0, f"turntile {turntile.__version__}\n")
    code, said, errors = run("transpose", "--axes", "0,1", path, "-i")
    assert (code, said) == (1, "") and errors.startswith("error: ")
    code, said, errors = run("transpose", "--what")
    assert (code, said) == (2, "") and "Usage: turntile transpose" in errors


def test_command_ends_by_sigint_and_leaves_the_file(tmp_path):
    path = tmp_path / "a.npy"
    saved(path, (6000, 4000), "f4")
    before, array = path.read_bytes(), np.load(path)
    run = ["transpose", str(path), "-i", "--memory", "2MiB", "--threads", "1"]
    for wait in 0.5, 0.3, 0.2, 0.1, 0:
        process = subprocess.Popen([*COMMANDS[0], *run], preexec_fn=restore_sigint)
        descriptors = f"/proc/{process.pid}/fd"
        while process.poll() is None and not has_open(descriptors, tmp_path):
            time.sleep(0.001)
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        # Otherwise it was done before the signal came.
        if process.wait(120):
            break
        path.write_bytes(before)
    assert process.returncode == -signal.SIGINT
    # The old file, or the new one if the signal came after the rename; a kill within it leaves a name.
    left = np.load(path)
    assert any(left.shape == whole.shape and (left == whole).all() for whole in (array, array.T))
    assert all(name.startswith(("a.npy", ".a.npy.")) for name in os.listdir(tmp_path))


def restore_sigint():
    # A job in the background ignores it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def has_open(descriptors, folder):
    """Whether a process has a file in that folder open."""
    try:
        names = [os.readlink(f"{descriptors}/{number}") for number in os.listdir(descriptors)]
    except OSError:
        return False
    return any(name.startswith(str(folder)) for name in names)
