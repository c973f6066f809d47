"""Named layouts of model weights: conversion in place, and back.

    w = turntile.weights.convert(w, "block_major_k", block=64)
    w = turntile.weights.convert(w, "block_major_k", block=64, inverse=True)
    turntile.weights.convert_state_dict(state, {"*.experts.w2": "shuffle_32"})

`LAYOUTS` has the layouts by name, with the pattern that makes each of them. The last two axes of a
weight are rows and columns; axes before them, for example experts, are a batch.
"""

import re
import sys
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from math import gcd, prod
from typing import Any

from . import _core
from ._arguments import size
from ._arrays import adapt
from ._device import NOWHERE
from ._npy import refuse_map
from ._run import device_plan, move, plan_of, settled

__all__ = ["LAYOUTS", "Layout", "convert", "convert_state_dict"]


@dataclass(frozen=True)
class Layout:
    """Rearrangement of a weight whose rows and columns are stored in their order."""

    #: Pattern of `turntile.rearrange`. An axis whose name ends in a number has that extent.
    pattern: str = ""
    #: Sizes that a caller gives, with their defaults; None if there is no default.
    sizes: Mapping[str, int | None] = field(default_factory=dict)
    #: For parts of unequal size or in another order, which no pattern describes: a function of the
    #: number of rows and of the sizes. Returns the number of records in a matrix, the size of each
    #: part over all records, and the numbers of the parts in the order in which a matrix has them.
    parts: Callable[..., tuple[int, tuple[int, ...], tuple[int, ...]]] | None = None
    #: Whether the result consists of records, and the ordinary layout of parts, or vice versa.
    to_records: bool = False


