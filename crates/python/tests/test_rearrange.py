"""Patterns against einops, which reads them too: the same results, and the same refused."""

import itertools
import re

import einops
import numpy as np
import pytest
import turntile
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from test_numpy import TYPES, Bytes, address, in_layout, numbered, raw

#: What einops' documentation and tutorials write, with shapes that fit.
KNOWN = [
    ((5, 6, 4, 3), "b h w c -> h w b c", {}),
    ((5, 6, 4, 3), "b h w c -> (b h) w c", {}),
    ((5, 6, 4, 3), "b h w c -> h (b w) c", {}),
    ((5, 6, 4, 3), "b h w c -> (b w) h c", {}),
    ((5, 6, 4, 3), "b h w c -> (b h w c)", {}),
    ((6, 6, 4, 3), "(b1 b2) h w c -> b1 b2 h w c", {"b1": 2}),
    ((6, 6, 4, 3), "(b1 b2) h w c -> (b1 h) (b2 w) c", {"b1": 2}),
    ((6, 6, 4, 3), "(b1 b2) h w c -> (b2 h) (b1 w) c", {"b1": 2}),
    ((5, 6, 4, 3), "b (h h1) (w w1) c -> b h w (h1 w1 c)", {"h1": 2, "w1": 2}),
    ((5, 8, 4, 6), "b (c h2 w2) h w -> b c (h h2) (w w2)", {"h2": 2, "w2": 2}),
    ((5, 6, 4, 8), "b h w (h1 w1 c) -> b (h h1) (w w1) c", {"h1": 2, "w1": 2}),
    ((5, 6, 4, 3), "b h w c -> b 1 h w 1 c", {}),
    ((5, 1, 4, 1), "b 1 w () -> b w", {}),
    ((5, 6, 4, 3), "b (h h1) w c -> h (b h1) w c", {"h1": 3}),
    ((2, 3, 64, 48), "b c (h p) (w q) -> b (h w) (p q c)", {"p": 16, "q": 16}),
    ((2, 3, 64, 48), "b c (h p1) (w p2) -> b (h w) (p1 p2 c)", {"p1": 16, "p2": 16}),
    ((2, 7, 24), "b n (h d) -> b h n d", {"h": 4}),
    ((2, 7, 72), "b n (qkv h d) -> qkv b h n d", {"qkv": 3, "h": 4}),
    ((2, 4, 7, 6), "b h n d -> b n (h d)", {}),
    ((2, 5, 3, 4, 4), "b t c h w -> (b t) c h w", {}),
    ((10, 3, 4, 4), "(b t) c h w -> b c t h w", {"b": 2}),
    ((8, 6, 5), "(g c) ... -> (c g) ...", {"g": 2}),
    ((4, 5, 6, 7), "... h w -> ... (h w)", {}),
    ((4, 5, 6, 7), "b ... -> b (...)", {}),
    ((4, 5, 6, 7), "b ... c -> c (b ...)", {}),
    ((3, 64, 2, 5), "b (c k) h w -> b c h w k", {"k": 32}),
    ((), "-> 1", {}),
    ((7,), "n -> n 1 1", {}),
    ((0, 6), "a (b c) -> c (b a)", {"b": 2}),
]

#: What einops says of a fault, and what turntile says: first faults of a pattern by itself.
FAULTS = [
    ("values to unpack", "expected one ->"),
    ("Unknown character", "unknown character"),
    ("only one ellipsis for tensor", r"\.\.\. occurs twice|is not an ellipsis"),
    ("dots only inside ellipsis", "is not an ellipsis"),
    ("not a valid python identifier", "is not a name|is not an ellipsis"),
    ("start or end with underscore", "is not a name"),
    ("one-level", "parentheses in parentheses"),
    ("not balanced|Imbalanced", "has no counterpart"),
    ("duplicate dimension", "occurs twice on the"),
    ("Non-unitary|positive length", "the only number is 1"),
    ("in right side, but not left", r"\.\.\. is only on the right"),
    ("parenthesis in the left", r"\.\.\. is in parentheses on the left"),
    ("only on one side", r"is only on the (left|right): turntile rearranges only"),
    # Patterns with a shape and sizes.
    ("Invalid name for an axis|not used in transform", "no axis has that name"),
    ("Wrong shape: expected", "the left side has"),
    ("Could not infer", "of unknown sizes"),
    ("can't divide|modulo by zero", "does not divide"),
    (r"mismatch, \d+ != ", "but the pattern gives"),
]


def check(a, pattern, sizes):
    """Results have the same elements, in the same memory."""
    # As bytes, since NumPy's copies leave out padding.
    wanted = einops.rearrange(np.asarray(Bytes(a)), pattern.replace("->", " bytes->") + " bytes", **sizes).copy()
    where = address(a)
    result = turntile.rearrange(a, pattern, **sizes)
    assert result.shape == wanted.shape[:-1] and result.dtype == a.dtype and result.flags.c_contiguous
    assert raw(result) == wanted.tobytes()
    assert not a.size or address(result) == where


