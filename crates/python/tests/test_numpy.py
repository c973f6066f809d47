"""Every call against copies by NumPy, over drawn shapes, orders, types and layouts."""

import itertools
import mmap

import ml_dtypes
import numpy as np
import pytest
import turntile
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.lib import NumpyVersion

TYPES = [
    np.dtype(name)
    for name in ["?", "i1", "u2", ">i4", "f2", "f4", "f8", "c8", "c16", "g", "S3", "U2", "M8[ns]", "m8[s]", "V7"]
] + [
    np.dtype([("a", "u1"), ("b", "<f8")]),
    np.dtype([("a", "u1"), ("b", "<f8"), ("c", "i2", (2,))], align=True),
    np.dtype(ml_dtypes.bfloat16),
    np.dtype(ml_dtypes.float8_e4m3fn),
]


def numbered(shape, dtype):
    """Elements whose bytes differ from place to place."""
    count = int(np.prod(shape, dtype=int)) * np.dtype(dtype).itemsize
    raw = (np.arange(count, dtype=np.uint64) * 2654435761 >> 7).astype(np.uint8)
    return raw.view(dtype).reshape(shape)


class Bytes:
    """An array's memory with the bytes of an element as an axis more: padding too, which NumPy's copies may leave out."""

    def __init__(self, array):
        item = array.dtype.itemsize
        self.array = array
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": array.shape + (item,),
            "strides": array.strides + (1,),
            "data": array.__array_interface__["data"],
        }


def raw(array):
    """Returns the bytes of the elements in C order."""
    return np.asarray(Bytes(array.squeeze())).tobytes()


def in_layout(array, order):
    """Returns the same elements with memory's axes in that order."""
    back = np.argsort(order)
    return array.transpose(order).copy().transpose(back)


def strided(array, draw):
    """Copies the elements to a strided view of a larger array. Steps may be negative."""
    steps = [draw(st.sampled_from([1, 2, -1, -3])) for _ in array.shape]
    whole = np.zeros([abs(step) * extent + 1 for step, extent in zip(steps, array.shape)], array.dtype)
    view = whole[(..., *(slice(None if step < 0 else 1, None, step) for step in steps))]
    view = view[(..., *map(slice, array.shape))]
    view[...] = array
    return view


def address(array):
    return array.__array_interface__["data"][0]


def check(a, axes):
    """Transposes `a` in place; the result is NumPy's copy, in the memory of `a`."""
    shape, wanted = np.transpose(a, axes).shape, raw(np.transpose(a, axes))
    result = turntile.transpose(a, axes)
    assert result.shape == shape
    assert result.dtype == a.dtype
    assert raw(result) == wanted
    assert result.flags.c_contiguous
    assert address(result) == address(a)


@st.composite
def problems(draw):
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=6, min_side=0, max_side=9))
    axes = draw(st.permutations(range(len(shape))))
    signs = draw(st.lists(st.booleans(), min_size=len(shape), max_size=len(shape)))
    named = [axis - len(shape) if negative else axis for axis, negative in zip(axes, signs)]
    layout = draw(st.permutations(range(len(shape))))
    return in_layout(numbered(shape, draw(st.sampled_from(TYPES))), layout), named


@given(problems())
@settings(max_examples=400, deadline=None)
def test_any_order_of_any_layout(problem):
    a, axes = problem
    check(a, axes)


@given(problems(), st.data())
@settings(max_examples=200, deadline=None)
def test_into(problem, data):
    a, axes = problem
    before, view = raw(a), np.transpose(a, axes)
    order = data.draw(st.permutations(range(a.ndim)))
    out = in_layout(np.zeros(view.shape, view.dtype), order)
    a.flags.writeable = False
    assert turntile.transpose(a, axes, out=out) is out
    assert raw(out) == raw(view)
    assert raw(a) == before


@given(problems(), st.data())
@settings(max_examples=200, deadline=None)
def test_into_strided(problem, data):
    """Strided sources and results, which NumPy copies."""
    a, axes = problem
    a, out = strided(a, data.draw), strided(np.zeros_like(np.transpose(a, axes)), data.draw)
    before, wanted = raw(a), np.zeros(out.shape, out.dtype)
    np.copyto(wanted, np.transpose(a, axes))
    assert turntile.transpose(a, axes, out=out) is out
    assert raw(out) == raw(wanted) and raw(a) == before


