"""Compares in place with out of place on a GPU: time, speed and peak memory, by PyTorch and CuPy.

    compare.py [--runs N] [--output FILE.csv] [--quick]
    compare.py --rearrange [--runs N] [--output FILE.csv] [--quick]

A row for each case and way: the median of N runs by CUDA events after two more, GB/s = 2 * bytes / time, its share of a copy of the
same bytes in the same run, and how many bytes more than the array were allocated at the peak. The first run of each
is compared with PyTorch's copy.

With --rearrange: a pattern beside `transpose` of the same axes, on NumPy's arrays and, where there is a GPU, on its tensors. A row has
microseconds of a call, what was queued included: of N series of calls of one and of the other in turn the median, and the median of
their differences. What a pattern may take is 1.02 times as long and 10 microseconds.
"""

import argparse
import csv
import functools
import statistics
import sys
import time

import numpy as np
import turntile

try:
    import torch
except ImportError:
    torch = None
try:
    import cupy
except ImportError:
    cupy = None

#: Shape of the array, pattern and sizes; the same as a shape and an order of axes.
PATTERNS = [
    ((64, 64), "a b -> b a", {}, (64, 64), (1, 0)),
    ((8, 3, 32, 32), "b c h w -> b h w c", {}, (8, 3, 32, 32), (0, 2, 3, 1)),
    ((8, 3, 32, 32), "b c (h p) (w q) -> b (h w) (p q c)", {"p": 16, "q": 16}, (8, 3, 2, 16, 2, 16), (0, 2, 4, 3, 5, 1)),
    ((512, 768), "a b -> b a", {}, (512, 768), (1, 0)),
    ((32, 3, 224, 224), "b c h w -> b h w c", {}, (32, 3, 224, 224), (0, 2, 3, 1)),
    ((32, 3, 224, 224), "b c (h p) (w q) -> b (h w) (p q c)", {"p": 16, "q": 16}, (32, 3, 14, 16, 14, 16), (0, 2, 4, 3, 5, 1)),
    ((8192, 8191), "a b -> b a", {}, (8192, 8191), (1, 0)),
    ((64, 64, 112, 112), "b c h w -> b h w c", {}, (64, 64, 112, 112), (0, 2, 3, 1)),
]
#: Seconds of a series of calls at least, and most of them.
SERIES = 0.02, 500

CASES = [] if torch is None else [
    ("matrix", torch.float32, (16384, 16384), (1, 0)),
    ("matrix", torch.float32, (16381, 20011), (1, 0)),
    ("matrix", torch.bfloat16, (32768, 24576), (1, 0)),
    ("tall", torch.float32, (10_000_000, 8), (1, 0)),
    ("experts", torch.bfloat16, (64, 7168, 2048), (0, 2, 1)),
    ("experts", torch.bfloat16, (128, 2048, 1536), (0, 2, 1)),
    ("images", torch.float16, (256, 64, 112, 112), (0, 2, 3, 1)),
    ("pixels", torch.uint8, (256, 1080, 1920, 3), (0, 3, 1, 2)),
    ("attention", torch.bfloat16, (32, 4096, 32, 128), (0, 2, 1, 3)),
    ("reversed", torch.float32, (509, 641, 1021), (2, 1, 0)),
]
QUICK = [(name, dtype, tuple(min(side, 512) for side in shape), axes) for name, dtype, shape, axes in CASES]


def ways(t, axes):
    """(library, way, what is timed, the result or None)."""
    yield "torch", "copy", lambda: t.clone()
    yield "turntile", "in place", lambda: turntile.transpose(t, axes)
    yield "turntile", "into", lambda: turntile.transpose(t, axes, out=t.new_empty([t.shape[axis] for axis in axes]))
    yield "torch", "out of place", lambda: t.permute(axes).contiguous()
    if cupy is not None and t.dtype is not torch.bfloat16:
        a = cupy.from_dlpack(t)
        yield "turntile", "in place, CuPy", lambda: turntile.transpose(a, axes)
        yield "cupy", "out of place", lambda: cupy.ascontiguousarray(a.transpose(axes))


def timed(call, runs):
    """Seconds of each run on the device, with what it returns freed in between."""
    found = []
    for number in range(runs + 2):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        end.synchronize()
        if number >= 2:
            found.append(start.elapsed_time(end) / 1e3)
    return found


