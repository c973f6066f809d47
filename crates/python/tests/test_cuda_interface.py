"""Checks of `__cuda_array_interface__` and of DLPack on CUDA devices, by objects that only claim to be there: no GPU is needed."""

import ctypes
import gc
import weakref

import numpy as np
import pytest
import turntile
from turntile import _core, _cuda_interface, _run, _streams


class Says:
    """Exports the given interface."""

    def __init__(self, shape=(4, 6), typestr="<f4", read_only=False, address=1 << 20, **more):
        said = {"shape": shape, "typestr": typestr, "data": (address, read_only), "version": 3}
        self.__cuda_array_interface__ = {**said, **more}


@pytest.fixture
def device(monkeypatch):
    """A driver that takes every address for device 0's, and plans that note what they are run on."""
    runs = []

    class CudaPlan:
        def __init__(self, *what):
            self.what, self.workspace_bytes = what, 64 if what[1][0] == 1000 else 0

        def run(self, *on):
            *on, moved = on
            assert not moved
            runs.append((self.what, tuple(on)))

        def run_into(self, *on):
            runs.append((self.what, on))

        @classmethod
        def of_records(cls, *what):
            return cls(what[0], what[1:])

    monkeypatch.setattr(_core, "device_of", lambda address: 0)
    monkeypatch.setattr(_core, "is_capturing", lambda stream: False)
    monkeypatch.setattr(_core, "CudaPlan", CudaPlan)
    _run._plans.forget()
    yield runs
    _run._plans.forget()


def test_refused():
    for said, error, words in [
        ({"read_only": True}, ValueError, "read-only"),
        ({"mask": Says()}, TypeError, "masked"),
        ({"typestr": "|O"}, TypeError, "references"),
        ({"typestr": "zz"}, TypeError, "of Says is not valid: .*zz"),
        ({"typestr": ""}, TypeError, "of Says is not valid"),
        ({"shape": (2, 2.5)}, TypeError, "of Says is not valid"),
        ({"shape": (2, -3)}, ValueError, "negative extent"),
        ({"shape": (2**70, 2)}, ValueError, "out of range"),
        ({"data": (2**70, False)}, ValueError, "out of range"),
        ({"address": -1}, ValueError, "address -1, .* out of range"),
        ({"strides": (2**70, 4)}, ValueError, "out of range"),
        ({"strides": "ab"}, TypeError, "of Says is not valid"),
        ({"data": 5}, TypeError, "of Says is not valid"),
    ]:
        with pytest.raises(error, match=words):
            turntile.transpose(Says(**said))
    for name in ["data", "shape", "typestr"]:
        lacking = Says()
        del lacking.__cuda_array_interface__[name]
        with pytest.raises(TypeError, match=f"the __cuda_array_interface__ of Says has no '{name}'"):
            turntile.transpose(lacking)


def test_memory_of_no_device():
    if turntile.cuda_available():
        pytest.skip("there is a GPU")
    with pytest.raises(turntile.CudaError, match="is not device memory"):
        turntile.transpose(Says())


def test_a_run(device):
    result = turntile.transpose(Says((2, 300, 200)), (0, 2, 1), stream=77)
    assert device == [((0, (2, 300, 200), (0, 2, 1), 4, 16), (1 << 20, 480_000, 77, (0, 0)))]
    said = result.__cuda_array_interface__
    assert (said["shape"], said["strides"], said["data"]) == ((2, 200, 300), None, (1 << 20, False))
    assert isinstance(result.base, Says)


def test_layouts(device):
    f = turntile.asfortranarray(Says((4, 6)))
    assert f.__cuda_array_interface__["strides"] == (4, 16)
    turntile.transpose(Says((4, 6), strides=(4, 16)))
    assert [what[1:3] for what, _ in device] == [((4, 6), (1, 0)), ((6, 4), (0, 1))]
    with pytest.raises(ValueError, match="gaps"):
        turntile.transpose(Says((4, 6), strides=(32, 4)))
    with pytest.raises(ValueError, match="overlap"):
        turntile.transpose(Says((4, 6), strides=(0, 4)))


def test_alignment(device):
    for address, alignment in [(1 << 20, 16), ((1 << 20) + 8, 8), ((1 << 20) + 4, 4), ((1 << 20) + 1, 1)]:
        turntile.transpose(Says(address=address))
        assert device[-1][0][4] == alignment


def test_streams(device):
    class Protocol:
        def __cuda_stream__(self):
            return (0, 5)

    class Torch:
        cuda_stream = 6

    class Cupy:
        ptr = 7

    class Numba:
        handle = ctypes.c_void_p(8)

    for given, handle in [(None, 1), (4, 4), (0, 0), (Protocol(), 5), (Torch(), 6), (Cupy(), 7), (Numba(), 8)]:
        turntile.transpose(Says(), stream=given)
        assert device[-1][1][2] == handle
    turntile.transpose(Says(stream=9))
    assert device[-1][1][2] == 9
    for wrong in ["stream", 2.5, True, object()]:
        with pytest.raises(TypeError):
            _streams.handle(wrong)


