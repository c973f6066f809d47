"""Named layouts of weights, against tables made by other packages (fixtures/make_weight_layouts.py)."""

import json
import pathlib
import re
import subprocess
import sys
from types import MappingProxyType

import numpy as np
import pytest
import turntile
import turntile.weights
from turntile.weights import LAYOUTS, convert, convert_state_dict

FILE = np.load(pathlib.Path(__file__).parent / "fixtures" / "weight_layouts.npz")
ABOUT = json.loads(str(FILE["about"]))
STEPS = np.split(FILE["steps"], np.cumsum([np.prod(case["shape"]) for case in ABOUT]))
CASES = [(case, np.cumsum(steps)) for case, steps in zip(ABOUT, STEPS)]
BIG = {"split_qkv": {"heads": 8, "kv_heads": 2}, "rotary_halves": {"heads": 4}}


def numbered(*shape, dtype=np.int32):
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


def test_every_layout_has_a_table():
    assert {case["layout"] for case, _ in CASES} == set(LAYOUTS)


@pytest.mark.parametrize("case, table", CASES, ids=[f"{case['layout']}-{case['sizes']}" for case, _ in CASES])
@pytest.mark.parametrize("dtype", ["u1", "f2", "i4", "S3", "c16"])
def test_layout_is_that_of_the_table(case, table, dtype):
    rows, columns = case["shape"]
    w = (numbered(3, rows, columns) % 251 + 1).astype(dtype)
    before, address = w.copy(), w.ctypes.data
    result = convert(w, case["layout"], **case["sizes"])
    assert result.ctypes.data == address and result.dtype == w.dtype and result.flags.c_contiguous
    assert (result.reshape(3, -1) == before.reshape(3, -1)[:, table]).all()
    back = convert(result, case["layout"], inverse=True, **case["sizes"])
    assert back.shape == before.shape and (back == before).all()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_large_weights_and_one_matrix(layout):
    for shape in [(2, 1536, 256), (1536, 256), (0, 1536, 256)]:
        w = numbered(*shape)
        before, sizes = w.copy(), BIG.get(layout, {})
        result = convert(w, layout, **sizes)
        assert not w.size or (result.reshape(-1) != before.reshape(-1)).any()
        if w.ndim == 3 and w.size:
            one = convert(before[1].copy(), layout, **sizes)
            assert (result[1] == one).all()
        assert (convert(result, layout, inverse=True, **sizes) == before).all()


def test_state_dict_of_several_layouts():
    state = {"a.up": numbered(8, 6), "b.up": numbered(10, 6), "a.down": numbered(4, 256), "step": 7}
    before = {name: value.copy() for name, value in state.items() if name != "step"}
    rules = {"?.up": "transpose", "a.down": ("block_major_k", {"block": 64})}
    calls = []
    done = convert_state_dict(state, rules, progress=lambda *call: calls.append(call))
    assert done is state and state["step"] == 7
    assert calls == [("a.up", 192, 4528), ("b.up", 432, 4528), ("a.down", 4528, 4528)]
    assert (state["b.up"] == before["b.up"].T).all() and state["a.down"].shape == (4, 4, 64)
    convert_state_dict(state, rules, inverse=True)
    assert all((state[name] == value).all() for name, value in before.items())


def test_state_dict_is_consistent_when_the_callback_raises():
    state = {name: numbered(6, 4) for name in "abc"}

    def progress(name, done, total):
        if name == "b":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert_state_dict(state, {"?": "transpose"}, progress=progress)
    assert [state[name].shape for name in "abc"] == [(4, 6), (4, 6), (6, 4)]


def shared():
    memory = numbered(12, 4)
    return memory[:8], memory[4:]


