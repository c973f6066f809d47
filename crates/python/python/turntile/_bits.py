"""Matrices of elements of less than a byte."""

import math

from . import _core, _dlpack, _streams
from ._arguments import count, size
from ._arrays import found
from ._device import NOWHERE
from ._npy import refuse_map
from ._run import device_plan, move, overlap


def transpose_bits(a, /, *, bits, bitorder="big", out=None, threads=None, stream=None):
    """Transposes matrices of 1, 2 or 4 bits per element; use the result, `a` may be stale.

    `a` has shape ``(..., M, B)``: rows of ``B`` bytes, packed as by ``numpy.packbits`` along the
    last axis. In place the result has shape ``(..., N, M * bits // 8)`` with ``N = B * 8 // bits``,
    and uses the memory of `a`. Both `M` and `N` must then be multiples of ``8 // bits``.

    Parameters
    ----------
    a : array
        C-contiguous array with elements of 1 byte and at least two dimensions, on the host or a
        GPU; otherwise as for `transpose`.
    bits : int
        Bits per element: 1, 2 or 4.
    bitorder : {'big', 'little'}, optional
        Whether the first element of a byte is in its high or low bits, as in ``numpy.packbits``.
    out : array, optional
        C-contiguous array for the result, on the same device as `a`, which does not overlap `a`. It
        has shape ``(..., N, C)`` for any `M` and `N` that have `B` and `C` bytes per row. The
        padding bits of `a` are ignored, those of `out` become 0.
    threads : int, optional
        Maximum number of CPU threads. The default is one per core.
    stream : stream or int, optional
        As for `transpose`.

    Returns
    -------
    array
        View of the memory of `a`, or `out`.

    See Also
    --------
    matrix_transpose

    Examples
    --------
    >>> import numpy as np, turntile
    >>> a = np.packbits([[1, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0]], axis=1)
    >>> out = turntile.transpose_bits(a, bits=1, out=np.empty((4, 1), np.uint8))
    >>> np.unpackbits(out, axis=1, count=3)
    array([[1, 0, 0],
           [1, 0, 0],
           [1, 1, 0],
           [0, 0, 0]], dtype=uint8)
    """
    bits = size("bits", bits, 1)
    if bits not in (1, 2, 4):
        raise ValueError(f"bits is {bits}: expected 1, 2 or 4")
    if not isinstance(bitorder, str) or bitorder not in ("big", "little"):
        raise ValueError(f"bitorder must be either 'little' or 'big', not {bitorder!r}")
    bitorder, threads = str(bitorder), count("threads", threads, 1)
    stream = _streams.settled(stream)
    source = found(a, write=out is None)
    dest = None if out is None else found(out)
    array = source()
    if array.device is not None and threads is not None:
        raise ValueError("threads is given, but the array is not on the host")
    *batch, rows, row = _packed("a", array)
    per_byte = 8 // bits
    packed = math.prod(batch), rows
    if dest is None:
        refuse_map(array, "use the command `turntile transpose --bits`, which changes both")
        cols = row * per_byte
        problem = (*packed, cols, bits, bitorder)
        # It also checks the sides.
        plan = _core.BitPlan(*problem, threads, False)
        if array.device == NOWHERE or not array.nbytes:
            plan = None
        elif array.device is not None:
            plan = (_core.CudaBitPlan, array.device, *problem, False)
        result = array.contiguous(None, (*batch, cols, rows // per_byte))
        return move(array, result, plan, None, stream, _core.Moved())
    to = dest()
    *to_batch, cols, to_row = _packed("out", to)
    result_row = -(-rows // per_byte)
    if (to_batch, to_row, row) != (batch, result_row, -(-cols // per_byte)):
        least = row * per_byte - per_byte + 1 if row else 0
        shape = "".join(f"{extent}, " for extent in batch) + f"N, {result_row}"
        raise ValueError(
            f"out has shape {to.shape}, expected ({shape}) with N from {least} to {row * per_byte}"
        )
    device, mixed = to.device, type(to) is not type(array)
    foreign = device is not None and mixed and not isinstance(array, _dlpack.Array)
    if foreign or device != array.device:
        raise TypeError("out must be an array of the same library and on the same device as a")
    if to.nbytes and device != NOWHERE and overlap(to, array):
        raise ValueError("out overlaps a")
    if device is None and stream is not None:
        raise ValueError("stream is given, but the arrays are on the host")
    problem = (*packed, cols, bits, bitorder)
    if device is None:
        plan = _core.BitPlan(*problem, threads, True)
        plan.run_into(to.address, array.address, array.nbytes)
    elif to.nbytes and device != NOWHERE:
        with to.stream(stream) as handle, array.stream(handle if mixed else stream):
            plan = device_plan((_core.CudaBitPlan, device, *problem, True), handle)
            plan.run_into(to.address, array.address, array.nbytes, handle)
    to.changed()
    return out


def _packed(name, array):
    """Returns the shape of an array of packed rows, after checking that bits can be moved in it."""
    if array.itemsize != 1:
        raise TypeError(f"{name} has dtype {array.dtype}, expected a dtype of 1 byte such as uint8")
    if str(array.dtype).endswith("bool"):
        raise TypeError(f"{name} has dtype {array.dtype}, not packed bits: numpy.packbits packs them")
    if len(array.shape) < 2:
        raise ValueError(f"{name} must be at least 2-dimensional, but it is {len(array.shape)}")
    if array.strides is not None:
        advice = "take a copy" if name == "a" else "pass a contiguous array"
        raise ValueError(f"{name} is not C-contiguous: {advice}")
    return array.shape
