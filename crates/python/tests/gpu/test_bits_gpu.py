"""Packed elements on a GPU against the same calls on the host."""

import numpy as np
import pytest
import turntile

torch = pytest.importorskip("torch")

ORDERS = ["big", "little"]


def drawn(shape, bits):
    return np.random.default_rng(bits).integers(0, 256, shape, np.uint8)


@pytest.mark.parametrize("bits", [1, 2, 4])
@pytest.mark.parametrize("bitorder", ORDERS)
@pytest.mark.parametrize(
    "shape", [(1600, 1600), (2, 2000, 800), (3, 16, 24), (5000, 64), (8, 8 * 1021), (0, 16)]
)
def test_in_place(shape, bits, bitorder):
    host = drawn((*shape[:-1], shape[-1] * bits // 8), bits)
    # At an aligned address and at another.
    for skew in 0, 3:
        memory = torch.full((host.size + 64,), 0xA5, dtype=torch.uint8, device="cuda")
        a = memory[skew : skew + host.size].view(host.shape)
        a.copy_(torch.from_numpy(host))
        result = turntile.transpose_bits(a, bits=bits, bitorder=bitorder)
        wanted = turntile.transpose_bits(host.copy(), bits=bits, bitorder=bitorder)
        assert result.data_ptr() == a.data_ptr() or not host.size
        assert np.array_equal(result.cpu().numpy(), wanted)
        around = torch.cat([memory[:skew], memory[skew + host.size :]])
        assert bool((around == 0xA5).all())


@pytest.mark.parametrize("bits", [1, 2, 4])
@pytest.mark.parametrize("bitorder", ORDERS)
@pytest.mark.parametrize("shape", [(1600, 1600), (3, 101, 203), (1, 1), (4001, 999)])
def test_into(shape, bits, bitorder):
    *batch, rows, cols = shape
    host = drawn((*batch, rows, -(-cols * bits // 8)), bits)
    wanted = np.empty((*batch, cols, -(-rows * bits // 8)), np.uint8)
    turntile.transpose_bits(host, bits=bits, bitorder=bitorder, out=wanted)
    a = torch.from_numpy(host).cuda()
    out = torch.full(wanted.shape, 0xA5, dtype=torch.uint8, device="cuda")
    assert turntile.transpose_bits(a, bits=bits, bitorder=bitorder, out=out) is out
    assert np.array_equal(out.cpu().numpy(), wanted) and np.array_equal(a.cpu().numpy(), host)


def test_cupy_and_streams():
    cupy = pytest.importorskip("cupy")
    host = drawn((2880, 5760 // 2), 4)
    a, stream = cupy.asarray(host), cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.get_current_stream().synchronize()
    result = turntile.transpose_bits(a, bits=4, stream=stream)
    stream.synchronize()
    assert type(result) is cupy.ndarray and result.data.ptr == a.data.ptr
    wanted = turntile.transpose_bits(host, bits=4)
    assert np.array_equal(cupy.asnumpy(result), wanted)


def test_graph():
    a = torch.from_numpy(drawn((1024, 256), 2)).cuda()
    expected = a.clone()
    # Loads the kernels. Two transpositions restore the data.
    turntile.transpose_bits(turntile.transpose_bits(a, bits=2), bits=2)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        turntile.transpose_bits(a, bits=2)
    graph.replay()
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(a, expected)


def test_rejected():
    a = torch.zeros((12, 2), dtype=torch.uint8, device="cuda")
    with pytest.raises(ValueError, match="12"):
        turntile.transpose_bits(a, bits=1)
    with pytest.raises(TypeError, match="same device"):
        turntile.transpose_bits(a, bits=1, out=np.empty((16, 2), np.uint8))
    with pytest.raises(ValueError, match="overlaps"):
        flat = a.view(-1)
        turntile.transpose_bits(flat[:8].view(8, 1), bits=1, out=flat[4:12].view(8, 1))
    with pytest.raises(TypeError, match="bool"):
        turntile.transpose_bits(a.bool(), bits=1)