def test_workspace(device):
    with pytest.raises(ValueError, match="64 bytes of device memory are needed"):
        turntile.transpose(Says((1000, 7)))
    turntile.transpose(Says((1000, 7)), workspace=Says((64,), "|u1", address=1 << 30))
    assert device[-1][1][3] == (1 << 30, 64)
    for workspace, error, words in [
        (turntile.Workspace(64), TypeError, "is host memory"),
        (bytearray(64), ValueError, "not on the array's device"),
        (Says((64,), "|u1", True), ValueError, "read-only"),
        (Says((64,), "|u1", strides=(2,)), ValueError, "not contiguous"),
        (64, TypeError, "not an array"),
    ]:
        with pytest.raises(error, match=words):
            turntile.transpose(Says((1000, 7)), workspace=workspace)
    assert len(device) == 1


def test_options(device):
    with pytest.raises(ValueError, match="threads is given"):
        turntile.transpose(Says(), threads=2)
    assert not device


def test_capture(device, monkeypatch):
    monkeypatch.setattr(_core, "is_capturing", lambda stream: True)
    with pytest.raises(turntile.CaptureError, match="before the capture"):
        turntile.transpose(Says())
    assert not device
    monkeypatch.setattr(_core, "is_capturing", lambda stream: False)
    turntile.transpose(Says())
    monkeypatch.setattr(_core, "is_capturing", lambda stream: True)
    turntile.transpose(Says())
    plan = turntile.Plan((5, 5), itemsize=4, device="cuda")
    plan(Says((5, 5)))
    assert len(device) == 3


def test_into(device):
    out, a = Says((6, 4)), Says((4, 6), read_only=True, address=1 << 22)
    assert turntile.transpose(a, out=out, stream=3) is out
    assert device == [((0, (4, 6), (1, 0), 4, 16, None, True), (1 << 20, 1 << 22, 96, 3))]
    # A copy in Fortran order, which moves nothing.
    turntile.transpose(a, out=Says((6, 4), strides=(4, 24)))
    assert device[1] == ((0, (4, 6), (0, 1), 4, 16, None, True), (1 << 20, 1 << 22, 96, 1))
    for out, options, words in [
        (out, {"workspace": Says(address=1 << 30)}, "uses none"),
        (out, {"threads": 2}, "threads is given"),
        (Says((6, 4), strides=(32, 4)), {}, "only PyTorch and CuPy can make this copy"),
        (Says((6, 4), address=(1 << 22) + 40), {}, "overlap"),
    ]:
        with pytest.raises(ValueError, match=words):
            turntile.transpose(a, out=out, **options)
    assert len(device) == 2


def test_records(device):
    a, fields = Says((50, 6), address=(1 << 20) + 8), [(4, 8), (0, 2)]
    assert turntile.relayout(a, 12, fields, "asta:32", stream=3) is a
    assert device == [((0, (100, 12, ((4, 8), (0, 2)), "aos", "asta:32", 8)), ((1 << 20) + 8, 1200, 3, (0, 0)))]
    turntile.relayout(Says((3, 4), strides=(16, 4)), 12, fields, "soa")
    turntile.relayout(Says((1000, 12), "|u1"), 12, fields, "soa", workspace=Says((64,), "|u1", address=1 << 30))
    assert device[-1][1] == (1 << 20, 12000, 1, (1 << 30, 64))
    turntile.relayout(Says((0, 3)), 12, fields, "soa")
    assert len(device) == 3
    for said, options, error, words in [
        ({"shape": (1000, 3)}, {}, ValueError, "64 bytes of device memory are needed"),
        ({"shape": (4, 5)}, {}, ValueError, "80 bytes are not a whole number of records of 12"),
        ({"shape": (4, 3), "strides": (4, 16)}, {}, ValueError, "C-contiguous"),
        ({"read_only": True}, {}, ValueError, "read-only"),
        ({}, {"threads": 2}, ValueError, "threads is given"),
        ({}, {"stream": "default"}, TypeError, "not a CUDA stream"),
        ({}, {"workspace": turntile.Workspace(64)}, TypeError, "is host memory"),
    ]:
        with pytest.raises(error, match=words):
            turntile.relayout(Says(**said), 12, fields, "soa", **options)
    with pytest.raises(ValueError, match="overlap"):
        turntile.relayout(Says((0, 3)), 12, [(0, 4), (2, 4)], "soa")
    assert len(device) == 3


def test_plan(device):
    plan = turntile.Plan((4, 6), itemsize=4, device="cuda:0", workspace_limit=1000)
    assert plan.device == "cuda:0" and plan._plan.what == (0, (4, 6), (1, 0), 4, 16, 1000)
    plan(Says())
    other = turntile.Plan((4, 6), itemsize=4, device="cuda:1")
    with pytest.raises(ValueError, match="the plan is for cuda:1"):
        other(Says())
    assert len(device) == 1


def test_no_elements(device):
    result = turntile.transpose(Says((0, 6)))
    assert result.shape == (6, 0) and not device
    assert isinstance(result, _cuda_interface.View)