@pytest.mark.parametrize(
    "layout, sizes, w, words",
    [
        ("block_major", {}, numbered(4, 128), "unknown layout 'block_major': choose one of transpose, "),
        (None, {}, numbered(4, 128), "unknown layout None"),
        ("block_major_k", {"blocks": 8}, numbered(4, 128), r"unknown sizes \['blocks'\], the sizes are: block"),
        ("split_qkv", {"heads": 2}, numbered(8, 2), r"missing sizes \['kv_heads'\], the sizes are: heads, kv_heads"),
        ("block_major_k", {"block": 0}, numbered(4, 128), "block is 0: the minimum is 1"),
        ("block_major_k", {"block": "8"}, numbered(4, 128), "block must be an integer"),
        ("block_major_k", {}, numbered(4, 100), r"shape \(4, 100\): .* axis 1 has extent 100, which block=128"),
        ("shuffle_32", {}, numbered(48, 4), "axis 0 has extent 48, which r8=8 . c4=4 = 32 does not divide"),
        ("scales_128x4", {}, numbered(128, 6), "axis 1 has extent 6, which c4=4 does not divide"),
        ("transpose", {}, numbered(4), "has 2 axes or more, the array has 1"),
        ("swap_halves", {}, numbered(5, 4), "5 rows do not split into parts in the ratio 1:1"),
        ("swap_halves", {}, numbered(6), "needs 2 axes or more, has 1"),
        ("swap_halves", {}, numbered(4, 6).T, "not C-contiguous"),
        ("interleave_rows_swapped", {}, numbered(5, 4), "5 rows do not split into parts in the ratio 1:1"),
        ("split_qkv", {"heads": 3, "kv_heads": 2}, numbered(14, 4), "parts in the ratio 3:2:2 do not split into 2 groups"),
        ("transpose", {}, numbered(8, 8)[:, ::2], "gaps between its elements"),
        ("transpose", {}, [[1, 2], [3, 4]], "list is not an array"),
    ],
)
@pytest.mark.parametrize("in_a_dict", [False, True])
def test_a_wrong_weight_moves_nothing(layout, sizes, w, words, in_a_dict):
    before, other = np.array(w), numbered(6, 4)
    with pytest.raises((TypeError, ValueError), match=words) as raised:
        if in_a_dict:
            convert_state_dict({"first": other, "second": w}, {"first": "transpose", "second": (layout, sizes)})
        else:
            convert(w, layout, **sizes)
    assert not in_a_dict or str(raised.value).startswith("'second': ")
    assert (np.array(w) == before).all() and (other == numbered(6, 4)).all()


@pytest.mark.parametrize(
    "state, rules, words",
    [
        ({"a": numbered(4, 2)}, {"a": "transpose", "b": "transpose"}, "no entry of the state dict matches 'b'"),
        ({"a": numbered(4, 2)}, {"a": "transpose", "?": "transpose"}, "'a': matches '[?]' and 'a'"),
        ({"a": numbered(4, 2)}, {"a": ["transpose"]}, "rule 'a': expected a layout, or a pair"),
        (dict(zip("ab", shared())), {"*": "transpose"}, "'b' and 'a' share memory"),
        (dict(zip("ab", shared())), {"b": "transpose"}, "'b' and 'a' share memory"),
        (dict(zip("ab", shared())), {"a": "transpose"}, "'b' and 'a' share memory"),
        ({"a": numbered(9, 4), "w": numbered(4, 3)}, {"w": "transpose", "a": "swap_halves"}, "'a': layout 'swap_halves', weight of"),
    ],
)
def test_a_wrong_state_dict_moves_nothing(state, rules, words):
    before = {name: value.copy() for name, value in state.items()}
    with pytest.raises((TypeError, ValueError), match=words):
        convert_state_dict(state, rules)
    assert all((state[name] == value).all() for name, value in before.items())


def test_parts_of_one_buffer_are_separate_weights():
    memory = numbered(12, 4)
    state = {"a": memory[:8], "tied": memory[8:], "also tied": memory[9:, ::2], "back": memory[8:][::-1]}
    convert_state_dict(state, {"a": "transpose"})
    assert (state["a"] == numbered(12, 4)[:8].T).all() and (memory[8:] == numbered(12, 4)[8:]).all()


