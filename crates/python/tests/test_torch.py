"""PyTorch's tensors on the host and on no device, and JAX's arrays. Skipped where these are not installed."""

import pytest
import turntile
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

TYPES = [torch.uint8, torch.bool, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float32, torch.complex128]


def numbered(shape, dtype=torch.float32):
    count = torch.Size(shape).numel() * torch.empty(0, dtype=dtype).element_size()
    raw = (torch.arange(count) * 2654435761 >> 7).to(torch.uint8)
    raw = raw % 2 if dtype == torch.bool else raw
    return raw.view(dtype).reshape(shape)


def raw(tensor):
    return tensor.clone(memory_format=torch.contiguous_format).reshape(-1).view(torch.uint8).tolist()


@st.composite
def problems(draw):
    shape = draw(st.lists(st.integers(0, 7), max_size=5))
    axes, layout = (draw(st.permutations(range(len(shape)))) for _ in range(2))
    back = sorted(range(len(shape)), key=layout.__getitem__)
    t = numbered(shape, draw(st.sampled_from(TYPES))).permute(layout).clone(memory_format=torch.contiguous_format)
    return t.permute(back), axes


@given(problems())
@settings(max_examples=200, deadline=None)
def test_any_order_of_any_layout(problem):
    t, axes = problem
    wanted, shape = raw(t.permute(axes)), tuple(t.permute(axes).shape)
    version = t._version
    result = turntile.transpose(t, axes)
    assert type(result) is torch.Tensor and tuple(result.shape) == shape and result.dtype == t.dtype
    assert result.is_contiguous()
    assert raw(result) == wanted
    if t.numel():
        assert result.data_ptr() == t.data_ptr()
        assert t._version > version


@given(problems())
@settings(max_examples=100, deadline=None)
def test_orders_of_memory(problem):
    t, _ = problem
    before, shape = raw(t), t.shape
    f = turntile.asfortranarray(t)
    assert f.shape == shape and raw(f) == before
    assert f.permute(tuple(range(t.dim() - 1, -1, -1))).is_contiguous()
    c = turntile.ascontiguousarray(f)
    assert c.shape == shape and raw(c) == before and c.is_contiguous()


@given(problems())
@settings(max_examples=100, deadline=None)
def test_into(problem):
    t, axes = problem
    before, wanted = raw(t), t.permute(axes).contiguous()
    out = torch.zeros_like(wanted)
    assert turntile.transpose(t, axes, out=out) is out
    assert raw(out) == raw(wanted) and raw(t) == before
    # Strided: PyTorch copies.
    out = torch.zeros([2 * extent for extent in wanted.shape], dtype=t.dtype)[(..., *[slice(None, None, 2)] * t.dim())]
    assert turntile.transpose(t, axes, out=out) is out
    assert raw(out) == raw(wanted) and raw(t) == before


def test_large_and_planned():
    t = torch.arange(301 * 211).reshape(301, 211)
    wanted = t.t().contiguous()
    plan = turntile.Plan(t.shape, dtype=t.dtype, device=t.device)
    assert torch.equal(plan(t), wanted)


def test_channels_last():
    t = torch.arange(2 * 3 * 5 * 7).reshape(2, 3, 5, 7).contiguous(memory_format=torch.channels_last)
    wanted = t.clone(memory_format=torch.contiguous_format)
    result = turntile.ascontiguousarray(t)
    assert torch.equal(result, wanted) and result.is_contiguous() and result.data_ptr() == t.data_ptr()
    back = turntile.transpose(result, (0, 2, 3, 1)).permute(0, 3, 1, 2)
    assert torch.equal(back, wanted) and back.is_contiguous(memory_format=torch.channels_last)
    assert back.data_ptr() == t.data_ptr()


def test_parameters_and_parts():
    parameter = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3), requires_grad=False)
    assert turntile.transpose(parameter).tolist() == [[0, 3], [1, 4], [2, 5]]
    t = torch.arange(24).reshape(4, 2, 3)
    before = t.clone()
    turntile.transpose(t[2])
    assert torch.equal(t[2].reshape(3, 2), before[2].t()) and torch.equal(t[3], before[3])