POINTER = ctypes.pythonapi.PyCapsule_GetPointer
POINTER.restype, POINTER.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class Exports:
    """Exports host memory by DLPack and says that a device has it."""

    def __init__(self, array, version=1, kind=2, number=0):
        self.array, self.version, self.place, self.streams = array, version, (kind, number), []

    def __dlpack_device__(self):
        return self.place

    def __dlpack__(self, *, stream=None, **how):
        if how and self.version is None:
            raise TypeError("unexpected keyword argument")
        self.streams.append(stream)
        capsule = self.array.__dlpack__(max_version=(1, 0) if self.version else None)
        name, at = (b"dltensor_versioned", 40) if self.version else (b"dltensor", 8)
        start = POINTER(capsule, name)
        (ctypes.c_int * 2).from_address(start + at)[:] = self.place
        if self.version == 2:
            ctypes.c_int.from_address(start).value = self.version
        return capsule


class OnHost:
    """Exports host memory to NumPy through `turntile._core.Dlpack`."""

    def __init__(self, array, shape, strides):
        self.capsule = _core.Dlpack(array.__dlpack__(max_version=(1, 0))).export(shape, strides)

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **how):
        return self.capsule


def test_capsules():
    array = np.arange(24, dtype="<f4").reshape(4, 6)[:, 1:]
    for version in [{}, {"max_version": (1, 0)}]:
        capsule = array.__dlpack__(**version)
        memory = _core.Dlpack(capsule)
        found = (memory.address, memory.shape, memory.strides, memory.dtype, memory.itemsize, memory.device)
        assert found == (array.ctypes.data, (4, 5), (6, 1), (2, 32, 1), 4, (1, 0))
        with pytest.raises(BufferError, match="not a DLPack capsule, or one that was used"):
            _core.Dlpack(capsule)
    frozen = array.copy()
    frozen.flags.writeable = False
    assert [_core.Dlpack(each.__dlpack__(max_version=(1, 0))).read_only for each in (array, frozen)] == [False, True]
    with pytest.raises(BufferError, match="DLPack 2.0 is not supported"):
        _core.Dlpack(Exports(array, 2).__dlpack__())


def test_exported_capsules_keep_the_memory():
    class Owner(bytearray):
        pass

    for take in [True, False]:
        owner = Owner(range(24))
        alive, array = weakref.ref(owner), np.frombuffer(owner, np.uint8)
        export = OnHost(array, (6, 4), (1, 6))
        wanted = array.reshape(4, 6).T.copy()
        result = np.from_dlpack(export) if take else None
        del owner, array
        if take:
            assert (result == wanted).all()
        del export
        gc.collect()
        assert (alive() is not None) == take
        del result
        gc.collect()
        assert alive() is None


def test_dlpack_on_a_device(device):
    array = np.zeros((2, 300, 200), "<f4")
    address = array.ctypes.data
    for version in [1, 0, None]:
        given = Exports(array, version)
        result = turntile.transpose(given, (0, 2, 1))
        assert device.pop() == ((0, (2, 300, 200), (0, 2, 1), 4, 16), (address, 480_000, 1, (0, 0)))
        assert given.streams == [None]
        assert (result.shape, result.base, result.__dlpack_device__()) == ((2, 200, 300), given, (2, 0))
        turntile.transpose(given, (0, 2, 1), stream=77)
        assert (given.streams[-1], device.pop()[1][2]) == (77, 77)
    again = turntile.asfortranarray(Exports(array[0]))
    memory = _core.Dlpack(again.__dlpack__(stream=5, max_version=(1, 1)))
    assert (memory.address, memory.shape, memory.strides) == (address, (300, 200), (1, 300))
    assert again.base.streams == [None, 5]
    for how in [{}, {"max_version": (0, 8)}, {"max_version": (1, 0), "copy": True}]:
        with pytest.raises(BufferError):
            again.__dlpack__(**how)


def test_dlpack_into_another_array(device):
    array, out = np.zeros((300, 200), "<f4"), np.zeros((200, 300), "<f4")
    frozen = array.copy()
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        turntile.transpose(Exports(frozen))
    source, to = Exports(frozen), Exports(out)
    assert turntile.transpose(source, out=to, stream=3) is to
    assert device.pop()[1] == (out.ctypes.data, frozen.ctypes.data, 240_000, 3)
    assert (source.streams[-1], to.streams[-1]) == (3, 3)
    for wrong, error, words in [
        (Exports(out.astype("<i4")), TypeError, "out has dtype"),
        (Exports(out, number=1), TypeError, "on the same device"),
        (Says((200, 300)), TypeError, "does not export its memory"),
    ]:
        with pytest.raises(error, match=words):
            turntile.transpose(source, out=wrong)
    with pytest.raises(TypeError, match="does not export its memory"):
        turntile.transpose(Exports(array, 2))
    with pytest.raises(TypeError, match="neither a CPU nor an NVIDIA GPU"):
        turntile.transpose(Exports(array, kind=10))
