"""Rejected arguments: exception, words, and unchanged elements."""

import subprocess
import sys

import numpy as np
import pytest
import turntile


def refused(a, error, words, axes=None, call=turntile.transpose, **how):
    before = None if np.asarray(a).dtype.hasobject else np.array(a, copy=True)
    with pytest.raises(error, match=words):
        call(a, axes, **how) if call is turntile.transpose else call(a, **how)
    if before is not None:
        assert np.array_equal(np.asarray(a), before)


def some(shape=(4, 6)):
    return np.arange(np.prod(shape)).reshape(shape)


CALLS = [turntile.transpose, turntile.asfortranarray]


@pytest.mark.parametrize("call", CALLS)
def test_arrays_that_cannot_be_changed_in_place(call):
    fixed = some()
    fixed.flags.writeable = False
    refused(fixed, ValueError, r"read-only: take a copy, a.copy\(\)", call=call)
    refused(b"abc", ValueError, r"the memory of bytes is read-only: take a copy, bytearray\(a\)", call=call)
    refused(memoryview(b"abc"), ValueError, r"read-only: take a copy, numpy.array\(a\)", call=call)
    refused(some()[:, ::2], ValueError, "not contiguous: there are gaps", call=call)
    refused(some()[:, 1:], ValueError, "not contiguous: there are gaps", call=call)
    refused(some()[::-1], ValueError, "negative stride", call=call)
    refused(np.broadcast_to(some(), (2, 4, 6)).view(), ValueError, "read-only", call=call)
    stride = np.lib.stride_tricks.as_strided
    refused(stride(some(), (3, 4), (8, 8)), ValueError, "overlap", call=call)
    refused(stride(some(), (3, 4), (0, 8)), ValueError, "overlap", call=call)
    refused(stride(some(), (3, 4), (24, 8)), ValueError, "overlap", call=call)
    refused(np.array([[1, "a"]], object), TypeError, "references to objects", call=call)
    refused(np.array([["a", "b"]], np.dtypes.StringDType()), TypeError, "references to objects", call=call)
    refused(np.ma.masked_array(some(), some() > 3), TypeError, "has a mask, .* a.data and numpy.ma.getmaskarray", call=call)
    refused(some().view(type("Own", (np.ndarray,), {})), TypeError, "Own is a subclass", call=call)
    refused(np.rec.array(some()), TypeError, "recarray is a subclass", call=call)
    refused(some().view(np.matrix), TypeError, r"matrix is a subclass .* a.view\(numpy.ndarray\)", call=call)


def of(module, name):
    """An object of a class of that name, as a library has one."""
    return type(name, (), {"__module__": module})()


@pytest.mark.parametrize(
    "what, words",
    [(what, "is not an array in memory$") for what in [None, 3, 2.5, "abc", {}, object()]]
    + [
        ([[1, 2]], r"not an array in memory: pass numpy.array\(a\)"),
        (np.float64(5), "float64 is a single value, not an array in memory"),
        (of("pandas", "DataFrame"), r"pass a.to_numpy\(copy=True\)"),
        (of("pandas.core.series", "Series"), r"pass a.to_numpy\(copy=True\)"),
        (of("xarray.core.dataarray", "DataArray"), "pass a.values"),
        (of("numpy.lib.npyio", "NpzFile"), r"pass one of its arrays, a\[name\]"),
        (type("Says", (), {"__array_interface__": {"shape": (2**70,), "typestr": "<f4", "version": 3}})(), "does not export"),
        (of("h5py._hl.dataset", "Dataset"), r"pass a\[:\]"),
        (of("zarr.core.array", "Array"), r"pass a\[:\]"),
    ],
)
def test_no_arrays(what, words):
    with pytest.raises(TypeError, match=words):
        turntile.transpose(what)


def test_axes():
    refused(some(), np.exceptions.AxisError, "axis 2 is out of bounds", (0, 2))
    refused(some(), np.exceptions.AxisError, "axis -3 is out of bounds", (0, -3))
    refused(some(), ValueError, "repeated axis in transpose", (1, -1))
    refused(some(), ValueError, "axes don't match array: 1 axes for 2 dimensions", (0,))
    refused(some(), ValueError, "axes don't match array: 3 axes for 2 dimensions", (0, 1, 2))
    refused(some(), ValueError, "axes don't match array: 1 axes for 2 dimensions", 0)
    refused(some(), TypeError, "axes must be integers", (0, 1.0))
    refused(some(), TypeError, "axes must be integers", "ab")
    assert turntile.transpose(some((3,)), 0).shape == (3,)


def test_options():
    refused(some(), ValueError, "threads is 0: the minimum is 1", threads=0)
    refused(some(), ValueError, "threads is -1: the minimum is 1", threads=-1)
    refused(some(), TypeError, "threads must be an integer, not 'two'", threads="two")
    assert turntile.transpose(some(), threads=2**70).shape == (6, 4)
    refused(some(), ValueError, "stream is given, but the array is on the host", stream=0)
    refused(some((300, 200)), TypeError, "workspace on the host must be a turntile.Workspace, not ndarray", workspace=np.zeros(100, "u1"))
    refused(some((300, 200)), TypeError, "workspace: int is not an array", workspace=5)
    refused(some((301, 211)), ValueError, "bytes of workspace, there are 8", workspace=turntile.Workspace(8))
    with pytest.raises(TypeError):
        turntile.transpose(a=some())


