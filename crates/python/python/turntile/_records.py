"""Records in place from one layout to another."""

from collections.abc import Mapping
from math import prod

import numpy as np

from . import _core
from ._arguments import count, size
from ._arrays import adapt
from ._device import NOWHERE
from ._host import Array
from ._npy import refuse_map
from ._run import host_plan, in_place, move, settled


class Columns(Mapping):
    """The columns of records: ``{name: array}``, all in the memory that the records had, in the order of the dtype.

    Copies have memory of their own. Two are equal only if they are the same object.
    """

    __slots__ = ("_arrays", "_memory", "_dtype", "_shape", "_moved")

    def __init__(self, memory, dtype, shape):
        self._memory, self._dtype, self._shape, self._moved = memory, dtype, shape, _core.Moved()
        begins, count = {}, prod(shape)
        begin = 0
        for name, (_, nbytes) in zip(_names(dtype), _fields(dtype), strict=True):
            begins[name] = begin
            begin += nbytes * count
        self._arrays = {}
        for name in dtype.names:
            kind = dtype.fields[name][0]
            base, inner = kind.subdtype or (kind, ())
            self._arrays[name] = np.ndarray(shape + inner, base, memory, begins[name])

    def _columns(self):
        if self._moved:
            raise ValueError("the columns are records again, and are returned once")
        return self._arrays

    def __getitem__(self, name):
        return self._columns()[name]

    def __setitem__(self, name, values):
        """Values into a column, as of a structured array: it stays where it is."""
        column = self._columns()[name]
        if values is not column:
            column[...] = values

    def __iter__(self):
        return iter(self._columns())

    def __len__(self):
        return len(self._columns())

    def __repr__(self):
        return f"turntile.Columns({'records again' if self._moved else self._arrays})"

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __copy__(self):
        self._columns()
        return Columns(np.array(self._memory), self._dtype, self._shape)

    def __deepcopy__(self, memo):
        return self.__copy__()

    def __reduce__(self):
        self._columns()
        return Columns, (self._memory.view(np.ndarray), self._dtype, self._shape)

    def records(self, *, threads=None):
        """Brings the columns back to records, in the same memory; the columns are stale afterwards, use what is returned."""
        threads = count("threads", threads, 1)
        self._columns()
        records = self._memory.view(self._dtype).reshape(self._shape)
        return _relayout(self._memory, records, self._dtype, "soa", "aos", threads, self._moved)


def columns(a, /, *, aligned=True, threads=None, ignore_header=False):
    """Brings the records of a structured NumPy array to columns in place; `a` itself is stale afterwards.

    Answers a mapping from the fields' names to arrays of the shape of `a`, views of its memory: each field of all records lies
    together. ``.records()`` of it brings them back. At most 2% of the size of `a` and 1 MiB per thread are allocated. Fields that are arrays or records
    themselves stay whole; padding is kept, behind the columns.

    >>> import numpy as np, turntile
    >>> a = np.array([(1, 2.5), (3, 4.5)], [("tag", "u1"), ("value", "f8")])
    >>> c = turntile.columns(a)
    >>> c["value"]
    array([2.5, 4.5])
    >>> c["tag"] += 1
    >>> c.records()
    array([(2, 2.5), (4, 4.5)], dtype=[('tag', 'u1'), ('value', '<f8')])

    Columns lie by falling alignment of their dtypes, so that all are aligned where `a` begins at a multiple of the greatest.
    Otherwise ValueError names the field and the address, unless with ``aligned=False``: NumPy takes unaligned arrays, slower.

    `a` is C-contiguous, of any shape. Raises ValueError, TypeError or MemoryError; `a` is then as it was.
    """
    threads, ignore_header, aligned = count("threads", threads, 1), bool(ignore_header), bool(aligned)
    array = adapt(a)
    a = array.array
    if not isinstance(a, np.ndarray):
        raise TypeError(f"columns are of a NumPy array, not of {type(a).__name__}; relayout takes bytes of any kind")
    dtype = a.dtype
    if dtype.names is None:
        raise TypeError(f"columns are of records: dtype {dtype} has no fields")
    if array.strides is not None:
        raise ValueError("the records are not C-contiguous: take a copy, a.copy(), or turntile.ascontiguousarray(a)")
    ignore_header or refuse_map(array, "the command `turntile layout`")
    _refuse_overlaps(dtype)
    memory = a.reshape(-1).view(np.uint8) if a.size else np.empty(0, np.uint8)
    made = Columns(memory, dtype, a.shape)
    for name, column in made.items() if aligned and a.size else ():
        if not column.flags.aligned:
            place = column.ctypes.data
            raise ValueError(
                f"column {name!r} would begin at address {place:#x}, which is no multiple of {column.dtype.alignment}: the array "
                f"begins at {array.address:#x}. With aligned=False the column is unaligned"
            )
    return _relayout(memory, made, dtype, "aos", "soa", threads, _core.Moved())


