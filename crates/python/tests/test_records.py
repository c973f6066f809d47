"""Structured arrays to columns and back, against what NumPy reads from the records."""

import copy
import pickle
import threading

import numpy as np
import pytest
import turntile
from hypothesis import given, settings
from hypothesis import strategies as st

KINDS = ["u1", "<i2", ">f4", "<f8", "c16", "S3", "U2", "V5", "M8[s]", ("<f4", (3,)), ("u1", (2, 2)), [("x", "u1"), ("y", "<f8")]]


def filled(dtype, shape, offset=0):
    """Records of random bytes, at an address that is so far from a multiple of 64."""
    dtype = np.dtype(dtype)
    nbytes = int(np.prod(shape)) * dtype.itemsize
    memory = np.empty(nbytes + 128, np.uint8)
    start = -memory.ctypes.data % 64 + offset
    memory[:] = np.random.default_rng(7).integers(0, 256, memory.size, np.uint8)
    return memory[start : start + nbytes].view(dtype).reshape(shape)


def check(dtype, shape, **options):
    a = filled(dtype, shape)
    before, address = a.tobytes(), a.ctypes.data
    # Bytes, since NumPy may omit the gaps in a field of fields.
    rows = a.reshape(-1).view(np.uint8).reshape(a.size, -1) if a.size else np.empty((0, a.itemsize), np.uint8)
    places = {name: a.dtype.fields[name][:2] for name in a.dtype.names}
    want = {name: rows[:, at : at + kind.itemsize].tobytes() for name, (kind, at) in places.items()}
    c = turntile.columns(a, **options)
    assert list(c) == list(a.dtype.names) and len(c) == len(want)
    for name, column in c.items():
        assert column.dtype == (a.dtype[name].subdtype or (a.dtype[name],))[0]
        assert column.shape == tuple(shape) + a.dtype[name].shape
        assert column.tobytes() == want[name], name
        assert column.flags.c_contiguous and column.flags.writeable
        if column.size:
            assert column.flags.aligned and address <= column.ctypes.data < address + a.nbytes
    back = c.records(**options)
    assert back.dtype == a.dtype and back.shape == a.shape
    assert back.ctypes.data == address or not a.size
    assert back.tobytes() == before
    with pytest.raises(ValueError, match="records again"):
        c.records()


@pytest.mark.parametrize("align", [False, True])
def test_every_kind_of_field(align):
    for first in KINDS:
        for second in KINDS:
            dtype = np.dtype([("a", first), ("b", second), ("c", "u1")], align=align)
            for shape in [(0,), (1,), (7,), (3, 5)]:
                check(dtype, shape)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(KINDS), min_size=1, max_size=8), st.integers(0, 3000), st.booleans())
def test_any_records(kinds, n, align):
    check(np.dtype([(f"f{k}", kind) for k, kind in enumerate(kinds)], align=align), (n,), threads=1)


def test_fields_in_any_order_with_gaps():
    dtype = {"names": ["x", "tag", "y"], "formats": ["<f8", "u1", "<f4"], "offsets": [8, 3, 20], "itemsize": 32}
    check(np.dtype(dtype), (1001,))


def test_columns_are_written_through():
    a = np.zeros(5, [("tag", "u1"), ("value", "f8")])
    c = turntile.columns(a)
    c["value"][:] = np.arange(5)
    c["tag"] += 3
    c["tag"] = c["tag"] * 2
    with pytest.raises(KeyError):
        c["other"] = 1
    a = c.records()
    assert a.tolist() == [(6, float(k)) for k in range(5)]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))], ids=["copy", "deepcopy", "pickle"])
