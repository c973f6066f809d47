"""JAX arrays on a GPU: transposed in compiled programs, and read through DLPack."""

import os
import re
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
import turntile

# JAX reads these variables at its first use: GPU memory is not preallocated.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", ".95")
jax = pytest.importorskip("jax")

import jax.numpy as jnp
import turntile.jax as tj


@pytest.fixture(autouse=True)
def gpu():
    try:
        device = jax.devices("cuda")[0]
    except RuntimeError:
        pytest.skip("JAX has no CUDA device")
    with jax.default_device(device):
        yield device


def numbers(shape, dtype="int32"):
    bits = np.random.default_rng(1).integers(0, 64, (*shape, jnp.dtype(dtype).itemsize), np.uint8)
    return jnp.asarray(bits.view(dtype).reshape(shape))


def same(got, wanted):
    got, wanted = np.ascontiguousarray(got), np.ascontiguousarray(wanted)
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    assert got.tobytes() == wanted.tobytes()


SHAPES = [
    ((0, 3), None),
    ((2, 3), None),
    ((300, 200), None),
    ((4096, 4096), None),
    ((30011, 1001), None),
    ((20000, 3), None),
    ((64, 700, 512), (0, 2, 1)),
    ((31, 120, 65), (2, 0, 1)),
    ((3, 40, 5, 61), (3, 1, 0, 2)),
]


@pytest.mark.parametrize("dtype", ["int8", "bfloat16", "float32", "complex64"])
@pytest.mark.parametrize(("shape", "axes"), SHAPES)
def test_result_equals_numpy(shape, axes, dtype):
    x = numbers(shape, dtype)
    wanted = np.asarray(x).transpose(axes)
    same(tj.transpose(x, axes), wanted)
    address = x.unsafe_buffer_pointer()
    result = jax.jit(lambda x: tj.transpose(x, axes), donate_argnums=0)(x)
    same(result, wanted)
    assert not x.size or x.is_deleted() and result.unsafe_buffer_pointer() == address


#: Programs of two arrays, and whether the first is donated.
PROGRAMS = {
    "donated": (lambda x, w: tj.transpose(x), True),
    "split axes": (lambda x, w: tj.rearrange(x, "(a b) c -> (b a) c", b=2), True),
    "reshaped": (lambda x, w: tj.transpose(x.reshape(1000, 2, 1200), (1, 0, 2)).reshape(2000, 1200), True),
    "two calls": (lambda x, w: tj.transpose(tj.transpose(x).reshape(600, 2, 2000), (1, 2, 0)), True),
    "between products": (lambda x, w: tj.transpose(x.T @ w) @ x.T, False),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_program_has_no_copy(name):
    call, donated = PROGRAMS[name]
    # Products of small integers are exact.
    x, w = (numbers(shape, "int8").astype("float32") for shape in [(2000, 1200), (2000, 60)])
    with jax.disable_jit():
        wanted = np.asarray(call(x, w))
    program = jax.jit(call, donate_argnums=0 if donated else ()).lower(x, w).compile()
    assert not re.findall(r" copy\(", program.as_text())
    # The workspace is at most the size of the array.
    assert not donated or program.memory_analysis().temp_size_in_bytes <= x.nbytes + 4096
    np.testing.assert_array_equal(program(x, w), wanted)


def test_vmap_and_gradient():
    x = numbers((6, 300, 200), "int8").astype("float32")
    same(jax.jit(jax.vmap(tj.transpose, in_axes=1))(x), np.asarray(x).transpose(1, 2, 0))
    weights = jnp.arange(200 * 300, dtype=jnp.float32).reshape(200, 300)
    gradient = jax.jit(jax.grad(lambda x: (tj.transpose(x) * weights).sum()))(x[0])
    same(gradient, np.asarray(weights).T)


@pytest.mark.parametrize("least", [1, 5])
def test_command_buffers_are_replayed(least):
    """Small graphs are captured too with `least` 1. A replay must not use memory that was freed."""

    def program(x):
        for step in range(8):
            x = tj.transpose(x, (1, 0, 2)) + step
            x = tj.transpose(x, (2, 1, 0)) * 3
        return x

    def wanted(x):
        for step in range(8):
            x = x.transpose(1, 0, 2) + np.int32(step)
            x = x.transpose(2, 1, 0) * np.int32(3)
        return x

    x = numbers((61, 403, 127)) >> 20
    compiled = jax.jit(program).lower(x).compile(compiler_options={"xla_gpu_graph_min_graph_size": least})
    held = []
    for run in range(6):
        given = x + run
        # Between runs other arrays take the memory that was temporary.
        held.append(jnp.full((run + 1, 1 << 20), run))
        same(compiled(given), wanted(np.asarray(given)))
    assert all(bool((each == run).all()) for run, each in enumerate(held))


def test_array_of_more_than_half_of_the_memory():
    """Runs in a separate process, which takes memory from the driver when an array needs it, and returns it at once."""
    program = """
        import ctypes, threading, jax, jax.numpy as jnp, turntile.jax
        driver, context, stop, most = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), threading.Event(), [0]
        def used():
            free, total = ctypes.c_size_t(), ctypes.c_size_t()
            driver.cuCtxSetCurrent(context)
            assert driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)) == 0
            return total.value - free.value
        def watch():
            while not stop.is_set():
                most[0] = max(most[0], used())
        def array(rows, columns):
            return jax.jit(lambda: jnp.arange(columns, dtype=jnp.uint32) + jnp.arange(rows, dtype=jnp.uint32)[:, None] * 3)()
        transposed = jax.jit(turntile.jax.transpose, donate_argnums=0)
        transposed(array(3001, 1009)).block_until_ready()  # Loads the device code.
        assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
        before, rows, columns = used(), 30011, 382350
        x = array(rows, columns)
        address, nbytes = x.unsafe_buffer_pointer(), x.nbytes
        thread = threading.Thread(target=watch)
        thread.start()
        y = transposed(x).block_until_ready()
        stop.set()
        thread.join()
        assert y.shape == (columns, rows) and y.unsafe_buffer_pointer() == address and x.is_deleted()
        right = jax.jit(lambda y: (y == jnp.arange(columns, dtype=jnp.uint32)[:, None]
                                   + jnp.arange(rows, dtype=jnp.uint32) * 3).all())
        assert bool(right(y)), "wrong elements"
        peak = most[0] - before
        print(f"{nbytes / 1e9:.1f} GB: peak {peak / nbytes:.4f} by the driver, {(peak - nbytes) >> 20} MiB more")
        assert nbytes < peak <= 1.02 * nbytes + (16 << 20)
    """
    environment = {**os.environ, "XLA_PYTHON_CLIENT_ALLOCATOR": "platform"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], env=environment, capture_output=True, text=True
    )
    print(done.stdout)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("shape", "axes"), [((16384, 16384), None), ((30011, 10001), None), ((64, 4096, 1024), (0, 2, 1))])
