"""A picture: SVG with the report's style, shapes by name, the same on every machine."""

import pathlib
from xml.sax.saxutils import escape

STYLE = pathlib.Path(__file__).resolve().parents[3] / "crates/lab/src/report/style.css"
WIDTH = 860
# Between groups of lines of a grid.
GAP = 9


def number(value):
    """A coordinate in few digits."""
    return f"{value:.1f}".removesuffix(".0")


class Picture:
    """A list of shapes; `height` may be set after drawing."""

    def __init__(self, title, desc, height, width=WIDTH):
        self.title, self.desc, self.width, self.height = title, desc, width, height
        self.parts, self.styles = [], []

    def add(self, part):
        self.parts.append(part)

    def rect(self, x, y, width, height, classes, extra=""):
        place = f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"'
        self.add(f'<rect {place} class="{classes}"{extra}/>')

    def text(self, x, y, words, classes="", anchor="start"):
        where = "" if anchor == "start" else f' text-anchor="{anchor}"'
        kind = f' class="{classes}"' if classes else ""
        self.add(f'<text x="{number(x)}" y="{number(y)}"{where}{kind}>{escape(words)}</text>')

    def lines(self, x, y, words, classes="note", anchor="start", step=16):
        """Several lines of text below each other."""
        for k, line in enumerate(words):
            self.text(x, y + step * k, line, classes, anchor)

    def line(self, x, y, to_x, to_y, classes):
        self.add(f'<path d="M{number(x)} {number(y)}L{number(to_x)} {number(to_y)}" class="{classes}"/>')

    def path(self, d, classes, extra=""):
        self.add(f'<path d="{d}" class="{classes}"{extra}/>')

    def arrow(self, x, y, to_x, to_y, hue=8):
        """A straight arrow, level or upright."""
        dx, dy = to_x - x, to_y - y
        length = (dx * dx + dy * dy) ** 0.5
        dx, dy = dx / length, dy / length
        self.line(x, y, to_x - 6 * dx, to_y - 6 * dy, f"line l{hue}")
        self.head(to_x, to_y, dx, dy, hue)

    def head(self, x, y, dx, dy, hue):
        """The point of an arrow that goes into the direction (dx, dy)."""
        corners = [(x, y), (x - 9 * dx - 4 * dy, y - 9 * dy + 4 * dx), (x - 9 * dx + 4 * dy, y - 9 * dy - 4 * dx)]
        self.path("M" + "L".join(f"{number(a)} {number(b)}" for a, b in corners) + "z", f"s{hue}")

    def cell(self, x, y, side, hue, words, high=None):
        """A square of a colour with a number in it."""
        high = high or side
        if hue is None:
            self.rect(x + 1, y + 1, side - 2, high - 2, "free", ' rx="2"')
            return
        self.rect(x, y, side, high, f"t{hue} edge", ' rx="3"')
        self.text(x + side / 2, y + high / 2 + 4, words, "small" if side < 22 else "", "middle")

    def grid(self, x, y, memory, width, side, hue, words=str, group=1 << 30):
        """Memory from its first place on, `width` places to a line, a gap after every `group` lines; a place without an
        element is free."""
        for place, element in enumerate(memory):
            row = place // width
            at = (x + place % width * side, y + row * side + row // group * GAP)
            self.cell(*at, side, None if element is None else hue(element), words(element))

    def runs(self, x, y, length, width, side, run, group=1 << 30):
        """Outlines of runs of places of a grid; one that goes on in the next line is open at the lines' ends."""
        for first in range(0, length, run):
            last = min(first + run, length) - 1
            for row in range(first // width, last // width + 1):
                begin, end = max(first, row * width), min(last, row * width + width - 1)
                left, right = x + begin % width * side + 1.5, x + (end % width + 1) * side - 1.5
                top = y + row * side + row // group * GAP + 1.5
                bottom = top + side - 3
                opened, closed = begin > first, end < last
                left, right = left - 5 * opened, right + 5 * closed
                d = f"M{number(right)} {number(top)}H{number(left)}"
                d += "M" + f"{number(left)} {number(bottom)}" if opened else f"V{number(bottom)}"
                d += f"H{number(right)}" + ("" if closed else f"V{number(top)}")
                self.path(d, "frame")

    def svg(self):
        """The whole file."""
        size = f'viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}"'
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="t d">',
                f'<title id="t">{escape(self.title)}</title><desc id="d">{escape(self.desc)}</desc>',
                f"<style>\n{STYLE.read_text()}{''.join(self.styles)}</style>",
                f'<rect x="0.5" y="0.5" width="{self.width - 1}" height="{self.height - 1}" rx="8" class="paper"/>',
                f'<text x="20" y="30" class="title">{escape(self.title)}</text>',
                *self.parts,
                "</svg>\n",
            ]
        )
