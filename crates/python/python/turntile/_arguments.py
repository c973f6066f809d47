"""Arguments as numbers.

Objects may run code of their own when they are asked for one, and that code may resize the array. So all of them are
asked before an array's address and shape are read.
"""

import operator

from numpy.exceptions import AxisError

#: More threads or bytes than there are anywhere.
MOST = 2**63 - 1


def count(name, value, least):
    """`value` as an integer of at least `least`, and more than there are anywhere as that; None stays."""
    return None if value is None else needed(name, value, least)


def needed(name, value, least):
    """As `count`, of what cannot be None."""
    return min(_integer(name, value, least), MOST)


def size(name, value, least):
    """`value` as bytes or an extent that something may have, at least `least`."""
    number = _integer(name, value, least)
    if number > MOST:
        raise ValueError(f"{name} is {number}: nothing has more than {MOST}")
    return number


def _integer(name, value, least):
    try:
        # True is no number of anything, although Python takes it for 1.
        number = operator.index(None if isinstance(value, bool) else value)
    except TypeError:
        raise TypeError(f"{name} is an integer, not {value!r}") from None
    if number < least:
        raise ValueError(f"{name} is {number}: at least {least} is needed")
    return number


def integers(axes):
    """`axes` as a tuple of integers; None stays."""
    if axes is None:
        return None
    try:
        return tuple([operator.index(axis) for axis in axes])
    except TypeError:
        try:
            return (operator.index(axes),)
        except TypeError:
            raise TypeError(f"axes are integers, not {axes!r}") from None


def extents(shape):
    """`shape` as a tuple of integers that an array may have."""
    try:
        found = tuple([operator.index(extent) for extent in shape])
    except TypeError:
        raise TypeError(f"shape is a sequence of integers, not {shape!r}") from None
    if any(not 0 <= extent <= MOST for extent in found):
        raise ValueError(f"shape {found} is no array's: each extent is from 0 to {MOST}")
    return found


def normal(axes, rank):
    """The integers `axes` as numbers from 0 to `rank` - 1, each named once; None reverses them."""
    if axes is None:
        return tuple(range(rank - 1, -1, -1))
    if len(axes) != rank:
        raise ValueError(f"axes has {_counted(len(axes), 'entry', 'entries')}, the array has {_counted(rank, 'axis', 'axes')}: axes={axes}")
    named = set()
    for axis in axes:
        if not -rank <= axis < rank:
            raise AxisError(axis, rank)
        if axis % rank in named:
            raise ValueError(f"axis {axis % rank} is named twice: axes={axes}")
        named.add(axis % rank)
    return tuple([axis % rank for axis in axes])


def _counted(count, one, more):
    return f"{count} {one if count == 1 else more}"
