"""Pictures of how a matrix is transposed: cycles, square tiles, three stages, aligned slots, padding."""

from . import maps
from .drawing import Picture, number


def panel(picture, x, y, words, step=16):
    """Words below a panel, whose left end is x."""
    picture.text(x, y, words[0], "head")
    picture.lines(x, y + step, words[1:], "note", step=step)


def cycles():
    rows, cols = 5, 3
    dest = lambda k: maps.transposed(k, rows, cols)
    memory = list(range(rows * cols))
    after = maps.moved(memory, dest)
    assert maps.is_transposed(after, rows, cols)
    found = maps.cycles(dest, rows * cols)
    long = [cycle for cycle in found if len(cycle) > 1]
    hue = lambda k: next((1 + n for n, cycle in enumerate(long) if k in cycle), 8)
    picture = Picture(
        "A transposition is a permutation made of cycles: 5 x 3",
        "A 5 x 3 matrix, its memory with an arrow from each place to the place where its element "
        "goes, and the 3 x 5 result. Two cycles of six elements and three elements that stay.",
        456,
    )
    side, left = 34, 44
    picture.grid(left, 62, memory, cols, side, hue)
    panel(
        picture,
        left + 3 * side + 18,
        78,
        ["before: 5 rows of 3", "The number of an element is", "its place in memory."],
    )
    right = 860 - 44 - 5 * side
    picture.grid(right, 62, after, rows, side, hue)
    panel(picture, right, 62 + 3 * side + 20, ["after: 3 rows of 5", "the same memory, read", "five to a row"])
    words = ["Element k goes to place 5k mod 14; the last stays.", "Follow one and you come back: a cycle."]
    for n, line in enumerate(words):
        picture.text(345, 78 + 16 * n, line)
    for n, cycle in enumerate(long):
        picture.rect(345, 108 + 20 * n, 12, 12, f"s{1 + n}", ' rx="2"')
        picture.text(363, 118 + 20 * n, "(" + " ".join(map(str, cycle)) + ")")
    picture.rect(345, 108 + 20 * len(long), 12, 12, "s8", ' rx="2"')
    picture.text(363, 118 + 20 * len(long), "stay: " + ", ".join(str(c[0]) for c in found if len(c) == 1))
    # The memory, arcs of one cycle above it and of the other below.
    step, top = 51, 322
    start = (860 - 15 * step) / 2
    for place in memory:
        picture.cell(start + place * step + 4, top, step - 8, hue(place), str(place), 30)
    for n, cycle in enumerate(long):
        for at, to in zip(cycle, cycle[1:] + cycle[:1]):
            shift = 5 if to > at else -5
            x, to_x = start + (at + 0.5) * step + shift, start + (to + 0.5) * step - shift
            y = top - 4 if n == 0 else top + 34
            bend = (12 + 7.5 * abs(to - at)) * (-1 if n == 0 else 1)
            picture.path(
                f"M{number(x)} {number(y)}C{number(x)} {number(y + bend)} {number(to_x)} {number(y + bend)} "
                f"{number(to_x)} {number(y + (-3 if n == 0 else 3))}",
                f"line l{n + 1}",
                ' stroke-opacity="0.8"',
            )
            picture.head(to_x, y + 2 * (1 if n == 0 else -1), 0, 1 if n == 0 else -1, n + 1)
    picture.text(
        start + 4,
        top + 116,
        "memory before; an arrow goes from each place to the place that its element is moved to",
        "note",
    )
    return picture


