#!/usr/bin/env python3
"""Compares the turntile command with NumPy and einops. Ends with an assertion at the first difference.

    check_numpy.py PATH_TO_TURNTILE [NAME...]     needs numpy and einops

  arrays    every class of type, order, shape and version of .npy files: the text of the type, order, shape and every byte
  archives  arrays of .npz files, one and all at once
  records   the file of each field of records
  places    random operations on .npy files, headerless data between other bytes, and tensors, in each memory order
  headers   half are what NumPy writes for random types: the command must take them; the others have some characters changed:
            what the command takes NumPy must take, as the same shape with items of the same size
"""

import ast
import hashlib
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import einops
import numpy as np
from numpy.lib import format as npy

try:
    from numpy.lib._format_impl import _read_array_header as read_header, _write_array_header as write_header
except ImportError:  # NumPy before 2.3
    from numpy.lib.format import _read_array_header as read_header, _write_array_header as write_header

warnings.simplefilter("ignore")
COMMAND = os.path.abspath(sys.argv[1])

TYPES = [
    "b1", "<i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16",
    np.dtype(np.longdouble), np.dtype(np.clongdouble),
    ">i2", ">u4", ">f8", ">c16",
    "S1", "S5", "S64", "<U3", ">U16",
    "<M8[ns]", "<M8[D]", ">M8[us]", "<M8", "<m8[s]", "<m8[25us]", ">m8[Y]",
    "V1", "V3", "V7", "V33", "V64",
    np.dtype([("a", "u1"), ("b", "<f8")]),
    np.dtype([("a", "u1"), ("b", "<f8"), ("c", "i2")], align=True),
    np.dtype({"names": ["a", "b"], "formats": ["u1", "<i4"], "offsets": [3, 8], "itemsize": 24}),
    np.dtype([("p", [("x", "<f4"), ("y", ">i2")]), ("q", [("r", [("s", "S3")])])]),
    np.dtype([("m", "<f8", (2, 3)), ("v", "u1", 5)]),
    np.dtype([("p", [("x", "<f4"), ("y", "u1", (3,))], (2,)), ("t", "<M8[s]"), ("z", "V2")]),
    np.dtype([(("a title, 'quoted'", "a"), "u1"), (("another", "b"), "<f4", (2,))]),
    np.dtype([("caf\u00e9", "<i4"), ("it's", "u1")]),
    np.dtype([("\u03bb", "<f4"), ("shape", "<i2")]),
    np.dtype([(f"field_{k}", "u1") for k in range(64)]),
    np.dtype([("a", ("<u4", (2,)), (2,)), ("b", ((("<i2", (3,)), (1,))), (2,)), ("c", "u1")]),
]  # fmt: skip

SHAPES = [(7, 5), (1, 9), (9, 1), (1, 1), (0, 4), (4, 0), (16, 16), (61, 67), (64, 48)]
DEEP_SHAPES = [(3, 4, 5), (1, 7, 2), (2, 0, 3), (5, 1, 1), (2, 3, 4, 5), (3, 1, 2, 7), (2, 3, 1, 2, 3)]
VERSIONS = [(1, 0), (2, 0), (3, 0)]


def parts(raw):
    """Returns version, text of the type, shape, order and data of a .npy file."""
    start = 10 if raw[6] == 1 else 12
    end = start + int.from_bytes(raw[8:start], "little")
    assert raw[:6] == b"\x93NUMPY" and end % 64 == 0 and raw[end - 1 : end] == b"\n", f"header {raw[:end]}"
    text = raw[start:end].decode("utf-8" if raw[6] == 3 else "latin1")
    entries = ast.literal_eval(text)
    descr = text[text.index("'descr': ") : text.index(", 'fortran_order': ")]
    return (raw[6], raw[7]), descr, entries["shape"], entries["fortran_order"], raw[end:]


def example(dtype, shape, seed):
    """Returns the data of an array: random bytes, for every byte of an item counts, padding included."""
    data = hashlib.shake_128(str(seed).encode()).digest(int(np.prod(shape)) * dtype.itemsize)
    return bytes(byte & 1 for byte in data) if dtype == np.bool_ else data


def written(dtype, shape, fortran, version, data=b""):
    """Returns a file as numpy.save writes it, but with exactly these bytes and this order flag, and the version used."""
    file, header = io.BytesIO(), {"descr": npy.dtype_to_descr(dtype), "fortran_order": fortran, "shape": shape}
    try:
        write_header(file, header, version)
    except (UnicodeEncodeError, ValueError):  # names that only version 3.0 can store
        return written(dtype, shape, fortran, (3, 0), data)
    return file.getvalue() + data


