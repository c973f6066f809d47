"""Weights converted to kernels' layouts: turntile compared with a copy, a loop over experts, and an output allocated before.

    weights.py [--device cuda|cpu] [--runs N] [--output FILE.csv] [--quick]

Prints a Markdown table. A row of the file is one weight and one way: the median of N runs in milliseconds, the share of the time of a
copy of the same bytes, and the bytes allocated at the peak in addition to the weight. Every result is compared with the copy.

The ways: `turntile`, `turntile.weights.convert(w, layout)`; `contiguous`, a new tensor; `loop`, which converts one expert to a scratch
tensor and copies it back, for weights with experts; `output`, into a tensor that exists, which counts as extra memory. On CUDA
the memory is that of PyTorch's allocator, on the host the process's peak. On the host, and with --quick, weights are smaller.
"""

import argparse
import csv
import statistics
import sys
import time

import torch
from turntile import weights


def viewed(split, axes):
    """Returns the function that makes a view of `w` with some extents split and all axes permuted."""
    return lambda w: [w.view(len(w), *split(*w.shape[1:])).permute(axes)]


def halves(w):
    rows = w.shape[1] // 2
    return [w[:, rows:], w[:, :rows]]


def qkv(w, heads=64, kv_heads=8):
    groups = w.view(len(w), kv_heads, heads // kv_heads + 2, -1, w.shape[2])
    return [groups[:, :, :-2], groups[:, :, -2:-1], groups[:, :, -1:]]


#: What it is, layout, sizes, dtype, shape (experts first), and the views whose concatenation is the result.
CASES = [
    ("MXFP4 experts, gate and up", "gated_shuffle_32_block_k", {}, torch.uint8, (128, 2944, 2944), viewed(lambda m, k: (2, m // 32, 8, 2, k // 128, 128), (0, 5, 2, 4, 1, 3, 6))),
    ("experts transposed", "transpose", {}, torch.bfloat16, (64, 7168, 2048), viewed(lambda n, k: (n, k), (0, 2, 1))),
    ("FP8 experts transposed", "transpose", {}, torch.uint8, (256, 2048, 7168), viewed(lambda n, k: (n, k), (0, 2, 1))),
    ("one matrix transposed", "transpose", {}, torch.bfloat16, (1, 28672, 8192), viewed(lambda n, k: (n, k), (0, 2, 1))),
    ("experts, columns in blocks", "block_major_k", {"block": 128}, torch.uint8, (128, 1472, 5888), viewed(lambda m, k: (m, k // 128, 128), (0, 2, 1, 3))),
    ("gate and up swapped", "swap_halves", {}, torch.bfloat16, (64, 5760, 1440), halves),
    ("gate and up interleaved", "interleave_rows", {}, torch.bfloat16, (32, 5760, 2880), viewed(lambda m, k: (2, m // 2, k), (0, 2, 1, 3))),
    ("scale factors", "scales_128x4", {}, torch.uint8, (1, 16384, 448), viewed(lambda m, k: (m // 128, 4, 32, k // 4, 4), (0, 1, 4, 3, 2, 5))),
    ("query, key and value split", "split_qkv", {"heads": 64, "kv_heads": 8}, torch.bfloat16, (1, 10240, 8192), qkv),
    ("rotary rows to halves", "rotary_halves", {"heads": 64}, torch.bfloat16, (1, 8192, 8192), viewed(lambda m, k: (64, m // 128, 2, k), (0, 1, 3, 2, 4))),
]  # fmt: skip


def copied(parts, out):
    """Concatenates views into `out`, of any shape."""
    begin, flat = 0, out.view(len(out), -1)
    for part in parts:
        end = begin + part[0].numel()
        flat[:, begin:end].view(part.shape).copy_(part)
        begin = end
    return out


def contiguous(w, parts):
    found = parts(w)
    return found[0].contiguous() if len(found) == 1 else copied(found, torch.empty_like(w))


def loop(w, parts):
    for expert in w.split(1):
        copied([contiguous(expert, parts)], expert)
    return w


def measured(device, run):
    """Returns seconds and bytes at the peak, in addition to those before."""
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        result = run()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1e3, torch.cuda.max_memory_allocated() - before, result
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before, start = resident("VmRSS"), time.perf_counter()
    result = run()
    return time.perf_counter() - start, max(resident("VmHWM") - before, 0), result


def resident(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))


def rows(device, runs, quick):
    for what, layout, sizes, dtype, shape, parts in CASES:
        experts = max(shape[0] // 16, min(shape[0], 2)) if quick else shape[0]
        size = torch.Size((experts, *shape[1:])).numel() * dtype.itemsize
        fresh = lambda: (torch.arange(size // 8, device=device) * 0x9E3779B97F4A7C15 >> 9).view(dtype).view(experts, *shape[1:])
        w = fresh()
        wanted = contiguous(w, parts).view(torch.uint8).view(-1).cpu()
        out = torch.empty_like(w)
        ways = {
            "copy": lambda w: out.copy_(w),
            "output": lambda w: copied(parts(w), out),
            "contiguous": lambda w: contiguous(w, parts),
            "turntile": lambda w: weights.convert(w, layout, **sizes),
            "loop": lambda w: loop(w, parts),
        }
        if experts == 1:
            del ways["loop"]
        copy = None
        for way, run in ways.items():
            if way == "contiguous":
                del out
            if way in ("turntile", "loop"):
                del w
                w = fresh()
            found = []
            for number in range(runs + 2):
                seconds, more, result = measured(device, lambda: run(w))
                if number == 0 and way != "copy":
                    assert torch.equal(result.contiguous().view(torch.uint8).view(-1).cpu(), wanted), (what, way)
                del result
                found.append((seconds, more))
            seconds = statistics.median(one for one, _ in found[2:])
            more = max(one for _, one in found[2:]) + (size if way in ("copy", "output") else 0)
            copy = copy or seconds
            yield {
                "case": what,
                "layout": layout,
                "dtype": str(dtype).removeprefix("torch."),
                "shape": "x".join(map(str, (experts, *shape[1:]))),
                "bytes": size,
                "way": way,
                "ms": round(seconds * 1e3, 4),
                "of_copy": round(copy / seconds, 3),
                "extra_bytes": more,
            }


def table(found):
    """Returns the Markdown table: milliseconds, and in brackets MB of extra memory."""
    ways = ("turntile", "loop", "contiguous", "output", "copy")
    lines = ["| weight | layout | shape | MB | " + " | ".join(ways) + " |", "|---" * (4 + len(ways)) + "|"]
    for case in dict.fromkeys(row["case"] for row in found):
        mine = {row["way"]: row for row in found if row["case"] == case}
        one = mine["copy"]
        cells = [f"{mine[way]['ms']:.2f} ({mine[way]['extra_bytes'] / 1e6:.0f})" if way in mine else "" for way in ways]
        head = [case, f"`{one['layout']}`", f"{one['shape']} {one['dtype']}", f"{one['bytes'] / 1e6:.0f}"]
        lines.append("| " + " | ".join(head + cells) + " |")
    return "\n".join(lines)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--device", choices=("cuda", "cpu"), default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--runs", type=int, default=9)
    options.add_argument("--output")
    options.add_argument("--quick", action="store_true")
    given = options.parse_args()
    where = torch.cuda.get_device_name() if given.device == "cuda" else f"{torch.get_num_threads()} threads of the host"
    print(f"PyTorch {torch.__version__}, {where}; milliseconds, in brackets MB of extra memory\n", file=sys.stderr)
    found = list(rows(given.device, given.runs, given.quick or given.device == "cpu"))
    print(table(found))
    if given.output:
        with open(given.output, "w", newline="") as file:
            writer = csv.DictWriter(file, found[0])
            writer.writeheader()
            writer.writerows(found)


if __name__ == "__main__":
    main()
