"""Pictures of the thesis's methods: four stages, flags of PTTWAC in banks and under locks, super-elements by warps."""

from collections import Counter

from . import maps
from .drawing import GAP, Picture
from .matrices import panel

# A warp, and the banks and locks of the thesis's card.
WARP, BANKS, LOCKS = 32, 32, 1024
# Work-items that are drawn.
SHOWN = 20


def four_stage():
    rows, cols, m, n = 4, 6, 2, 3
    high, wide = rows // m, cols // n
    memory = list(range(rows * cols))
    one = maps.moved(memory, maps.axes((high, m, wide), (0, 2, 1)), n)
    two = maps.moved(one, maps.axes((high, wide, m, n), (0, 1, 3, 2)))
    three = maps.moved(two, maps.axes((high, wide), (1, 0)), m * n)
    four = maps.moved(three, maps.axes((wide, high, n), (0, 2, 1)), m)
    assert maps.is_transposed(four, rows, cols)
    hue = lambda k: 1 + k // cols
    picture = Picture(
        "Four stages (thesis, figures 4.7 and 4.8): 4 x 6 with m = 2, n = 3",
        "A 4 x 6 matrix; super-elements of three moved within panels of two rows, so that tiles are contiguous; each 2 x 3 "
        "tile transposed by itself; whole tiles moved; super-elements of two moved within panels of the 6 x 4 result.",
        470,
    )
    side, top = 24, 58
    lefts, widths = [24, 238, 390, 530, 690], [cols, n, m, m, rows]
    runs, groups = [n, n, m, m * n, m], [m, m, n, n, n]
    for left, part, width, run, group in zip(lefts, (memory, one, two, three, four), widths, runs, groups):
        picture.grid(left, top, part, width, side, hue, group=group)
        if run < m * n:
            picture.runs(left, top, rows * cols, width, side, run, group)
    for tile in range(high * wide):
        y = top + tile * (n * side + GAP)
        picture.rect(lefts[3] + 1.5, y + 1.5, m * side - 3, n * side - 3, "frame")
    for left, width, to, stage in zip(lefts, widths, lefts[1:], (1, 2, 3, 4)):
        picture.arrow(left + width * side + 10, top + 54, to - 10, top + 54)
        picture.text((left + width * side + to) / 2, top + 44, f"stage {stage}", "head", "middle")
    panel(picture, lefts[0], top + 130, ["4 rows of 6", "A colour is a row of the", "matrix, a box what moves", "as one. Gaps part panels", "and tiles."])
    panel(picture, lefts[1], top + 244, ["stage 1, 0100!", "Super-elements of", "n = 3 in each panel:", "tiles are contiguous."])
    panel(picture, lefts[2], top + 340, ["stage 2, 0010!", "Each tile by", "itself (4.8)."])
    panel(picture, lefts[3], top + 340, ["stage 3, 1000!", "Whole tiles, as", "super-elements of 6."])
    panel(picture, lefts[4], top + 180, ["stage 4, 0100!", "Super-elements of", "m = 2: 6 rows of 4."])
    return picture


def flags():
    tile, width, steps = 16, 215, 4
    picture = Picture(
        "Flags of PTTWAC (thesis, figures 4.9, 4.10 and 4.12): tile 16, width 215",
        "The words of the flags that a warp's 32 work-items access in their first four steps along the cycles: packed, "
        "spread by 8, spread by 32, and spread and padded; with the work-items that meet in a word, a bank or a lock.",
        560,
    )
    left, side, high = 26, 40, 20
    hues = [(5, "another work-item at the same word"), (2, "another word in the same bank"), (6, "another word under the same lock")]
    for k, (hue, words) in enumerate(hues):
        picture.rect(left + 260 * k, 44, 12, 12, f"s{hue}", ' rx="2"')
        picture.text(left + 260 * k + 18, 54, words, "note")
    layouts = [
        ("packed, p / 32: neighbours share a word", lambda p: p // 32),
        ("spread by 8: four flags to a word", lambda p: p // 4),
        ("spread by 32: a flag to a word; they meet in banks and under locks", lambda p: p),
        ("spread by 32 and padded: every 33rd word stays free", lambda p: p + p // 32),
    ]
    for number, (words, word) in enumerate(layouts):
        top = 84 + 116 * number
        picture.text(left, top, words, "head")
        at = list(range(WARP))
        for step in range(steps):
            places = [word(p) for p in at]
            same, distinct = Counter(places), set(places)
            banks, locks = (Counter(place % size for place in distinct) for size in (BANKS, LOCKS))
            for k, place in enumerate(places[:SHOWN]):
                hue = 8
                if banks[place % BANKS] > 1:
                    hue = 2
                if locks[place % LOCKS] > 1:
                    hue = 6
                if same[place] > 1:
                    hue = 5
                picture.cell(left + k * side, top + 8 + step * (high + 2), side, hue, str(place), high)
            at = [maps.transposed(p, tile, width) for p in at]
    picture.text(left, 546, f"A column is a work-item, the first {SHOWN} of {WARP}; a row is a step; the numbers are words of flags.", "note")
    return picture


def super_elements():
    warp, length = 8, 20
    memory = list(range(length))
    rounds = -(-length // warp)
    hue = lambda k: 1 + k // warp
    picture = Picture(
        "A warp moves a super-element (thesis, figure 4.14): 20 elements by 8 work-items",
        "A super-element of 20 elements in memory; three rounds of eight work-items, the last with four idle ones; "
        "the elements in shared memory; and the super-element at its new place.",
        330,
    )
    side, left = 34, 150
    for top, words in [(60, "in memory"), (210, "in shared memory"), (270, "at its new place")]:
        picture.grid(left, top, memory, length, side, hue)
        picture.text(24, top + 22, words, "head")
    for k in range(rounds):
        part = [element if element < length else None for element in range(k * warp, (k + 1) * warp)]
        x = left + k * warp * side * 0.9
        picture.grid(x, 130, part, warp, int(side * 0.75), hue)
        picture.text(x, 122, f"round {k + 1}" + ("" if None not in part else f": {part.count(None)} idle"), "note")
    picture.text(24, 150, "work-items", "head")
    for y, to in ((98, 112), (164, 204), (248, 266)):
        picture.arrow(80, y, 80, to)
    return picture
