"""Conversion of arguments to numbers.

An argument may run user code when it is converted, and that code may resize the array. So all
arguments are converted before an array's address and shape are read.
"""

import operator

from numpy.exceptions import AxisError

#: Largest extent, byte count and address that is accepted.
MOST = 2**63 - 1


def count(name, value, least):
    """Returns `value` as an integer from `least`, clamped to `MOST`; None is returned unchanged."""
    return None if value is None else min(_integer(name, value, least), MOST)


def size(name, value, least):
    """Returns `value` as an integer from `least` to `MOST`."""
    number = _integer(name, value, least)
    if number > MOST:
        raise ValueError(f"{name} is {number}: the maximum is {MOST}")
    return number


def _integer(name, value, least):
    try:
        # `operator.index` accepts True as 1.
        number = operator.index(None if isinstance(value, bool) else value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {value!r}") from None
    if number < least:
        raise ValueError(f"{name} is {number}: the minimum is {least}")
    return number


def integers(axes):
    """Returns `axes` as a tuple of integers; None is returned unchanged."""
    if axes is None:
        return None
    try:
        return tuple([operator.index(axis) for axis in axes])
    except TypeError:
        try:
            return (operator.index(axes),)
        except TypeError:
            raise TypeError(f"axes must be integers, not {axes!r}") from None


def extents(shape):
    """Returns `shape` as a tuple of integers from 0 to `MOST`."""
    try:
        found = tuple([operator.index(extent) for extent in shape])
    except TypeError:
        raise TypeError(f"shape must be a sequence of integers, not {shape!r}") from None
    if any(not 0 <= extent <= MOST for extent in found):
        raise ValueError(f"shape {found}: extents must be from 0 to {MOST}")
    return found


def normal(axes, rank):
    """Returns the integers `axes` as a permutation of ``range(rank)``; None reverses the axes."""
    if axes is None:
        return tuple(range(rank - 1, -1, -1))
    if len(axes) != rank:
        raise ValueError(f"axes don't match array: {len(axes)} axes for {rank} dimensions")
    for axis in axes:
        if not -rank <= axis < rank:
            raise AxisError(axis, rank)
    found = tuple([axis % rank for axis in axes])
    if len(set(found)) != rank:
        raise ValueError(f"repeated axis in transpose: axes={axes}")
    return found
