"""PyTorch's tensors on CUDA devices against `.permute().contiguous()`."""

import random
import threading

import pytest
import turntile

torch = pytest.importorskip("torch")

TYPES = [torch.uint8, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float32, torch.float64, torch.complex128]


def numbered(shape, dtype=torch.float32):
    """Elements whose bytes differ from place to place, made on the device; none of them is NaN in any type."""
    count = torch.Size(shape).numel() * torch.empty(0, dtype=dtype).element_size()
    return (torch.arange(count, device="cuda") * 2654435761 >> 7 & 63).to(torch.uint8).view(dtype).reshape(shape)


def raw(tensor):
    return tensor.contiguous().reshape(-1).view(torch.uint8)


def check(t, axes=None, **how):
    """Permutes `t` in place: as PyTorch's copy, and in its memory."""
    axes = tuple(range(t.dim() - 1, -1, -1)) if axes is None else axes
    wanted, place = raw(t.permute(axes)).clone(), t.data_ptr()
    result = turntile.transpose(t, axes, **how)
    assert type(result) is torch.Tensor and result.dtype == t.dtype and result.device == t.device
    assert result.shape == t.permute(axes).shape and result.is_contiguous()
    assert result.data_ptr() == place
    assert torch.equal(raw(result), wanted)


def test_patterns():
    t = numbered((8, 3, 64, 48))
    wanted = t.reshape(8, 3, 4, 16, 3, 16).permute(0, 2, 4, 3, 5, 1).reshape(8, 12, 768)
    result = turntile.rearrange(t, "b c (h p) (w q) -> b (h w) (p q c)", p=16, q=16)
    assert result.shape == (8, 12, 768) and result.data_ptr() == t.data_ptr() and torch.equal(result, wanted)


@pytest.mark.parametrize("number", range(60))
def test_drawn(number):
    draw = random.Random(number)
    rank = draw.randint(1, 5)
    side = int(2e6 ** (1 / rank))
    shape = [draw.choice([1, 2, 3, side, draw.randint(1, side), 2 ** draw.randint(0, 6)]) for _ in range(rank)]
    axes, layout = draw.sample(range(rank), rank), draw.sample(range(rank), rank)
    back = sorted(range(rank), key=layout.__getitem__)
    t = numbered(shape, draw.choice(TYPES)).permute(layout).clone(memory_format=torch.contiguous_format)
    check(t.permute(back), axes)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_shapes(dtype):
    for shape, axes in [
        ((4093, 4099), (1, 0)),
        ((8192, 4096), (1, 0)),
        ((1_000_003, 3), (1, 0)),
        ((7, 2048, 1408), (0, 2, 1)),
        ((64, 3, 112, 113), (0, 2, 3, 1)),
        ((31, 67, 129), (2, 1, 0)),
        ((0, 5), (1, 0)),
        ((), ()),
    ]:
        check(numbered(shape, dtype), axes)


def test_unaligned():
    for dtype, skipped in [(torch.uint8, 1), (torch.float16, 1), (torch.float32, 1), (torch.float32, 3), (torch.float64, 1)]:
        t = numbered((1009 * 499 + skipped,), dtype)[skipped:].view(1009, 499)
        check(t)


def test_orders_of_memory():
    t = numbered((5, 301, 211))
    before = t.clone()
    f = turntile.asfortranarray(t)
    assert torch.equal(f, before) and f.permute(2, 1, 0).is_contiguous() and f.data_ptr() == t.data_ptr()
    c = turntile.ascontiguousarray(f)
    assert torch.equal(c, before) and c.is_contiguous()
    images = numbered((8, 3, 64, 60)).contiguous(memory_format=torch.channels_last)
    before = images.clone()
    result = turntile.ascontiguousarray(images)
    assert torch.equal(result, before) and result.is_contiguous()


def test_into():
    for shape, axes in [((1009, 499), (1, 0)), ((7, 100, 99), (0, 2, 1)), ((31, 67, 129), (2, 1, 0)), ((6, 5, 40, 30), (3, 1, 0, 2))]:
        t = numbered(shape)
        before, wanted = t.clone(), t.permute(axes).contiguous()
        out = torch.zeros_like(wanted)
        assert turntile.transpose(t, axes, out=out) is out
        assert torch.equal(out, wanted) and torch.equal(t, before)
        fortran = torch.zeros_like(wanted.permute(*range(t.dim() - 1, -1, -1))).contiguous().permute(*range(t.dim() - 1, -1, -1))
        strided = wanted.new_zeros([2 * extent for extent in wanted.shape])[(slice(None, None, 2),) * t.dim()]
        for target in fortran, strided:
            assert torch.equal(turntile.transpose(t, axes, out=target), wanted) and torch.equal(t, before)


def test_current_stream_and_no_waiting():
    """Work queued earlier on the stream is done first; the call returns while it still runs."""
    t, new = numbered((4093, 2039)), numbered((4093, 2039)).flip(0).contiguous()
    turntile.transpose(t.clone())
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(500_000_000)
        t.copy_(new)
        result = turntile.transpose(t)
        event = stream.record_event()
    assert not event.query()
    torch.cuda.current_stream().wait_stream(stream)
    assert torch.equal(result, new.t())


