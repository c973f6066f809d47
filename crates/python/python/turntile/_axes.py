"""Axes as NumPy takes them."""

import operator

from numpy.exceptions import AxisError


def normal(axes, rank):
    """`axes` as a tuple of `rank` numbers from 0 on; None reverses them. Each must be named once."""
    if axes is None:
        return tuple(range(rank - 1, -1, -1))
    try:
        axes = tuple([operator.index(axis) for axis in axes])
    except TypeError:
        try:
            axes = (operator.index(axes),)
        except TypeError:
            raise TypeError(f"axes are integers, not {axes!r}") from None
    if len(axes) != rank:
        raise ValueError(f"axes {axes} are {len(axes)}, the array has {rank}")
    named = set()
    for axis in axes:
        if not -rank <= axis < rank:
            raise AxisError(axis, rank)
        named.add(axis % rank)
    if len(named) != rank:
        raise ValueError(f"axes {axes} name one twice")
    return tuple([axis % rank for axis in axes])
