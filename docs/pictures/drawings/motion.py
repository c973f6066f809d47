"""The moving picture of a transposition in place: a matrix as its rows, and below it the memory that it never leaves."""

from . import maps
from .drawing import Picture, number

ROWS, COLS, TILE = 4, 6, 2
#: Seconds that a picture stands, that a step moves, and that the last one stands.
STILL, MOVE, LAST = 1.5, 1.3, 3.0


def places():
    """Returns the memory at first, after the tiles, and after each cycle of runs; and the runs of each cycle."""
    high, wide = ROWS // TILE, COLS // TILE
    start = list(range(ROWS * COLS))
    tiles = maps.moved(start, maps.axes((high, TILE, wide, TILE), (0, 3, 2, 1)))
    dest = maps.axes((high, TILE, wide), (2, 1, 0))
    steps = [start, tiles]
    cycles = [cycle for cycle in maps.cycles(dest, len(start) // TILE) if len(cycle) > 1]
    for cycle in cycles:
        steps.append(maps.moved(steps[-1], lambda run: dest(run) if run in cycle else run, TILE))
    assert maps.is_transposed(steps[-1], ROWS, COLS)
    return steps, cycles


class Time:
    """When things happen, in per cent of the whole."""

    def __init__(self, steps):
        self.whole = STILL + steps * (MOVE + STILL) + LAST

    def begin(self, step):
        return 100 * (STILL + step * (MOVE + STILL)) / self.whole

    def end(self, step):
        return self.begin(step) + 100 * MOVE / self.whole


def slid(name, spots, time):
    """Keyframes of something that is at spots[0] first and at spots[k + 1] after step k."""
    at = lambda spot: f"{{ transform: translate({number(spot[0])}px, {number(spot[1])}px); }}"
    frames = [f"0% {at(spots[0])}"]
    for step, (here, there) in enumerate(zip(spots, spots[1:])):
        if here != there:
            frames.append(f"{time.begin(step):.2f}% {at(here)} {time.end(step):.2f}% {at(there)}")
    frames.append(f"99.5% {at(spots[-1])} 100% {at(spots[0])}")
    return f"@keyframes {name} {{ {' '.join(frames)} }}\n"


def shown(name, step, steps, time):
    """Keyframes of words that stand while a step moves and until the next begins; step -1 is the beginning."""
    begin = 0 if step < 0 else time.begin(step)
    end = 99.5 if step == steps - 1 else time.begin(step + 1)
    rows = [f"{begin:.2f}% {{ opacity: 1; }} {end - 0.3:.2f}% {{ opacity: 1; }} {end:.2f}%, 100% {{ opacity: 0; }}"]
    if begin:
        rows.insert(0, f"0%, {begin - 0.3:.2f}% {{ opacity: 0; }}")
    return f"@keyframes {name} {{ {' '.join(rows)} }}\n"


def transposition():
    steps, cycles = places()
    steps.append(steps[-1])  # The last step only reads it differently.
    count, time = ROWS * COLS, Time(len(steps) - 1)
    picture = Picture(
        "A 4 x 6 matrix, transposed in its own memory",
        "Twenty-four coloured elements in a strip of memory and as a matrix. First each 2 x 2 tile is transposed where it "
        "lies, then runs of two follow the cycles of a permutation, and memory holds the 6 x 4 transpose.",
        350,
    )
    side, cell = 36, 34
    left, top, start, below = 24, 50, (860 - 24 * cell) / 2, 300
    styles = [f".move {{ animation: {time.whole:.1f}s ease-in-out infinite; }}\n.word {{ opacity: 0; }}\n"]
    for k in range(count):
        picture.cell(start + k * cell, below, cell, None, "")
    place = [{element: at for at, element in enumerate(memory)} for memory in steps]
    for k in range(count):
        widths = [COLS] * (len(steps) - 1) + [ROWS]
        spots = [(left + at[k] % w * side, top + at[k] // w * side) for at, w in zip(place, widths)]
        strip = [(start + at[k] * cell, below) for at in place]
        for name, where, size in ((f"m{k}", spots, side), (f"s{k}", strip, cell)):
            styles.append(slid(name, where, time))
            move = f'style="animation-name: {name}" transform="translate({number(where[0][0])} {number(where[0][1])})"'
            picture.add(f'<g class="move" {move}>')
            picture.cell(0, 0, size, 1 + k // COLS, str(k))
            picture.add("</g>")
    words = [
        (
            "A matrix of 4 rows and 6 columns",
            [
                "Stored row by row. A colour is a row,",
                "a number an element's first position.",
            ],
        ),
        (
            "Pass 1: tiles",
            ["Each 2 x 2 tile is transposed in place.", "Now runs of two are as the result has them."],
        ),
    ]
    for n, cycle in enumerate(cycles):
        names = " ".join(map(str, cycle))
        words.append(
            (
                "Pass 2: whole runs go to their places",
                [
                    f"Cycle {n + 1} of {len(cycles)}: runs {names} of memory are permuted, the last",
                    "one goes where the first one was. Cycles can move at once.",
                ],
            )
        )
    words.append(
        ("Done: 6 rows of 4", ["The same memory, read four to a row:", "transposed without a second array."])
    )
    for n, (head, rest) in enumerate(words):
        styles.append(shown(f"w{n}", n - 1, len(steps) - 1, time))
        first = "" if n else " style-first"
        picture.add(f'<g class="move word{first}" style="animation-name: w{n}">')
        picture.text(290, 84, head, "head big")
        picture.lines(290, 110, rest, "", step=19)
        picture.add("</g>")
    picture.text(start, below - 12, "memory: the same 24 places from beginning to end", "note")
    styles.append(".style-first { opacity: 1; }\ntext.big { font-size: 15px; }\n")
    styles.append("@media (prefers-reduced-motion: reduce) { .move { animation: none; } }\n")
    picture.styles.extend(styles)
    return picture
