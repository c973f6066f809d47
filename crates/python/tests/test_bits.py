"""Matrices of elements of less than a byte against NumPy's packbits and unpackbits."""

import ml_dtypes
import numpy as np
import pytest
import turntile
from test_numpy import address

ORDERS = ["big", "little"]


def unpacked(a, bits, bitorder, count):
    """Returns the first `count` elements of each row, one per byte."""
    single = np.unpackbits(a, axis=-1, bitorder=bitorder)
    groups = single.reshape(*a.shape[:-1], a.shape[-1] * 8 // bits, bits)
    weights = 1 << np.arange(bits, dtype=np.uint8)
    weights = weights[::-1] if bitorder == "big" else weights
    return (groups * weights).sum(axis=-1, dtype=np.uint8)[..., :count]


def packed(elements, bits, bitorder):
    """Returns rows of elements packed in bytes, padded with 0."""
    shifts = np.arange(bits, dtype=np.uint8)
    shifts = shifts[::-1] if bitorder == "big" else shifts
    single = elements[..., None] >> shifts & 1
    return np.packbits(
        single.reshape(*elements.shape[:-1], elements.shape[-1] * bits), axis=-1, bitorder=bitorder
    )


def transposed(a, bits, bitorder, cols):
    return packed(unpacked(a, bits, bitorder, cols).swapaxes(-1, -2), bits, bitorder)


def test_drawn_matrices():
    draw = np.random.default_rng(20)
    for _ in range(10_000):
        bits, bitorder = 1 << draw.integers(3), ORDERS[draw.integers(2)]
        batch = tuple(draw.integers(0, 4, draw.integers(0, 3)))
        rows, cols = draw.integers(0, 70, 2)
        whole = draw.integers(2)
        if whole:
            rows, cols = (side // (8 // bits) * (8 // bits) for side in (rows, cols))
        a = draw.integers(0, 256, (*batch, rows, -(-cols * bits // 8)), np.uint8)
        wanted = transposed(a, bits, bitorder, cols)
        before, out = a.copy(), np.full(wanted.shape, 0xA5, np.uint8)
        assert turntile.transpose_bits(a, bits=bits, bitorder=bitorder, out=out) is out
        assert np.array_equal(out, wanted) and np.array_equal(a, before)
        if whole:
            threads = [None, 1, 3][draw.integers(3)]
            result = turntile.transpose_bits(a, bits=bits, bitorder=bitorder, threads=threads)
            assert result.shape == wanted.shape and np.array_equal(result, wanted)
            assert not a.size or address(result) == address(a)


@pytest.mark.parametrize("bits", [1, 2, 4])
@pytest.mark.parametrize("bitorder", ORDERS)
@pytest.mark.parametrize("shape", [(1600, 1600), (2, 2000, 800)])
def test_large(bits, bitorder, shape):
    a = np.random.default_rng(bits).integers(0, 256, (*shape[:-1], shape[-1] * bits // 8), np.uint8)
    wanted = transposed(a, bits, bitorder, shape[-1])
    result = turntile.transpose_bits(a.copy(), bits=bits, bitorder=bitorder)
    assert np.array_equal(result, wanted)
    assert np.array_equal(turntile.transpose_bits(result, bits=bits, bitorder=bitorder), a)


def test_pairs_of_float4_and_other_bytes():
    a = np.arange(64, dtype=np.uint8).reshape(8, 8)
    wanted = transposed(a, 4, "little", 16)
    for dtype in (np.int8, ml_dtypes.float8_e4m3fn):
        result = turntile.transpose_bits(a.copy().view(dtype), bits=4, bitorder="little")
        assert result.dtype == dtype and np.array_equal(result.view(np.uint8), wanted)


def test_map_of_npy_file_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((8, 4), np.uint8))
    with pytest.raises(ValueError, match="header.* --bits"):
        turntile.transpose_bits(np.load(tmp_path / "a.npy", mmap_mode="r+"), bits=1)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda a: dict(a=a[:5], bits=2), ValueError, "both sides of 5 x 16 elements .* of 4"),
        (lambda a: dict(a=a, bits=3), ValueError, "bits is 3"),
        (lambda a: dict(a=a, bits=16), ValueError, "bits is 16"),
        (lambda a: dict(a=a, bits=1.0), TypeError, "bits must be an integer"),
        (lambda a: dict(a=a, bits=1, bitorder="msb"), ValueError, "'little' or 'big', not 'msb'"),
        (lambda a: dict(a=a, bits=1, bitorder=None), ValueError, "'little' or 'big', not None"),
        (lambda a: dict(a=a, bits=1, threads=0), ValueError, "threads is 0"),
        (lambda a: dict(a=a[0], bits=1), ValueError, "2-dimensional, but it is 1"),
        (lambda a: dict(a=a.T, bits=1), ValueError, "not C-contiguous"),
        (lambda a: dict(a=a.view("bool"), bits=1), TypeError, "a has dtype bool, not packed bits"),
        (lambda a: dict(a=a.view("u2"), bits=1), TypeError, "uint16, expected a dtype of 1 byte"),
        (lambda a: dict(a=a, bits=2, out=a), ValueError, r"out has shape \(8, 4\), expected \(N, 2\) with N from 13 to 16"),
        (lambda a: dict(a=a[:, :2], bits=4, out=a), ValueError, "a is not C-contiguous"),
        (lambda a: dict(a=a, bits=1, out=a.reshape(32, 1)), ValueError, "out overlaps a"),
    ],
)
def test_errors(make, error, words):
    a = np.arange(32, dtype=np.uint8).reshape(8, 4)
    before, arguments = a.copy(), make(a)
    with pytest.raises(error, match=words):
        turntile.transpose_bits(arguments.pop("a"), **arguments)
    assert np.array_equal(a, before)


def test_order_of_codes_in_words():
    """AWQ's order of the codes of a 32-bit word, and back."""
    codes = np.random.default_rng(0).integers(0, 16, (1001, 8), np.uint32)
    shifts = np.arange(0, 32, 4, dtype=np.uint32)
    words = (codes << shifts).sum(axis=1, dtype=np.uint32)
    awq = (codes[:, [0, 2, 4, 6, 1, 3, 5, 7]] << shifts).sum(axis=1, dtype=np.uint32)
    found = turntile.transpose_bits(awq.copy().view("u1").reshape(-1, 2, 2), bits=4, bitorder="little")
    assert found.shape == (1001, 4, 1)
    assert np.array_equal(found.reshape(-1).view("u4"), words)
    back = turntile.transpose_bits(found, bits=4, bitorder="little")
    assert np.array_equal(back.reshape(-1).view("u4"), awq)
