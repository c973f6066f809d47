"""In place beside out of place on a GPU: time, speed and peak memory, by PyTorch and CuPy.

    compare.py [--runs N] [--output FILE.csv] [--quick]

A row for each case and way: the median of N runs by CUDA events after two more, GB/s = 2 * bytes / time, its share of a copy of the
same bytes in the same run, and how many bytes more than the array were allocated at the peak. The first run of each
is compared with PyTorch's copy.
"""

import argparse
import csv
import statistics
import sys

import torch
import turntile

try:
    import cupy
except ImportError:
    cupy = None

CASES = [
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
    yield "turntile", "into", lambda: turntile.permute_into(torch.empty([t.shape[axis] for axis in axes], dtype=t.dtype, device=t.device), t, axes)
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--output", type=argparse.FileType("w"), default=sys.stdout)
    parser.add_argument("--quick", action="store_true", help="small shapes")
    given = parser.parse_args()
    if not turntile.cuda_available():
        sys.exit("there is no GPU")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, turntile {turntile.__version__}", file=sys.stderr)
    out = csv.writer(given.output)
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
