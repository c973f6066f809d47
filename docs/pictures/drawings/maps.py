"""Index maps, as in docs/explanation/how-it-works.md; every picture's cells are computed by them."""

from math import prod


def transposed(k, rows, cols):
    """The place of element k of a row-major rows x cols matrix in its transpose (thesis, equation 4.3)."""
    last = rows * cols - 1
    return k if k == last else k * rows % last


def cycles(dest, length):
    """The cycles of a permutation, each from its smallest place on."""
    found, seen = [], set()
    for first in range(length):
        cycle, at = [], first
        while at not in seen:
            seen.add(at)
            cycle.append(at)
            at = dest(at)
        if cycle:
            found.append(cycle)
    return found


def axes(extents, order):
    """The place of an element of a row-major array whose axes are permuted; axis i of the result is
    axis order[i]."""
    result = [extents[axis] for axis in order]

    def dest(k):
        index = [k // prod(extents[axis + 1 :]) % extents[axis] for axis in range(len(extents))]
        at = 0
        for extent, axis in zip(result, order):
            at = at * extent + index[axis]
        return at

    return dest


def moved(memory, dest, run=1):
    """Memory after each run of places has gone where `dest` says."""
    after = [None] * len(memory)
    for k, element in enumerate(memory):
        after[dest(k // run) * run + k % run] = element
    return after


def is_transposed(memory, rows, cols):
    """Whether memory holds the transpose of 0, 1, 2 ..., found out by rows and columns and not by the maps."""
    return memory[: rows * cols] == [i * cols + j for j in range(cols) for i in range(rows)]


class Slots:
    """Aligned slots of `slot` elements, in chunks of `chunk` rows (docs/explanation/how-it-works.md)."""

    def __init__(self, rows, cols, slot, chunk):
        self.rows, self.cols, self.slot, self.chunk = rows, cols, slot, chunk
        starts = [0]
        while rows - starts[-1] >= slot + chunk:
            starts.append(starts[-1] + chunk)
        ends = starts[1:] + [rows]
        #: First row and number of rows of every chunk.
        self.chunks = [(start, end - start) for start, end in zip(starts, ends)]

    def finals(self):
        """The final number of the slot at every place, chunk after chunk."""
        up = lambda a, b: -(-a // b)
        for start, rows in self.chunks:
            for place in range(up(rows * self.cols, self.slot)):
                column = place * self.slot // rows
                yield up(column * self.rows, self.slot) + start // self.slot + place - up(column * rows, self.slot)

    def gathered(self):
        """Returns the element at each position after the first pass, by its position before."""
        length = self.rows * self.cols
        ends = [k for final in self.finals() for k in range(final * self.slot, (final + 1) * self.slot) if k < length]
        return [k % self.rows * self.cols + k // self.rows for k in ends]


def moved_apart(memory, rows, cols, pitch):
    """Memory after rows of `cols` places have been moved to a pitch (thesis 4.1.1)."""
    after = [None] * len(memory)
    for k in range(rows * cols):
        after[k // cols * pitch + k % cols] = memory[k]
    return after
