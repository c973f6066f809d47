"""Pictures of routes with one pass: a few long runs, and teams of blocks."""

from . import maps
from .drawing import Picture

LEFT, HIGH = 44, 30


def long_runs():
    rows, cols, pieces, side = 2, 3, 4, 32
    runs = rows * cols
    before = list(range(runs * pieces))
    after = maps.moved(before, maps.axes((rows, cols), (1, 0)), pieces)
    chip = [run * pieces + 1 for run in range(runs)]
    turned = [element for element in after if element in chip]
    picture = Picture(
        "A few long runs in one pass: six runs in four pieces each",
        "Memory of a 2 x 3 array of long runs before and after the runs are permuted. The second pieces of all six runs are read on chip and written to "
        "the same offsets of the runs at their new positions.",
        300,
    )
    name = lambda element: f"{'abcdef'[element // pieces]}{element % pieces}"
    place = lambda memory, element: LEFT + memory.index(element) * side + side / 2
    tops = (66, 140, 222)
    for top, memory in ((tops[0], before), (tops[2], after)):
        for at, element in enumerate(memory):
            hue = 1 + element // pieces
            picture.cell(LEFT + at * side, top, side, hue, name(element), HIGH)
            if element in chip:
                picture.rect(LEFT + at * side + 1.5, top + 1.5, side - 3, HIGH - 3, "frame", ' rx="3"')
    start = LEFT + 9 * side
    for at, element in enumerate(turned):
        x = start + at * side
        picture.line(place(before, element), tops[0] + HIGH, x + side / 2, tops[1], f"line l{1 + element // pieces}")
        picture.line(x + side / 2, tops[1] + HIGH, place(after, element), tops[2], f"line l{1 + element // pieces}")
        picture.cell(x, tops[1], side, 1 + element // pieces, name(element), HIGH)
    picture.text(LEFT, 56, "before: runs a to f, 2 x 3", "head")
    picture.text(LEFT, tops[1] + 20, "on chip: piece 1 of every run", "head")
    picture.text(LEFT, tops[2] - 10, "after: 3 x 2", "head")
    picture.text(LEFT, 280, "No other piece takes part, so blocks move pieces 0, 1, 2 and 3 at the same time, in any order.", "note")
    return picture


def teams():
    step, top, count = 82, 56, 3
    picture = Picture(
        "Teams: one team reads an instance while others write",
        "Three teams of blocks over time. Each reads an instance on chip, waits until all its blocks have read, writes the instance transposed, and "
        "goes on with the next instance. The teams are shifted, so that reading and writing overlap.",
        196,
    )
    for team in range(count):
        y, x, instance = top + team * (HIGH + 8), LEFT + 58 + team * step * 0.6, team
        picture.text(LEFT, y + 20, f"team {team}", "head")
        while x + 2 * step < 856:
            for words, hue in ((f"read {instance}", 1), (f"write {instance}", 2)):
                picture.rect(x, y, step - 4, HIGH, f"t{hue} edge", ' rx="3"')
                picture.text(x + step / 2 - 2, y + 19, words, "", "middle")
                x += step
            instance += count
    picture.text(LEFT, 184, "Between a read and the write: a wait for the blocks of the same team only.", "note")
    return picture
