"""PyTorch operators on the host: opcheck, compiled and exported graphs, gradients. Skipped without PyTorch."""

import re

import pytest
import turntile

torch = pytest.importorskip("torch")
pytest.importorskip("turntile.torch_ops", exc_type=ImportError)

ops = torch.ops.turntile
AXES = [([6], [0]), ([2, 3], [1, 0]), ([4, 3, 5], [2, 0, 1]), ([3, 1, 4], [-1, 0, 1]), ([], []), ([0, 4], [1, 0])]


def numbered(shape, dtype=torch.float32):
    return torch.arange(torch.Size(shape).numel()).to(dtype).reshape(shape)


@pytest.mark.parametrize("shape, axes", AXES, ids=str)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.bfloat16, torch.complex128], ids=str)
def test_values(shape, axes, dtype):
    x = numbered(shape, dtype)
    wanted = x.permute(axes).contiguous()
    assert torch.equal(ops.permute(x, axes), wanted)
    out = torch.zeros_like(wanted)
    assert ops.permute.out(x, axes, out=out) is None
    assert torch.equal(out, wanted)
    flat = x.reshape(-1).clone()
    assert ops.permute_(flat, shape, axes) is None
    assert torch.equal(flat, wanted.view(-1))
    ops.permute_(x, None, axes)
    assert x.shape == torch.Size(shape) and torch.equal(x.view(-1), wanted.view(-1))


@pytest.mark.parametrize(
    "op, arguments, named",
    [
        (ops.permute_.default, lambda x: (x, None, [1, 0, 2]), ()),
        (ops.permute_.default, lambda x: (x.view(-1), x.shape, [2, 1, 0]), ()),
        (ops.permute.default, lambda x: (x, [2, 0, 1]), ()),
        (ops.permute.default, lambda x: (x.requires_grad_(), [2, 0, 1]), ()),
        (ops.permute.default, lambda x: (x.transpose(0, 2), [1, 0, 2]), ()),
        (ops.permute.out, lambda x: (x, [2, 0, 1]), ("out",)),
    ],
)
def test_opcheck(op, arguments, named):
    found = torch.library.opcheck(op, arguments(numbered([3, 4, 5])), {name: torch.zeros(5, 3, 4) for name in named})
    assert set(found.values()) == {"SUCCESS"}


def in_the_middle(x):
    return turntile.transpose(x * 2, (1, 0)) + 1


def of_an_input(x, w):
    return x @ turntile.permute_dims(w, (1, 0))


def of_a_transposed_input(x, w):
    return turntile.ascontiguousarray(w.t()).t() @ x.t()


def of_a_batch(x, w):
    return turntile.matrix_transpose((w + 1).view(2, -1, w.shape[1])).sum(0) * x[0, 1]



def functional(x):
    return ops.permute(x * 2, [1, 0]) + 1


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(
    # Tensors that the compiled graph may allocate: results of other operators, and no copy for this one.
    "function, allocations",
    [(in_the_middle, 2), (of_an_input, 1), (of_a_transposed_input, 1), (of_a_batch, 3), (functional, 1)],
)
def test_compiled_without_a_copy(function, allocations, dynamic):
    from torch._inductor.utils import run_and_get_code

    given = [numbered([8, 40]), numbered([60, 40])][: function.__code__.co_argcount]
    wanted = function(*[tensor.clone() for tensor in given])
    torch._dynamo.reset()
    compiled = torch.compile(function, fullgraph=True, dynamic=dynamic)
    with torch._inductor.utils.fresh_cache():
        found, codes = run_and_get_code(compiled, *given)
    assert torch.equal(found, wanted)
    code = "\n".join(codes)
    assert len(re.findall(r"= torch\.ops\.turntile|^ +torch\.ops\.turntile", code, re.M)) == 1
    assert len(re.findall(r"= empty_strided", code)) <= allocations
    assert "clone" not in code and "copy_" not in code


@pytest.mark.parametrize("axes", [(0, 2, 1), (1, 2, 0), (2, 0, 1)], ids=str)
@pytest.mark.parametrize("strides", [(5, 30, 1), (5, 1, 1), (1, 77, 6)], ids=str)
def test_axes_of_one_element_have_any_stride(strides, axes):
    x = numbered([30]).as_strided((6, 1, 5), strides)
    wanted = x.permute(axes).contiguous()
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: turntile.transpose(x, axes), fullgraph=True, backend="eager")
    assert torch.equal(compiled(x), wanted)


class Model(torch.nn.Module):
    def forward(self, x):
        return turntile.transpose(x * 2, (2, 0, 1)) + 1


@pytest.mark.parametrize("strict", [False, True])
def test_exported(strict, tmp_path):
    batch = torch.export.Dim("batch", min=2, max=64)
    exported = torch.export.export(Model(), (numbered([3, 4, 5]),), strict=strict, dynamic_shapes={"x": {0: batch}})
    torch.export.save(exported, tmp_path / "model.pt2")
    loaded = torch.export.load(tmp_path / "model.pt2").module()
    for n in (3, 7):
        x = numbered([n, 4, 5])
        assert torch.equal(loaded(x.clone()), (x * 2).permute(2, 0, 1) + 1)


def test_gradient():
    x = torch.randn(3, 4, 5, dtype=torch.float64, requires_grad=True)
    for axes in ([2, 0, 1], [-1, 1, 0]):
        assert torch.autograd.gradcheck(lambda x: ops.permute(x, axes), x)
        assert torch.autograd.gradgradcheck(lambda x: ops.permute(x, axes), x)
    compiled = torch.compile(lambda x: (ops.permute(x, [2, 0, 1]) ** 2).sum(), backend="aot_eager", fullgraph=True)
    compiled(x).backward()
    assert torch.allclose(x.grad, 2 * x)


def compiled(function):
    return lambda *given: torch.compile(function, backend="aot_eager", fullgraph=True)(*given)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda x: ops.permute_(x.requires_grad_(), None, [1, 0]), "requires grad"),
        (lambda x: compiled(turntile.transpose)(x.requires_grad_()), "requires grad"),
        (lambda x: compiled(lambda x: turntile.transpose(2 * x))(x.requires_grad_()), "requires grad"),
        (lambda x: ops.permute.out(x.requires_grad_(), [1, 0], out=torch.empty(3, 2)), "requires grad"),
        (lambda x: ops.permute_(x.t(), None, [1, 0]), "C-contiguous"),
        (lambda x: ops.permute_(x, [4, 2], [1, 0]), "invalid for input of size 6"),
        (lambda x: ops.permute_(x, None, [0, 0]), "repeated axis"),
        (lambda x: ops.permute(x, [0, 1, 2]), "axes don't match array"),
        (lambda x: ops.permute.out(x, [1, 0], out=torch.empty(2, 3)), r"out has shape \(2, 3\)"),
        (lambda x: ops.permute.out(x, [1, 0], out=x.view(3, 2)), "out overlaps a"),
        (lambda x: compiled(lambda x: turntile.transpose(x, (0, 2)))(x), "out of bounds"),
        (lambda x: compiled(lambda x: turntile.transpose(x, threads=1))(x), "threads"),
        (lambda x: compiled(lambda x: turntile.transpose(x[:, ::2]))(x), "gaps"),
    ],
)
def test_refused(call, words):
    x = numbered([2, 3])
    with pytest.raises(Exception, match=words):
        call(x)
    assert torch.equal(x.detach(), numbered([2, 3]))