def test_time(shape, axes):
    x = jax.jit(lambda: jnp.zeros(shape, jnp.float32))()

    def seconds(program, x):
        best = float("inf")
        for _ in range(5):
            begin = time.perf_counter()
            x = program(x).block_until_ready()
            best = min(best, time.perf_counter() - begin)
            x = x.reshape(shape)
        return best

    copy = seconds(jax.jit(lambda x: x + 1), x)
    theirs = seconds(jax.jit(lambda x: jnp.transpose(x, axes)), x)
    ours = seconds(jax.jit(lambda x: tj.transpose(x, axes), donate_argnums=0), x)
    print(f"{shape}: {2e-9 * 4 * np.prod(shape) / ours:.0f} GB/s, {copy / ours:.0%} of a copy, jnp {copy / theirs:.0%}")
    assert ours < 20 * copy


class Exports:
    """Exports an array only by DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **how):
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_jax_arrays_are_sources():
    torch = pytest.importorskip("torch")
    for dtype in ["float32", "bfloat16"]:
        x = numbers((301, 203), "int8").astype(dtype)
        out = torch.zeros(203, 301, dtype=getattr(torch, dtype), device="cuda")
        assert turntile.transpose(x, out=out) is out
        np.testing.assert_array_equal(out.float().cpu().numpy(), np.asarray(x).T.astype("float32"))
        with pytest.raises(TypeError, match="out has dtype"):
            turntile.transpose(x, out=out.to(torch.float64))
        with pytest.raises(TypeError, match="JAX arrays are immutable"):
            turntile.transpose(x)


@pytest.mark.parametrize("stream", [False, True])
def test_exporter_is_permuted_in_place(stream):
    torch = pytest.importorskip("torch")
    t = torch.randn(300, 7, 200, device="cuda").bfloat16()
    wanted, given = t.permute(2, 0, 1).contiguous(), torch.cuda.Stream() if stream else None
    torch.cuda.synchronize()
    workspace = torch.empty(16 << 20, dtype=torch.uint8, device="cuda")
    result = turntile.transpose(Exports(t), (2, 0, 1), stream=given, workspace=Exports(workspace))
    if stream:
        given.synchronize()
    found = torch.from_dlpack(result)
    assert found.data_ptr() == t.data_ptr()
    assert torch.equal(found, wanted)
    out = torch.empty(7, 200, 300, device="cuda", dtype=torch.bfloat16)
    assert turntile.transpose(Exports(found), (2, 0, 1), out=out) is out
    assert torch.equal(out, wanted.permute(2, 0, 1))