def test_copies_have_memory_of_their_own_and_are_written_through(copied, tmp_path):
    a = filled([("tag", "u1"), ("value", ">f8"), ("pair", "<i2", (2,))], (3, 4))
    mapped = np.memmap(tmp_path / "raw", a.dtype, "w+", 0, a.shape)
    mapped[...] = a
    for memory in [a, mapped]:
        before = np.array(memory)
        c = turntile.columns(memory)
        d = copied(c)
        d["tag"] += 100
        d["pair"][..., 1] = 7
        want = before.copy()
        want["tag"] += 100
        want["pair"][..., 1] = 7
        assert np.array_equal(c["tag"], before["tag"])
        assert d.records().tobytes() == want.tobytes()
        assert c.records().tobytes() == before.tobytes()
        with pytest.raises(ValueError, match="records again"):
            copied(c)


def test_columns_are_gone_when_they_are_records_again():
    c = turntile.columns(filled([("a", "u1"), ("b", "f8")], (5,)))
    assert c == c and c != turntile.columns(filled([("a", "u1"), ("b", "f8")], (5,))) and c in {c}
    c.records()
    for use in [lambda: c["a"], lambda: list(c), lambda: len(c), lambda: c.__setitem__("a", 1), lambda: "a" in c, c.records]:
        with pytest.raises(ValueError, match="records again"):
            use()
    assert "records again" in repr(c)


def test_one_of_many_threads_gets_the_records():
    """All the others get an error, and the records are whole."""
    before = filled([("tag", "u1"), ("value", "f8"), ("id", "u4")], (300_007,))
    for _ in range(5):
        c = turntile.columns(before.copy())
        start, got, errors = threading.Barrier(6), [], []

        def back():
            start.wait()
            try:
                got.append(c.records())
            except ValueError as error:
                errors.append(error)

        threads = [threading.Thread(target=back) for _ in range(6)]
        [thread.start() for thread in threads]
        [thread.join(60) for thread in threads]
        assert len(got) == 1 and len(errors) == 5
        assert got[0].tobytes() == before.tobytes()


def test_columns_that_cannot_be_made_records_stay(monkeypatch):
    a = filled([("tag", "u1"), ("value", "f8")], (1001,))
    before = a.tobytes()
    c = turntile.columns(a)
    with monkeypatch.context() as patch:

        def none(*_):
            raise MemoryError

        patch.setattr("turntile._records.host_plan", none)
        with pytest.raises(MemoryError):
            c.records()
    with pytest.raises(ValueError, match="threads"):
        c.records(threads=0)
    assert c.records().tobytes() == before


def test_unaligned_columns_are_refused_or_asked_for():
    a = filled([("tag", "u1"), ("value", "<f8")], (9,), offset=3)
    before, want = a.tobytes(), a["value"].tobytes()
    with pytest.raises(ValueError, match=rf"'value' would start at address {a.ctypes.data:#x}.*multiple of 8"):
        turntile.columns(a)
    assert a.tobytes() == before
    c = turntile.columns(a, aligned=False)
    assert not c["value"].flags.aligned and c["value"].tobytes() == want
    assert c.records().tobytes() == before


def test_what_has_no_columns():
    overlapping = np.dtype({"names": ["a", "b"], "formats": ["<i4", "<i2"], "offsets": [0, 2], "itemsize": 8})
    read_only = np.zeros(3, "u1,f8")
    read_only.flags.writeable = False
    for a, error, what in [
        (np.zeros(3), TypeError, "has no fields"),
        (np.zeros(3, [("a", "O"), ("b", "u1")]), TypeError, "references to objects"),
        (np.zeros(3, overlapping), ValueError, "'a' and 'b' overlap: 'b' starts at byte 2, 'a' ends at byte 4"),
        (np.zeros(3, [("a", "S0"), ("b", "u1")]), ValueError, "'a' has no bytes"),
        (np.zeros(3, []), ValueError, "no fields"),
        (np.zeros(8, "u1,f8")[::2], ValueError, "gaps|C-contiguous"),
        (np.zeros((3, 4), "u1,f8").T, ValueError, "C-contiguous"),
        (read_only, ValueError, "read-only"),
        (np.zeros(3, "u1,f8").view(np.recarray), TypeError, "subclass"),
        ([(1, 2.0)], TypeError, "list"),
    ]:
        with pytest.raises(error, match=what):
            turntile.columns(a)
    with pytest.raises(ValueError, match="threads"):
        turntile.columns(np.zeros(3, "u1,f8"), threads=0)


