"""The tables that scripts/results writes, each a function of the folder of records."""

import csv
import itertools
import json
import math
import statistics

# The share of a copy, in percent, that a class is built to reach, by bytes of an element.
GOALS = {
    "thesis": {4: 66},
    "large": {1: 22, 2: 35, 4: 42, 8: 42, 16: 42},
    "primes": {4: 33},
    "skinny": {4: 38},
    "square": {4: 90},
    "batch": {2: 38},
    "small-batch": {4: 75},
}

# Rows of the README's table: what it is, file of the results, file of the peers, shape, axes, bytes of an element.
FIRST = [
    ("square", "transpositions", "peers", "16384x16384", "", 4),
    ("fits on chip", "transpositions", "peers", "7200x1800", "", 4),
    ("sides with common divisors", "transpositions", "peers", "19968x12032", "", 4),
    ("prime sides", "transpositions", "peers", "16381x20011", "", 4),
    ("array of structures to structure of arrays", "transpositions", "peers", "10000000x8", "", 4),
    ("a cube reversed", "permutations", "permutation_peers", "704x704x704", "2-1-0", 4),
    ("102 GB on a GPU with 141 GB", "huge", None, "160000x160000", "", 4),
]


def about(folder):
    return json.loads((folder / "about.json").read_text())


def write_about(folder, data):
    (folder / "about.json").write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def folders(base):
    return sorted(file.parent for file in base.glob("*/about.json"))


def read(folder, name):
    with (folder / name).open() as file:
        return list(csv.DictReader(file))


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def machine(folder):
    data = about(folder)
    return f"{data['device']}; {data['system']}.\n"


def source(folder, *names):
    """Returns the source of a table: files, date, version, command."""
    groups = {}
    for name in names:
        entry = about(folder)["files"][name]
        link = f"[{name}]({folder.name}/{name})"
        groups.setdefault(f"{entry['date']}, {entry['version']}, `{entry['by']}`.", []).append(link)
    lines = [f"- {', '.join(links)}: {rest}\n" for rest, links in groups.items()]
    return "\n" + "".join(lines)


def records(folder):
    """The table of a folder's README."""
    data = about(folder)
    rows = [(f"`{n}`", f"`{e['by']}`", e["what"], e["date"], e["version"]) for n, e in data["files"].items()]
    return machine(folder) + "\n" + table(["file", "made by", "what", "date", "version"], rows)


def number(text, digits=0):
    return f"{float(text):.{digits}f}" if text not in ("", "-", None) else ""


def speed(text):
    """Returns three digits."""
    return f"{float(text):.{1 if float(text) < 30 else 0}f}"


def shape(row):
    if row.get("axes") and not (row["axes"] == "0-2-1" and row["rows"]):
        return row["shape"]
    text = f"{row['rows']}x{row['cols']}"
    return text if row.get("batch", "1") in ("1", "") else f"{row['batch']} of {text}"


def axes(row):
    return row["axes"].replace("-", ",")


def route(row):
    return row["route"] + " mirrored" * (row.get("mirrored") == "true")


def span(values, digits=0):
    """From the least to the most."""
    digits = digits or int(max(values) < 10)
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return low if low == high else f"{low}-{high}"


def ratio(row, peer, name, digits=2):
    """Returns the speed relative to a peer; empty if that was not measured."""
    other = (peer or {}).get(f"{name}_gb_per_s", "")
    own = row.get("gb_per_s") or row.get("turntile_gb_per_s")
    return f"{float(own) / float(other):.{digits}f}" if other not in ("", "-") else ""


def key(row):
    return row["batch"], row["rows"], row["cols"], row["elem_bytes"]


def first(rows, missing):
    for row in rows:
        return row
    raise SystemExit(f"the README's table: {missing}")


def megabytes(count):
    return f"{count / 1e6:.2f}" if 0 < count < 1e7 else f"{count / 1e6:.0f}"


