"""Pictures of what was measured, from the records of benches/records/h200."""

import csv
import pathlib

from .drawing import Picture

RECORDS = pathlib.Path(__file__).resolve().parents[3] / "benches/records/h200"
#: Name of a row, and its key in the record.
MATRICES = [
    ("7200 x 1800", ("7200", "1800", "4", "1")),
    ("4096 x 4096", ("4096", "4096", "4", "1")),
    ("32768 x 32768", ("32768", "32768", "4", "1")),
    ("19968 x 12032", ("19968", "12032", "4", "1")),
    ("19968 x 12032, f64", ("19968", "12032", "8", "1")),
    ("16381 x 20011, primes", ("16381", "20011", "4", "1")),
    ("10 000 000 x 3", ("10000000", "3", "4", "1")),
    ("10 000 000 x 32", ("10000000", "32", "4", "1")),
    ("64 x 4 000 000", ("64", "4000000", "4", "1")),
    ("100 000 of 64 x 48", ("64", "48", "4", "100000")),
]
AXES = [
    ("4096x16x32x128", "0-2-1-3", "4", "heads of attention"),
    ("64x256x112x112", "0-2-3-1", "4", "NCHW to NHWC"),
    ("512x640x1024", "2-1-0", "4", "reversed"),
    ("704x704x704", "2-1-0", "4", "a cube, reversed"),
    ("128x96x160x144", "2-0-3-1", "4", "two moves"),
    ("32x64x24x48x96", "4-3-2-1-0", "4", "five axes, reversed"),
    ("509x641x1021", "2-1-0", "4", "primes, reversed"),
    ("3000x2000x3", "2-0-1", "1", "bytes of pixels to planes"),
]


def record(name):
    with open(RECORDS / name) as file:
        return list(csv.DictReader(file))


#: What the axis and the dashes of a picture say.
OF_ARRAYS = ("GB/s: 2 x bytes of the array / time, f32 where nothing else stands", "a copy of as many bytes")
OF_LINKS = ("GB/s that a GPU sends to the others, f32", "NCCL, only the bytes that cross")


def bars(picture, rows, series, top, left, right, most, axis):
    """A group of bars for every row (name, below it, speeds, copy), and a dash where a copy's line stands."""
    high, gap = 12, 16
    scale = (right - left) / most
    bottom = top + len(rows) * (high * len(series) + gap)
    for tick in range(0, int(most) + 1, 1000 if most > 1000 else 100):
        x = left + tick * scale
        picture.line(x, top - 4, x, bottom, "mesh")
        picture.text(x, bottom + 16, str(tick), "small note", "middle")
    picture.text(
        (left + right) / 2,
        bottom + 36,
        axis,
        "note",
        "middle",
    )
    for n, (name, below, speeds, copy) in enumerate(rows):
        y = top + n * (high * len(series) + gap) + gap / 2
        middle = y + high * len(series) / 2
        picture.text(left - 10, middle + (4 if not below else -3), name, "", "end")
        if below:
            picture.text(left - 10, middle + 12, below, "small note", "end")
        for k, (speed, (_, hue)) in enumerate(zip(speeds, series)):
            if speed is None:
                continue
            picture.rect(left, y + k * high + 0.5, speed * scale, high - 1.5, f"s{hue}", ' rx="2"')
            words = f"{speed:.0f}"
            inside = speed * scale > 44
            if not inside:
                picture.text(left + speed * scale + 4, y + k * high + 10, words, "small")
            else:
                picture.text(left + speed * scale - 4, y + k * high + 10, words, "small on", "end")
        if copy:
            picture.line(left + copy * scale, y - 3, left + copy * scale, y + high * len(series) + 3, "copy")
    return bottom + 44


def legend(picture, series, x, y, dash):
    for name, hue in series:
        picture.rect(x, y - 10, 12, 12, f"s{hue}", ' rx="2"')
        picture.text(x + 18, y, name)
        x += 40 + 6.6 * len(name)
    picture.line(x + 4, y - 12, x + 4, y + 4, "copy")
    picture.text(x + 14, y, dash)


