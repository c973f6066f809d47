"""Records on CUDA devices, of PyTorch's tensors and CuPy's arrays, from layout to layout: against bytes that NumPy puts in order."""

import numpy as np
import pytest
import turntile

#: Bytes of a record and its fields: of one width and of several, packed and not, also in another order than in memory.
KINDS = {
    "equal": (12, [(0, 4), (4, 4), (8, 4)]),
    "wide": (48, [(8 * k, 8) for k in range(6)]),
    "bytes": (4, [(k, 1) for k in range(4)]),
    "packed": (25, [(0, 4), (4, 12), (16, 1), (17, 8)]),
    "with gaps": (32, [(0, 4), (4, 12), (16, 1), (24, 8)]),
    "turned": (12, [(4, 8), (0, 2)]),
    "narrow": (16, [(0, 8), (8, 2), (10, 2), (12, 4)]),
    "of bytes beside": (11, [(0, 3), (3, 3), (6, 5)]),
    "one": (7, [(0, 7)]),
}
LAYOUTS = ["aos", "soa", "asta:32", "asta:7", "asta:128"]
LIBRARIES = ["torch", "cupy"]


def columns(record_bytes, fields):
    """Returns the fields, and after them the bytes between them."""
    left = sorted({*range(record_bytes)} - {at + k for at, nbytes in fields for k in range(nbytes)})
    gaps = [list(run) for run in np.split(left, np.flatnonzero(np.diff(left) > 1) + 1) if len(run)]
    return [list(range(at, at + nbytes)) for at, nbytes in fields] + gaps


def in_layout(records, record_bytes, fields, layout):
    """The bytes of records (an array of rows) in a layout."""
    if layout == "aos" or not len(records):
        return records.reshape(-1)
    tile = len(records) if layout == "soa" else int(layout.partition(":")[2])
    split = [records[first : first + tile] for first in range(0, len(records), tile)]
    return np.concatenate([part[:, column].reshape(-1) for part in split for column in columns(record_bytes, fields)])


def numbered(n, record_bytes):
    return (np.arange(n * record_bytes, dtype=np.uint64) * 2654435761 >> 7).astype(np.uint8).reshape(n, record_bytes)


class Torch:
    def __init__(self):
        self.torch = pytest.importorskip("torch")

    def on_device(self, array):
        return self.torch.from_numpy(np.array(array)).cuda()

    def on_host(self, array):
        return array.cpu().numpy()


class Cupy:
    def __init__(self):
        self.cupy = pytest.importorskip("cupy")

    def on_device(self, array):
        return self.cupy.asarray(array)

    def on_host(self, array):
        return self.cupy.asnumpy(array)


@pytest.fixture(params=[Torch, Cupy], ids=LIBRARIES)
def library(request):
    return request.param()


@pytest.mark.parametrize("n", [0, 1, 33, 1009, 16384, 20011])
@pytest.mark.parametrize("kind", KINDS)
def test_every_layout_to_every_other(library, kind, n):
    record_bytes, fields = KINDS[kind]
    records = numbered(n, record_bytes)
    bytes_in = {layout: in_layout(records, record_bytes, fields, layout) for layout in LAYOUTS}
    for source in LAYOUTS:
        for to in LAYOUTS:
            a = library.on_device(bytes_in[source])
            assert turntile.relayout(a, record_bytes, fields, to, source=source) is a
            assert (library.on_host(a) == bytes_in[to]).all(), (source, to)


@pytest.mark.parametrize("kind", ["equal", "bytes", "packed", "narrow"])
def test_many(library, kind):
    record_bytes, fields = KINDS[kind]
    n = 2_000_003
    records = numbered(n, record_bytes)
    a = library.on_device(records.reshape(-1))
    for source, to in [("aos", "asta:32"), ("asta:32", "soa"), ("soa", "asta:64"), ("asta:64", "aos"), ("aos", "soa"), ("soa", "aos")]:
        turntile.relayout(a, record_bytes, fields, to, source=source)
        assert (library.on_host(a) == in_layout(records, record_bytes, fields, to)).all(), (source, to)


def test_elements_of_any_type_and_shape(library):
    record_bytes, fields = KINDS["with gaps"]
    records = numbered(600, record_bytes)
    a = library.on_device(records.view(np.float64).reshape(30, 20, 4))
    assert turntile.relayout(a, record_bytes, fields, "soa") is a and a.shape == (30, 20, 4)
    assert (library.on_host(a).view(np.uint8).reshape(-1) == in_layout(records, record_bytes, fields, "soa")).all()


def test_memory_that_begins_anywhere(library):
    """Tiles may start there; columns only at multiples of 16, which the error says, and nothing has moved."""
    record_bytes, fields = KINDS["packed"]
    records = numbered(20011, record_bytes)
    for skipped in [1, 4, 8, 16]:
        whole = library.on_device(np.concatenate([np.zeros(skipped, np.uint8), records.reshape(-1)]))
        a = whole[skipped:]
        turntile.relayout(a, record_bytes, fields, "asta:32")
        assert (library.on_host(a) == in_layout(records, record_bytes, fields, "asta:32")).all()
        turntile.relayout(a, record_bytes, fields, "aos", source="asta:32")
        if skipped < 16:
            with pytest.raises(turntile.PlanError):
                turntile.relayout(a, record_bytes, fields, "soa")
        assert (library.on_host(a) == records.reshape(-1)).all()


def test_refused(library):
    a = library.on_device(np.arange(240, dtype=np.uint8))
    before = library.on_host(a).copy()
    for arguments, options, error, words in [
        ((0, [(0, 1)], "soa"), {}, ValueError, "record_bytes is 0"),
        ((7, [(0, 1)], "soa"), {}, ValueError, "not a whole number of records of 7"),
        ((12, [(0, 13)], "soa"), {}, ValueError, "ends at byte 13"),
        ((12, [(0, 4), (2, 4)], "soa"), {}, ValueError, "overlap"),
        ((12, [], "soa"), {}, ValueError, "has no fields"),
        ((12, [(0, 4)], "sao"), {}, ValueError, "no layout is named"),
        ((12, [(0, 4)], "asta:0"), {}, ValueError, "at least one record"),
        ((12, [(0, 4)], "soa"), {"threads": 2}, ValueError, "threads is given"),
        ((12, [(0, 4)], "soa"), {"stream": "default"}, TypeError, "not a CUDA stream"),
        ((12, [(0, 4)], "soa"), {"workspace": turntile.Workspace(100)}, TypeError, "is host memory"),
        ((12, [(0, 4)], "soa"), {"workspace": before}, ValueError, "not on the array's device"),
        ((12, [(0, 4)], "soa"), {"workspace": a}, ValueError, "overlaps"),
    ]:
        with pytest.raises(error, match=words):
            turntile.relayout(a, *arguments, **options)
        assert (library.on_host(a) == before).all()
    with pytest.raises(ValueError, match="C-contiguous"):
        turntile.relayout(a.reshape(12, 20).T, 12, [(0, 4)], "soa")
