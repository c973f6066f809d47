"""Plans, workspaces, threads, processes."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import turntile
from turntile import _run


def numbered(shape, dtype="f4"):
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


def test_plan():
    plan = turntile.Plan((7, 301, 211), (0, -1, 1), dtype="f4")
    assert (plan.shape, plan.axes, plan.itemsize, plan.device) == ((7, 301, 211), (0, 2, 1), 4, "cpu")
    assert plan.workspace_bytes <= 2 * plan.itemsize * 7 * 301 * 211 // 100 + (os.cpu_count() << 20)
    people, stages = str(plan).splitlines()
    assert people.startswith("Moves 1.8 MB in ") and people.endswith(" extra memory.")
    assert "!" in stages and stages in repr(plan)
    workspace = turntile.Workspace(plan.workspace_bytes)
    assert workspace.nbytes == plan.workspace_bytes
    for given in [None, workspace, workspace]:
        a = numbered((7, 301, 211))
        wanted = a.transpose(0, 2, 1).copy()
        assert np.array_equal(plan(a, workspace=given), wanted)
        assert np.array_equal(a.reshape(7, 211, 301), wanted)


def test_plan_of_other_types_with_as_many_bytes():
    plan = turntile.Plan((301, 211), itemsize=8)
    for dtype in ["f8", "i8", "M8[s]", "c8"]:
        a = np.arange(301 * 211).astype(dtype).reshape(301, 211)
        wanted = a.T.copy()
        assert np.array_equal(plan(a), wanted)


def test_workspace_cap():
    shape = (307, 211)
    for cap in [0, 1000, 100_000]:
        plan = turntile.Plan(shape, itemsize=4, workspace_limit=cap)
        assert plan.workspace_bytes <= cap
        a = numbered(shape)
        assert np.array_equal(plan(a), numbered(shape).T)


def test_plan_refuses_other_arrays():
    plan = turntile.Plan((30, 20), itemsize=4)
    for other, words in [
        (numbered((20, 30)), "the plan is for shape"),
        (numbered((30, 20), "f8"), "itemsize 4, but the array has .* itemsize 8"),
        (numbered((20, 30)).T, "C-contiguous"),
    ]:
        before = other.copy()
        with pytest.raises(ValueError, match=words):
            plan(other)
        assert np.array_equal(other, before)
    with pytest.raises(ValueError, match="but the array is on the host"):
        plan(numbered((30, 20)), stream=3)


def test_dtypes():
    for dtype, itemsize in [(np.float32, 4), ("f8", 8), (float, 8), ([("a", "u1"), ("b", "<f8")], 9)]:
        assert turntile.Plan((2, 3), dtype=dtype).itemsize == itemsize


def test_no_plans():
    four = {"itemsize": 4}
    for shape, axes, how, error, words in [
        ((2, 3), (0, 0), four, ValueError, "repeated axis in transpose"),
        ((2, 3), (0, 5), four, np.exceptions.AxisError, "axis 5"),
        ((2, -3), None, four, ValueError, "extents must be from 0"),
        ((2, 3), None, {"itemsize": 0}, ValueError, "itemsize is 0"),
        ((2, 3), None, {"dtype": "S0"}, ValueError, "itemsize is 0"),
        ((2, 3), None, {}, TypeError, "exactly one of dtype and itemsize"),
        ((2, 3), None, {"dtype": "f4", "itemsize": 4}, TypeError, "exactly one of dtype and itemsize"),
        ((2, 3), None, {"dtype": "what"}, TypeError, "what"),
        ((2, 3), None, {"itemsize": "f8"}, TypeError, "itemsize must be an integer, not 'f8'"),
        ((2, 3), None, {"itemsize": 2**70}, ValueError, f"itemsize is {2**70}: the maximum"),
        ((2, 3), None, four | {"threads": 0}, ValueError, "threads is 0"),
        ((2, 3), None, four | {"workspace_limit": -1}, ValueError, "workspace_limit is -1"),
        ((2, 3), None, four | {"device": "tpu"}, ValueError, "'cuda:N', not 'tpu'"),
        ((2, 3), None, four | {"device": "cuda:x"}, ValueError, "not 'cuda:x'"),
        ((2, 3), None, four | {"device": "cuda", "threads": 2}, ValueError, "threads is given"),
        ((2, 3), None, four | {"device": "cuda:9999999999"}, ValueError, "not 'cuda:9"),
        ((2.5, 3), None, four, TypeError, "sequence of integers"),
        (5, None, four, TypeError, "sequence of integers"),
        ((2, 2**70), None, four, ValueError, r"shape \(2, 1180591620717411303424\)"),
        ((1,) * 65, None, four, ValueError, "65"),
    ]:
        with pytest.raises(error, match=words):
            turntile.Plan(shape, axes, **how)


def test_exceptions():
    """Errors are caught as documented, also of memory that no machine has."""
    assert issubclass(turntile.PlanError, ValueError)
    assert issubclass(turntile.CudaError, RuntimeError)
    assert issubclass(turntile.CaptureError, turntile.CudaError)
    with pytest.raises(MemoryError, match="bytes"):
        turntile.Workspace(2**60)
    with pytest.raises(MemoryError, match="bytes"):
        turntile.Workspace(2**70)
    with pytest.raises(MemoryError, match=f"cannot allocate {10**40} bytes"):
        turntile.Workspace(10**40)
    with pytest.raises(ValueError, match="nbytes is -1"):
        turntile.Workspace(-1)


def test_the_last_plans_are_kept(monkeypatch):
    """256 of them: used again, and forgotten once as many others came."""
    made = []

    def plan(*what):
        made.append(what)
        return object()

    monkeypatch.setattr(turntile._core, "HostPlan", plan)
    _run._plans.forget()
    ask = lambda side: _run.host_plan(turntile._core.HostPlan, (side, 300), (1, 0), 4, None)
    first = ask(1)
    for side in range(2, 257):
        ask(side)
    assert ask(1) is first and len(made) == 256
    for side in range(1000, 1256):
        ask(side)
    assert ask(1) is not first
    _run._plans.forget()


def test_cuda_without_a_device():
    if turntile.cuda_available():
        pytest.skip("there is a GPU")
    with pytest.raises(turntile.CudaError):
        turntile.Plan((30, 20), itemsize=4, device="cuda")


def test_other_threads_of_python_run_meanwhile():
    """The interpreter's lock is let go: a thread counts while another moves 200 MB."""
    a = np.zeros((5003, 10007), "f4")
    done, counts = threading.Event(), []

    def count():
        while not done.is_set():
            counts.append(time.perf_counter())
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    start = time.perf_counter()
    turntile.transpose(a)
    end = time.perf_counter()
    done.set()
    counter.join()
    assert sum(start < at < end for at in counts) > 2