def square_tiles():
    rows, cols, tile = 4, 6, 2
    memory = list(range(rows * cols))
    # (M', T, N', T) to (M', T, N', T) with the two T exchanged, then (M', T, N', T) to (N', T, M', T) by runs of T.
    high, wide = rows // tile, cols // tile
    first = maps.moved(memory, maps.axes((high, tile, wide, tile), (0, 3, 2, 1)))
    move = maps.axes((high, tile, wide), (2, 1, 0))
    second = maps.moved(first, move, tile)
    assert maps.is_transposed(second, rows, cols)
    hue = lambda k: 1 + k // cols
    picture = Picture(
        "Square tiles: any two sides with a common divisor, in two passes",
        "A 4 x 6 matrix whose colours are its rows; the same after its 2 x 2 tiles are transposed in place; and "
        "after runs of two elements have moved to their places, which makes the 6 x 4 transpose.",
        392,
    )
    side, top = 38, 60
    lefts = [24, 24 + 6 * side + 74, 24 + 12 * side + 148]
    for left, part, width in zip(lefts, (memory, first, second), (cols, cols, rows)):
        picture.grid(left, top, part, width, side, hue)
    for a in range(high):
        for b in range(wide):
            for left in lefts[:2]:
                spot = (left + b * tile * side + 1, top + a * tile * side + 1)
                picture.rect(*spot, tile * side - 2, tile * side - 2, "frame", ' rx="4"')
    picture.runs(lefts[2], top, rows * cols, rows, side, tile)
    for n, left in enumerate(lefts[:2]):
        picture.arrow(left + 6 * side + 10, top + 2 * side, left + 6 * side + 64, top + 2 * side)
        picture.text(left + 6 * side + 37, top + 2 * side - 10, f"pass {n + 1}", "head", "middle")
    panel(
        picture,
        lefts[0],
        top + 4 * side + 26,
        ["4 rows of 6", "A colour is a row of the", "matrix, a number an element's", "place in memory at first."],
    )
    panel(
        picture,
        lefts[1],
        top + 4 * side + 26,
        [
            "tiles transposed in place",
            "0210!: each 2 x 2 tile by itself,",
            "on chip. Runs of two are now in",
            "the order of the result.",
        ],
    )
    cycle = max(maps.cycles(move, rows * cols // tile), key=len)
    panel(
        picture,
        lefts[2],
        top + 6 * side + 22,
        ["6 rows of 4", "2100!: whole runs go to their", "places, along cycles."],
    )
    picture.text(
        24,
        374,
        f"The longest cycle of pass 2 has {len(cycle)} runs. On a GPU tiles are 32 to 128 wide: runs of 128 bytes and more, as memory likes them.",
        "note",
    )
    return picture


def three_stage():
    rows, cols, m, n = 4, 6, 2, 3
    high, wide = rows // m, cols // n
    memory = list(range(rows * cols))
    one = maps.moved(memory, maps.axes((rows, wide), (1, 0)), n)
    two = maps.moved(one, maps.axes((wide, high, m, n), (0, 1, 3, 2)))
    three = maps.moved(two, maps.axes((wide, high, n), (0, 2, 1)), m)
    assert maps.is_transposed(three, rows, cols)
    hue = lambda k: 1 + k // cols
    picture = Picture(
        "Three stages (thesis, figure 4.15): 4 x 6 with m = 2, n = 3",
        "A 4 x 6 matrix; super-elements of three moved into panels; 2 x 3 tiles transposed; super-elements of two moved "
        "to their places in the 6 x 4 result. Memory runs from left to right and from top to bottom.",
        462,
    )
    side, top = 27, 58
    lefts = [30, 318, 520, 680]
    widths, runs, groups = [cols, n, m, rows], [n, n, m, m], [rows, rows, n, cols]
    for left, part, width, run, group in zip(lefts, (memory, one, two, three), widths, runs, groups):
        picture.grid(left, top, part, width, side, hue, group=group)
        picture.runs(left, top, rows * cols, width, side, run, group)
    for left, width, to, stage in zip(lefts, widths, lefts[1:], (1, 2, 3)):
        picture.arrow(left + width * side + 14, top + 54, to - 14, top + 54)
        picture.text((left + width * side + to) / 2, top + 44, f"stage {stage}", "head", "middle")
    words = ["4 rows of 6", "A colour is a row of the matrix, a box a", "super-element: it moves as one."]
    panel(picture, lefts[0], top + 4 * side + 24, words)
    words = ["stage 1, 100!", "Super-elements of n = 3 go", "across: two panels of 4 x 3."]
    panel(picture, lefts[1], top + 8 * side + 34, words)
    panel(picture, lefts[2], top + 12 * side + 50, ["stage 2, 0010!", "Each tile of m x n = 2 x 3 by itself."])
    words = ["stage 3, 0100!", "Super-elements of m = 2", "across each panel:", "6 rows of 4."]
    panel(picture, lefts[3], top + 6 * side + 24, words)
    picture.lines(30, 240, ["Memory runs from left to right", "and from top to bottom; gaps", "part panels and tiles."])
    return picture


def aligned_slots():
    rows, cols, slot, chunk = 7, 5, 2, 2
    slots = maps.Slots(rows, cols, slot, chunk)
    memory = list(range(rows * cols))
    first = slots.gathered()
    finals = list(slots.finals())
    second = maps.moved(first + [None] * (len(finals) * slot - len(first)), lambda place: finals[place], slot)
    second = second[: rows * cols]
    assert sorted(first) == memory and maps.is_transposed(second, rows, cols)
    chunk_of = lambda k: sum(k // cols >= start for start, _ in slots.chunks)
    picture = Picture(
        "Aligned slots: any shape in two passes, primes too (7 x 5)",
        "A 7 x 5 matrix in three chunks of rows; the same memory after each chunk is replaced by its slots of two "
        "elements of the result; and after the slots have moved to their places in the 5 x 7 transpose.",
        440,
    )
    side, top = 34, 62
    lefts = [24, 304, 586]
    for left, part, width in zip(lefts, (memory, first, second), (cols, cols, rows)):
        picture.grid(left, top, part, width, side, chunk_of)
    for start, count in slots.chunks:
        picture.rect(lefts[0] + 1, top + start * side + 1, cols * side - 2, count * side - 2, "frame", ' rx="4"')
        picture.text(
            lefts[0] + cols * side + 6,
            top + (start + count / 2) * side + 4,
            f"chunk {chunk_of(start * cols)}",
            "small note",
        )
    picture.runs(lefts[1], top, rows * cols, cols, side, slot)
    picture.runs(lefts[2], top, rows * cols, rows, side, slot)
    for n, (x, to) in enumerate(
        [(lefts[0] + cols * side + 50, lefts[1] - 10), (lefts[1] + cols * side + 12, lefts[2] - 12)]
    ):
        picture.arrow(x, top + 3 * side, to, top + 3 * side)
        picture.text((x + to) / 2, top + 3 * side - 10, f"pass {n + 1}", "head", "middle")
    panel(
        picture,
        lefts[0],
        top + 7 * side + 24,
        ["7 rows of 5", "cut into chunks of two rows;", "the last has what is left."],
    )
    panel(
        picture,
        lefts[1],
        top + 7 * side + 24,
        [
            "slots gathered",
            "A box is a slot: two elements that",
            "follow one another in the result.",
            "Each chunk's fill its own memory.",
        ],
    )
    panel(
        picture,
        lefts[2],
        top + 5 * side + 24,
        [
            "slots moved: 5 rows of 7",
            "whole, along cycles. Slots are aligned",
            "in memory and run on over row ends,",
            "so no divisor is needed.",
            "",
            "A slot may run on into the next chunk (from",
            "the last into the first): there colours mix.",
        ],
    )
    picture.text(
        24,
        420,
        "A slot here holds two elements; on a GPU 16 to 128, so that both passes read and write memory in long runs.",
        "note",
    )
    return picture


def padding():
    rows, cols = 5, 4
    side_of = max(rows, cols)
    square = side_of * side_of
    memory = list(range(rows * cols)) + [None] * (square - rows * cols)
    padded = maps.moved_apart(memory, rows, cols, side_of)
    turned = maps.moved(padded, maps.axes((side_of, side_of), (1, 0)))
    assert maps.is_transposed(turned, rows, cols)
    hue = lambda k: 1 + k // cols
    picture = Picture(
        "Padded to a square: near-square matrices with room behind them (5 x 4)",
        "A 5 x 4 matrix and five free places behind it; its rows moved apart to a pitch of five; the square transposed, "
        "whose first four rows are the result. Memory is drawn five places to a line.",
        360,
    )
    side, top = 38, 62
    lefts = [24, 334, 644]
    for left, part in zip(lefts, (memory, padded, turned)):
        picture.grid(left, top, part, side_of, side, hue, lambda k: "" if k is None else str(k))
    for n, (left, to) in enumerate(zip(lefts, lefts[1:])):
        picture.arrow(left + 5 * side + 16, top + 2.5 * side, to - 16, top + 2.5 * side)
        picture.text((left + 5 * side + to) / 2, top + 2.5 * side - 10, ("pad", "transpose")[n], "head", "middle")
    panel(
        picture,
        lefts[0],
        top + 5 * side + 24,
        [
            "5 rows of 4, packed",
            "A colour is a row. Dashed places",
            "are room behind the matrix that",
            "its owner has to give.",
        ],
    )
    panel(
        picture,
        lefts[1],
        top + 5 * side + 24,
        [
            "rows moved apart to a pitch of 5",
            "from the last row on, so that no row",
            "covers one that has not moved yet",
        ],
    )
    panel(
        picture,
        lefts[2],
        top + 5 * side + 24,
        ["the square transposed", "by pairs of tiles: the first", "4 rows of 5 are the result"],
    )
    return picture