def readme(base):
    folder, rows = base / "h200", []
    for what, ours, peers, wanted, order, size in FIRST:
        def same(row):
            there = shape(row) if not order else row["shape"]
            return there == wanted and row["elem_bytes"] == str(size) and (not order or row["axes"] == order)
        row = first(filter(same, read(folder, ours + ".csv")), f"{ours}.csv has no {wanted} {order}")
        def same_peer(other):
            return same(other) if order else key(other) == key(row)
        peer = first(filter(same_peer, read(folder, peers + ".csv")), f"{peers}.csv has no {wanted} {order}") if peers else None
        rows.append((
            what, wanted.replace("x", " x ") + (f", axes {axes(row)}" if order else ""),
            megabytes(size * math.prod(map(int, wanted.split("x")))), megabytes(int(row["workspace_bytes"])),
            number(row["gb_per_s"]), number(row["percent_of_copy"]),
            *([ratio(row, peer, name, 1) for name in ("torch", "compile", "xla")] if peer else ("out of memory", "", "")),
        ))  # fmt: skip
    data = about(folder)
    used = {data["files"][ours + ".csv"]["date"] for _, ours, *_ in FIRST}
    when = f"{data['device']}, {data['system']}; {' and '.join(sorted(used))}.\n\n"
    beside = read(folder, "peers.csv")
    than = lambda names: sum(any(float(ratio(row, row, name, 9) or 2) < 1 for name in names) for row in beside)
    slower = (
        f"\nOf all {len(beside)} matrices measured, {than(['torch'])} are slower than PyTorch into a second buffer, "
        f"{than(['torch', 'compile', 'xla'])} slower than the fastest of these three.\n"
    )
    head = ["float32 array", "shape", "MB", "extra MB", "GB/s", "% of a copy", "× PyTorch", "× torch.compile", "× XLA"]
    return when + table(head, rows) + slower


def h200_device(base):
    return machine(base / "h200")


def h200_classes(base):
    folder, rows = base / "h200", []
    peers = {key(row): row for row in read(folder, "peers.csv")}
    for row in read(folder, "transpositions.csv"):
        # Tiny matrices only time the launch.
        if row["class"] == "tiny":
            continue
        beside = [ratio(row, peers.get(key(row)), name) for name in ("torch", "compile", "xla", "geam")]
        goal = GOALS.get(row["class"], {}).get(int(row["elem_bytes"]), "")
        rows.append((
            row["class"], row["elem_bytes"], shape(row), route(row), number(row["gb_per_s"]), number(row["percent_of_copy"]),
            goal, *beside,
        ))  # fmt: skip
    head = ["class", "bytes", "shape", "route", "GB/s", "% of copy", "goal", "× PyTorch", "× torch.compile", "× XLA", "× geam"]
    return table(head, rows) + source(folder, "transpositions.csv", "peers.csv")


def axes_rows(folder, ours, peers, names):
    beside = {(row["shape"], row["axes"], row["elem_bytes"]): row for row in read(folder, peers)}
    for row in read(folder, ours):
        peer = beside.get((row["shape"], row["axes"], row["elem_bytes"]))
        yield (
            row["shape"].replace("x", " x "), axes(row), row["elem_bytes"], route(row), row["passes"],
            speed(row["gb_per_s"]), number(row["percent_of_copy"]), *(ratio(row, peer, name) for name in names),
        )  # fmt: skip


AXES = ["shape", "axes", "bytes", "route", "passes", "GB/s", "% of copy"]
ON_GPU, GPU_PEERS = ("torch", "compile", "xla"), ["× PyTorch", "× torch.compile", "× XLA"]


def h200_axes(base):
    folder = base / "h200"
    rows = axes_rows(folder, "permutations.csv", "permutation_peers.csv", ON_GPU)
    return table(AXES + GPU_PEERS, rows) + source(folder, "permutations.csv", "permutation_peers.csv")


def h200_axes_words(base):
    folder = base / "h200"
    by = {}
    for row in read(folder, "permutations_words.csv"):
        by.setdefault((row["shape"], axes(row)), {})[row["elem_bytes"]] = number(row["percent_of_copy"])
    words = sorted({word for found in by.values() for word in found}, key=int)
    rows = [(s.replace("x", " x "), a, *(found.get(word, "") for word in words)) for (s, a), found in by.items()]
    return table(["shape", "axes", *(f"{word} B" for word in words)], rows) + source(folder, "permutations_words.csv")


def h200_into_axes(base):
    folder = base / "h200"
    rows = [row[:3] + row[5:] for row in axes_rows(folder, "into_permuted.csv", "permutation_peers.csv", ON_GPU)]
    return table(AXES[:3] + AXES[5:] + GPU_PEERS, rows) + source(folder, "into_permuted.csv", "permutation_peers.csv")


