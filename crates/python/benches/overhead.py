"""Measures the cost before any element moves: import, a call, the wheel.

    overhead.py [WHEEL]

Medians, beside their bars; nothing fails.
"""

import importlib.util
import os
import statistics
import subprocess
import sys
import timeit

import numpy as np
import turntile

IMPORT = """
import time, {before}
start = time.perf_counter()
import {what}
print(time.perf_counter() - start)
"""


def imported(before, what):
    """Seconds of an import in a process that has imported `before`."""
    code = IMPORT.format(before=before, what=what)
    runs = [subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True) for _ in range(9)]
    return statistics.median(float(run.stdout) for run in runs)


def called(call):
    """Seconds of a call: the median of many short series."""
    number = 2000
    return statistics.median(timeit.repeat(call, number=number, repeat=25)) / number


def say(what, value, unit, bar=None):
    print(f"{what:<48} {value:10.2f} {unit}" + (f"   bar {bar}: {'met' if value < bar else 'NOT met'}" if bar else ""))


def main():
    say("import numpy", 1e3 * imported("sys", "numpy"), "ms")
    say("import turntile after numpy", 1e3 * imported("numpy", "turntile"), "ms", 50)
    for shape in [(3, 3), (16, 16), (45, 45), (2, 3, 4, 5)]:
        a = np.zeros(shape)
        name = "x".join(map(str, shape))
        say(f"transpose, {name} of 8 bytes", 1e6 * called(lambda: turntile.transpose(a)), "us", 10)
        say(f"numpy.ascontiguousarray(a.T), {name}", 1e6 * called(lambda: np.ascontiguousarray(a.T)), "us")
    a = np.zeros((45, 45))
    plan = turntile.Plan(a.shape, dtype=a.dtype)
    say("plan(a), 45x45 of 8 bytes", 1e6 * called(lambda: plan(a)), "us", 10)
    if importlib.util.find_spec("torch"):
        on_torch()
    for wheel in sys.argv[1:]:
        say(f"wheel {os.path.basename(wheel)}", os.path.getsize(wheel) / 1e6, "MB", 10)


def on_torch():
    import torch
    import turntile.torch_ops

    operator = torch.ops.turntile.permute_.default
    t = torch.zeros(300, 200)
    plain = called(lambda: turntile.transpose(t))
    say("torch on the host, 300x200: transpose", 1e6 * plain, "us")
    say("the operator in addition to it", 1e6 * (called(lambda: operator(t, None, [1, 0])) - plain), "us", 10)
    if not torch.cuda.is_available():
        return
    t = torch.zeros(300, 200, device="cuda")
    turntile.transpose(t)
    torch.cuda.synchronize()
    plain = called(lambda: turntile.transpose(t))
    say("torch on CUDA, 300x200: transpose queued", 1e6 * plain, "us")
    say("the operator in addition to it", 1e6 * (called(lambda: operator(t, None, [1, 0])) - plain), "us", 10)
    say("torch on CUDA, 300x200: contiguous queued", 1e6 * called(lambda: t.t().contiguous()), "us")
    torch.cuda.synchronize()


if __name__ == "__main__":
    main()