def cases():
    for k, dtype in enumerate(map(np.dtype, TYPES)):
        shapes = [SHAPES[k % len(SHAPES)], SHAPES[(k + 4) % len(SHAPES)], (13, 17)]
        shapes += [DEEP_SHAPES[k % len(DEEP_SHAPES)], (2, 3, 4), (2, 3, 2, 5)]
        for shape in dict.fromkeys(shapes):
            for fortran in (False, True):
                yield dtype, shape, fortran, VERSIONS[(k + len(shape) + fortran) % 3]
    for dtype in map(np.dtype, ["|u1", "<f4", "V7", TYPES[-3]]):
        for shape in SHAPES + DEEP_SHAPES:
            for fortran in (False, True):
                for version in VERSIONS:
                    yield dtype, shape, fortran, version


def run(*words):
    """Runs the command, which must succeed. Returns its standard output."""
    done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, f"{words}: exit code {done.returncode}: {done.stderr}"
    return done.stdout


def operations(draw, array):
    """Draws operations on an array. Yields the words of the command, and the result of NumPy or einops."""
    axes = [int(axis) for axis in draw.permutation(array.ndim)]
    yield ["transpose", "--axes", ",".join(str(axis - array.ndim * int(draw.integers(2))) for axis in axes)], array.transpose(axes)
    if array.ndim < 3:
        yield ["transpose"], array.T
    if array.ndim > 1:
        yield ["transpose", "--matrices"], array.swapaxes(-1, -2)
    # Each axis is split where it can be, the parts are permuted, and some neighbours joined.
    parts, sizes, left = [], {}, []
    for number, extent in enumerate(array.shape):
        divisor = next((divisor for divisor in (2, 3, 5) if extent and extent % divisor == 0), None)
        names = [f"a{number}"] + ([f"b{number}"] if divisor else [])
        sizes |= {f"b{number}": divisor} if divisor else {}
        parts += names
        left.append(names[0] if len(names) == 1 else f"({' '.join(names)})")
    right = [str(name) for name in draw.permutation(parts)] if parts else []
    if len(right) > 1:
        at = int(draw.integers(len(right) - 1))
        right[at : at + 2] = [f"({right[at]} {right[at + 1]})"]
    pattern = f"{' '.join(left)} -> {' '.join(right)}"
    named = ["--size", ",".join(f"{name}={size}" for name, size in sizes.items())] if sizes else []
    yield ["rearrange", pattern, *named], einops.rearrange(array, pattern, **sizes)


def arrays(folder):
    path, out = folder / "in.npy", folder / "out.npy"
    for number, (dtype, shape, fortran, version) in enumerate(cases()):
        data = example(dtype, shape, number)
        raw = written(dtype, shape, fortran, version, data)
        version, descr, *_ = parts(raw)
        order = "F" if fortran else "C"
        # Untyped items, so that NumPy only moves bytes.
        array = np.frombuffer(data, dtype=f"V{dtype.itemsize}").reshape(shape, order=order)
        jobs = [(words, result, order) for words, result in operations(np.random.default_rng(number), array)]
        for words, result, to in jobs + [(["reorder", "--order", to], array, to) for to in "CF"]:
            path.write_bytes(raw)
            place = path if number % 2 == 0 else out
            report = json.loads(run(*words, path, "--json", *(["-i"] if place == path else ["-o", out])))
            case = f"{words} {dtype} {shape} {order} {version}"
            want = version, descr, result.shape, to == "F", result.tobytes(order=to)
            assert parts(place.read_bytes()) == want, f"{case}: the file"
            assert (tuple(report["after"]["shape"]), report["bytes"]) == (result.shape, len(data)), f"{case}: {report}"
            # NumPy must read it back as the very type.
            back = np.load(place)
            assert (back.dtype, back.shape) == (dtype, result.shape), f"{case}: NumPy reads {back.dtype} {back.shape}"


def archives(folder):
    path, out, into = folder / "x.npz", folder / "y.npy", folder / "all"
    draw = np.random.default_rng(1)
    members = {
        "plain": draw.random((31, 17)),
        "fortran": np.asfortranarray(draw.integers(0, 9, (5, 6, 7), dtype="u1")),
        "\u03bb": np.arange(12, dtype=">i2").reshape(3, 4),
        "empty": np.zeros((0, 4)),
        "large": np.tile(np.arange(1000, dtype="<f4"), (300, 1)),
    }
    for save in (np.savez, np.savez_compressed):
        save(path, **members)
        before = path.read_bytes()
        for memory in ([], ["--memory", "1M"]):
            for name, array in members.items():
                axes = ",".join(map(str, reversed(range(array.ndim))))
                for words, want in [(["transpose", "--matrices"], array.swapaxes(-1, -2)), (["transpose", "--axes", axes], array.T), (["reorder", "--order", "F"], array)]:
                    run(*words, path, "--member", name, "-o", out, *memory)
                    got = np.load(out)
                    assert got.dtype == want.dtype and np.array_equal(got, want), f"{save.__name__} {name} {words} {memory}"
            run("transpose", "--matrices", path, *(word for name in members for word in ("--member", name)), "-o", into, *memory)
            for name, array in members.items():
                assert np.array_equal(np.load(into / f"{name}.npy"), array.swapaxes(-1, -2)), f"{save.__name__} {name}, all at once"
            shutil.rmtree(into)
        assert path.read_bytes() == before, f"{save.__name__}: the archive has changed"