def peak(call):
    """Bytes that a call allocates beyond what was there, of PyTorch's allocator and CuPy's pool."""
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    pool = cupy.get_default_memory_pool() if cupy else None
    if pool:
        pool.free_all_blocks()
        held = pool.total_bytes()
    result = call()
    torch.cuda.synchronize()
    del result
    return torch.cuda.max_memory_allocated() - before + (pool.total_bytes() - held if pool else 0)


def per_call(call, times, done):
    """Returns the microseconds per call, of `times` calls."""
    start = time.perf_counter()
    for _ in range(times):
        call()
    done()
    return (time.perf_counter() - start) / times * 1e6


def beside_transpose(array, split, pattern, sizes, axes, done, runs):
    """Medians of `transpose`, `rearrange` and of how much longer it takes."""
    same = array.reshape(split)
    calls = [lambda: turntile.transpose(same, axes), functools.partial(turntile.rearrange, array, pattern, **sizes)]
    for call in calls:
        call()
    done()
    times = max(1, min(SERIES[1], int(SERIES[0] * 1e6 / per_call(calls[0], 1, done))))
    # Each is the first one alternately.
    pairs = [[per_call(call, times, done) for call in calls[:: -1 if run % 2 else 1]][:: -1 if run % 2 else 1] for run in range(runs)]
    medians = [statistics.median(found) for found in zip(*pairs)]
    return *medians, statistics.median(after - before for before, after in pairs)


def rearranged(out, runs, quick):
    """A row for each pattern and place."""
    out.writerow(["place", "shape", "pattern", "bytes", "transpose_us", "rearrange_us", "more_us", "bar_us"])
    places = [("NumPy", lambda shape: np.zeros(shape, np.float32), lambda: None)]
    if torch is not None and turntile.cuda_available():
        places.append(("torch, cuda", lambda shape: torch.zeros(shape, device="cuda"), torch.cuda.synchronize))
    for place, make, done in places:
        for shape, pattern, sizes, split, axes in PATTERNS[: 5 if quick else None]:
            array = make(shape)
            transpose, rearrange, more = beside_transpose(array, split, pattern, sizes, axes, done, runs)
            row = [place, "x".join(map(str, shape)), pattern, array.nbytes, transpose, rearrange, more, 0.02 * transpose + 10]
            out.writerow(f"{value:.2f}" if isinstance(value, float) else value for value in row)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--output", type=argparse.FileType("w"), default=sys.stdout)
    parser.add_argument("--quick", action="store_true", help="small shapes")
    parser.add_argument("--rearrange", action="store_true", help="patterns compared with transpose")
    given = parser.parse_args()
    out = csv.writer(given.output)
    if given.rearrange:
        rearranged(out, given.runs, given.quick)
        return
    if torch is None or not turntile.cuda_available():
        sys.exit("there is no GPU, or no PyTorch")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, turntile {turntile.__version__}", file=sys.stderr)
    out.writerow(["case", "dtype", "shape", "axes", "library", "way", "ms", "GB/s", "% of copy", "peak bytes", "array bytes"])
    if cupy is not None:
        # CuPy's work goes where the events are.
        cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream).use()
    for name, dtype, shape, axes in QUICK if given.quick else CASES:
        t = torch.empty(shape, dtype=dtype, device="cuda")
        t.view(-1).view(torch.uint8).random_(0, 256)
        wanted = t.permute(axes).contiguous()
        first = turntile.transpose(t.clone(), axes)
        same = torch.equal(first.view(-1).view(torch.uint8), wanted.view(-1).view(torch.uint8))
        del first, wanted
        if not same:
            sys.exit(f"{name} {shape} by {axes}: wrong elements")
        size, copy = t.numel() * t.element_size(), None
        for library, way, call in ways(t, axes):
            median = statistics.median(timed(call, given.runs))
            copy = copy or median
            row = [name, str(dtype).removeprefix("torch."), "x".join(map(str, shape)), "-".join(map(str, axes)), library, way]
            row += [f"{median * 1e3:.3f}", f"{2 * size / median / 1e9:.0f}", f"{100 * copy / median:.1f}", peak(call), size]
            out.writerow(row)
            given.output.flush()
        del t
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
