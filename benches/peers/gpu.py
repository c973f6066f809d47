#!/usr/bin/env python3
"""PyTorch, torch.compile, XLA and cuBLAS beside `turntile-lab bench --device cuda`, on the same GPU, one after the other.

gpu.py TURNTILE.csv [OUT.csv]

For every problem of the file, matrices or axes, from one buffer into another: PyTorch's `dst.copy_(src.permute(axes))`,
the same through torch.compile (Triton), jax.jit of a transpose (XLA), cuBLAS geam (f32, f64 and complex f64; it has no
other words and no batches) and a device copy. Each is the median of 21 runs by CUDA events after two that are not
counted; XLA has a stream of its own, so it is the time of ten calls queued together, divided by ten, its launch
included. Each is checked against PyTorch's. Small problems go through memory from place to place, as turntile's do, so
that none is found in the second-level cache. What does not fit twice is left out.
"""

import csv
import ctypes
import os
import statistics
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import torch

jax.config.update("jax_enable_x64", True)
RUNS, WARM_UP, LEAST, MOST_PLACES = 21, 2, 1 << 30, 64
TYPES = {1: torch.uint8, 2: torch.bfloat16, 4: torch.float32, 8: torch.float64, 16: torch.complex128}
GEAM = {4: "cublasSgeam", 8: "cublasDgeam", 16: "cublasZgeam"}
PEERS = ("torch", "compile", "xla", "geam", "copy")


def library():
    """cuBLAS as PyTorch brings it, and a handle on PyTorch's stream."""
    torch.mm(torch.ones(2, 2, device="cuda"), torch.ones(2, 2, device="cuda"))
    with open("/proc/self/maps") as maps:
        path = next(line.split()[-1] for line in maps if "libcublas.so" in line)
    cublas, handle = ctypes.CDLL(path), ctypes.c_void_p()
    assert cublas.cublasCreate_v2(ctypes.byref(handle)) == 0
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    assert cublas.cublasSetStream_v2(handle, stream) == 0
    return cublas, handle


def geam(cublas, handle, source, target):
    """`target`, cols x rows, becomes the transpose of `source`, rows x cols, both row-major."""
    (rows, cols), word = source.shape, source.element_size()
    scalars = {4: ctypes.c_float * 1, 8: ctypes.c_double * 1, 16: ctypes.c_double * 2}[word]
    one, zero = scalars(1.0), scalars(0.0)
    from_, to = ctypes.c_void_p(source.data_ptr()), ctypes.c_void_p(target.data_ptr())
    # Column-major: target has rows x cols, leading side rows, and is op(source) = source transposed.
    code = getattr(cublas, GEAM[word])(handle, 1, 0, rows, cols, one, from_, cols, zero, to, rows, to, rows)
    assert code == 0, f"cuBLAS answered {code}"


def raw(tensor):
    """Its bytes."""
    return (torch.view_as_real(tensor) if tensor.is_complex() else tensor).view(torch.uint8).flatten()


def same(found, wanted, what):
    parts = zip(raw(found).split(1 << 30), raw(wanted).split(1 << 30))
    assert all(torch.equal(a, b) for a, b in parts), f"{what} is wrong"


def seconds(work, places):
    times = []
    for run in range(WARM_UP + RUNS):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        work(run % places)
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return statistics.median(times[WARM_UP:])


def xla(source, axes, wanted):
    """Seconds of jax.jit's transpose of each of the places."""
    places = [jax.dlpack.from_dlpack(place) for place in source]
    turn = jax.jit(lambda x: jax.numpy.transpose(x, axes))
    same(torch.from_dlpack(turn(places[0])), wanted, "XLA")
    calls, times = 10, []
    for _ in range(5):
        jax.block_until_ready(turn(places[0]))
        start = time.perf_counter()
        for call in range(calls):
            last = turn(places[call % len(places)])
        jax.block_until_ready(last)
        times.append((time.perf_counter() - start) / calls)
    return statistics.median(times)


def measure(blas, shape, axes, word):
    """Seconds of each peer by name. Elements of 12 bytes are three floats, an axis that stays last."""
    if word == 12:
        return measure(blas, [*shape, 3], [*axes, len(axes)], 4)
    count = word
    for extent in shape:
        count *= extent
    places = min(max(1, LEAST // (2 * count)), MOST_PLACES)
    anew = lambda extents: [torch.empty(extents, dtype=TYPES[word], device="cuda") for _ in range(places)]
    source, target = anew(shape), anew([shape[axis] for axis in axes])
    for part in (part for place in source for part in raw(place).split(1 << 30)):
        part.random_(0, 120)
    flat = [place.view(shape) for place in target]
    times = {"copy": seconds(lambda place: flat[place].copy_(source[place]), places)}
    times["torch"] = seconds(lambda place: target[place].copy_(source[place].permute(axes)), places)
    wanted = target[0].clone()

    torch._dynamo.reset()
    turn = torch.compile(lambda to, of: to.copy_(of.permute(axes)), dynamic=False)
    raw(target[0]).fill_(255)
    turn(target[0], source[0])
    same(target[0], wanted, "torch.compile")
    times["compile"] = seconds(lambda place: turn(target[place], source[place]), places)
    if word in GEAM and list(axes) == [1, 0]:
        raw(target[0]).fill_(255)
        geam(*blas, source[0], target[0])
        same(target[0], wanted, "geam")
        times["geam"] = seconds(lambda place: geam(*blas, source[place], target[place]), places)
    del target, flat
    torch.cuda.empty_cache()
    times["xla"] = xla(source, axes, wanted)
    return times


def problem(row):
    """Shape, axes and bytes of an element."""
    batch, rows, cols, word = (int(row[name]) for name in ("batch", "rows", "cols", "elem_bytes"))
    if row.get("axes"):
        return [int(n) for n in row["shape"].split("x")], [int(n) for n in row["axes"].split("-")], word
    return ([rows, cols], [1, 0], word) if batch == 1 else ([batch, rows, cols], [0, 2, 1], word)


def main():
    with open(sys.argv[1]) as file:
        problems = list(csv.DictReader(file))
    blas = library()
    fields = ["class", "batch", "rows", "cols", "shape", "axes", "elem_bytes", "route", "passes", "percent_of_copy"]
    out = open(sys.argv[2], "w", newline="") if len(sys.argv) > 2 else sys.stdout
    figures = [f"{name}_gb_per_s" for name in ("turntile", *PEERS)]
    writer = csv.DictWriter(out, fields + figures, lineterminator="\n")
    writer.writeheader()
    for row in problems:
        shape, axes, word = problem(row)
        moved = 2 * word
        for extent in shape:
            moved *= extent
        torch.cuda.empty_cache()
        try:
            times = measure(blas, shape, axes, word)
        except torch.cuda.OutOfMemoryError:
            times = {}
        found = {name: row.get(name, "") for name in fields}
        found["turntile_gb_per_s"] = f"{float(row['gb_per_s']):.0f}"
        for name in PEERS:
            found[f"{name}_gb_per_s"] = f"{moved / times[name] / 1e9:.0f}" if name in times else ""
        writer.writerow(found)
        out.flush()
    print(f"torch {torch.__version__}, jax {jax.__version__}", file=sys.stderr)


if __name__ == "__main__":
    main()