def records(folder):
    path, into = folder / "records.npy", folder / "fields"
    more = [[("NAME", "S0"), ("RA", ">f8")], [("NAME", "U0"), ("b", "<u2")], [("a", [("NAME", "S0")]), ("b", "<u2")], [("a", "S3", (0, 2)), ("b", "<u2")]]
    for number, dtype in enumerate(map(np.dtype, TYPES + more)):
        for shape in [(0,), (96,), (3, 5), (2, 3, 4), ()] if dtype.names else []:
            before = written(dtype, shape, False, (1, 0), example(dtype, shape, number))
            path.write_bytes(before)
            array = np.load(path)
            run("split", path, "--into", into)
            for name in dtype.names:
                column = np.load(into / f"{name}.npy")
                same = (column.dtype, column.shape, column.tobytes()) == (array[name].dtype, array[name].shape, array[name].tobytes())
                assert same, f"{dtype} {shape}: {name}.npy is {column.dtype} {column.shape}"
            assert len(list(into.iterdir())) == len(dtype.names) and path.read_bytes() == before, f"{dtype} {shape}: other files"
            shutil.rmtree(into)


def places(folder):
    draw = np.random.default_rng(2)
    path, out = folder / "any", folder / "any out"
    for _ in range(60):
        shape = tuple(int(extent) for extent in draw.choice([1, 2, 3, 4, 5, 6, 7, 12, 30], draw.integers(1, 5)))
        itemsize = int(draw.choice([1, 2, 3, 4, 8, 12]))
        array = np.frombuffer(draw.bytes(int(np.prod(shape)) * itemsize), dtype=f"V{itemsize}").reshape(shape)
        for words, result in operations(draw, array):
            memory = ["--memory", "1M"] if draw.random() < 0.3 else []
            case = f"{words} of {shape} V{itemsize}"
            # The order of the source, and of the result.
            for order, to in [("C", "C"), ("F", "F"), ("C", "F"), ("F", "C")]:
                np.save(path.with_suffix(".npy"), array.copy(order=order))
                given = [] if order == to and draw.random() < 0.5 else ["--order", to]
                run(*words, *given, path.with_suffix(".npy"), "-o", out, *memory)
                got = np.load(out)
                assert got.tobytes("A") == result.tobytes(to) and got.shape == result.shape, f"{case} in {order} to {to}"
            before, after = draw.bytes(int(draw.integers(70))), draw.bytes(int(draw.integers(70)))
            extents = list(shape)
            if draw.random() < 0.5:
                extents[int(draw.integers(len(extents)))] = -1
            for order, other in ("CF", "FC"):
                raw = ["--raw", "--dtype", f"V{itemsize}", "--shape", "x".join(map(str, extents)), "--offset", len(before), "--tail", len(after), "--order"]
                for operation, want in [([*words, *raw, order], result.tobytes(order)), (["reorder", *raw, other], array.tobytes(other))]:
                    path.write_bytes(before + array.tobytes(order) + after)
                    run(*operation, path, "-i", *memory)
                    assert path.read_bytes() == before + want + after, f"{operation} in {order} at {len(before)}"
            if itemsize in (1, 2, 4, 8):
                tensors = {"a": before, "\u03bb x": array.tobytes(), "c": after}
                path.write_bytes(safetensors(tensors, "\u03bb x", shape, itemsize))
                run(*words, "--tensor", "\u03bb x", path, "-i", *memory)
                want = {**tensors, "\u03bb x": result.tobytes()}
                assert read_safetensors(path.read_bytes()) == (want, list(result.shape)), f"{case} of a tensor"


