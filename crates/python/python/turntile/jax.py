"""Transposition of JAX arrays in compiled programs, in the memory of the operand."""

import operator
from collections.abc import Sequence
from functools import partial

import jax
import numpy as np
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from . import _core
from ._arguments import integers, normal

__all__ = ["rearrange", "transpose"]

#: Name of the custom call.
TARGET = "turntile_transpose"

#: Workspace of a call on a GPU: the larger of 2% of the array and 16 MiB, at most the array's size.
WORKSPACE_SHARE, LEAST_WORKSPACE = 50, 16 << 20

_Axes = Sequence[int] | int | None


def transpose(x: jax.typing.ArrayLike, axes: _Axes = None) -> jax.Array:
    """Permutes the axes of `x`, as ``jax.numpy.transpose``, without a second array in memory.

    In a program compiled by ``jax.jit``, the result uses the buffer of `x` if nothing else needs
    that buffer afterwards: `x` is an intermediate value, or a donated argument. Otherwise XLA
    copies `x` first. `x` itself keeps its value, as every JAX array.

    Parameters
    ----------
    x : jax.Array
        Array on a CPU or an NVIDIA GPU. Each element has 1 byte or more.
    axes : sequence of int, optional
        Permutation of the axes. The default reverses them.

    Returns
    -------
    jax.Array
        Array whose axis ``i`` is axis ``axes[i]`` of `x`.

    Raises
    ------
    TypeError
        The elements have 4 bits or less, or are random keys.
    NotImplementedError
        The program is compiled for several devices: call the function in ``jax.shard_map``.
    jax.errors.JaxRuntimeError
        No kernel supports the permutation, or the memory does not suffice. The program ends.

    See Also
    --------
    turntile.transpose : the same for NumPy, PyTorch and CuPy

    Notes
    -----
    The function can be differentiated, in both modes, and mapped by ``jax.vmap``.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, turntile.jax
    >>> step = jax.jit(lambda x: turntile.jax.transpose(2 * x))
    >>> step(jnp.arange(6).reshape(2, 3)).tolist()
    [[0, 6], [2, 8], [4, 10]]
    """
    array = _checked(x)
    order = normal(integers(axes), array.ndim)
    return _permuted(array, array.shape, order, tuple([array.shape[axis] for axis in order]))


def rearrange(x: jax.typing.ArrayLike, pattern: str, **sizes: int) -> jax.Array:
    """Splits, permutes and merges axes of `x`, as `transpose` without a second array in memory.

    The result equals ``einops.rearrange(x, pattern, **sizes)``. On a CPU, XLA copies the operand of
    `transpose` if it was reshaped just before; this function needs no reshape.

    Parameters
    ----------
    x : jax.Array
        As for `transpose`.
    pattern : str
        As for `turntile.rearrange`.
    **sizes : int
        Extents of named axes.

    Returns
    -------
    jax.Array
        Array of the pattern's shape.

    See Also
    --------
    transpose

    Examples
    --------
    >>> import jax, jax.numpy as jnp, turntile.jax
    >>> pattern = "(h p) (w q) -> (h w) (p q)"
    >>> patches = jax.jit(lambda x: turntile.jax.rearrange(x, pattern, p=2, q=2))
    >>> patches(jnp.arange(16).reshape(4, 4))[0].tolist()
    [0, 1, 4, 5]
    """
    array = _checked(x)
    named = [(name, operator.index(given)) for name, given in sizes.items()]
    found = _core.Pattern(pattern, array.shape, named)
    return _permuted(array, *_core.arrange(array.shape, None, array.dtype.itemsize, found)[1:])


def _checked(x):
    x = jax.numpy.asarray(x)
    if jax.dtypes.issubdtype(x.dtype, jax.dtypes.extended):
        raise TypeError(f"x has dtype {x.dtype}: permute jax.random.key_data(x)")
    info = jax.numpy.iinfo if jax.dtypes.issubdtype(x.dtype, np.integer) else jax.numpy.finfo
    if x.dtype != bool and info(x.dtype).bits < 8:
        raise TypeError(f"x has dtype {x.dtype}: elements smaller than a byte are not supported")
    return x


