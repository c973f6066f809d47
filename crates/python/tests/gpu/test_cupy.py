"""CuPy's arrays, and objects that have only `__cuda_array_interface__`."""

import pytest
import turntile

cupy = pytest.importorskip("cupy")

TYPES = ["u1", "f2", "f4", "f8", "c16"]


def numbered(shape, dtype="f4"):
    count = int(cupy.prod(cupy.array(shape + (1,)))) * cupy.dtype(dtype).itemsize
    return ((cupy.arange(count) * 2654435761) >> 7 & 63).astype(cupy.uint8).view(dtype).reshape(shape)


def raw(array):
    return cupy.ascontiguousarray(array).reshape(-1).view("u1")


def equal(a, b):
    return bool((raw(a) == raw(b)).all())


@pytest.mark.parametrize("dtype", TYPES)
def test_shapes(dtype):
    for shape, axes in [((1009, 499), None), ((7, 100, 99), (0, 2, 1)), ((31, 67, 129), (-1, 1, 0)), ((64, 3, 50, 40), (0, 2, 3, 1))]:
        a = numbered(shape, dtype)
        wanted = cupy.transpose(a, axes).copy()
        result = turntile.transpose(a, axes)
        assert type(result) is cupy.ndarray and result.dtype == dtype and result.shape == wanted.shape
        assert result.flags.c_contiguous and result.data.ptr == a.data.ptr
        assert equal(result, wanted)


def test_orders_of_memory():
    a = numbered((5, 301, 211))
    before = a.copy()
    f = turntile.asfortranarray(a)
    assert f.flags.f_contiguous and equal(f, before) and f.data.ptr == a.data.ptr
    c = turntile.ascontiguousarray(f)
    assert c.flags.c_contiguous and equal(c, before)
    for call in turntile.ascontiguousarray, turntile.asfortranarray:
        assert call(cupy.zeros(())).shape == (1,)


def test_patterns():
    a = numbered((8, 3, 64, 48))
    wanted = a.reshape(8, 3, 4, 16, 3, 16).transpose(0, 2, 4, 3, 5, 1).reshape(8, 12, 768)
    result = turntile.rearrange(a, "b c (h p) (w q) -> b (h w) (p q c)", p=16, q=16)
    assert result.shape == (8, 12, 768) and result.data.ptr == a.data.ptr and equal(result, wanted)


def test_into():
    for shape, axes in [((1009, 499), (1, 0)), ((31, 67, 129), (2, 1, 0))]:
        a = numbered(shape)
        before, wanted = a.copy(), cupy.ascontiguousarray(a.transpose(axes))
        out = cupy.zeros_like(wanted)
        assert turntile.transpose(a, axes, out=out) is out
        assert equal(out, wanted) and equal(a, before)
        out = cupy.asfortranarray(cupy.zeros_like(wanted))
        strided = cupy.zeros([2 * extent for extent in wanted.shape], a.dtype)[(slice(None, None, 2),) * a.ndim]
        for target in out, strided:
            assert equal(turntile.transpose(a, axes, out=target), wanted) and equal(a, before)
        source = cupy.repeat(a, 2, axis=0)[::2]
        assert equal(turntile.transpose(source, axes, out=out), wanted)


@pytest.mark.parametrize("given", [False, True])
def test_streams(given):
    a = numbered((4093, 2039))
    new = cupy.ascontiguousarray(a[::-1])
    turntile.transpose(a.copy())
    cupy.cuda.Device().synchronize()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        for _ in range(200):
            a[...] = new
        if not given:
            result = turntile.transpose(a)
    if given:
        result = turntile.transpose(a, stream=stream)
    stream.synchronize()
    assert equal(result, new.T)


def test_graph():
    a = numbered((1009, 499))
    wanted = a.copy()
    plan = turntile.Plan(a.shape, dtype=a.dtype, device="cuda")
    beside = cupy.empty(max(plan.workspace_bytes, 1), "u1")
    cupy.cuda.Device().synchronize()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        plan(a, workspace=beside)
        graph = stream.end_capture()
        for _ in range(100):
            graph.launch(stream)
    stream.synchronize()
    for _ in range(100):
        wanted = cupy.ascontiguousarray(wanted.T).reshape(wanted.shape)
    assert equal(a, wanted)


def test_interface_alone():
    class Lender:
        def __init__(self, array):
            self.array = array

        @property
        def __cuda_array_interface__(self):
            return self.array.__cuda_array_interface__

    a = numbered((1009, 499))
    wanted = cupy.ascontiguousarray(a.T)
    plan = turntile.Plan(a.shape, dtype=a.dtype, device="cuda")
    beside = cupy.empty(max(plan.workspace_bytes, 1), "u1")
    result = cupy.asarray(turntile.transpose(Lender(a), workspace=beside))
    assert result.data.ptr == a.data.ptr and equal(result, wanted)
    before = result.copy()
    f = cupy.asarray(turntile.asfortranarray(Lender(result), workspace=cupy.empty(max(plan.workspace_bytes, 16 << 20), "u1")))
    assert f.flags.f_contiguous and equal(f, before)


def test_managed_memory_and_the_host_s():
    managed = cupy.cuda.malloc_managed(4 * 1009 * 499)
    a = cupy.ndarray((1009, 499), "f4", managed)
    a[...] = numbered((1009, 499))
    wanted = cupy.ascontiguousarray(a.T)
    assert equal(turntile.transpose(a), wanted)
    pinned = cupy.cuda.alloc_pinned_memory(4 * 301 * 211)
    import numpy

    host = numpy.frombuffer(pinned, "f4", 301 * 211).reshape(301, 211)
    host[...] = numpy.arange(301 * 211).reshape(301, 211)
    wanted = host.T.copy()
    assert (turntile.transpose(host) == wanted).all()


def test_jax_on_a_device():
    jax = pytest.importorskip("jax")
    with pytest.raises(TypeError, match="JAX arrays are immutable"):
        turntile.transpose(jax.numpy.zeros((3, 4)))