def relayout(a, /, record_bytes, fields, to, *, source="aos", threads=None, workspace=None, stream=None, ignore_header=False):
    """Brings the bytes of `a`, records of `record_bytes` bytes, from one layout to another in place, and returns `a`.

    For records that have no dtype, in any array that `transpose` takes, on a CUDA device too if it begins at a multiple of 16
    bytes; options are as there. Each of `fields` is a field's first byte in a record and its bytes; columns lie in the order
    given, what is between fields behind them. A layout is "aos", records one by one; "soa", field after field; or "asta:T",
    in tiles of T records that are field after field in themselves.

    >>> import numpy as np, turntile
    >>> a = np.frombuffer(bytearray(b"aA1bB2cC3"), np.uint8)
    >>> bytes(turntile.relayout(a, 3, [(1, 2), (0, 1)], "soa"))
    b'A1B2C3abc'

    Raises ValueError, TypeError, MemoryError or CudaError; `a` is then unchanged, unless the
    message says that the data are incomplete.
    """
    record_bytes, ignore_header = size("record_bytes", record_bytes, 1), bool(ignore_header)
    threads, workspace, stream = settled(threads, workspace, stream)
    try:
        pairs = [(at, nbytes) for at, nbytes in fields]
    except (TypeError, ValueError) as error:
        raise TypeError(f"fields are pairs of integers, first byte and bytes: {error}") from None
    fields = tuple([(size("a field's first byte", at, 0), size("a field's bytes", nbytes, 0)) for at, nbytes in pairs])
    for name, layout in (("to", to), ("source", source)):
        if not isinstance(layout, str):
            raise TypeError(f"{name} is a layout's name, 'aos', 'soa' or 'asta:T', not {layout!r}")
    source, to = str.__str__(source), str.__str__(to)
    array = adapt(a)
    ignore_header or refuse_map(array, "the command `turntile layout`")
    in_order = range(len(array.shape))
    if array.strides is not None and _core.arrange(array.shape, array.strides, array.itemsize, in_order)[0]:
        raise ValueError("the records are not C-contiguous")
    if array.nbytes % record_bytes:
        raise ValueError(f"{array.nbytes} bytes are no whole number of records of {record_bytes}")
    asked = (array.nbytes // record_bytes, record_bytes, fields, source, to)
    if not array.nbytes or array.device == NOWHERE:
        # Nothing will be planned.
        _core.HostPlan.of_records(*asked, None)
    makers = (_core.HostPlan.of_records, _core.CudaPlan.of_records)
    return in_place(array, a, asked, makers, threads, workspace, stream)


def _names(dtype):
    """The fields' names in the order of their columns: by falling alignment, those of one alignment as they are."""
    return sorted(dtype.names, key=lambda name: -dtype.fields[name][0].alignment)


def _fields(dtype):
    """First byte and bytes of each field, in the order of the columns."""
    return tuple([(dtype.fields[name][1], dtype.fields[name][0].itemsize) for name in _names(dtype)])


def _relayout(memory, result, dtype, source, to, threads, moved):
    """Brings the records in `memory` from one layout to another, once for each `moved`, and answers `result`."""
    records = memory.nbytes // dtype.itemsize
    plan = host_plan(_core.HostPlan.of_records, records, dtype.itemsize, _fields(dtype), source, to, threads)
    return move(Array(memory, True), result, plan, None, None, moved)


def _refuse_overlaps(dtype):
    """Fields that share bytes, or have none, have no columns of their own."""
    last, end = None, 0
    for name in sorted(dtype.names, key=lambda name: dtype.fields[name][1]):
        kind, begin = dtype.fields[name][:2]
        if kind.itemsize == 0:
            raise ValueError(f"field {name!r} has no bytes")
        if begin < end:
            raise ValueError(f"fields {last!r} and {name!r} overlap: {name!r} begins at byte {begin}, {last!r} ends at {end}")
        last, end = name, begin + kind.itemsize
    if last is None:
        raise ValueError("the records have no fields")