@given(problems())
@settings(max_examples=200, deadline=None)
def test_orders_of_memory(problem):
    a, _ = problem
    for make, flag in [(turntile.asfortranarray, "f_contiguous"), (turntile.ascontiguousarray, "c_contiguous")]:
        before, place = raw(a), address(a)
        b = make(a)
        assert b.shape == (a.shape or (1,)) and b.dtype == a.dtype
        assert raw(b) == before
        assert getattr(b.flags, flag)
        assert address(b) == place
        a = b


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("threads", [None, 1, 3])
def test_large(dtype, threads):
    """Past what goes through a buffer on the stack: plans, workspace and threads."""
    for shape, axes in [((211, 307), (1, 0)), ((5, 67, 61), (2, 0, 1)), ((8, 3, 50, 40), (0, 2, 3, 1))]:
        a = numbered(shape, dtype)
        wanted = raw(np.transpose(a, axes))
        assert raw(turntile.transpose(a, axes, threads=threads)) == wanted


def test_all_orders_of_four_axes():
    for axes in itertools.permutations(range(4)):
        for layout in itertools.permutations(range(4)):
            check(in_layout(numbered((3, 4, 5, 2), "u2"), layout), axes)


def test_rank_64():
    shape = (2,) * 12 + (1,) * 52
    axes = np.random.default_rng(1).permutation(64)
    check(numbered(shape, "u2"), tuple(axes))
    check(numbered((1,) * 64, "f8"), None)


def test_arrays_of_no_elements_and_of_one():
    for shape in [(), (1,), (0,), (3, 0, 2), (1, 1, 1)]:
        check(np.zeros(shape, "f4"), None)
    assert turntile.transpose(np.zeros((2, 3), np.dtype([]))).shape == (3, 2)


def test_axes_of_extent_one_have_any_stride():
    a = np.lib.stride_tricks.as_strided(numbered((4, 6), "i4"), (4, 1, 6), (24, 4000, 4))
    check(a, (2, 1, 0))
    check(a.transpose(1, 2, 0), (0, 2, 1))


def test_memory_map(tmp_path):
    file = tmp_path / "array"
    a = numbered((120, 77), "f8")
    a.tofile(file)
    result = turntile.transpose(np.memmap(file, a.dtype, "r+", shape=a.shape))
    assert type(result) is np.memmap
    result.flush()
    assert file.read_bytes() == raw(a.T)


def test_in_the_memory_of_another_array():
    whole = numbered((7, 30, 20), "f4")
    before = whole.copy()
    turntile.transpose(whole[3])
    assert raw(whole[3].reshape(20, 30)) == raw(before[3].T)
    assert raw(whole[:3]) == raw(before[:3]) and raw(whole[4:]) == raw(before[4:])


def test_axes_by_name():
    a = numbered((3, 4, 5), "i4")
    wanted = np.transpose(a, axes=(2, 0, 1)).copy()
    out = np.zeros_like(wanted)
    assert raw(turntile.transpose(a, axes=[2, 0, np.int64(1)], out=out)) == raw(wanted)
    assert raw(turntile.permute_dims(a, axes=(2, 0, 1))) == raw(wanted)


def test_matrix_transpose():
    for shape in [(4, 6), (3, 4, 6), (2, 3, 211, 107)]:
        a = numbered(shape, "f4")
        wanted = np.matrix_transpose(a).copy()
        assert raw(turntile.matrix_transpose(a, out=np.zeros_like(wanted))) == raw(wanted)
        assert raw(turntile.matrix_transpose(a)) == raw(wanted)
    with pytest.raises(ValueError, match="input array must be at least 2-dimensional, but it is 1"):
        turntile.matrix_transpose(np.zeros(3))


def test_unaligned():
    memory = np.zeros(8 * 3000 + 1, "u1")
    a = np.frombuffer(memory, "f8", 3000, 1).reshape(50, 60)
    a[...] = np.arange(3000).reshape(50, 60)
    check(a, None)


def test_lenders_of_memory():
    memory = bytearray(range(6))
    view = memoryview(memory).cast("B", (2, 3))
    assert turntile.transpose(view).tolist() == [[0, 3], [1, 4], [2, 5]]
    assert bytes(memory) == bytes([0, 3, 1, 4, 2, 5])
    mapped = mmap.mmap(-1, 4096)
    assert turntile.transpose(mapped).base is not None

    class Lender:
        def __init__(self, array):
            self.__array_interface__ = array.__array_interface__
            self.array = array

    a = numbered((3, 5), "i4")
    wanted = raw(a.T)
    assert raw(turntile.transpose(Lender(a))) == wanted


@pytest.mark.skipif(NumpyVersion(np.__version__) < "2.2.5", reason="NumPy takes memory of DLPack as read-only")
def test_memory_of_dlpack():
    class Dlpack:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **how):
            return self.array.__dlpack__(**how)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    a = numbered((3, 5), "i4")
    wanted = raw(a.T)
    assert raw(turntile.transpose(Dlpack(a))) == wanted
    assert raw(a) == wanted