# Numbers on bars stand on the bars' colour.
ON = ".on { fill: #ffffff; }\n@media (prefers-color-scheme: dark) { .on { fill: #0d1117; } }\n"


def copy(row):
    """Returns the speed of the copy in the same run."""
    return 100 * float(row["turntile_gb_per_s"]) / float(row["percent_of_copy"])


def speeds(row, names):
    return [None if row[name] in ("", "-") else float(row[name]) for name in names]


def matrices():
    rows = []
    by_key = {(r["rows"], r["cols"], r["elem_bytes"], r["batch"]): r for r in record("peers.csv")}
    for name, key in MATRICES:
        row = by_key[key]
        found = speeds(row, ["turntile_gb_per_s", "torch_gb_per_s", "geam_gb_per_s"])
        rows.append((name, row["route"], found, copy(row)))
    series = [("turntile, in place", 1), ("PyTorch, into a second buffer", 2), ("cuBLAS geam, into a second buffer", 3)]
    return drawn(
        "Transposing matrices on an NVIDIA H200",
        "Bars of the speed of turntile in place, PyTorch and cuBLAS geam out of place, relative to a copy, for ten matrices.",
        rows,
        series,
        190,
    )


def axes():
    rows = []
    by_key = {(r["shape"], r["axes"], r["elem_bytes"]): r for r in record("permutation_peers.csv")}
    for shape, order, elem_bytes, name in AXES:
        row = by_key[shape, order, elem_bytes]
        found = speeds(row, ["turntile_gb_per_s", "torch_gb_per_s"])
        below = f"{shape.replace('x', ' x ')} to {order.replace('-', ',')}"
        rows.append((name, below, found, copy(row)))
    series = [("turntile, in place", 1), ("PyTorch, into a second tensor", 2)]
    return drawn(
        "Permuting axes on an NVIDIA H200",
        "Bars of the speed of turntile in place and of PyTorch out of place, relative to a copy, for eight orders of axes.",
        rows,
        series,
        250,
    )


def links():
    rows = []
    names = [("31488x31488", "1 GB a GPU"), ("65536x65536", ""), ("126464x126464", "16 GB a GPU"), ("244736x244736", "60 GB a GPU")]
    names += [("65521x65521", "a prime"), ("49152x24576", ""), ("60000x40000", ""), ("30011x20021", "primes")]
    found = {}
    for name in ("distributed_2.csv", "distributed_4.csv", "distributed_large_4.csv"):
        for row in record(name):
            found.setdefault((row["shape"], row["ranks"]), {})[row["way"]] = float(row["gb_per_s"] or 0) or None
    for (shape, what), gpus in ((name, gpus) for name in names for gpus in "24"):
        ways = found.get((shape, gpus))
        if ways:
            below = f"{gpus} GPUs" + (f", {what}" if what else "")
            speeds = [ways.get(way) for way in ("planned", "messages", "PyTorch")]
            rows.append((shape.replace("x", " x "), below, speeds, ways.get("exchange")))
    series = [("turntile, mapped, in place", 1), ("turntile, messages, in place", 2), ("PyTorch, second tensors", 3)]
    return drawn(
        "Transposing matrices over NVIDIA H200s",
        "Bars of the bytes a second that a GPU sends to the others while turntile and PyTorch transpose matrices over two and four GPUs.",
        rows,
        series,
        190,
        OF_LINKS,
    )


def drawn(title, desc, rows, series, left, words=OF_ARRAYS):
    picture = Picture(title, desc, 0)
    picture.styles.append(ON)
    legend(picture, series, 20, 58, words[1])
    most = max(max(filter(None, speeds)) for _, _, speeds, _ in rows)
    most = max(most, max(copy or 0 for *_, copy in rows))
    picture.height = int(bars(picture, rows, series, 78, left, 836, most * 1.01, words[0]))
    return picture
