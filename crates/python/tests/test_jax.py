"""Transposition of JAX arrays in compiled programs, on the host; and XLA's interface as the header has it."""

import doctest
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from functools import partial

import numpy as np
import pytest
from turntile import _core

# Four devices, for sharded arrays. JAX reads it at the first use.
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)

import einops
import jax.numpy as jnp
import turntile
import turntile.jax as tj
from jax.sharding import NamedSharding, PartitionSpec


@pytest.fixture(autouse=True)
def on_host():
    with jax.default_device(jax.devices("cpu")[0]):
        yield


SHAPES = [
    ((0, 3), None),
    ((), None),
    ((5,), None),
    ((2, 3), (0, 1)),
    ((2, 3), (-1, 0)),
    ((300, 200), None),
    ((500, 500), None),
    ((7, 120, 5), (2, 0, 1)),
    ((3, 4, 5, 6), (3, 1, 0, 2)),
    ((20000, 3), None),
    ((4, 301, 203), (0, 2, 1)),
]


def numbers(shape, dtype="int32"):
    bits = np.random.default_rng(1).integers(0, 256, (*shape, jnp.dtype(dtype).itemsize), np.uint8)
    return jnp.asarray((bits & 1 if dtype == "bool" else bits & 63).view(dtype).reshape(shape))


def same(got, wanted):
    """Compares as bytes, since a pattern of bits may be no number."""
    got, wanted = np.ascontiguousarray(got), np.ascontiguousarray(wanted)
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    assert got.tobytes() == wanted.tobytes()


@pytest.mark.parametrize(("shape", "axes"), SHAPES)
def test_result_equals_numpy(shape, axes):
    x = numbers(shape)
    wanted = np.asarray(x).transpose(axes)
    same(tj.transpose(x, axes), wanted)
    same(tj.transpose(np.asarray(x), axes), wanted)
    same(x, numbers(shape))
    same(jax.jit(lambda x: tj.transpose(x, axes), donate_argnums=0)(x), wanted)


TYPES = ["bool", "int8", "bfloat16", "float16", "float8_e4m3fn", "float32", "uint64", "complex64", "complex128"]


@pytest.mark.parametrize("dtype", TYPES)
def test_every_dtype_is_moved_as_bytes(dtype):
    for shape in [(4, 5), (301, 203)]:
        x = numbers(shape, dtype)
        same(jax.jit(tj.transpose)(x), np.asarray(x).T)


PATTERNS = [
    ("(h p) (w q) c -> (h w) (p q c)", (60, 40, 3), {"p": 4, "q": 5}),
    ("a (b c) -> (c a) 1 b", (7, 60), {"b": 5}),
    ("... a -> a ...", (3, 4, 5), {}),
    ("a b -> (a b)", (3, 4), {}),
]


@pytest.mark.parametrize(("pattern", "shape", "sizes"), PATTERNS)
def test_rearrange_equals_einops(pattern, shape, sizes):
    x = numbers(shape)
    same(jax.jit(lambda x: tj.rearrange(x, pattern, **sizes))(x), einops.rearrange(np.asarray(x), pattern, **sizes))


def transposed_after_split(x):
    return tj.rearrange(x, "(a b) c -> (b a) c", b=2)


