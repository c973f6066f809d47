"""Pictures of axes in memory: a permutation in passes; arrays of structures, structures of arrays and what is between."""

from math import prod

from . import maps
from .drawing import Picture

NAMES, HUES = "abcd", {"a": 1, "b": 2, "c": 3, "d": 8}


def strip(picture, x, y, memory, extents, axes, side, high):
    """Memory as nested boxes, the outermost axis on top: which index of each axis every place holds."""
    inner = [prod(extents[axis + 1 :]) for axis in range(len(extents))]
    index = lambda element, axis: element // inner[axis] % extents[axis]
    width = len(memory)
    for level, axis in enumerate(axes):
        width //= extents[axis]
        for first in range(0, len(memory), width):
            name, value = NAMES[axis], index(memory[first], axis)
            assert all(index(element, axis) == value for element in memory[first : first + width])
            # The strength of the colour shows the index along an axis.
            tint = 0.45 + 0.55 * value / max(extents[axis] - 1, 1)
            spot = (x + first * side, y + level * high)
            picture.rect(*spot, width * side, high, f"t{HUES[name]} edge", f' rx="3" fill-opacity="{tint:.2f}"')
            words = f"{name} = {value}" if width * side > 60 else str(value)
            picture.text(spot[0] + width * side / 2, spot[1] + high / 2 + 4, words, "small", "middle")
        picture.text(x - 12, y + level * high + high / 2 + 4, NAMES[axis], "head", "middle")


def bands(picture, x, y, to_y, before, after, side, run, hue):
    """Connects each run's position before a pass to its position after it."""
    place = {element: at for at, element in enumerate(after)}
    for first in range(0, len(before), run):
        to = place[before[first]]
        assert all(place[before[first + k]] == to + k for k in range(run))
        left, right, to_left, to_right = (x + at * side for at in (first, first + run, to, to + run))
        d = f"M{left + 2} {y}L{right - 2} {y}L{to_right - 2} {to_y}L{to_left + 2} {to_y}z"
        picture.path(d, f"s{hue(before[first])}", ' fill-opacity="0.28"')