def h200_corners(base):
    folder, by = base / "h200", {}
    for row in read(folder, "corner_axes.csv"):
        by.setdefault((row["shape"], axes(row)), {})[row["elem_bytes"]] = f"{number(row['percent_of_copy'])} ({row['passes']})"
    name = lambda text: f"{text.count('x') + 1} axes of 2" if set(text) == {"2", "x"} else text.replace("x", " x ")
    order = lambda text: "reversed" if text.count(",") > 8 else text
    rows = [(name(s), order(a), *(found.get(word, "") for word in "421")) for (s, a), found in by.items()]
    return table(["shape", "axes", *(f"{word} B" for word in "421")], rows) + source(folder, "corner_axes.csv")


def conversions(folder, files):
    """Records between layouts, a column for each of `files`: its heading and its name."""
    by = {}
    for head, name in files:
        for row in read(folder, name):
            widths = [int(width) * int(row["word_bytes"]) for width in row["fields"].split("+")]
            fields = f"{len(widths)} of {widths[0]}" if len(set(widths)) == 1 else " + ".join(map(str, widths))
            names = [{"1": "AoS", row["records"]: "SoA"}.get(row[side], f"ASTA({row[side]})") for side in ("from", "to")]
            speeds = by.setdefault((fields, row["records"], *names), {})
            speeds[head] = f"{speed(row['gb_per_s'])} ({number(row['percent_of_copy'])})"
    heads = [head for head, _ in files]
    rows = [(*key, *(found.get(head, "") for head in heads)) for key, found in by.items()]
    return table(["fields, bytes", "records", "from", "to", *heads], rows) + source(folder, *(name for _, name in files))


def h200_records(base):
    return conversions(base / "h200", [("GB/s (% of copy)", "records.csv")])


def h200_steering(base):
    folder, by = base / "h200", {}
    for row in read(folder, "steering.csv"):
        by.setdefault((row["form"], row["places"], row["walk"]), {}).setdefault(int(row["pitch"]), []).append(float(row["ns"]))
    rows = []
    for (form, places, walk), found in by.items():
        times = [statistics.median(of) for of in found.values()]
        rows.append((f"{form} {places}", walk, len(found), f"{min(times):.3f}", f"{max(times):.3f}"))
    return table(["chase", "lines", "pitches", "quickest, ns", "slowest, ns"], rows) + source(folder, "steering.csv")


def h200_into(base):
    folder = base / "h200"
    rows = [(
        shape(row), row["elem_bytes"], f"`{row['kernel'].split('/')[-1]}`", number(row["gb_per_s"]), number(row["percent_of_copy"]),
    ) for row in read(folder, "out_of_place.csv")]  # fmt: skip
    return table(["shape", "bytes", "kernel", "GB/s", "% of copy"], rows) + source(folder, "out_of_place.csv")


def h200_kernels(base):
    folder, rows = base / "h200", []
    gone = about(folder)["gone"]
    names = ["square.csv", "cube.csv", "tiles.csv", "barrier.csv", "on_chip.csv", "moves.csv", "slots.csv", "slot_runs.csv"]
    for name in names:
        by = {}
        for row in read(folder, name):
            if row["word_bytes"] != "4" or row["kernel"].split("/")[-1] in gone:
                continue
            case = "gather by teams" if row["case"].startswith("gather ") and "x" in row["case"] else row["case"]
            back = " back" if " back(" in row["shape"] else ""
            group = case + back, row["kernel"].split("/")[-1]
            by.setdefault(group, []).append(float(row["percent_of_copy"]))
        rows += [(case, f"`{kernel}`", len(of), span(of)) for (case, kernel), of in by.items()]
    left_out = ", ".join(f"`{kernel}`" for kernel in gone)
    text = f"\nThe records have kernels too that are no more: {left_out}.\n"
    return table(["stage", "kernel", "shapes", "% of copy"], rows) + text + source(folder, *names)


def h200_words(base):
    folder, by = base / "h200", {}
    for row in read(folder, "words.csv"):
        by.setdefault(row["case"], {})[row["word_bytes"]] = number(row["percent_of_copy"])
    words = ["1", "2", "4", "8", "16"]
    rows = [(case, *(found.get(word, "") for word in words)) for case, found in by.items()]
    return table(["stage", *(f"{word} B" for word in words)], rows) + source(folder, "words.csv")