def test_from_many_threads():
    plan = turntile.Plan((307, 211), itemsize=4)
    failures = []

    def work(number):
        for _ in range(20):
            a = numbered((307, 211)) + number
            wanted = a.T.copy()
            b = plan(a) if number % 2 else turntile.transpose(a)
            if not np.array_equal(b, wanted):
                failures.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux lists threads")
@pytest.mark.parametrize(
    "variable, asked, names", [(3, None, 3), (3, 2, 3), (3, 1, 0), (8000, None, 8 * len(os.sched_getaffinity(0)))]
)
def test_the_pools_threads_help(variable, asked, names):
    """A run that is to have help starts the process's pool, of at most 8 threads a core; one on a single thread does not."""
    code = f"""
import pathlib, time, numpy as np, turntile
a = np.arange(3001 * 701.).reshape(3001, 701)
want = a.T.copy()
assert np.array_equal(turntile.transpose(a, threads={asked}), want)
def named():
    tasks = pathlib.Path("/proc/self/task").iterdir()
    return sum((task / "comm").read_text().startswith("turntile-") for task in tasks)
# A thread names itself, once it is given time.
end = time.monotonic() + 20
while named() < {names} and time.monotonic() < end:
    time.sleep(0.01)
print(named())
"""
    environment = {**os.environ, "RAYON_NUM_THREADS": str(variable)}
    run = [sys.executable, "-c", code]
    answer = subprocess.run(run, check=True, timeout=60, env=environment, capture_output=True, text=True)
    assert int(answer.stdout) == names


def test_a_forked_process_has_threads_of_its_own():
    code = """
import os, numpy as np, turntile
def check():
    a = np.arange(3001 * 701.).reshape(3001, 701)
    return np.array_equal(turntile.transpose(a.copy()), a.T)
assert check()
for _ in range(3):
    child = os.fork()
    if child == 0:
        os._exit(0 if check() else 1)
    assert os.waitpid(child, 0)[1] == 0
assert check()
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux lists address space")
def test_a_forked_process_without_memory():
    """With less address space than planning takes, or room for some threads and not for what they begin with, no child is ended."""
    code = """
import os, resource, numpy as np, turntile
a = np.arange(301 * 701.).reshape(301, 701)
records = np.zeros(10007, "u1,f8")
ended = []
for more in [*range(0, 128, 4), *range(500, 600, 4), *range(1020, 1100, 4)]:
    child = os.fork()
    if child == 0:
        pages = int(open("/proc/self/statm").read().split()[0]) + more
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (pages * 4096, pages * 4096))
        try:
            if more % 8:
                turntile.columns(records)
            b = turntile.transpose(a.copy() if more > 1000 else a)
        except MemoryError:
            os._exit(0)
        os._exit(0 if b[1, 0] == 1 and b[700, 300] == 301 * 701 - 1 else 1)
    status = os.waitpid(child, 0)[1]
    if status:
        ended.append((more, status))
assert not ended, ended
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)


def test_interrupts_tear_nothing():
    """KeyboardInterrupt comes after the run, and the elements are all where they belong."""
    before = signal.getsignal(signal.SIGINT)
    code = """
import os, signal, sys, threading, numpy as np, turntile
signal.signal(signal.SIGINT, signal.default_int_handler)   # ignored in a job in the background
a = np.arange(6007 * 5003, dtype=np.int32).reshape(6007, 5003)
started = threading.Event()
def interrupt():
    started.wait()
    os.kill(os.getpid(), signal.SIGINT)
thread = threading.Thread(target=interrupt)
thread.start()
try:
    started.set()
    turntile.transpose(a)
    thread.join()
    sys.exit("not interrupted")
except KeyboardInterrupt:
    pass
want = np.arange(6007 * 5003, dtype=np.int32).reshape(6007, 5003)
whole = np.array_equal(a.reshape(5003, 6007), want.T)
untouched = np.array_equal(a, want)
assert whole != untouched, (whole, untouched)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert signal.getsignal(signal.SIGINT) is before


def test_nothing_of_the_array_s_size_is_allocated():
    """The peak of a process that transposes 800 MB stays far below twice as much."""
    code = """
import resource, numpy as np, turntile
a = np.ones((10007, 19997), np.float32)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
a = turntile.transpose(a)
more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
print(more / a.nbytes)
"""
    share = subprocess.run([sys.executable, "-c", code], check=True, timeout=120, capture_output=True, text=True)
    assert float(share.stdout) < 0.05


def test_references():
    """The result holds the memory; nothing else holds it on."""
    a = np.zeros((301, 211))
    count = sys.getrefcount(a)
    b = turntile.transpose(a)
    assert b.base is a
    del b
    gc.collect()
    assert sys.getrefcount(a) == count