def axes():
    extents, order = (2, 3, 2, 3), (2, 0, 3, 1)
    memory = list(range(prod(extents)))
    # Pass 1 takes axes (a, b, c, d) to (c, a, b, d) in runs of d; pass 2 turns each b x d matrix.
    first = maps.moved(memory, maps.axes(extents, (2, 0, 1, 3)))
    second = maps.moved(first, maps.axes((2, 2, 3, 3), (0, 1, 3, 2)))
    assert second == maps.moved(memory, maps.axes(extents, order))
    picture = Picture(
        "Four axes permuted in two passes: (a, b, c, d) becomes (c, a, d, b)",
        "Memory of a 2 x 3 x 2 x 3 array as nested boxes, the outermost axis on top, before, after runs of d have moved "
        "behind c, and after each 3 x 3 matrix of b and d is transposed.",
        494,
    )
    side, high, left, gap = 22, 21, 44, 74
    tops = [58 + k * (4 * high + gap) for k in range(3)]
    for top, part, names in zip(tops, (memory, first, second), ("abcd", "cabd", "cadb")):
        strip(picture, left, top, part, extents, [NAMES.index(name) for name in names], side, high)
    c_of = lambda k: 3 + 2 * (k // 3 % 2)
    bands(picture, left, tops[0] + 4 * high + 2, tops[1] - 2, memory, first, side, 3, c_of)
    tile = lambda k: 1 + k // 18 + 3 * (k // 3 % 2)
    bands(picture, left, tops[1] + 4 * high + 2, tops[2] - 2, first, second, side, 1, tile)
    words = [
        ("pass 1", "100!: runs of d go to their places, whatever the order of the other axes"),
        ("pass 2", "010!: each b x d matrix is transposed in place"),
    ]
    for top, (head, rest) in zip(tops[1:], words):
        at = top - gap / 2 + 4
        # Words over bands need paper behind them.
        picture.rect(left + 180, at - 15, 434, 22, "paper", ' rx="4"')
        picture.text(left + 190, at, head, "head")
        picture.text(left + 238, at, rest)
    picture.text(
        left,
        tops[2] + 4 * high + 24,
        "36 places of memory from left to right. A box spans the places that share an index; the outermost axis is on top.",
        "note",
    )
    return picture


def layouts():
    count, tile, fields = 8, 4, "xyz"
    memory = list(range(count * 3))
    asta = maps.moved(memory, maps.axes((count // tile, tile, 3), (0, 2, 1)))
    soa = maps.moved(asta, maps.axes((count // tile, 3), (1, 0)), tile)
    assert maps.is_transposed(soa, count, 3)
    picture = Picture(
        "AoS, ASTA and SoA: eight structures of x, y and z",
        "Memory of eight structures of three fields as array of structures, as array of structures of tiled arrays with "
        "tiles of four, and as structure of arrays. Frames show where four threads find field x of structures 0 to 3.",
        366,
    )
    side, high, left = 33, 34, 34
    rows = [
        (
            memory,
            "AoS: array of structures",
            "(8, 3): structure after structure. x of neighbours is three places apart.",
        ),
        (
            asta,
            "ASTA: array of structures of tiled arrays",
            "(2, 3, 4): four structures' x, their y, their z, then the next four.",
        ),
        (soa, "SoA: structure of arrays", "(3, 8): all x, then all y, then all z."),
    ]
    for n, (part, head, rest) in enumerate(rows):
        top = 74 + n * 96
        picture.text(left, top - 10, head, "head")
        picture.text(left + 292, top - 10, rest, "note")
        for place, k in enumerate(part):
            picture.cell(left + place * side, top, side, 1 + k % 3, f"{fields[k % 3]}{k // 3}", high)
            if k % 3 == 0 and k // 3 < 4:
                picture.rect(left + place * side + 1.5, top + 1.5, side - 3, high - 3, "frame", ' rx="3"')
        if n < 2:
            picture.arrow(left + 24 * side / 2, top + high + 6, left + 24 * side / 2, top + high + 32)
            step = ["010!: each 4 x 3 tile transposed in place", "100!: runs of four moved across a 2 x 3 matrix"][
                n
            ]
            picture.text(left + 12 * side + 14, top + high + 23, step, "note")
    picture.text(
        left,
        340,
        "Framed: field x of structures 0 to 3, which four threads read together: one run of memory in ASTA and in SoA.",
        "note",
    )
    return picture


def packed():
    """A 4 x 6 matrix of 4-bit elements, two to a byte, in three states."""
    rows, cols, per_byte, side, high = 4, 6, 2, 30, 30
    elements = [[(r, c) for c in range(cols)] for r in range(rows)]
    turned = [[elements[r - r % 2 + c % 2][c - c % 2 + r % 2] for c in range(cols)] for r in range(rows)]
    result = [[elements[c][r] for c in range(rows)] for r in range(cols)]
    picture = Picture(
        "Elements of 4 bits, two to a byte: a 4 x 6 matrix transposed in place",
        "Rows of bytes with two elements each. First each micro-block of 2 x 2 elements, one byte of each of two rows, is transposed in its two bytes. "
        "Then whole bytes move to the rows of the 6 x 4 result.",
        306,
    )

    def drawn(x, title, matrix):
        picture.text(x, 60, title, "head")
        for r, row in enumerate(matrix):
            for c, (i, j) in enumerate(row):
                at = (x + c * side + c // per_byte * 6, 74 + r * high)
                picture.cell(*at, side, 1 + i // per_byte * (cols // per_byte) + j // per_byte, f"{i}{j}", high)
            for byte in range(len(row) // per_byte):
                left = x + byte * (per_byte * side + 6) + 1.5
                picture.rect(left, 75.5 + r * high, per_byte * side - 3, high - 3, "frame", ' rx="3"')

    starts = (24, 310, 596)
    titles = ("before: 4 rows of 3 bytes", "micro-blocks transposed", "after: 6 rows of 2 bytes")
    for x, title, matrix in zip(starts, titles, (elements, turned, result)):
        drawn(x, title, matrix)
    for x in starts[:2]:
        picture.arrow(x + 212, 134, x + 268, 134)
    notes = ("A colour is a micro-block: one byte of each of two rows. The second step moves whole bytes, as axes",
             "[4/2, 2, 6/2] to [6/2, 2, 4/2]. ij: element j of row i.")  # fmt: skip
    picture.lines(24, 276, notes)
    return picture
