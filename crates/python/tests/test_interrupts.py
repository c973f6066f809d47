"""Interrupts: an exception that comes once the elements have moved carries the result; one that comes before leaves them."""

import signal
import subprocess
import sys

import numpy as np
import pytest
import turntile
from turntile import _core, _records, _run

RECORDS = [("tag", "u1"), ("value", "<f8"), ("more", "<i2", (3,))]


def numbered(shape, order="C"):
    return np.asarray(np.arange(np.prod(shape), dtype="i4").reshape(shape), order=order)


def records(count):
    a = np.zeros(count, RECORDS)
    a["tag"], a["value"], a["more"] = np.arange(count) % 251, np.arange(count), np.arange(3 * count).reshape(count, 3) % 999
    return a


class Signalled:
    """A plan at whose end a signal comes."""

    def __init__(self, plan, number):
        self._plan, self._number = plan, number

    def __getattr__(self, name):
        return getattr(self._plan, name)

    def run(self, *arguments):
        self._plan.run(*arguments)
        signal.raise_signal(self._number)


@pytest.fixture(params=["KeyboardInterrupt", "TimeoutError"])
def interrupted(request, monkeypatch):
    """Makes every run end with a signal; returns a function that calls one and checks what it raised."""
    kind = {"KeyboardInterrupt": KeyboardInterrupt, "TimeoutError": TimeoutError}[request.param]

    def handler(*_):
        raise kind("signalled")

    before = signal.signal(signal.SIGUSR1, handler)
    small, host_plan = _core.permute_if_small, _run.host_plan

    def signalled(*arguments):
        done = small(*arguments)
        if done:
            signal.raise_signal(signal.SIGUSR1)
        return done

    monkeypatch.setattr(_core, "permute_if_small", signalled)
    for module in (_run, _records):
        monkeypatch.setattr(module, "host_plan", lambda *make: Signalled(host_plan(*make), signal.SIGUSR1))

    def call(function, *arguments, **options):
        with pytest.raises(kind) as found:
            function(*arguments, **options)
        assert type(found.value) is (turntile.Interrupted if kind is KeyboardInterrupt else kind)
        assert found.value.args == ("signalled",)
        return found.value.result

    yield call
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("shape", [(7, 11), (301, 211)], ids=["small", "large"])
def test_results_of_permutations_are_carried(interrupted, shape):
    for order in "CF":
        for call, want in [(turntile.transpose, lambda a: a.T), (turntile.ascontiguousarray, lambda a: a), (turntile.asfortranarray, lambda a: a)]:
            a = numbered(shape, order)
            expected, address = want(a).copy(), a.ctypes.data
            if order == "C" and call is turntile.ascontiguousarray:
                continue
            result = interrupted(call, a)
            assert np.array_equal(result, expected), (call, order)
            assert result.ctypes.data == address
            assert result.flags.f_contiguous if call is turntile.asfortranarray else result.flags.c_contiguous
    a = numbered((6, *shape))
    expected = a.reshape(2, 3, *shape).transpose(3, 1, 0, 2).reshape(shape[1], 6, shape[0]).copy()
    assert np.array_equal(interrupted(turntile.rearrange, a, "(a b) c d -> d (b a) c", a=2), expected)


def test_results_of_plans_are_carried(interrupted):
    a = numbered((301, 211))
    plan = turntile.Plan(a.shape, itemsize=4)
    plan._plan = Signalled(plan._plan, signal.SIGUSR1)
    expected = a.T.copy()
    assert np.array_equal(interrupted(plan, a), expected)


@pytest.mark.parametrize("count", [1, 5, 10_007])
def test_results_of_records_are_carried(interrupted, count):
    a = records(count)
    want = a.copy()
    c = interrupted(turntile.columns, a)
    assert all(np.array_equal(c[name], want[name]) for name in want.dtype.names)
    back = interrupted(c.records)
    assert np.array_equal(back, want)
    with pytest.raises(ValueError, match="records again"):
        c.records()
    assert np.array_equal(back, want)
    a = np.arange(12 * count, dtype=np.uint8)
    want = a.reshape(count, 12)
    want = want[:, 4:].tobytes() + want[:, :4].tobytes()
    result = interrupted(turntile.relayout, a, 12, [(4, 8), (0, 4)], "soa")
    assert result is a and a.tobytes() == want


def test_what_fails_before_the_run_carries_nothing(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    a, c = numbered((301, 211)), turntile.columns(records(1000))
    values = c["value"].copy()
    with monkeypatch.context() as patch:
        for module in (_run, _records):
            patch.setattr(module, "host_plan", interrupt)
        for call in [lambda: turntile.transpose(a), c.records]:
            with pytest.raises(KeyboardInterrupt) as found:
                call()
            assert type(found.value) is KeyboardInterrupt
    assert np.array_equal(a, numbered((301, 211)))
    assert np.array_equal(c["value"], values)
    assert np.array_equal(c.records()["value"], values)


def test_a_move_happens_once():
    a = numbered((301, 211))
    plan, moved = _core.HostPlan((301, 211), (1, 0), 4), _core.Moved()
    with pytest.raises(ValueError, match="bytes"):
        plan.run(a.ctypes.data, a.nbytes - 1, None, moved)
    with pytest.raises(ValueError, match="workspace"):
        plan.run(a.ctypes.data, a.nbytes, turntile.Workspace(0), moved)
    assert not moved
    plan.run(a.ctypes.data, a.nbytes, None, moved)
    assert moved
    with pytest.raises(ValueError, match="moved already"):
        plan.run(a.ctypes.data, a.nbytes, None, moved)
    assert np.array_equal(a.reshape(211, 301), numbered((301, 211)).T)


def test_signals_in_the_midst():
    """A timer's signals at any time: the result is carried, or nothing has moved."""
    code = """
import random, signal, sys, numpy as np, turntile
def handler(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, handler)
want = np.arange(1501 * 1103.).reshape(1501, 1103)
carried = 0
for seconds in [0.0005 * 1.3 ** k for k in range(20)] * 4:
    a = want.copy(order=random.choice("CF"))
    call = random.choice([turntile.ascontiguousarray, turntile.asfortranarray])
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        a = call(a)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except turntile.Interrupted as interrupt:
        carried += 1
        a = interrupt.result
    except KeyboardInterrupt:
        pass
    if not np.array_equal(a, want):
        sys.exit(f"torn after {seconds} s")
print(carried)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, timeout=120, capture_output=True, text=True)
    assert int(done.stdout) > 0