def safetensors(tensors, name, shape, itemsize):
    """Returns a file of tensors of bytes, except for one of this shape."""
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for other, data in tensors.items():
        kind = ("U8", [len(data)]) if other != name else ({1: "U8", 2: "BF16", 4: "F32", 8: "F64"}[itemsize], list(shape))
        header[other] = {"dtype": kind[0], "shape": kind[1], "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(tensors.values())


def read_safetensors(raw):
    """Returns the data of the tensors, and the shape of the second one."""
    start = 8 + int.from_bytes(raw[:8], "little")
    header = {name: entry for name, entry in json.loads(raw[8:start]).items() if name != "__metadata__"}
    data = {name: raw[start + entry["data_offsets"][0] : start + entry["data_offsets"][1]] for name, entry in header.items()}
    return data, list(header.values())[1]["shape"]


PLAIN = ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "g", "F", "D", "G", "S5", "U3", "V1", "V7", "M8[ns]", "m8[25s]", "M8[D]", "M8", "m8[10ms]"]
# 8-bit floats of other packages, which NumPy writes and does not read: it is shown others of as many bytes.
SMALL = re.compile(r"(['\"][<>|=]?)f1(['\"])")
SMALL_SHAPES = [(2, 3), (4,), (), (0, 5), (3, 0), (1, 2, 3), (2, 3, 1, 2)]
# Text that replaces characters, or is inserted between them.
PIECES = list("0123456789-+LxbOoefMUSV<>|=[](){},.:'\" \t\n#_\\") + ["True", "None", "()", "(2,)", "0x", "f8", "<f4", "shape", "M8[s]", "99999999999"]


def random_dtype(draw, depth=0):
    if depth < 3 and draw.random() < 0.3:
        names = draw.sample(["a", "b", "c", "it's", "\u00e9", "\u03bb", "shape", 'q"', "back\\slash"], draw.randrange(1, 4))
        fields = []
        for name in names:
            named = name if draw.random() < 0.8 else (f"title of {name}", name)
            shape = draw.choice([(), (), (2,), (2, 3), (1,)])
            kind = random_dtype(draw, depth + 1)
            # Nested arrays, which the header lists level by level.
            for _ in range(draw.choice([0, 0, 0, 1, 2])):
                kind = np.dtype((kind, draw.choice([(2,), (1, 2)])))
            fields.append((named, kind, shape))
        return np.dtype(fields, align=draw.random() < 0.3)
    plain = np.dtype(draw.choice(PLAIN))
    return plain.newbyteorder() if draw.random() < 0.3 else plain


def changed(draw, text):
    for _ in range(draw.randrange(1, 3)):
        at = draw.randrange(len(text.rstrip()))
        text = text[:at] + draw.choice(PIECES + [""]) + text[at + draw.randrange(3) :]
    return text


def file_of(text, version, data):
    raw = text.rstrip().encode("utf-8" if version == 3 else "latin1", "replace")
    start = 10 if version == 1 else 12
    raw += b" " * (-(start + len(raw) + 1) % 64) + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + len(raw).to_bytes(start - 8, "little") + raw + data


def read_by_numpy(text, version):
    """Returns the shape and the bytes of an item, or an error."""
    try:
        extents, _, dtype = read_header(io.BytesIO(file_of(SMALL.sub(r"\1V1\2", text), version, b"")[8:]), (version, 0))
        return "objects" if dtype.hasobject else (list(map(int, extents)), dtype.itemsize)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def read_by_turntile(path, text, version):
    """Returns the shape and the bytes of an item, or an error. The error for missing data says how many bytes are expected."""
    expected = 0
    for _ in range(2):
        path.write_bytes(file_of(text, version, bytes(expected)))
        done = subprocess.run([COMMAND, "reorder", "--order", "C", path, "-i", "--json"], capture_output=True, text=True)
        if done.returncode == 0:
            before = json.loads(done.stdout)["before"]
            return before["shape"], before["itemsize"]
        found = re.search(r"expected (\d+) bytes of data \(shape \[([\d, ]*)\], items of (\d+) bytes", done.stderr)
        expected = int(found[1]) if found else 0
        if expected > 1 << 20:
            return [int(extent) for extent in found[2].split(",") if extent.strip()], int(found[3])
        if not found:
            break
    return done.stderr.strip()


def headers(folder, count=2400):
    draw, rejected = random.Random(1), 0
    for number in range(count):
        raw = written(random_dtype(draw), draw.choice(SMALL_SHAPES), draw.random() < 0.3, None)
        version = raw[6]
        text = raw[10 if version == 1 else 12 :].decode("utf-8" if version == 3 else "latin1")
        if draw.random() < 0.5:
            text = text.replace("'|V1'", "'<f1'")
        if number % 2:
            text = changed(draw, text)
        theirs, ours = read_by_numpy(text, version), read_by_turntile(folder / "a.npy", text, version)
        if theirs != ours and not isinstance(theirs, str) | isinstance(ours, str):
            raise AssertionError(f"version {version} {text!r}: NumPy reads {theirs}, turntile {ours}")
        if isinstance(theirs, str) != isinstance(ours, str):
            assert number % 2 and isinstance(ours, str), f"version {version} {text!r}: NumPy reads {theirs}, turntile {ours}"
            rejected += 1
    print(f"{rejected} of {count // 2} changed headers are rejected though NumPy reads them")


for check in [globals()[name] for name in sys.argv[2:]] or (arrays, archives, records, places, headers):
    # In memory where possible: the command syncs each file.
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as made:
        check(Path(made))
    print(f"{check.__name__}: as NumPy")
