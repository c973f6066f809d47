"""PyTorch operators, for graphs that `torch.compile` and `torch.export` make.

    import turntile.torch_ops            # registers them in torch.ops.turntile

    permute_(Tensor(a!) x, SymInt[]? shape, int[] axes) -> ()
    permute(Tensor x, int[] axes) -> Tensor
    permute.out(Tensor x, int[] axes, *, Tensor(a!) out) -> ()

``permute_`` changes the contents of `x`, not its shape: they become those of
``x.view(shape).permute(axes)``; without `shape`, that of `x` is used. `x` is C-contiguous. It
rejects tensors that require grad. ``permute`` returns a new tensor and has a gradient.

Inside a graph, `turntile.transpose`, `permute_dims`, `matrix_transpose` and `ascontiguousarray` use
these operators.
"""

import torch

from ._arguments import normal
from ._run import copy_into, permute
from ._torch import adapt

__all__: list[str] = []

if not hasattr(torch.Tag, "needs_exact_strides"):
    raise ImportError(f"turntile.torch_ops needs PyTorch 2.8 or newer, not {torch.__version__}")

#: Owner of the registrations.
LIBRARY = torch.library.Library("turntile", "DEF")


def _define(schema, kernel, fake):
    """Registers an operator with its kernel for host and GPU tensors, and that for fake tensors."""
    tags = [torch.Tag.pt2_compliant_tag, torch.Tag.needs_exact_strides]
    LIBRARY.define(schema, tags=tags)
    name = schema.partition("(")[0]
    for key in ("CPU", "CUDA"):
        LIBRARY.impl(name, kernel, key)
    torch.library.register_fake(f"turntile::{name}", fake, lib=LIBRARY)


def _permute_(x, shape, axes):
    array = adapt(x if shape is None else x.view(shape), True)
    if array.strides is not None:
        raise ValueError("turntile::permute_ needs a C-contiguous tensor: pass x.contiguous()")
    permute(array, normal(axes, len(array.shape)), (None, None, None))


def _refuse_grad(tensor):
    if tensor.requires_grad:
        raise ValueError(
            "the tensor requires grad, but this operator has no gradient: pass tensor.detach(), or "
            "use torch.ops.turntile.permute"
        )


def _fake_permute_(x, shape, axes):
    _refuse_grad(x)
    normal(axes, x.dim() if shape is None else len(shape))


def _permute(x, axes):
    # Under autograd, which records the operator itself.
    out = _fake_permute(x, axes)
    _permute_out(x.detach(), axes, out=out)
    return out


def _fake_permute(x, axes):
    return x.new_empty([x.shape[axis] for axis in normal(axes, x.dim())])


def _permute_out(x, axes, *, out):
    copy_into(out, x, lambda rank: normal(axes, rank), None, None, None)


def _fake_permute_out(x, axes, *, out):
    for tensor in (x, out):
        _refuse_grad(tensor)
    normal(axes, x.dim())


_define("permute_(Tensor(a!) x, SymInt[]? shape, int[] axes) -> ()", _permute_, _fake_permute_)
_define("permute(Tensor x, int[] axes) -> Tensor", _permute, _fake_permute)
# Without a result and the tag `out`: PyTorch 2.15 copies the result of a tagged operator into a graph's
# input, and passes `axes` as separate arguments if it calls one in place of `permute`.
_define(
    "permute.out(Tensor x, int[] axes, *, Tensor(a!) out) -> ()", _permute_out, _fake_permute_out
)


def _save(ctx, inputs, output):
    ctx.axes = normal(inputs[1], inputs[0].dim())


def _backward(ctx, grad):
    return torch.ops.turntile.permute(grad, _inverse(ctx.axes)), None


def _inverse(axes):
    return sorted(range(len(axes)), key=axes.__getitem__)


torch.library.register_autograd("turntile::permute", _backward, setup_context=_save, lib=LIBRARY)


def transposed(tensor, axes, out=None):
    """Permutes the axes of a tensor of a graph, in its memory or into `out`."""
    if out is not None:
        torch.ops.turntile.permute.out(tensor, axes, out=out)
        return out
    order = list(range(tensor.dim()))
    if not tensor.is_contiguous():
        # Axes by decreasing stride. Strides may be symbolic, which `sorted` does not take. A
        # contiguous tensor is not sorted: its axes of extent 1 have arbitrary strides.
        order = []
        for axis in range(tensor.dim()):
            step = tensor.stride(axis)
            order.insert(sum(tensor.stride(other) >= step for other in order), axis)
    memory = tensor.permute(order)
    if not memory.is_contiguous():
        raise ValueError("the array is not contiguous: there are gaps between its elements")
    places = _inverse(order)
    torch.ops.turntile.permute_(memory, None, [places[axis] for axis in axes])
    return memory.view(-1).view([tensor.shape[axis] for axis in axes])