def h200_huge(base):
    folder = base / "h200"
    rows = [(
        shape(row), f"{float(row['rows']) * float(row['cols']) * float(row['elem_bytes']) / 1e9:.1f}", route(row),
        f"{float(row['seconds']) * 1e3:.0f}", number(row["gb_per_s"]), number(row["percent_of_copy"]),
        f"{float(row['workspace_bytes']) / 1e6:.1f}",
    ) for row in read(folder, "huge.csv")]  # fmt: skip
    head = ["f32", "GB", "route", "ms", "GB/s", "% of copy", "workspace, MB"]
    return table(head, rows) + source(folder, "huge.csv")


def h200_small(base):
    folder = base / "h200"
    names = ["overheads.csv", "capped_0.csv", "capped_1MiB.csv"]
    rows = [(
        name.removesuffix(".csv"), shape(row), route(row), f"{float(row['seconds']) * 1e6:.4g}",
        number(row["percent_of_copy"], 1), number(row["planning_us"]), number(row["queueing_us"], 1), row["workspace_bytes"],
    ) for name in names for row in read(folder, name)]  # fmt: skip
    head = ["record", "f32", "route", "µs", "% of copy", "planning, µs", "queueing, µs", "workspace, bytes"]
    return table(head, rows) + source(folder, *names)


def h200_planner(base):
    folder, rows = base / "h200", []
    for name in ("planner.csv", "planner_7.csv", "planner_2028.csv", "planner_2028_calibrated.csv"):
        of = [float(row["chosen_over_best"]) for row in read(folder, name)]
        planning = [float(row["planning_us"]) for row in read(folder, name)]
        near, best = sum(over <= 1.1 for over in of), sum(over <= 1 for over in of)
        rows.append((name, f"{near} of {len(of)}", best, f"{max(of):.2f}", span(planning)))
    head = ["draw", "within 10% of the best", "the best itself", "worst, × the best's time", "planning, µs"]
    return table(head, rows) + source(folder, "planner.csv", "planner_7.csv", "planner_2028.csv", "planner_2028_calibrated.csv")


def h200_first_use(base):
    folder, by = base / "h200", {}
    for row in read(folder, "first_use.csv"):
        code = by.setdefault((row["code"], row["cache"]), {"plan": [], "load": [], "process": [], "context": []})
        for what, found in code.items():
            found.append(float(row[what + "_ms"]))
    rows = [(
        {"machine": "machine code", "ptx": "PTX"}[code], {"0": "off", "1": "on"}[cache],
        *(span(of[what], 1 if what in ("plan", "load") else 0) for what in ("context", "plan", "load", "process")),
    ) for (code, cache), of in by.items()]  # fmt: skip
    head = ["code", "driver's cache", "context, ms", "planning, ms", "loading, ms", "whole process, ms"]
    return table(head, rows) + source(folder, "first_use.csv")


def h200_python(base):
    folder, rows = base / "h200", []
    for _, group in itertools.groupby(read(folder, "python_compare.csv"), lambda row: (row["case"], row["shape"], row["dtype"])):
        group = list(group)
        way = {(row["library"], row["way"]): row for row in group}
        def told(library, what):
            row = way.get((library, what))
            return f"{float(row['ms']):.2f} ({number(row['% of copy'])})" if row else ""
        def beside(library, what):
            return number(str(float(way[library, what]["peak bytes"]) / 1e6))
        first = group[0]
        rows.append((
            f"{first['shape'].replace('x', ' x ')} {first['dtype']}", axes(first), told("turntile", "in place"), told("turntile", "into"),
            told("torch", "out of place"), told("cupy", "out of place"),
            beside("turntile", "in place"), beside("torch", "out of place"),
        ))  # fmt: skip
    head = ["array", "axes", "`transpose`", "`out=`", "PyTorch", "CuPy", "extra MB: in place", "PyTorch"]
    return table(head, rows) + source(folder, "python_compare.csv")


def weights(base):
    """Times and extra memory of weight conversions, for each folder with a record of crates/python/benches/weights.py."""
    text = ""
    for folder in folders(base):
        if (folder / "python_weights.csv").exists():
            found = read(folder, "python_weights.csv")
            ways, rows, faster = ["turntile", "loop", "contiguous", "output"], [], []
            for _, group in itertools.groupby(found, lambda row: row["case"]):
                way = {row["way"]: row for row in group}
                first = way["copy"]
                if "loop" in way and float(way["loop"]["ms"]) < float(way["turntile"]["ms"]):
                    faster.append(first["case"])
                rows.append((
                    first["case"], f"`{first['layout']}`", f"{first['shape'].replace('x', ' x ')} {first['dtype']}", f"{int(first['bytes']) / 1e6:.0f}",
                    *(f"{float(way[w]['ms']):.2f} ({100 * float(way[w]['of_copy']):.0f}, {int(way[w]['extra_bytes']) / 1e6:.0f})" if w in way else "" for w in ways),
                ))  # fmt: skip
            text += machine(folder) + "\n" + table(["weight", "layout", "shape", "MB", *ways], rows)
            text += f"\nThe loop is faster for: {', '.join(faster) or 'no weight'}.\n" + source(folder, "python_weights.csv")
    return text or "Not measured yet.\n"