@pytest.mark.parametrize(
    "torch, words",
    [
        ("None", "import of torch halted"),
        ("types.SimpleNamespace(Tag=object, __version__='2.5.1', Tensor=dict)", "needs PyTorch 2.8 or newer, not 2.5.1"),
    ],
)
def test_without_pytorch_or_with_an_old_one(torch, words):
    code = f"""import sys, types, numpy, turntile.weights; sys.modules["torch"] = {torch}
print(turntile.weights.convert_state_dict({{"a": numpy.zeros((2, 3))}}, {{"a": "transpose"}})["a"].shape)
import turntile.torch_ops"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "(3, 2)\n" and re.search(words, done.stderr.splitlines()[-1]), done.stderr


# ---- PyTorch tensors


def tensors():
    torch = pytest.importorskip("torch")
    return torch, torch.arange(3 * 64 * 128).reshape(3, 64, 128).to(torch.bfloat16)


def test_tensors_and_modules():
    torch, w = tensors()
    wanted = w.view(3, 64, 2, 64).permute(0, 2, 1, 3).contiguous()
    assert torch.equal(convert(w, "block_major_k", block=64), wanted)
    module = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.Linear(4, 2))
    x, wanted = torch.ones(5, 6), [layer.weight.detach().t().clone() for layer in module]
    state = convert_state_dict(module.state_dict(), {"*.weight": "transpose"})
    assert all(torch.equal(state[f"{number}.weight"], wanted[number]) for number in range(2))
    assert state["0.weight"].data_ptr() == module[0].weight.data_ptr()


def fake(torch):
    with torch._subclasses.FakeTensorMode():
        return torch.empty(4, 2)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda torch: torch.nn.Parameter(torch.zeros(4, 2)), "requires grad"),
        (lambda torch: torch.zeros(4, 2, device="meta"), "meta device"),
        (fake, "FakeTensor wraps other tensors"),
        (lambda torch: torch.zeros(4, 4)[:, :2], "gaps"),
        (lambda torch: torch.zeros(4, 2).to_sparse(), "layout torch.sparse_coo"),
        (lambda torch: torch.zeros(1, 2).expand(4, 2), "overlap in memory"),
    ],
)
def test_wrong_tensors(make, words):
    torch, _ = tensors()
    w, first = make(torch), torch.arange(8).reshape(4, 2)
    with pytest.raises((TypeError, ValueError), match=words):
        convert(w, "transpose")
    with pytest.raises((TypeError, ValueError), match=f"'w': .*{words}"):
        convert_state_dict({"first": first, "w": w}, {"*": "transpose"})
    assert torch.equal(first, torch.arange(8).reshape(4, 2))


def test_tied_tensors():
    torch, _ = tensors()
    embedding, head = torch.nn.Embedding(6, 4), torch.nn.Linear(4, 6, bias=False)
    head.weight = embedding.weight
    state = torch.nn.ModuleDict({"embedding": embedding, "head": head}).state_dict()
    with pytest.raises(ValueError, match="'head.weight' and 'embedding.weight' share memory"):
        convert_state_dict(state, {"head.*": "transpose"})


def test_wrong_arguments_move_nothing():
    w = np.arange(12.0).reshape(3, 4)
    for state, rules, more in [
        (MappingProxyType({"w": w}), {"w": "transpose"}, {}),
        ({"w": w}, "transpose", {}),
        ({"w": w}, {"w": "transpose"}, {"progress": 3}),
    ]:
        with pytest.raises(TypeError, match="mutable mapping|progress must be"):
            convert_state_dict(state, rules, **more)
        assert np.array_equal(w, np.arange(12.0).reshape(3, 4))
    state = convert_state_dict({"w": w, 0: 1}, {"*": "transpose"})
    assert state["w"].shape == (4, 3)
