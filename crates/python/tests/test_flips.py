"""Flips and quarter turns against NumPy, over drawn shapes, axes and layouts."""

from functools import partial

import numpy as np
import pytest
import turntile
from hypothesis import given, settings
from hypothesis import strategies as st
from test_numpy import address, in_layout, numbered, raw


@st.composite
def arrays(draw, least=0):
    rank = draw(st.integers(least, 4))
    most = draw(st.sampled_from([4, 40] if rank < 4 else [4, 14]))
    shape = tuple(draw(st.lists(st.integers(0, most), min_size=rank, max_size=rank)))
    dtype = draw(st.sampled_from(["u1", "i2", "V3", "f4", "f8", "c16", "V24"]))
    order = draw(st.permutations(range(rank)))
    return in_layout(numbered(shape, np.dtype(dtype)), order)


def check(run, a, wanted):
    """Runs in place and compares the result, which is in the memory of `a`."""
    before, wanted = address(a), wanted.copy()
    result = run(a)
    assert result.shape == wanted.shape
    assert raw(result) == raw(wanted)
    assert result.flags.c_contiguous
    assert not result.size or address(result) == before


@settings(max_examples=300, deadline=None)
@given(arrays(), st.data())
def test_flip(a, data):
    some = st.lists(st.sampled_from(range(a.ndim)), unique=True) if a.ndim else st.just([])
    axes = data.draw(some)
    axes = tuple(axis - data.draw(st.sampled_from([0, a.ndim])) for axis in axes)
    axis = data.draw(st.sampled_from([axes, *axes[:1], *([None] if len(axes) == a.ndim else [])]))
    check(lambda a: turntile.flip(a, axis), a, np.flip(a, axis))


@settings(max_examples=300, deadline=None)
@given(arrays(least=2), st.integers(-5, 5), st.data())
def test_rot90(a, k, data):
    axes = data.draw(st.permutations(range(a.ndim)))[:2]
    axes = tuple(axis - data.draw(st.sampled_from([0, a.ndim])) for axis in axes)
    check(lambda a: turntile.rot90(a, k, axes), a, np.rot90(a, k, axes))


def test_ten_thousand_drawn_cases():
    draw = np.random.default_rng(1)
    dtypes = [np.dtype(name) for name in ("u1", "i2", "V3", "f4", "f8", "c16", "V24")]
    for case in range(10_000):
        rank = int(draw.integers(1, 5))
        shape = tuple(draw.integers(1, [200, 30, 12, 8][rank - 1], rank).tolist())
        a = numbered(shape, dtypes[case % 7])
        if case % 2 or rank == 1:
            axis = tuple(draw.permutation(rank)[: draw.integers(0, rank + 1)].tolist())
            ours, wanted = turntile.flip(a.copy(), axis), np.flip(a, axis)
        else:
            k, axes = int(draw.integers(-4, 5)), draw.permutation(rank)[:2].tolist()
            ours, wanted = turntile.rot90(a.copy(), k, axes), np.rot90(a, k, axes)
        assert ours.shape == wanted.shape
        assert raw(ours) == raw(wanted.copy())


@pytest.mark.parametrize("shape", [(1000, 700), (800, 800), (120, 90, 31), (64, 100, 100, 3)])
@pytest.mark.parametrize("threads", [1, 2])
def test_large(shape, threads):
    a = numbered(shape, np.dtype("f4"))
    for axis in (0, len(shape) - 1, None):
        run = partial(turntile.flip, axis=axis, threads=threads)
        check(run, a.copy(), np.flip(a, axis))
    for k in (1, 3):
        run = partial(turntile.rot90, k=k, axes=(-2, -1), threads=threads)
        check(run, a.copy(), np.rot90(a, k, (-2, -1)))


def test_map_of_npy_file_keeps_its_header(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(12).reshape(3, 4))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r+")
    turntile.flip(mapped, 0).flush()
    turntile.rot90(mapped, 2).flush()
    assert (np.load(tmp_path / "a.npy") == np.arange(12).reshape(3, 4)[:, ::-1]).all()
    with pytest.raises(ValueError, match="header"):
        turntile.rot90(mapped)


def test_errors_are_numpys():
    a = np.zeros((3, 4))
    for run in (
        lambda m: m.flip(a, 2),
        lambda m: m.flip(a, (0, 0)),
        lambda m: m.rot90(a, axes=(0,)),
    ):
        with pytest.raises(ValueError) as ours:
            run(turntile)
        with pytest.raises(type(ours.value)):
            run(np)
    with pytest.raises(ValueError, match="repeated axis"):
        turntile.rot90(a, axes=(1, -1))
    with pytest.raises(TypeError):
        turntile.rot90(a, 1.5)
