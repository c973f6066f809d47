#!/usr/bin/env python3
"""Times PyTorch and NumPy on the shapes of `turntile-lab bench --shapes permuted`, on the same host.

permute.py TURNTILE.csv [OUT.csv]

For every row of the file, out of place: `dst.copy_(src.permute(axes))` by PyTorch with as many threads, NumPy's
`copyto(dst, src.transpose(axes))`, and a copy; the median of 7 runs after two that are not counted. GPUs: gpu.py.
"""

import csv
import statistics
import sys
import time

import numpy
import torch

TYPES = {1: torch.uint8, 2: torch.int16, 4: torch.float32, 8: torch.float64, 16: torch.complex128}
WARM_UP = 2


def timed(work):
    times = []
    for _ in range(WARM_UP + 7):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times[WARM_UP:])


def measure(shape, axes, word):
    """Seconds of each, by name."""
    source = torch.empty(shape, dtype=TYPES[word])
    source.view(torch.uint8).flatten().random_(0, 120)
    target = torch.empty([shape[axis] for axis in axes], dtype=TYPES[word])
    permuted, flat = source.permute(axes), target.view(source.shape)
    to, of = target.numpy(), source.numpy().transpose(axes)
    return {
        "torch": timed(lambda: target.copy_(permuted)),
        "copy": timed(lambda: flat.copy_(source)),
        "numpy": timed(lambda: numpy.copyto(to, of)),
    }


def main():
    with open(sys.argv[1]) as file:
        rows = list(csv.DictReader(file))
    fields = ("shape,axes,elem_bytes,threads,route,passes,turntile_gb_per_s,percent_of_copy,torch_gb_per_s,numpy_gb_per_s,"
              "copy_gb_per_s,turntile_over_torch,turntile_over_numpy").split(",")
    out = open(sys.argv[2], "w", newline="") if len(sys.argv) > 2 else sys.stdout
    writer = csv.DictWriter(out, fields, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        shape, axes = ([int(n) for n in row[name].split(by)] for name, by in (("shape", "x"), ("axes", "-")))
        torch.set_num_threads(int(row["threads"]))
        word = int(row["elem_bytes"])
        times = measure(shape, axes, word)
        moved = 2 * word
        for extent in shape:
            moved *= extent
        speed = {name: moved / seconds / 1e9 for name, seconds in times.items()}
        own = float(row["gb_per_s"])
        figure = lambda name: f"{speed[name]:.4g}"
        ratio = lambda name: f"{own / speed[name]:.2f}"
        writer.writerow(dict(zip(fields, [
            row["shape"], row["axes"], word, row["threads"], row["route"], row["passes"], f"{own:.4g}",
            row["percent_of_copy"], figure("torch"), figure("numpy"), figure("copy"), ratio("torch"), ratio("numpy")])))
        out.flush()


if __name__ == "__main__":
    main()