def _permuted(x, extents, axes, shape):
    """Permutes the axes of `x` read as an array of `extents`, and returns it with `shape`."""
    if axes == tuple(range(len(axes))):
        return x.reshape(shape)
    return _permute_p.bind(x, extents=extents, axes=axes, shape=shape)


_permute_p = Primitive(TARGET)
_compiled = jax.jit(_permute_p.bind, static_argnames=("extents", "axes", "shape"))


@_permute_p.def_impl
def _of_arrays(x, **how):
    with jax.disable_jit(False):
        return _compiled(x, **how)


@_permute_p.def_abstract_eval
def _of_abstract(x, *, extents, axes, shape):
    def reshaped(x, shape):
        return lax.reshape_p.abstract_eval(x, new_sizes=shape, dimensions=None, sharding=None)[0]

    x = x if x.shape == extents else reshaped(x, extents)
    x = lax.transpose_p.abstract_eval(x, permutation=axes)[0]
    return x if x.shape == shape else reshaped(x, shape)


def _cotangent(ct, x, *, extents, axes, shape):
    inverse = tuple(sorted(range(len(axes)), key=axes.__getitem__))
    return [_permuted(ct, tuple([extents[axis] for axis in axes]), inverse, x.aval.shape)]


ad.deflinear2(_permute_p, _cotangent)


def _of_batch(operands, batched, *, extents, axes, shape):
    (x,), (at,) = operands, batched
    count, rest = x.shape[at], (*range(at), *range(at + 1, x.ndim))
    if tuple([x.shape[axis] for axis in rest]) == extents:
        axes, extents = (at, *[rest[axis] for axis in axes]), x.shape
    else:
        x = transpose(x, (at, *rest))
        axes, extents = (0, *[axis + 1 for axis in axes]), (count, *extents)
    return _permuted(x, extents, axes, (count, *shape)), 0


batching.primitive_batchers[_permute_p] = _of_batch


def _call(x, *, extents, axes, shape, on_gpu):
    """Calls the handler, whose result has the shape of its operand, as it shares its buffer.

    The operand is not reshaped before, since XLA copies a reshaped operand on a CPU.
    """
    results = [jax.ShapeDtypeStruct(x.shape, x.dtype)]
    if on_gpu:
        nbytes = x.size * x.dtype.itemsize
        room = max(nbytes // WORKSPACE_SHARE, min(nbytes, LEAST_WORKSPACE))
        results.append(jax.ShapeDtypeStruct((room,), np.uint8))
    call = jax.ffi.ffi_call(TARGET, results, input_output_aliases={0: 0})
    attributes = {
        "shape": np.array(extents, np.int64),
        "axes": np.array(axes, np.int64),
        "itemsize": np.int64(x.dtype.itemsize),
    }
    return call(x, **attributes)[0].reshape(shape)


def _lowering(on_gpu):
    lowered = mlir.lower_fun(partial(_call, on_gpu=on_gpu), multiple_results=False)

    def lower(context, x, **how):
        where = context.module_context.axis_context
        mesh = getattr(where, "mesh", None)
        if mesh is None:
            devices = getattr(where, "num_devices", None) or 1
        else:
            by_compiler = set(mesh.axis_names) - set(where.manual_axes)
            devices = int(np.prod([mesh.shape[name] for name in by_compiler]))
        if devices > 1:
            raise NotImplementedError(
                f"turntile.jax.transpose works on the part of an array that one device holds, but "
                f"this program is partitioned over {devices} devices by the compiler: call it in "
                "jax.shard_map, where all axes of the mesh are manual"
            )
        return lowered(context, x, **how)

    return lower


for _on_gpu, _backend, _platform in [(False, "cpu", "cpu"), (True, "cuda", "CUDA")]:
    _handler = jax.ffi.pycapsule(_core.jax_handler(_on_gpu))
    _stages = ["initialize", "execute"] if _on_gpu else ["instantiate", "execute"]
    jax.ffi.register_ffi_target(TARGET, dict.fromkeys(_stages, _handler), _platform)
    mlir.register_lowering(_permute_p, _lowering(_on_gpu), platform=_backend)