@pytest.mark.parametrize("kind", ["stream", "handle", "protocol"])
def test_stream_given(kind):
    class Protocol:
        def __init__(self, stream):
            self.stream = stream

        def __cuda_stream__(self):
            return (0, self.stream.cuda_stream)

    t, new = numbered((4093, 2039)), numbered((4093, 2039)).flip(0).contiguous()
    turntile.transpose(t.clone())
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(500_000_000)
        t.copy_(new)
    given = {"stream": stream, "handle": stream.cuda_stream, "protocol": Protocol(stream)}[kind]
    result = turntile.transpose(t, stream=given)
    event = stream.record_event()
    assert not event.query()
    torch.cuda.current_stream().wait_stream(stream)
    assert torch.equal(result, new.t())


def permuted_often(t, axes, times):
    """`axes` applied again and again to the same memory, as an array of the same shape."""
    shape = t.shape
    for _ in range(times):
        t = t.permute(axes).contiguous().reshape(shape)
    return t


@pytest.mark.parametrize("shape, axes", [((1009, 499), (1, 0)), ((4096, 1024), (1, 0)), ((7, 100, 99), (0, 2, 1)), ((31, 67, 129), (2, 1, 0))])
@pytest.mark.parametrize("prepared", ["by a run", "by a plan"])
def test_graph(shape, axes, prepared):
    t = numbered(shape)
    before = t.clone()
    if prepared == "by a run":
        turntile.transpose(t.clone(), axes)
        call = lambda: turntile.transpose(t, axes)
    else:
        plan = turntile.Plan(shape, axes, dtype=t.dtype, device="cuda")
        call = lambda: plan(t)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    assert torch.equal(t, before), "captured, not run"
    for _ in range(100):
        graph.replay()
    assert torch.equal(t, permuted_often(before, axes, 100))


def test_capture_of_what_is_not_loaded():
    t = numbered((1013, 487))
    before = t.clone()
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(turntile.CaptureError, match="before the capture"):
        with torch.cuda.graph(graph):
            turntile.transpose(t)
    assert torch.equal(t, before)
    check(t)


def test_autograd_finds_out():
    x, y = torch.ones(30, 40, device="cuda", requires_grad=True), torch.rand(30, 40, device="cuda")
    product = x * y
    version = y._version
    turntile.transpose(y)
    assert y._version == version + 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_refused():
    t = torch.rand(40, 60, device="cuda")
    for wrong, words in [
        (t.clone().requires_grad_(), "pass tensor.detach"),
        (torch.rand(3, 4, dtype=torch.complex64, device="cuda").conj(), "lazy conjugate"),
        (t[:, ::2], "gaps"),
        (t[0].expand(5, 60), "overlap"),
    ]:
        before = wrong.detach().clone()
        with pytest.raises(ValueError, match=words):
            turntile.transpose(wrong)
        assert torch.equal(wrong.detach(), before)
    for how, error in [
        ({"threads": 2}, ValueError),
        ({"stream": "default"}, TypeError),
        ({"workspace": torch.empty(100, dtype=torch.uint8)}, ValueError),
        ({"workspace": turntile.Workspace(100)}, TypeError),
        ({"workspace": t}, ValueError),
    ]:
        before = t.clone()
        with pytest.raises(error):
            turntile.transpose(t, **how)
        assert torch.equal(t, before)


def test_workspace_too_small():
    shape = (8191, 4099)
    plan = turntile.Plan(shape, itemsize=4, device="cuda")
    t = numbered(shape)
    if plan.workspace_bytes > 16:
        with pytest.raises(ValueError, match="bytes of workspace"):
            plan(t, workspace=torch.empty(16, dtype=torch.uint8, device="cuda"))
        assert torch.equal(t, numbered(shape))
    beside = torch.empty(max(plan.workspace_bytes, 1), dtype=torch.uint8, device="cuda")
    assert torch.equal(plan(t, workspace=beside), numbered(shape).t())


def test_memory():
    """The workspace is PyTorch's, as large as the plan says; with one that is passed nothing is allocated."""
    shape = (20011, 16381)
    t = numbered((shape[0], shape[1]), torch.uint8).clone()
    plan = turntile.Plan(shape, dtype=torch.uint8, device="cuda")
    assert plan.workspace_bytes <= max(t.numel() // 50, 16 << 20)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    start = torch.cuda.memory_allocated()
    plan(t)
    assert torch.cuda.max_memory_allocated() - start <= plan.workspace_bytes + (2 << 20)
    beside = torch.empty(max(plan.workspace_bytes, 1), dtype=torch.uint8, device="cuda")
    torch.cuda.reset_peak_memory_stats()
    start = torch.cuda.memory_allocated()
    plan(t, workspace=beside)
    assert torch.cuda.max_memory_allocated() == start


def test_when_the_allocator_s_cache_holds_the_card():
    """The driver has next to nothing left, and PyTorch's cache all: the workspace comes out of it."""
    t = numbered((8191, 4099))
    turntile.transpose(t.clone())
    free, _ = torch.cuda.mem_get_info()
    held = [torch.empty((free - (256 << 20)) // 64, dtype=torch.uint8, device="cuda") for _ in range(64)]
    del held
    check(t)
    torch.cuda.empty_cache()


def test_from_other_threads():
    failures = []

    def work(number):
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(10):
                    check(numbered((1009 + number, 499)))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_second_device():
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU")
    t = numbered((1009, 499)).to("cuda:1")
    check(t)
    assert torch.cuda.current_device() == 0
    with pytest.raises(ValueError, match="the plan is for cuda:0"):
        turntile.Plan((499, 1009), itemsize=4, device="cuda:0")(t.view(499, 1009))


def test_no_such_device():
    with pytest.raises(turntile.CudaError):
        turntile.Plan((3, 4), itemsize=4, device="cuda:99")
