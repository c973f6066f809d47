"""The tables of processors that scripts/results writes, each a function of the folder of records."""

import math
import statistics

from results_tables import AXES, about, axes_rows, bench_table, conversions, folders, machine, number, read, source, speed, table


def host(base):
    """Matrices on processors: every record of `turntile-lab bench` that has no axes and no candidates."""
    def of_matrices(folder, name):
        columns = read(folder, name)[0]
        return "route" in columns and "workspace_bytes" in columns and not name.startswith(("candidates", "permuted", "planner"))
    text = []
    for folder in folders(base):
        shown = [name for name in about(folder)["files"] if of_matrices(folder, name)] if folder.name.startswith("cpu-") else []
        text += [machine(folder)] * bool(shown) + [bench_table(folder, name) for name in shown]
    return "\n" + "\n".join(text) + "\n"


def choices(folder, name):
    """Returns, for a draw, the choices within 10% of the best measured, their number, the mean excess and the worst."""
    of = [float(row["chosen_over_best"]) for row in read(folder, name) if row["chosen_over_best"]]
    mean = math.exp(sum(map(math.log, of)) / len(of))
    return f"{sum(over <= 1.1 for over in of)} of {len(of)}", f"{mean:.3f}", f"{max(of):.2f}"


def host_planner(base):
    """Draws on processors, by the table that turntile has for any and by the one that was made there."""
    rows, sources = [], []
    for name, count, before, after in (
        ("cpu-xeon-16-cores", "1", "planner_1_thread_before.csv", "planner_1_thread.csv"),
        ("cpu-xeon-16-cores", "2", "planner_2_threads_before.csv", "planner_2_threads.csv"),
        ("cpu-xeon-16-cores", "8", "planner_8_threads_before.csv", "planner_8_threads.csv"),
        ("cpu-xeon-16-cores", "16", "planner_16_threads_before.csv", "planner_16_threads.csv"),
        ("cpu-epyc-milan", "1", "planner_1_thread_before.csv", "planner_1_thread.csv"),
        ("cpu-epyc-milan", "2", "planner_2_threads_before.csv", "planner_2_threads.csv"),
        ("cpu-epyc-genoa", "1", "planner_1_thread.csv", "planner_1_thread_calibrated.csv"),
        ("cpu-epyc-genoa", "2", "planner_2_threads.csv", "planner_2_threads_calibrated.csv"),
    ):
        folder = base / name
        what = about(folder)["device"].split(",")[0]
        rows.append((what, count, *choices(folder, before), *choices(folder, after)))
        sources += [source(folder, before, after)] if count in ("1", "16") else []
    near, mean, worst = "within 10% of the best", "mean, × the best", "worst"
    head = ["processor", "threads", near, mean, worst, f"by its own table: {near}", mean, worst]
    return table(head, rows) + "".join(sources)


def host_axes(base):
    folder = base / "cpu-xeon-16-cores"
    counts = ["1_thread", "8_threads", "16_threads"]
    names = ("torch", "numpy")
    of = [list(axes_rows(folder, f"permuted_{count}.csv", f"permuted_peers_{count}.csv", names)) for count in counts]
    rows = []
    for one, eight, sixteen in zip(*of):
        assert one[:3] == eight[:3] == sixteen[:3]
        speeds = [f"{row[5]} ({row[6]})" for row in (one, eight, sixteen)]
        rows.append((*one[:4], *speeds, one[7], sixteen[7], one[8]))
    head = [*AXES[:4], "1 thread", "8", "16", "× PyTorch, 1", "× PyTorch, 16", "× NumPy, 1"]
    names = [f"permuted_{peers}{count}.csv" for count in counts for peers in ("", "peers_")]
    return machine(folder) + "\n" + table(head, rows) + source(folder, *names)


def peers_table(folder, name, column, others):
    by = {}
    for row in read(folder, name):
        many = f", {row['threads']} threads" if int(row.get("threads", 1)) > 1 else ""
        by.setdefault((f"{row['rows']}x{row['cols']}", row["elem_bytes"]), {})[row[column] + many] = row
    def told(row):
        if row is None:
            return ""
        return f"{float(row['gb_per_s']):.3g} ({number(row['percent_of_copy'])})" if row["gb_per_s"] else "ends the process"
    rows = [(*group, *(told(found.get(other)) for other in others)) for group, found in by.items()]
    return machine(folder) + "\n" + table(["shape", "bytes", *others], rows) + source(folder, name)


def host_peers(base):
    others = ["turntile", "FFTW estimate", "FFTW measure", "OpenBLAS", "MKL", "transpose crate"]
    alone = peers_table(base / "cpu-sapphire-rapids", "peers.csv", "peer", others)
    several = [f"{peer}{count}" for count in ("", ", 8 threads", ", 16 threads") for peer in ("turntile", "FFTW measure")]
    return alone + "\n" + peers_table(base / "cpu-xeon-16-cores", "peers_threads.csv", "peer", several)


def imatcopy(base):
    return peers_table(base / "cpu-epyc-genoa", "imatcopy.csv", "library", ["turntile", "turntile, 2 threads", "OpenBLAS", "MKL"])


def host_steering(base):
    """Rows a pitch apart: accesses to a column's lines, compared with rows one line further apart and with other lines of the same pages."""
    folder, times = base / "cpu-epyc-milan", {}
    for row in read(folder, "steering.csv"):
        key = int(row["pitch"]), f"{row['form']} {row['places']}", row["walk"]
        times.setdefault(key, []).append(float(row["ns"]))
    forms = sorted({form for _, form, _ in times}, key=lambda form: (form.split()[0], int(form.split()[1])))
    def told(pitch, form):
        of = (times.get((pitch, form, walk)) for walk in ("pitch", "plus-line", "same-pages"))
        return " / ".join(speed(statistics.median(found)) if found else "" for found in of)
    pitches = [pitch for pitch in sorted({pitch for pitch, _, _ in times}) if pitch >= 1024]
    rows = [(pitch, *(told(pitch, form) for form in forms)) for pitch in pitches]
    return machine(folder) + "\n" + table(["pitch, bytes", *(f"{form}, ns" for form in forms)], rows) + source(folder, "steering.csv")


def host_records(base):
    folder = base / "cpu-epyc-milan"
    return machine(folder) + "\n" + conversions(folder, [("1 thread", "records_1_thread.csv"), ("2 threads", "records_2_threads.csv")])


TABLES = {
    name.replace("_", "-"): value
    for name, value in list(globals().items())
    if name in ("host", "imatcopy") or name.startswith("host_")
}
