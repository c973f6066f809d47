"""In-place conversion of records between layouts."""

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
    """Columns of records: a mapping from field names to arrays, in the memory of the records.

    A copy or a pickle has separate memory. Two mappings are equal only if they are the same object.
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
            raise ValueError("the columns are records again: use the array that records() returned")
        return self._arrays

    def __getitem__(self, name):
        return self._columns()[name]

    def __setitem__(self, name, values):
        """Copies `values` into a column, as in a structured array."""
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
        """Converts the columns back to records in place; the columns are stale afterwards.

        Parameters
        ----------
        threads : int, optional
            Maximum number of CPU threads.

        Returns
        -------
        numpy.ndarray
            Records in the memory of the columns.
        """
        threads = count("threads", threads, 1)
        self._columns()
        records = self._memory.view(self._dtype).reshape(self._shape)
        return _relayout(self._memory, records, self._dtype, "soa", "aos", threads, self._moved)


def columns(a, /, *, aligned=True, threads=None):
    """Converts records to columns in place; `a` itself is stale afterwards, use the result.

    Parameters
    ----------
    a : numpy.ndarray
        C-contiguous structured array of any shape.
    aligned : bool, optional
        Requires that every column is aligned, which holds if `a` starts at a multiple of the
        largest alignment. With False, columns may be unaligned, which NumPy accesses more slowly.
    threads : int, optional
        Maximum number of CPU threads.

    Returns
    -------
    Columns
        Mapping from field names to arrays of the shape of `a`, views of its memory. Its method
        ``records`` converts back.

    Raises
    ------
    ValueError, TypeError, MemoryError
        `a` is unchanged.

    See Also
    --------
    relayout

    Notes
    -----
    Columns are stored in the order of decreasing alignment. A field that is an array or a record
    stays whole. Padding is preserved, after the columns. The workspace is at most 2% of `a` plus
    1 MiB per thread.

    Examples
    --------
    >>> import numpy as np, turntile
    >>> a = np.array([(1, 2.5), (3, 4.5)], [("tag", "u1"), ("value", "f8")])
    >>> c = turntile.columns(a)
    >>> c["value"]
    array([2.5, 4.5])
    >>> c["tag"] += 1
    >>> c.records()
    array([(2, 2.5), (4, 4.5)], dtype=[('tag', 'u1'), ('value', '<f8')])
    """
    threads, aligned = count("threads", threads, 1), bool(aligned)
    array = adapt(a)
    a = array.array
    if not isinstance(a, np.ndarray):
        raise TypeError(
            f"columns needs a NumPy array, not {type(a).__name__}: relayout accepts others"
        )
    dtype = a.dtype
    if dtype.names is None:
        raise TypeError(f"columns needs a structured array: dtype {dtype} has no fields")
    if array.strides is not None:
        raise ValueError(
            "the records are not C-contiguous: pass a.copy() or turntile.ascontiguousarray(a)"
        )
    refuse_map(array, "`turntile split` writes each field to a file")
    _refuse_overlaps(dtype)
    memory = a.reshape(-1).view(np.uint8) if a.size else np.empty(0, np.uint8)
    made = Columns(memory, dtype, a.shape)
    for name, column in made.items() if aligned and a.size else ():
        if not column.flags.aligned:
            place = column.ctypes.data
            raise ValueError(
                f"column {name!r} would start at address {place:#x}, not a multiple of "
                f"{column.dtype.alignment}, because the array starts at {array.address:#x}: "
                "aligned=False accepts unaligned columns"
            )
    return _relayout(memory, made, dtype, "aos", "soa", threads, _core.Moved())


def relayout(
    a, /, record_bytes, fields, to, *, source="aos", threads=None, workspace=None, stream=None
):
    """Converts records from one layout to another in place, and returns `a`.

    For records without a structured dtype, in any array that `transpose` accepts.

    Parameters
    ----------
    a : array
        C-contiguous array whose bytes are the records. On a GPU it starts at a multiple of 16
        bytes.
    record_bytes : int
        Bytes per record.
    fields : sequence of (int, int)
        Offset in the record and bytes of each field. Columns are stored in this order, followed by
        the bytes between the fields.
    to, source : str
        Layouts: ``"aos"``, array of structures; ``"soa"``, one column after another; ``"asta:T"``,
        tiles of T records, each stored as columns.
    threads, workspace, stream
        As for `transpose`.

    Returns
    -------
    array
        `a` itself.

    Raises
    ------
    ValueError, TypeError, MemoryError, CudaError
        The data are unchanged, unless the message says that they are incomplete.

    See Also
    --------
    columns

    Examples
    --------
    >>> import numpy as np, turntile
    >>> a = np.frombuffer(bytearray(b"aA1bB2cC3"), np.uint8)
    >>> bytes(turntile.relayout(a, 3, [(1, 2), (0, 1)], "soa"))
    b'A1B2C3abc'
    """
    record_bytes = size("record_bytes", record_bytes, 1)
    threads, workspace, stream = settled(threads, workspace, stream)
    try:
        pairs = [(at, nbytes) for at, nbytes in fields]
    except (TypeError, ValueError) as error:
        raise TypeError(f"fields must be pairs of integers, offset and bytes: {error}") from None
    fields = tuple(
        [(size("field offset", at, 0), size("field size", nbytes, 0)) for at, nbytes in pairs]
    )
    for name, layout in (("to", to), ("source", source)):
        if not isinstance(layout, str):
            raise TypeError(f"{name} must be 'aos', 'soa' or 'asta:T', not {layout!r}")
    source, to = str.__str__(source), str.__str__(to)
    array = adapt(a)
    refuse_map(array, "pass a copy, a.copy()")
    in_order = range(len(array.shape))
    if (
        array.strides is not None
        and _core.arrange(array.shape, array.strides, array.itemsize, in_order)[0]
    ):
        raise ValueError("the records are not C-contiguous")
    if array.nbytes % record_bytes:
        raise ValueError(
            f"{array.nbytes} bytes are not a whole number of records of {record_bytes} bytes"
        )
    asked = (array.nbytes // record_bytes, record_bytes, fields, source, to)
    if not array.nbytes or array.device == NOWHERE:
        # Checks the arguments, since no plan is made.
        _core.HostPlan.of_records(*asked, None)
    makers = (_core.HostPlan.of_records, _core.CudaPlan.of_records)
    return in_place(array, a, asked, makers, threads, workspace, stream)


def _names(dtype):
    """Returns the field names in the order of the columns: by decreasing alignment, stable."""
    return sorted(dtype.names, key=lambda name: -dtype.fields[name][0].alignment)


def _fields(dtype):
    """Returns offset and bytes of each field, in the order of the columns."""
    return tuple(
        [(dtype.fields[name][1], dtype.fields[name][0].itemsize) for name in _names(dtype)]
    )


def _relayout(memory, result, dtype, source, to, threads, moved):
    """Converts the records in `memory` in place, once for each `moved`, and returns `result`."""
    records = memory.nbytes // dtype.itemsize
    asked = (records, dtype.itemsize, _fields(dtype), source, to, threads)
    plan = host_plan(_core.HostPlan.of_records, *asked)
    return move(Array(memory, True), result, plan, None, None, moved)


def _refuse_overlaps(dtype):
    """Raises ValueError if fields overlap or have no bytes."""
    last, end = None, 0
    for name in sorted(dtype.names, key=lambda name: dtype.fields[name][1]):
        kind, begin = dtype.fields[name][:2]
        if kind.itemsize == 0:
            raise ValueError(f"field {name!r} has no bytes")
        if begin < end:
            raise ValueError(
                f"fields {last!r} and {name!r} overlap: {name!r} starts at byte {begin}, "
                f"{last!r} ends at byte {end}"
            )
        last, end = name, begin + kind.itemsize
    if last is None:
        raise ValueError("the records have no fields")