def test_into():
    a = some()
    for out, source, how, error, words in [
        (np.zeros((4, 6), int), a, {}, ValueError, r"shape \(4, 6\), but the result has shape \(6, 4\)"),
        (np.zeros((6, 4)), a, {}, TypeError, "dtype float64, but a has dtype int64"),
        (np.zeros((6, 4), int), a, {"workspace": turntile.Workspace(8)}, ValueError, "uses none"),
        (np.zeros((6, 4), int), a, {"stream": 0}, ValueError, "the arrays are on the host"),
        (np.broadcast_to(np.int64(0), (6, 4)), a, {}, ValueError, "read-only"),
        (a.reshape(6, 4), a, {}, ValueError, "out overlaps a"),
        (a[:, :4], a[:, 2:], {}, ValueError, "out overlaps a"),
        (a.T, a, {}, ValueError, "out overlaps a"),
        (a[0, 5:6], a[0, 5:6], {}, ValueError, "out overlaps a"),
    ]:
        with pytest.raises(error, match=words):
            turntile.transpose(source, out=out, **how)
        assert np.array_equal(a, some())
    # Interleaved columns, none of them shared.
    turntile.transpose(a[:, 1::3].T, out=a[:, ::3])
    assert np.array_equal(turntile.transpose(np.broadcast_to(a[0], (3, 6)), out=np.zeros((6, 3), int)), np.stack([a[0]] * 3, 1))
    assert np.array_equal(a[:, ::3], some()[:, 1::3]) and np.array_equal(a[:, 1::3], some()[:, 1::3])


def test_removed_names_say_what_replaces_them():
    with pytest.raises(AttributeError, match=r"transpose\(a, axes, out=out\)"):
        turntile.permute_into
    with pytest.raises(AttributeError, match="no attribute 'permute'"):
        turntile.permute


RESIZED = """
import numpy as np, turntile
b = np.ones((3000, 2000))
def shrink():
    b.resize((1, 1), refcheck=False)
class R:
    def __index__(self):
        shrink()
        return 1
class T:
    def __bool__(self):
        shrink()
        return False
class P(str):
    def __hash__(self):
        shrink()
        return 1
class Lender:
    memory = np.zeros((2000, 3000))
    @property
    def __array_interface__(self):
        shrink()
        return self.memory.__array_interface__
class Elsewhere(Lender):
    @property
    def __cuda_stream__(self):
        shrink()
        return lambda: (0, 0)
"""


@pytest.mark.parametrize(
    "call, words",
    [
        ("transpose(b, (R(), 0))", "(1, 1)"),
        ("transpose(b, threads=R())", "(1, 1)"),
        ("transpose(b, ignore_header=T())", "(1, 1)"),
        ("rearrange(b, P('a b -> b a'))", "(2000, 3000)"),
        ("rearrange(b, 'a b -> b a', a=R())", "(1, 1)"),
        ("rearrange(b, 'a b -> b a', **{P('b'): 2000})", "axis 1 has extent 1"),
        ("asfortranarray(b, threads=R())", "(1, 1)"),
        ("transpose(b, workspace=Lender())", "workspace on the host must be a turntile.Workspace, not ndarray"),
        ("transpose(b, stream=Elsewhere())", "stream is given"),
        ("transpose(b, (R(), 0), out=np.zeros((2000, 3000)))", "the result has shape (1, 1)"),
        ("transpose(b, out=Lender())", "the result has shape (1, 1)"),
        ("Plan((3000, 2000), itemsize=8)(b, workspace=Lender())", "the array has shape (1, 1)"),
    ],
)
def test_arguments_that_resize_the_array(call, words):
    """They are asked for their numbers before the array is looked at. (Otherwise these end the process.)"""
    code = f"{RESIZED}\ntry:\n    print(turntile.{call}.shape)\nexcept (TypeError, ValueError) as error:\n    print(error)"
    done = subprocess.run([sys.executable, "-c", code], check=True, timeout=60, capture_output=True, text=True)
    assert any(word in done.stdout for word in words.split("|")), done.stdout


def test_no_lender():
    class Elsewhere:
        def __dlpack_device__(self):
            return (10, 1)

        def __dlpack__(self, **how):
            raise AssertionError("asked for")

    with pytest.raises(TypeError, match="neither a CPU nor an NVIDIA GPU"):
        turntile.transpose(Elsewhere())
    array = some()

    class Copies:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, *, copy=None, **how):
            if copy is False:
                raise BufferError("only copies")
            return array.copy().__dlpack__()

    with pytest.raises(TypeError, match="does not export its memory: only copies"):
        turntile.transpose(Copies())


def test_nothing_overflows():
    core = turntile._core
    huge = 2**63
    with pytest.raises(ValueError):
        turntile.Plan((huge, 2), itemsize=8)
    with pytest.raises(ValueError):
        core.HostPlan((2, 3), (1, 0), 4).run(8, 23)
    with pytest.raises(ValueError):
        core.HostPlan((2, 3), (1, 0), 4).run(0, 24)
    for shape, strides, itemsize, axes in [
        ((2, 3), (8,), 8, (1, 0)),
        ((2, 3), (8, 8, 8), 8, (1, 0)),
        ((2, 3), None, 8, (1, 7)),
        ((2, 3), None, 8, (1, 1)),
        ((2, 3), None, 8, (1,)),
        ((huge, 3), (24, 8), 8, (1, 0)),
        ((huge, 3, huge), (-24, 2**62, 8), 2**62, (1, 0, 2)),
    ]:
        with pytest.raises((ValueError, OverflowError)):
            core.arrange(shape, strides, itemsize, axes)
