"""PyTorch operators and layouts of weights on CUDA: graphs, copies in compiled programs, peak memory, time of a call."""

import re
import statistics
import time

import pytest
import turntile
import turntile.weights

torch = pytest.importorskip("torch")
pytest.importorskip("turntile.torch_ops", exc_type=ImportError)

ops = torch.ops.turntile


def numbered(*shape, dtype=torch.float32):
    count = torch.Size(shape).numel() * dtype.itemsize
    return (torch.arange(count, device="cuda") * 2654435761 >> 7 & 63).to(torch.uint8).view(dtype).reshape(shape)


def peak(call):
    """Returns the result and the bytes allocated at the peak, in addition to those before."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    result = call()
    torch.cuda.synchronize()
    return result, torch.cuda.max_memory_allocated() - before


def in_the_middle(x):
    return turntile.transpose(x * 2, (1, 0)) + 1


def of_an_input(w, x):
    return x @ turntile.transpose(w, (1, 0))


def of_experts(w, x):
    return torch.bmm(x, turntile.ascontiguousarray(w.transpose(1, 2)))


def functional(x):
    return ops.permute(x * 2, [1, 0]) + 1


CASES = [
    # Function, shapes, and bytes at the peak in units of the largest tensor.
    (in_the_middle, [(6000, 4000)], 2.05),
    (functional, [(6000, 4000)], 2.05),
    (of_an_input, [(8192, 4000), (64, 4000)], 0.25),
    (of_experts, [(16, 2048, 1408), (16, 8, 1408)], 0.25),
]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("function, shapes, most", CASES)
def test_compiled_without_a_copy(function, shapes, most, dynamic):
    from torch._inductor.utils import fresh_cache, run_and_get_code

    given = lambda: [numbered(*shape) for shape in shapes]
    wanted = function(*given())
    torch._dynamo.reset()
    compiled = torch.compile(function, fullgraph=True, dynamic=dynamic)
    with fresh_cache():
        found, codes = run_and_get_code(compiled, *given())
    code = "\n".join(codes)
    assert len(re.findall(r"^ +(?:\w+ = )?torch\.ops\.turntile\.", code, re.M)) == 1
    assert "clone" not in code and "copy_" not in code
    torch.testing.assert_close(found, wanted)
    arguments = given()
    size = max(tensor.nbytes for tensor in arguments)
    _, more = peak(lambda: compiled(*arguments))
    assert more <= most * size, more / size


@pytest.mark.parametrize("function, shapes, most", CASES)
def test_cuda_graphs_of_compiled_programs(function, shapes, most):
    torch._dynamo.reset()
    compiled = torch.compile(function, fullgraph=True, mode="reduce-overhead")
    for _ in range(4):
        given = [numbered(*shape) for shape in shapes]
        wanted = function(*[tensor.clone() for tensor in given])
        torch.compiler.cudagraph_mark_step_begin()
        torch.testing.assert_close(compiled(*given).clone(), wanted)


def test_operators_in_a_captured_graph():
    w, flat, out = numbered(3, 1000, 700), numbered(6 * 35 * 50), torch.empty(700, 3, 1000, device="cuda")
    ops.permute_(w, None, [0, 2, 1])
    ops.permute_(flat, [6, 35, 50], [2, 0, 1])
    ops.permute.out(w, [1, 0, 2], out=out.view(1000, 3, 700))
    w.copy_(numbered(3, 1000, 700))
    flat.copy_(numbered(6 * 35 * 50))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        ops.permute_(w, None, [0, 2, 1])
        ops.permute_(flat, [6, 35, 50], [2, 0, 1])
        ops.permute.out(w, [1, 0, 2], out=out.view(1000, 3, 700))
    wanted = numbered(3, 1000, 700), numbered(6 * 35 * 50)
    for _ in range(3):
        graph.replay()
        # The operators see `w` as (3, 1000, 700), over elements of (3, 700, 1000).
        wanted = (
            wanted[0].permute(0, 2, 1).contiguous().view(3, 1000, 700),
            wanted[1].view(6, 35, 50).permute(2, 0, 1).reshape(-1),
        )
        assert torch.equal(w, wanted[0]) and torch.equal(flat, wanted[1])
        assert torch.equal(out.view(1000, 3, 700), wanted[0].permute(1, 0, 2))


def test_opcheck_and_gradient():
    x = numbered(3, 40, 50)
    for op, arguments in [(ops.permute_.default, (x, None, [2, 0, 1])), (ops.permute.default, (x, [2, 0, 1]))]:
        assert set(torch.library.opcheck(op, arguments).values()) == {"SUCCESS"}
    x = torch.randn(3, 4, 5, dtype=torch.float64, device="cuda", requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: ops.permute(x, [2, 0, 1]), x)


def test_time_of_an_operator():
    """At most 10 microseconds more than the plain call, both queued."""
    t, operator = numbered(300, 200), ops.permute_.default
    calls = {"plain": lambda: turntile.transpose(t), "operator": lambda: operator(t, None, [1, 0])}
    found = {name: [] for name in calls}
    for _ in range(30):
        for name, call in calls.items():
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(100):
                call()
            found[name].append((time.perf_counter() - start) / 100)
    assert statistics.median(found["operator"]) - statistics.median(found["plain"]) < 10e-6, found


LAYOUTS = [
    ("transpose", {}, torch.bfloat16),
    ("block_major_k", {"block": 64}, torch.bfloat16),
    ("gated_shuffle_32_block_k", {}, torch.uint8),
    ("swap_halves", {}, torch.bfloat16),
    ("interleave_rows_swapped", {}, torch.bfloat16),
    ("split_qkv", {"heads": 16, "kv_heads": 4}, torch.bfloat16),
    ("rotary_halves", {"heads": 16}, torch.float32),
    ("gated_shuffle_16_scales", {}, torch.uint8),
]


@pytest.mark.parametrize("layout, sizes, dtype", LAYOUTS)
def test_layouts_as_on_the_host(layout, sizes, dtype):
    w = numbered(8, 3072, 1408, dtype=dtype)
    before, address = w.cpu(), w.data_ptr()
    wanted = turntile.weights.convert(before.clone(), layout, **sizes)
    (result, more), size = peak(lambda: turntile.weights.convert(w, layout, **sizes)), w.nbytes
    assert result.data_ptr() == address and more <= max(size // 50, 16 << 20) + (1 << 20)
    assert torch.equal(result.cpu().view(torch.uint8), wanted.view(torch.uint8))
    assert torch.equal(turntile.weights.convert(result, layout, inverse=True, **sizes).cpu().view(torch.uint8), before.view(torch.uint8))


def test_state_dict_in_2_percent():
    """Four layers of experts of about 4 GB together: no more memory than 2% of a weight."""
    shapes = {"gate_up": (16, 4096, 4096), "down": (16, 4096, 2048)}
    state = {f"{k}.{name}": numbered(*shape, dtype=torch.bfloat16) for k in range(4) for name, shape in shapes.items()}
    before = {name: w[-1].clone() for name, w in state.items()}
    rules = {"*.gate_up": "gated_shuffle_32", "*.down": "transpose"}
    total = sum(w.nbytes for w in state.values())
    _, more = peak(lambda: turntile.weights.convert_state_dict(state, rules))
    assert more <= 0.02 * total, more
    for name, w in state.items():
        layout = rules["*." + name.partition(".")[2]]
        assert torch.equal(w[-1], turntile.weights.convert(before[name], layout))
    # A loop over experts, each through a scratch tensor, has the same result and needs memory for one expert.
    weight = numbered(16, 4096, 4096, dtype=torch.bfloat16)
    other = weight.clone()

    def loop():
        for expert in other:
            expert.copy_(expert.t().contiguous())

    assert peak(loop)[1] >= weight[0].nbytes
    assert torch.equal(turntile.weights.convert(weight, "transpose"), other)