def h200_rearrange(base):
    folder = base / "h200"
    rows = [(
        row["place"], row["shape"].replace("x", " x "), f"`{row['pattern']}`",
        *(number(row[what]) for what in ("transpose_us", "rearrange_us", "more_us", "bar_us")),
    ) for row in read(folder, "python_rearrange.csv")]  # fmt: skip
    head = ["in", "array", "pattern", "`transpose`, µs", "`rearrange`, µs", "more", "at most"]
    return table(head, rows) + source(folder, "python_rearrange.csv")


def bench_table(folder, name):
    """Returns a record of `turntile-lab bench`, unchanged."""
    rows = [(
        shape(row), row["elem_bytes"], route(row), speed(row["gb_per_s"]), number(row["percent_of_copy"]), row["workspace_bytes"],
    ) for row in read(folder, name)]  # fmt: skip
    head = ["shape", "bytes", "route", "GB/s", "% of copy", "workspace, bytes"]
    return f"#### {about(folder)['files'][name]['what']}\n\n" + table(head, rows) + source(folder, name)


def h200_more(base):
    """Records that no other table shows and whose entry says `"show": true`."""
    folder = base / "h200"
    text = [bench_table(folder, name) for name, entry in about(folder)["files"].items() if entry.get("show")]
    return "\n" + "\n".join(text) + "\n" if text else ""


def h200_on_chip_axes(base):
    """Returns the chosen plan of each problem and the best plan of two passes."""
    folder, by = base / "h200", {}
    for row in read(folder, "on_chip_axes.csv"):
        of = by.setdefault((row["shape"], axes(row)), {})
        of.setdefault(row["elem_bytes"], []).append((row["route"] == "on-chip", float(row["percent_of_copy"])))
    def best(found, on_chip):
        speeds = [percent for held, percent in found or [] if held == on_chip]
        return f"{max(speeds):.0f}" if speeds else ""
    words = ["8", "4", "2", "1"]
    rows = [(s.replace("x", " x "), a, *(best(of.get(word), True) for word in words), best(of.get("4"), False)) for (s, a), of in by.items()]
    head = ["shape", "axes", *(f"{word} B" for word in words), "more passes, 4 B"]
    return table(head, rows) + source(folder, "on_chip_axes.csv")


def h200_leading(base):
    """Rows a pitch apart: each case of `gpu_bench`'s table."""
    folder, rows = base / "h200", []
    for row in read(folder, "leading.csv"):
        name = f"{row['rows']}x{row['cols']}" + ("" if row["transposed"] == "1" else ", not transposed")
        scaled = f", {row['scaled']} times a number" * bool(row["scaled"])
        way = row["way"].replace(";", ",") + scaled
        speeds = speed(row["gb_per_s"]), number(row["percent_of_copy"])
        rows.append((name, row["lda"], row["ldb"], row["elem_bytes"], way, *speeds, row["workspace_bytes"]))
    head = ["matrix", "lda", "ldb", "bytes", "way", "GB/s", "% of copy", "workspace, bytes"]
    return table(head, rows) + source(folder, "leading.csv")


TABLES = {
    name.replace("_", "-"): value
    for name, value in list(globals().items())
    if name in ("readme", "weights") or name.startswith("h200_")
}


def self_test():
    assert table(["a", "b"], [(1, "x")]) == "| a | b |\n|---|---|\n| 1 | x |\n"
    assert span([13.2, 13.4]) == "13" and span([1, 12.6]) == "1-13" and span([0.5]) == "0.5"
    assert shape({"rows": "3", "cols": "4", "batch": "2"}) == "2 of 3x4"
    assert shape({"rows": "3", "cols": "4", "batch": "1", "shape": "1x3x4", "axes": "0-2-1"}) == "3x4"
    assert route({"route": "panel", "mirrored": "true"}) == "panel mirrored"
