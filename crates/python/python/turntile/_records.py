"""Records in place from one layout to another."""

from collections.abc import Mapping

import numpy as np

from . import _core
from ._arguments import count, size
from ._arrays import adapt
from ._device import NOWHERE
from ._npy import refuse_map
from ._run import host_plan, in_place, settled


class Columns(Mapping):
    """The columns of records: ``{name: array}``, all in the memory that the records had, in the order of the dtype."""

    __slots__ = ("_arrays", "_memory", "_dtype", "_shape", "_fields")

    def __init__(self, arrays, memory, dtype, shape, fields):
        self._arrays, self._memory, self._dtype, self._shape, self._fields = arrays, memory, dtype, shape, fields

    def __getitem__(self, name):
        return self._arrays[name]

    def __setitem__(self, name, values):
        """Values into a column, as of a structured array: it stays where it is."""
        if values is not self._arrays[name]:
            self._arrays[name][...] = values

    def __iter__(self):
        return iter(self._arrays)

    def __len__(self):
        return len(self._arrays)

    def __repr__(self):
        return f"turntile.Columns({self._arrays})"

    def records(self, *, threads=None):
        """Brings the columns back to records, in the same memory; the columns are stale afterwards, use what is returned."""
        if self._memory is None:
            raise ValueError("the columns are records again, and are returned once")
        memory = self._memory
        _relayout(memory, self._dtype.itemsize, self._fields, "soa", "aos", count("threads", threads, 1))
        self._memory = None
        return memory.view(self._dtype).reshape(self._shape)


def columns(a, /, *, aligned=True, threads=None, ignore_header=False):
    """Brings the records of a structured NumPy array to columns in place; `a` itself is stale afterwards.

    Answers a mapping from the fields' names to arrays of the shape of `a`, views of its memory: each field of all records lies
    together. ``.records()`` of it brings them back. Nothing of the size of `a` is allocated. Fields that are arrays or records
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
    ignore_header or refuse_map(array)
    # Of fields of one alignment the order stays.
    names = sorted(dtype.names, key=lambda name: -dtype.fields[name][0].alignment)
    fields = [(dtype.fields[name][1], dtype.fields[name][0].itemsize) for name in names]
    _refuse_overlaps(dtype)
    begins, begin = {}, 0
    for name, (_, nbytes) in zip(names, fields, strict=True):
        begins[name] = begin
        place, alignment = array.address + begin, dtype.fields[name][0].alignment
        if aligned and a.size and place % alignment:
            raise ValueError(
                f"column {name!r} would begin at address {place:#x}, which is no multiple of {alignment}: the array begins at "
                f"{array.address:#x}. With aligned=False the column is unaligned"
            )
        begin += nbytes * a.size
    memory = a.reshape(-1).view(np.uint8) if a.size else np.empty(0, np.uint8)
    _relayout(memory, dtype.itemsize, fields, "aos", "soa", threads)
    arrays = {}
    for name in dtype.names:
        kind = dtype.fields[name][0]
        base, inner = kind.subdtype or (kind, ())
        arrays[name] = np.ndarray(a.shape + inner, base, memory, begins[name] if a.size else 0)
    return Columns(arrays, memory, dtype, a.shape, fields)


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
    record_bytes, more, ignore_header = size("record_bytes", record_bytes, 1), settled(threads, workspace, stream), bool(ignore_header)
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
    ignore_header or refuse_map(array)
    in_order = range(len(array.shape))
    if array.strides is not None and _core.arrange(array.shape, array.strides, array.itemsize, in_order)[0]:
        raise ValueError("the records are not C-contiguous")
    if array.nbytes % record_bytes:
        raise ValueError(f"{array.nbytes} bytes are no whole number of records of {record_bytes}")
    asked = (array.nbytes // record_bytes, record_bytes, fields, source, to)
    if not array.nbytes or array.device == NOWHERE:
        # Nothing will be planned.
        _core.HostPlan.of_records(*asked, None)
    in_place(array, asked, (_core.HostPlan.of_records, _core.CudaPlan.of_records), *more)
    return a


def _relayout(memory, record_bytes, fields, source, to, threads):
    if memory.nbytes:
        records = memory.nbytes // record_bytes
        plan = host_plan(_core.HostPlan.of_records, records, record_bytes, tuple(fields), source, to, threads)
        plan.run(_core.address_of(memory.__array_struct__), memory.nbytes)


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