#: How many of them are of a pattern by itself.
ALONE = 13


def kind(error):
    """Returns the number of the fault in FAULTS that the error of einops reports."""
    return next((k for k, (theirs, _) in enumerate(FAULTS) if re.search(theirs, str(error))), None)


@pytest.mark.parametrize("shape, pattern, sizes", KNOWN)
def test_what_einops_documents(shape, pattern, sizes):
    for layout in itertools.permutations(range(len(shape))):
        check(in_layout(numbered(shape, "u2"), layout), pattern, sizes)


def side(draw, names):
    """These names as a side: joined or not, ones among them."""
    words = list(names)
    for _ in range(draw(st.integers(0, 2))):
        words.insert(draw(st.integers(0, len(words))), draw(st.sampled_from(["1", "()"])))
    axes = []
    for word in words:
        join = axes and word != "()" and axes[-1] != ["()"] and draw(st.booleans())
        axes[-1].append(word) if join else axes.append([word])
    return axes


def spelled(axes):
    return " ".join(f"({' '.join(axis)})" if len(axis) > 1 else axis[0] for axis in axes)


@st.composite
def patterns(draw, largest=4):
    """Draws a shape, a pattern and sizes; usually they fit."""
    names = draw(st.lists(st.sampled_from(["a", "b", "c2", "d_d", "E", "height", "é"]), max_size=5, unique=True))
    extents = {name: draw(st.integers(0 if draw(st.integers(0, 9)) == 0 else 1, largest)) for name in names}
    left, right = side(draw, names), side(draw, draw(st.permutations(names)))
    shape = [int(np.prod([extents.get(name, 1) for name in axis])) for axis in left]
    if draw(st.booleans()):
        at = draw(st.integers(0, len(left)))
        left.insert(at, ["..."])
        shape[at:at] = draw(st.lists(st.integers(1, 3), max_size=3))
        if right and draw(st.booleans()):
            axis = draw(st.sampled_from(right))
            axis[:] = ["...", *(name for name in axis if name != "()")]
        else:
            right.insert(draw(st.integers(0, len(right))), ["..."])
    # One name of an axis may be left to follow, of most too many have no size.
    sizes = {name: extents[name] for axis in left for name in axis if name in extents}
    for axis in left:
        known = [name for name in axis if name in extents]
        if known and draw(st.integers(0, 9)):
            del sizes[draw(st.sampled_from(known))]
    arrow = draw(st.sampled_from(["->", " -> ", "  ->"]))
    return tuple(shape), spelled(left) + arrow + spelled(right), sizes


@given(patterns(), st.sampled_from(TYPES), st.randoms())
@settings(max_examples=1500, deadline=None)
def test_any_pattern_of_any_layout(problem, dtype, random):
    shape, pattern, sizes = problem
    layout = random.sample(range(len(shape)), len(shape))
    a = in_layout(numbered(shape, dtype), layout)
    try:
        einops.rearrange(a, pattern, **sizes)
    except ZeroDivisionError:
        assume(False)
    check(a, pattern, sizes)


@given(patterns(), st.data())
@settings(max_examples=3000, deadline=None)
def test_what_einops_refuses(problem, data):
    """A pattern, a shape or a size with something else in it: refused by both, or by neither. Of several faults in a pattern the
    two may name another one, but both name a fault of the pattern, or neither does."""
    shape, pattern, sizes = problem
    what = data.draw(st.sampled_from(["pattern", "shape", "sizes"]))
    if what == "pattern":
        at = data.draw(st.integers(0, len(pattern)))
        put = data.draw(st.sampled_from(["", " ", "(", ")", "1", "0", "2", "a", "b", "x", " x ", "_", ".", "...", " ... ", ",", "-", "->"]))
        pattern = pattern[:at] + put + pattern[at + data.draw(st.integers(0, 2)) :]
    elif what == "shape":
        at = data.draw(st.integers(0, len(shape)))
        shape = shape[:at] + tuple(data.draw(st.lists(st.integers(0, 7), max_size=1))) + shape[at + data.draw(st.integers(0, 1)) :]
    else:
        name = data.draw(st.sampled_from(["a", "b", "é", "x", "_x", "..."]))
        sizes[name] = data.draw(st.integers(0, 5))
    a = numbered(shape, "u2")
    try:
        einops.rearrange(a, pattern, **sizes)
    except (einops.EinopsError, ValueError, ZeroDivisionError) as error:
        faults = FAULTS[:ALONE] if kind(error) < ALONE else FAULTS[ALONE:]
        before = a.copy()
        with pytest.raises(ValueError, match="|".join(ours for _, ours in faults)):
            turntile.rearrange(a, pattern, **sizes)
        assert np.array_equal(a, before)
    else:
        check(a, pattern, sizes)