def test_autograd_finds_out():
    x = torch.ones(3, 4, requires_grad=True)
    y = torch.rand(3, 4)
    product = x * y
    turntile.transpose(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_inference_mode():
    with torch.inference_mode():
        t = torch.arange(6).reshape(2, 3)
        assert turntile.transpose(t).tolist() == [[0, 3], [1, 4], [2, 5]]
    assert turntile.transpose(torch.arange(6).reshape(2, 3)).tolist() == [[0, 3], [1, 4], [2, 5]]


def test_meta():
    t = torch.empty(64, 7168, 2048, dtype=torch.bfloat16, device="meta")
    result = turntile.ascontiguousarray(t.transpose(1, 2))
    assert result.shape == (64, 2048, 7168) and result.device.type == "meta" and result.is_contiguous()
    assert turntile.transpose(t, (2, 0, 1)).shape == (2048, 64, 7168)
    out = torch.empty(2048, 7168, 64, dtype=torch.bfloat16, device="meta")
    assert turntile.transpose(t, out=out) is out
    with pytest.raises(ValueError, match="gaps"):
        turntile.transpose(t[:, ::2])


@pytest.mark.parametrize("call", [turntile.transpose, turntile.asfortranarray])
def test_refused(call):
    def refused(t, error, words):
        before = t.detach().clone() if t.layout is torch.strided and not t.is_nested else None
        with pytest.raises(error, match=words):
            call(t)
        if before is not None:
            assert torch.equal(t.detach(), before)

    t = torch.rand(4, 6)
    refused(t.clone().requires_grad_(), ValueError, "pass tensor.detach")
    refused(t.clone().requires_grad_() * 2, ValueError, "requires grad")
    refused(torch.rand(3, 4, dtype=torch.complex64).conj(), ValueError, "lazy conjugate")
    refused(torch.rand(3, 4, dtype=torch.complex64).conj().imag, ValueError, "lazy conjugate or negative")
    refused(t[:, ::2], ValueError, "gaps")
    refused(t[0].expand(5, 6), ValueError, "overlap")
    refused(t.to_sparse(), TypeError, "layout torch.sparse_coo")
    refused(torch.quantize_per_tensor(t, 0.1, 0, torch.qint8), TypeError, "quantized")
    for layout in [torch.strided, torch.jagged]:
        refused(torch.nested.nested_tensor([t, t[:2]], layout=layout), TypeError, "several tensors: .*unbind")
    with torch._subclasses.FakeTensorMode():
        fake = torch.rand(3, 4)
    with pytest.raises(TypeError, match="FakeTensor wraps other tensors"):
        call(fake)


def test_two_libraries():
    with pytest.raises(TypeError, match="of the same library"):
        turntile.transpose(torch.zeros(2, 3).numpy(), out=torch.zeros(3, 2))


def test_jax():
    jax = pytest.importorskip("jax")
    a = jax.numpy.arange(6).reshape(2, 3)
    with pytest.raises(TypeError, match="JAX arrays are immutable"):
        turntile.transpose(a)
    with pytest.raises(TypeError, match="JAX arrays are immutable"):
        jax.jit(turntile.transpose)(a)
    assert a.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_patterns():
    einops = pytest.importorskip("einops")
    for shape, pattern, sizes in [
        ((2, 3, 8, 6), "b c (h p) (w q) -> b (h w) (p q c)", {"p": 2, "q": 3}),
        ((2, 3, 8, 6), "b ... w -> (w b) ... 1", {}),
        ((40, 30, 50), "a (b c) d -> c (d a) b", {"b": 5}),
    ]:
        for memory in ["contiguous_format", "channels_last"]:
            t = numbered(shape)
            t = t.contiguous(memory_format=torch.channels_last) if memory == "channels_last" and len(shape) == 4 else t
            wanted = einops.rearrange(t, pattern, **sizes).clone()
            result = turntile.rearrange(t, pattern, **sizes)
            assert result.is_contiguous() and result.data_ptr() == t.data_ptr()
            assert result.shape == wanted.shape and raw(result) == raw(wanted)
    assert turntile.rearrange(torch.empty(2, 6, device="meta"), "a (b c) -> c b a", b=2).shape == (3, 2, 2)