#: Layouts by name.
LAYOUTS: Mapping[str, Layout] = {
    "transpose": Layout("... n k -> ... k n"),
    "block_major_k": Layout("... m (n block) -> ... n m block", {"block": 128}),
    "rotary_halves": Layout("... (heads d s2) k -> ... (heads s2 d) k", {"heads": None}),
    "interleave_rows": Layout("... (s2 h group) k -> ... (h s2 group) k", {"group": 1}),
    "interleave_columns": Layout("... (s2 h group) -> ... (h s2 group)", {"group": 1}),
    "interleave_rows_swapped": Layout(
        parts=lambda rows: (-(-rows // 2), (-(-rows // 2),) * 2, (1, 0)), to_records=True
    ),
    "swap_halves": Layout(parts=lambda rows: (1, (1, 1), (1, 0))),
    "split_qkv": Layout(
        sizes={"heads": None, "kv_heads": None},
        parts=lambda rows, heads, kv_heads: (kv_heads, (heads, kv_heads, kv_heads), (0, 1, 2)),
    ),
    # Rows within blocks of 16 or 32; for the gated ones, after `interleave_rows`.
    "shuffle_16": Layout("... (b r8 c2) k -> ... (b c2 r8) k"),
    "shuffle_32": Layout("... (b r8 c4) k -> ... (b c4 r8) k"),
    "gated_shuffle_16": Layout("... (s2 b r8) k -> ... (b s2 r8) k"),
    "gated_shuffle_32": Layout("... (s2 b r8 c2) k -> ... (b c2 s2 r8) k"),
    # Shuffled rows, then `block_major_k`.
    "shuffle_16_block_k": Layout(
        "... (b r8 c2) (n block) -> ... n (b c2 r8) block", {"block": 128}
    ),
    "shuffle_32_block_k": Layout(
        "... (b r8 c4) (n block) -> ... n (b c4 r8) block", {"block": 128}
    ),
    "gated_shuffle_16_block_k": Layout(
        "... (s2 b r8) (n block) -> ... n (b s2 r8) block", {"block": 128}
    ),
    "gated_shuffle_32_block_k": Layout(
        "... (s2 b r8 c2) (n block) -> ... n (b c2 s2 r8) block", {"block": 128}
    ),
    # Scale factors in tiles of 128 rows and 4 columns, plain and after the shuffles of rows.
    "scales_128x4": Layout("... (m a4 r32) (n c4) -> ... m n r32 a4 c4"),
    "shuffle_16_scales": Layout("... (m a4 h2 r8 q2) (n c4) -> ... m n (h2 q2 r8) a4 c4"),
    "shuffle_32_scales": Layout("... (m a4 r8 q4) (n c4) -> ... m n (q4 r8) a4 c4"),
    "gated_shuffle_16_scales": Layout("... (s2 m a4 h2 r8) (n c4) -> ... m n (h2 s2 r8) a4 c4"),
    "gated_shuffle_32_scales": Layout("... (s2 m a4 r8 q2) (n c4) -> ... m n (q2 s2 r8) a4 c4"),
}


def convert(
    w: Any,
    layout: str,
    /,
    *,
    inverse: bool = False,
    threads: int | None = None,
    workspace: Any = None,
    stream: Any = None,
    **sizes: int,
) -> Any:
    """Converts a weight to a layout in place; `w` itself is stale afterwards, use the result.

    Parameters
    ----------
    w : array
        Weight, or batch of weights, as for `turntile.transpose`.
    layout : str
        Name in `LAYOUTS`.
    inverse : bool, optional
        Converts back. `w` then has the shape that the conversion returned.
    threads, workspace, stream
        As for `turntile.transpose`.
    **sizes : int
        Sizes of the layout.

    Returns
    -------
    array
        View of the memory of `w`.

    Raises
    ------
    ValueError, TypeError, MemoryError, CudaError
        The weight does not have a shape for this layout, or is on the meta device. Other errors
        are those of `turntile.transpose`.

    See Also
    --------
    convert_state_dict

    Examples
    --------
    >>> import numpy as np, turntile.weights
    >>> w = np.arange(8).reshape(4, 2)                  # rows: two of gate, two of up
    >>> turntile.weights.convert(w, "interleave_rows")[:, 0]
    array([0, 4, 2, 6])
    """
    threads, workspace, stream = settled(threads, workspace, stream)
    array, result, plan = _prepared(w, layout, sizes, inverse, threads)
    return move(array, result, plan, workspace, stream, _core.Moved())


def convert_state_dict(
    state: MutableMapping[str, Any],
    rules: Mapping[str, str | tuple[str, Mapping[str, int]]],
    /,
    *,
    inverse: bool = False,
    progress: Callable[[str, int, int], object] | None = None,
    threads: int | None = None,
    stream: Any = None,
) -> MutableMapping[str, Any]:
    """Converts weights of a state dict in place, one after another, and returns `state`.

    All weights are checked and planned before the first one moves.

    Parameters
    ----------
    state : dict
        Weights by name. Converted ones are replaced by their results.
    rules : dict
        Layout by name, or by a pattern of names such as ``"*.experts.w2"``: the layout's name, or
        a pair of it and a dict of sizes. No weight has two rules, and every rule has a weight.
    inverse : bool, optional
        Converts back.
    progress : callable, optional
        Called after each weight with its name and the bytes done and in total.
    threads, stream
        As for `turntile.transpose`.

    Returns
    -------
    dict
        `state`.

    Raises
    ------
    ValueError, TypeError
        No weight was moved. Weights that share memory with another entry are rejected too, if that
        entry is an array itself and not, for example, a list of arrays.
    MemoryError, CudaError, Interrupted
        The weights that `progress` was called for are converted, and `state` has the results.

    See Also
    --------
    convert

    Examples
    --------
    >>> import numpy as np, turntile.weights
    >>> state = {"a.w": np.zeros((6, 4)), "b.w": np.zeros((8, 4)), "b.bias": np.zeros(8)}
    >>> state = turntile.weights.convert_state_dict(state, {"*.w": "transpose"})
    >>> state["a.w"].shape, state["b.w"].shape
    ((4, 6), (4, 8))
    """
    threads, _, stream = settled(threads, None, stream)
    if not isinstance(state, MutableMapping) or not isinstance(rules, Mapping):
        kinds = type(state).__name__, type(rules).__name__
        raise TypeError("expected a mutable mapping of weights and a mapping of rules, got {} and {}".format(*kinds))
    if not (progress is None or callable(progress)):
        raise TypeError(f"progress must be a callable or None, not {type(progress).__name__}")
    prepared = {}
    for name, (layout, sizes) in _matched(state, rules).items():
        try:
            array, result, plan = _prepared(state[name], layout, sizes, inverse, threads)
            if isinstance(plan, tuple):
                with array.stream(stream) as handle:
                    plan = device_plan(plan, handle)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name!r}: {error}") from error
        prepared[name] = array, result, plan
    _refuse_shared(state, prepared)
    done, total = 0, sum(array.nbytes for array, _, _ in prepared.values())

    def converted(name, array, result):
        nonlocal done
        state[name] = result
        done += array.nbytes
        if progress is not None:
            progress(name, done, total)

    for name, (array, result, plan) in prepared.items():
        try:
            moved = move(array, result, plan, None, stream, _core.Moved())
        except BaseException as raised:
            # It was raised after the weight had moved.
            if hasattr(raised, "result"):
                converted(name, array, raised.result)
            raise
        converted(name, array, moved)
    return state


def _prepared(w, name, sizes, inverse, threads):
    """Returns the adapter of a weight, the result, and the plan."""
    layout = LAYOUTS.get(name) if isinstance(name, str) else None
    if layout is None:
        raise ValueError(f"unknown layout {name!r}: choose one of {', '.join(LAYOUTS)}")
    unknown = [given for given in sizes if given not in layout.sizes]
    sizes = {**layout.sizes, **sizes}
    missing = [needed for needed, given in sizes.items() if given is None]
    if unknown or missing:
        what = f"unknown sizes {unknown}" if unknown else f"missing sizes {missing}"
        known = ", ".join(layout.sizes) or "none"
        raise TypeError(f"layout {name!r}: {what}, the sizes are: {known}")
    sizes = {axis: size(axis, given, 1) for axis, given in sizes.items()}
    inverse = bool(inverse)
    array = adapt(w)
    refuse_map(array, "pass a copy, a.copy()")
    try:
        if array.device == NOWHERE:
            raise ValueError("the weight is on the meta device and has no elements to move")
        arranged = _of_parts if layout.parts else _of_pattern
        result, asked, makers = arranged(layout, array, sizes, inverse)
    except ValueError as error:
        raise type(error)(f"layout {name!r}, weight of shape {array.shape}: {error}") from None
    return array, result, plan_of(array, asked, makers, threads)


def _of_pattern(layout, array, sizes, inverse):
    given = tuple(sizes.items())
    order, asked, shape = _arranged_once(layout.pattern, array.shape, array.strides, array.itemsize, given, inverse)
    return array.contiguous(order, shape), asked, (_core.HostPlan, _core.CudaPlan)


def _arranged(pattern, shape, strides, itemsize, sizes, inverse):
    """Returns the order of the memory's axes, what is asked of a plan, and the shape of the result."""
    fixed = {axis: int(extent) for axis, extent in re.findall(r"\b([a-z]+(\d+))\b", pattern)}
    if inverse:
        pattern = " -> ".join(reversed(pattern.split(" -> ")))
    axes = _core.Pattern(pattern, shape, tuple({**fixed, **dict(sizes)}.items()))
    order, *asked, shape = _core.arrange(shape, strides, itemsize, axes)
    return order, (*asked, itemsize), shape


#: Results by arguments: a pattern takes longer to read than a plan to find.
_arranged_once: Callable[..., Any] = lru_cache(256)(_arranged)


def _of_parts(layout, array, sizes, inverse):
    if len(array.shape) < 2:
        raise ValueError(f"needs 2 axes or more, has {len(array.shape)}")
    if array.strides is not None:
        raise ValueError("the weight is not C-contiguous: pass a contiguous copy")
    makers = (_core.HostPlan.of_records, _core.CudaPlan.of_records)
    *batch, rows, columns = array.shape
    if not array.nbytes:
        return array.array, (), makers
    records, parts, order = layout.parts(rows, **sizes)
    ratio = ":".join(str(part // gcd(*parts)) for part in parts)
    if rows % sum(parts):
        raise ValueError(f"{rows} rows do not split into parts in the ratio {ratio}")
    if any(part % records for part in parts):
        raise ValueError(f"parts in the ratio {ratio} do not split into {records} groups")
    unit = rows // sum(parts) * columns * array.itemsize
    begins = [sum(parts[:number]) // records * unit for number in range(len(parts))]
    fields = tuple([(begins[number], parts[number] // records * unit) for number in order])
    layouts = ("aos", f"asta:{records}")
    source, to = reversed(layouts) if layout.to_records != inverse else layouts
    return (
        array.array,
        (prod(batch) * records, sum(parts) // records * unit, fields, source, to),
        makers,
    )


def _matched(state, rules):
    """Returns layout and sizes by the name of a weight."""
    found, rule_of = {}, {}
    for rule, given in rules.items():
        given = (given, {}) if isinstance(given, str) else given
        if not (isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], Mapping)):
            raise TypeError(f"rule {rule!r}: expected a layout, or a pair of it and a dict of sizes")
        names = [name for name in state if isinstance(name, str) and fnmatchcase(name, rule)]
        if not names:
            raise ValueError(f"no entry of the state dict matches {rule!r}")
        for name in names:
            if name in found:
                raise ValueError(f"{name!r}: matches {rule!r} and {rule_of[name]!r}")
            rule_of[name] = rule
            found[name] = given
    return found


def _refuse_shared(state, prepared):
    """Raises ValueError if a weight to be converted shares memory with another entry."""
    spans = sorted(span for name, value in state.items() for span in _span(name, value))
    # End and name of the entry that reaches furthest: of all, and of those to be converted.
    furthest = converted = (0, "")
    for begin, end, name in spans:
        reached, other = furthest if name in prepared else converted
        if begin < reached:
            raise ValueError(f"{name!r} and {other!r} share memory: remove one of them and tie it again afterwards")
        furthest = max(furthest, (end, name))
        if name in prepared:
            converted = max(converted, (end, name))


def _span(name, value):
    """Yields where the memory of an entry begins and ends, in numbers that differ by device."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.device.type == "meta" or not value.numel():
            return
        # Also entries that `adapt` rejects; fake tensors have no memory.
        try:
            begin = value.data_ptr()
        except RuntimeError:
            return
        itemsize, shape = value.element_size(), value.shape
        steps, device = [step * itemsize for step in value.stride()], value.device.index
    else:
        try:
            array = adapt(value, write=False)
        except (TypeError, ValueError):
            return
        if not array.nbytes:
            return
        begin, itemsize, shape = array.address, array.itemsize, array.shape
        steps, device = array.strides, array.device
        if steps is None:
            shape, steps = (array.nbytes // itemsize,), (itemsize,)
    begin += (0 if device is None else device + 1) << 64
    reach = [(n - 1) * step for n, step in zip(shape, steps, strict=True)]
    begin += sum(step for step in reach if step < 0)
    yield begin, begin + sum(map(abs, reach)) + itemsize, name