FAULTY = [
    ((2, 3), "a b", {}),
    ((2, 3), "a -> b -> a", {}),
    ((2, 3), "a, b -> b a", {}),
    ((2, 3), "a ... ... -> a ...", {}),
    ((2, 3), "a .. -> .. a", {}),
    ((2, 3), "1a b -> b 1a", {}),
    ((2, 3), "_a b -> b _a", {}),
    ((2, 3), "a b -> ((a) b)", {}),
    ((2, 3), "a b -> (a b", {}),
    ((2, 3), "a b) -> a b", {}),
    ((2, 3), "a a -> a", {}),
    ((2, 3), "a 3 -> a", {}),
    ((2, 3), "a b -> a b 0", {}),
    ((2, 3), "a b -> a b ...", {}),
    ((2, 3), "(a ...) -> a ...", {}),
    ((2, 3), "a b -> a", {}),
    ((2, 3), "a ... -> a", {}),
    ((2, 3), "a b -> a b c", {"c": 4}),
    ((2, 3), "a b -> b a", {"c": 4}),
    ((2, 3), "a b -> b a", {"_a": 4}),
    ((2, 3), "a b c -> b a c", {}),
    ((2, 3), "a b c ... -> b a c ...", {}),
    ((6, 3), "(a b) c -> a b c", {}),
    ((6, 3), "(a b) c -> a b c", {"a": 4}),
    ((6, 3), "(a b) c -> a b c", {"a": 0}),
    ((6, 3), "(a b) c -> a b c", {"a": 2, "b": 2}),
    ((6, 3), "a 1 -> a", {}),
]


@pytest.mark.parametrize("shape, pattern, sizes", FAULTY)
def test_every_fault_that_einops_names(shape, pattern, sizes):
    a = numbered(shape, "u2")
    with pytest.raises((einops.EinopsError, ValueError, ZeroDivisionError)) as theirs:
        einops.rearrange(a, pattern, **sizes)
    with pytest.raises(ValueError, match=FAULTS[kind(theirs.value)][1]) as ours:
        turntile.rearrange(a, pattern, **sizes)
    assert f'pattern "{pattern}": ' in str(ours.value)
    assert np.array_equal(a, numbered(shape, "u2"))


def test_every_fault_is_tried():
    def of(shape, pattern, sizes):
        with pytest.raises((einops.EinopsError, ValueError, ZeroDivisionError)) as error:
            einops.rearrange(numbered(shape, "u2"), pattern, **sizes)
        return kind(error.value)

    assert {of(*row) for row in FAULTY} == set(range(len(FAULTS)))


def test_arguments():
    a = numbered((6, 4), "u2")
    for size, error, what in [
        (-2, ValueError, "is -2: the minimum is 0"),
        (2.5, TypeError, "must be an integer, not 2.5"),
        ("2", TypeError, "must be an integer, not '2'"),
        (None, TypeError, "must be an integer, not None"),
        (True, TypeError, "must be an integer, not True"),
        (2**70, ValueError, f"is {2**70}: the maximum"),
    ]:
        with pytest.raises(error, match=f"the size of axis a {what}"):
            turntile.rearrange(a, "(a b) c -> a b c", a=size)
    with pytest.raises(ValueError, match=r"split into threads, b of unknown sizes.*threads is an option of rearrange"):
        turntile.rearrange(a, "(threads b) c -> b threads c", threads=2)
    assert turntile.rearrange(a, "threads c -> c threads", threads=2).shape == (4, 6)
    a = numbered((6, 4), "u2")
    for pattern in [3, None, b"a b -> b a", ["a b -> b a"]]:
        with pytest.raises(TypeError, match="pattern must be a str"):
            turntile.rearrange(a, pattern)
    with pytest.raises(ValueError, match="read-only"):
        turntile.rearrange(np.broadcast_to(a, (2, 6, 4)), "a b c -> c b a")
    with pytest.raises(ValueError, match="gaps"):
        turntile.rearrange(a[:, ::2], "a b -> b a")
    assert turntile.rearrange(a, "(a b) c -> c a b", a=np.int64(2), threads=1).shape == (4, 2, 3)


def test_large():
    """Beyond the arrays that need no plan, twice: the second time with all kept."""
    for _ in range(2):
        check(numbered((4, 30, 64, 48), "f4"), "b c (h p) (w q) -> b (h w) (p q c)", {"p": 16, "q": 16})
    check(np.asfortranarray(numbered((300, 200), "f8")), "(a b) c -> b (c a)", {"a": 20})


def test_maps(tmp_path):
    np.save(tmp_path / "a.npy", numbered((6, 40), "f8"))
    a = np.load(tmp_path / "a.npy", mmap_mode="r+")
    with pytest.raises(ValueError, match="header would keep the old shape"):
        turntile.rearrange(a, "(a b) c -> b c a", a=2)