#: Programs of two arrays, whether the first is donated, and bytes of temporary memory in arrays of 400 KB.
PROGRAMS = {
    "square, donated": (lambda x, w: tj.transpose(x), (316, 316), True, 0),
    "shape changes, donated": (lambda x, w: tj.transpose(x), (500, 200), True, 0),
    "split axes, donated": (lambda x, w: transposed_after_split(x), (500, 200), True, 0),
    "between products": (lambda x, w: tj.transpose(x.T @ w) @ x.T, (500, 200), False, 0.12),
    "split between products": (lambda x, w: transposed_after_split(x.T @ w) @ w.T, (500, 200), False, 0.12),
    "two calls": (lambda x, w: tj.transpose(tj.transpose(x, (1, 0, 2)), (2, 1, 0)), (46, 46, 46), True, 0),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_program_has_no_copy(name):
    call, shape, donated, temporary = PROGRAMS[name]
    # Products of small integers are exact.
    x, w = (numbers(each, "uint8").astype("float32") for each in (shape, (shape[0], 60)))
    with jax.disable_jit():
        wanted = np.asarray(call(x, w))
    program = jax.jit(call, donate_argnums=0 if donated else ()).lower(x, w).compile()
    assert not re.findall(r" copy\(", program.as_text())
    assert program.memory_analysis().temp_size_in_bytes <= temporary * 4e5
    address = x.unsafe_buffer_pointer()
    result = program(x, w)
    same(result, wanted)
    assert x.is_deleted() == donated
    assert not donated or result.unsafe_buffer_pointer() == address


def test_result_is_right_without_a_shared_buffer():
    """XLA always aliases, so the target is called as `transpose` does not call it."""
    call = jax.ffi.ffi_call(tj.TARGET, jax.ShapeDtypeStruct((60, 50, 40), jnp.int16))
    x = numbers((60, 50, 40), "int16")
    with_axes = {"shape": np.array(x.shape), "axes": np.array([2, 0, 1]), "itemsize": np.int64(2)}
    same(call(x, **with_axes).reshape(40, 60, 50), np.asarray(x).transpose(2, 0, 1))
    same(x, numbers((60, 50, 40), "int16"))


BAD_CALLS = [
    ({"shape": [4, 5], "axes": [1, 0], "itemsize": 4}, "needs 80 bytes, a buffer has 96"),
    ({"shape": [4, 6], "axes": [1, 1], "itemsize": 4}, "not a permutation"),
    ({"shape": [4, -6], "axes": [1, 0], "itemsize": 4}, "shape has the value -6"),
    ({"shape": [4, 6], "axes": [1, 0], "itemsize": 0}, "turntile: an element must have at least one byte"),
    ({"shape": [4, 6], "itemsize": 4}, "no attribute axes"),
    ({"shape": [4, 6], "axes": [1, 0], "itemsize": "4"}, "no attribute itemsize"),
]


@pytest.mark.parametrize(("attributes", "words"), BAD_CALLS)
def test_bad_call_of_the_target_is_an_error(attributes, words):
    call = jax.ffi.ffi_call(tj.TARGET, jax.ShapeDtypeStruct((4, 6), jnp.int32), input_output_aliases={0: 0})
    given = {name: np.array(a) if isinstance(a, list) else a for name, a in attributes.items()}
    given = {name: np.int64(a) if isinstance(a, int) else a for name, a in given.items()}
    with pytest.raises(jax.errors.JaxRuntimeError, match=words):
        call(numbers((4, 6)), **given)


def test_bad_call_is_an_error_when_the_program_is_compiled():
    call = jax.ffi.ffi_call(tj.TARGET, jax.ShapeDtypeStruct((400, 60), jnp.int32), input_output_aliases={0: 0})
    call = partial(call, shape=np.array([400, 60]), axes=np.array([0, 0]), itemsize=np.int64(4))
    with pytest.raises(jax.errors.JaxRuntimeError, match="turntile: .*not a permutation"):
        jax.jit(call).lower(numbers((400, 60))).compile()


REFUSED = [
    (lambda: tj.transpose(jnp.zeros((4, 6), jnp.int4)), TypeError, "int4: elements smaller than a byte"),
    (lambda: tj.transpose(jax.random.split(jax.random.key(0))), TypeError, "key_data"),
    (lambda: tj.transpose(jnp.zeros((4, 6)), (0,)), ValueError, "axes don't match array"),
    (lambda: tj.transpose(jnp.zeros((4, 6)), (0, 2)), np.exceptions.AxisError, "axis 2"),
    (lambda: tj.rearrange(jnp.zeros((4, 6)), "(a b) c -> a b c", a=3), ValueError, "4"),
    (lambda: turntile.transpose(jnp.zeros((4, 6))), TypeError, r"use turntile\.jax\.transpose"),
]


@pytest.mark.parametrize(("call", "error", "words"), REFUSED)
def test_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_vmap_adds_the_axis_to_the_plan(at):
    x = numbers((5, 6, 7, 8))
    permute = lambda x: tj.transpose(x, (2, 0, 1))
    wanted = jax.vmap(lambda x: x.transpose(2, 0, 1), in_axes=at)(x)
    program = jax.jit(jax.vmap(permute, in_axes=at))
    same(program(x), wanted)
    assert program.lower(x).as_text().count("@turntile_transpose") == 1
    split = jax.vmap(lambda x: tj.rearrange(x, "(a b) c d -> d b (a c)", b=1), in_axes=at)
    same(split(x), jax.vmap(lambda x: einops.rearrange(x, "(a b) c d -> d b (a c)", b=1), in_axes=at)(x))
    same(jax.vmap(jax.vmap(tj.transpose))(x), x.transpose(0, 1, 3, 2))


FUNCTIONS = [
    (lambda t, x: t.transpose(x, (2, 0, 1)), tj, jnp),
    (lambda t, x: t.rearrange(x, "(a b) c d -> d b (a c)", b=2), tj, einops),
]


@pytest.mark.parametrize(("call", "ours", "theirs"), FUNCTIONS)
def test_derivatives(call, ours, theirs):
    x, v = numbers((4, 3, 5), "float64") % 1, jnp.linspace(0, 1, 60).reshape(4, 3, 5)
    loss = lambda t: lambda x: jnp.sum(jnp.sin(call(t, x)) * jnp.arange(60.0).reshape(call(t, x).shape))
    for derive in [jax.grad, jax.hessian, jax.jacfwd, lambda f: jax.jit(jax.vmap(jax.grad(f)))]:
        at = v[None] if derive not in (jax.grad, jax.hessian, jax.jacfwd) else v
        np.testing.assert_allclose(derive(loss(ours))(at), derive(loss(theirs))(at))
    got, wanted = (jax.jvp(lambda x, t=t: call(t, x), (v,), (x,)) for t in (ours, theirs))
    for each, other in zip(got, wanted):
        same(each, other)


def test_loops_and_branches():
    turn = lambda x: jax.lax.cond(x[0, 0] > 0, lambda x: tj.transpose(x), lambda x: tj.transpose(x) + 1, x)
    x = numbers((120, 120))
    wanted = np.asarray(x)
    for _ in range(5):
        wanted = wanted.T + (0 if wanted[0, 0] > 0 else 1)
    same(jax.jit(lambda x: jax.lax.fori_loop(0, 5, lambda _, x: turn(x), x))(x), wanted.astype("int32"))


def test_sharded_operand_needs_shard_map():
    mesh, rows = jax.make_mesh((4,), ("d",), devices=jax.devices("cpu")), PartitionSpec("d")
    x = jax.device_put(numbers((400, 300), "float32"), NamedSharding(mesh, rows))
    for call in [tj.transpose, jax.jit(tj.transpose), jax.grad(lambda x: tj.transpose(x).sum())]:
        with pytest.raises(NotImplementedError, match=r"partitioned over 4 devices.*jax\.shard_map"):
            call(x)
    wanted = np.asarray(x).T
    columns = jax.shard_map(tj.transpose, mesh=mesh, in_specs=rows, out_specs=PartitionSpec(None, "d"))
    same(jax.jit(columns, donate_argnums=0)(x), wanted)
    half = jax.make_mesh((2, 2), ("d", "e"), devices=jax.devices("cpu"))
    partly = jax.shard_map(tj.transpose, mesh=half, in_specs=rows, out_specs=PartitionSpec(None, "d"), axis_names={"d"})
    with pytest.raises(NotImplementedError, match="all axes of the mesh are manual"):
        jax.jit(partly)(jax.device_put(numbers((400, 300)), NamedSharding(half, rows)))


def test_examples_in_docstrings():
    result = doctest.testmod(tj)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e4m3fn"])
def test_jax_arrays_are_sources(dtype):
    x = numbers((300, 200), dtype)
    out = np.zeros((200, 300), x.dtype)
    assert turntile.transpose(x, out=out) is out
    same(out, np.asarray(x).T)
    for call in [turntile.transpose, jax.jit(lambda x: turntile.transpose(x, out=out))]:
        with pytest.raises(TypeError, match="JAX arrays are immutable: pass out"):
            call(x)


#: Names were changed in version 0.5 of the interface.
INTERFACE = """
#include <stdio.h>
#include <xla/ffi/api/c_api.h>
#if XLA_FFI_API_MINOR >= 5
#define XLA_FFI_Extension_Base XLA_FFI_InternalExtension
#define XLA_FFI_Error_GetMessage XLA_FFI_Error_GetDetails
#define XLA_FFI_ExecutionContext_Get XLA_FFI_InvokeContext_Get
#endif
int main(void) {{ {} return 0; }}
"""


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_interface_is_that_of_the_header(tmp_path):
    structures, constants = _core.jax_interface()
    lines = []
    for name, _, fields in structures:
        lines += [f'printf("%zu\\n", sizeof(struct {name}));']
        lines += [f'printf("%zu\\n", offsetof(struct {name}, {field}));' for field, _ in fields]
    lines += [f'printf("%d\\n", (int){name});' for name, _ in constants]
    (tmp_path / "all.c").write_text(INTERFACE.format("\n".join(lines).replace("r#", "")))
    program = tmp_path / "all"
    subprocess.run(["cc", f"-I{jax.ffi.include_dir()}", tmp_path / "all.c", "-o", program], check=True)
    found = iter(subprocess.run([program], capture_output=True, text=True, check=True).stdout.split())
    #: The last fields are not declared: they are not read.
    longer = {"XLA_FFI_Metadata", "XLA_FFI_CallFrame", "XLA_FFI_Api"}
    for name, size, fields in structures:
        here = int(next(found))
        assert size <= here if name in longer else size == here, name
        for field, offset in fields:
            assert offset == int(next(found)), (name, field)
    assert [value for _, value in constants] == list(map(int, found))


def test_persistent_cache(tmp_path):
    program = f"""
        import json, jax, jax.numpy as jnp, turntile.jax
        jax.config.update("jax_compilation_cache_dir", {str(tmp_path)!r})
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        seen = []
        jax.monitoring.register_event_listener(lambda event, **_: seen.append(event))
        x = jnp.arange(60000).reshape(300, 200)
        y = jax.jit(lambda x: turntile.jax.transpose(x) * 2)(x)
        hits = sum(event.endswith("cache_hits") for event in seen)
        print(json.dumps([bool((y == x.T * 2).all()), hits]))
    """
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    run = lambda: subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], env=environment, capture_output=True, text=True, check=True
    )
    (right, before), (again, after) = [json.loads(run().stdout) for _ in range(2)]
    assert right and again
    assert after > before