def test_relayout_by_offsets():
    a = np.arange(70 * 12, dtype=np.uint8)
    records = a.copy().reshape(70, 12)
    fields = [(4, 8), (0, 2)]
    same = turntile.relayout(a, 12, fields, "soa")
    assert same is a
    assert a.tobytes() == records[:, 4:].tobytes() + records[:, :2].tobytes() + records[:, 2:4].tobytes()
    turntile.relayout(a, 12, fields, "asta:32", source="soa")
    tiles = [records[first : first + 32] for first in (0, 32, 64)]
    assert a.tobytes() == b"".join(part.tobytes() for tile in tiles for part in (tile[:, 4:], tile[:, :2], tile[:, 2:4]))
    turntile.relayout(a, 12, fields, "aos", source="asta:32")
    assert a.tobytes() == records.tobytes()


def test_relayout_with_a_workspace():
    a, fields = np.arange(30000, dtype=np.uint8), [(4, 8), (0, 2)]
    want = turntile.relayout(a.copy(), 12, fields, "soa")
    assert turntile.relayout(a.copy(), 12, fields, "soa", workspace=turntile.Workspace(1 << 20)).tobytes() == want.tobytes()
    before = a.tobytes()
    for options, error, what in [
        ({"workspace": turntile.Workspace(1), "threads": 1}, ValueError, "workspace"),
        ({"workspace": bytearray(100)}, TypeError, "turntile.Workspace"),
        ({"stream": 5}, ValueError, "on the host"),
    ]:
        with pytest.raises(error, match=what):
            turntile.relayout(a, 12, fields, "soa", **options)
        assert a.tobytes() == before


def test_relayout_refuses():
    a = np.arange(24, dtype=np.uint8)
    for arguments, options, error, what in [
        ((0, [(0, 1)], "soa"), {}, ValueError, "record_bytes is 0"),
        ((7, [(0, 1)], "soa"), {}, ValueError, "24 bytes are not a whole number of records of 7"),
        ((12, [(0, 13)], "soa"), {}, ValueError, "ends at byte 13"),
        ((12, [(0, 4), (2, 4)], "soa"), {}, ValueError, "overlap"),
        ((12, [(0, 0)], "soa"), {}, ValueError, "has 0 bytes"),
        ((12, [3], "soa"), {}, TypeError, "pairs of integers"),
        ((12, [(0,)], "soa"), {}, TypeError, "pairs of integers"),
        ((12, [(0, 4)], "sao"), {}, ValueError, "no layout is named"),
        ((12, [(0, 4)], "soa"), {"source": "asta:0"}, ValueError, "at least one record"),
        ((12, [(0, 4)], None), {}, TypeError, "to must be 'aos'"),
        ((2**70, [(0, 4)], "soa"), {}, ValueError, f"record_bytes is {2**70}: the maximum"),
        ((None, [(0, 4)], "soa"), {}, TypeError, "record_bytes must be an integer, not None"),
        ((12, [(None, 4)], "soa"), {}, TypeError, "field offset must be an integer, not None"),
        ((12, [(0, 2**70)], "soa"), {}, ValueError, f"field size is {2**70}"),
        ((12, None, "soa"), {}, TypeError, "pairs of integers"),
        ((12, [], "soa"), {}, ValueError, "has no fields"),
    ]:
        with pytest.raises(error, match=what):
            turntile.relayout(a, *arguments, **options)
    assert a.tolist() == list(range(24))


def test_tensors_by_offsets():
    torch = pytest.importorskip("torch")
    t = torch.arange(24, dtype=torch.uint8)
    turntile.relayout(t, 3, [(1, 2), (0, 1)], "soa")
    assert t[:16].view(torch.int16).tolist() == [1 + 3 * k + 256 * (2 + 3 * k) for k in range(8)]
