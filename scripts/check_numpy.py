#!/usr/bin/env python3
"""Compares the turntile command with NumPy and einops: every class of type, order, shape and format version; archives,
records, headerless data and tensors.

    check_numpy.py PATH_TO_TURNTILE [-v]

Needs numpy and einops. Files are compared by their contents: the header's text of the type, the order flag, the
shape and every byte of the data. Prints "N passed, N failed"; exits 1 if any failed.
"""

import argparse
import ast
import hashlib
import json
import os
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
    from numpy.lib._format_impl import _write_array_header as write_header
except ImportError:  # NumPy before 2.3
    from numpy.lib.format import _write_array_header as write_header

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


class File:
    """A .npy file taken apart: version, header entries as written, data."""

    def __init__(self, raw):
        assert raw[:6] == b"\x93NUMPY", raw[:6]
        self.version = (raw[6], raw[7])
        start = 10 if raw[6] == 1 else 12
        length = int.from_bytes(raw[8:start], "little")
        self.aligned = (start + length) % 64 == 0
        text = raw[start : start + length]
        self.ended = text.endswith(b"\n")
        text = text.decode("utf-8" if raw[6] == 3 else "latin1")
        entries = ast.literal_eval(text)
        self.shape, self.fortran = entries["shape"], entries["fortran_order"]
        self.descr = text[text.index("'descr': ") : text.index(", 'fortran_order': ")]
        self.data = raw[start + length :]


def example(dtype, shape, seed):
    """The data of an array: random bytes, for every byte of an item counts, padding included."""
    count = int(np.prod(shape)) * dtype.itemsize
    data = hashlib.shake_128(str(seed).encode()).digest(count)
    if dtype == np.bool_:
        data = bytes(byte & 1 for byte in data)
    return data


def bytes_of(array, order):
    """The memory of an array of void items, in that order."""
    return array.tobytes(order=order)


def write(path, dtype, shape, fortran, version, data):
    """A file as numpy.save writes it, but with exactly these bytes and this order flag."""
    header = {"descr": npy.dtype_to_descr(dtype), "fortran_order": fortran, "shape": shape}
    with open(path, "wb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write_header(file, header, version)
        file.write(data)


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


def encodable(dtype, version):
    """Whether the version's header can hold the type's names."""
    if version == (3, 0):
        return True
    try:
        str(npy.dtype_to_descr(dtype)).encode("latin1")
    except UnicodeEncodeError:
        return False
    return True


def difference(got, want):
    """Returns the difference between two files, or nothing."""
    if (got.version, got.descr, got.shape, got.fortran) != (
        want["version"], want["descr"], want["shape"], want["fortran"],
    ):  # fmt: skip
        return f"header: got {got.version} {got.descr} {got.shape} {got.fortran}, want {want}"
    if not (got.aligned and got.ended):
        return "header: not aligned or not ended by a newline"
    if got.data != want["data"]:
        return "data differ"
    return None


def run(command, *words):
    """Runs the command. Returns its error, empty if it succeeds, and its standard output."""
    done = subprocess.run([command, *map(str, words)], capture_output=True, text=True)
    return (f"exit {done.returncode}: {done.stderr.strip()}" if done.returncode else ""), done.stdout


def check(command, path, arguments, want, in_place):
    output = path if in_place else path.with_name("out.npy")
    failed, report = run(command, *arguments, path, "--json", *(["-i"] if in_place else ["-o", output]))
    if failed:
        return failed
    report = json.loads(report)
    if tuple(report["after"]["shape"]) != want["shape"] or report["bytes"] != len(want["data"]):
        return f"report: {report}"
    wrong = difference(File(output.read_bytes()), want)
    if wrong is None:
        # NumPy must read it back as the very type.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array = np.load(output)
        if array.dtype != want["dtype"] or array.shape != want["shape"]:
            wrong = f"numpy reads {array.dtype} {array.shape}"
    return wrong


def archives(command, folder):
    """Writes arrays of archives to .npy files: one, and all at once."""
    path, out, into = folder / "x.npz", folder / "y.npy", folder / "all"
    draw = np.random.default_rng(1)
    arrays = {
        "plain": draw.random((31, 17)),
        "fortran": np.asfortranarray(draw.integers(0, 9, (5, 6, 7), dtype="u1")),
        "\u03bb": np.arange(12, dtype=">i2").reshape(3, 4),
        "empty": np.zeros((0, 4)),
        "large": np.tile(np.arange(1000, dtype="<f4"), (300, 1)),
    }
    for save in (np.savez, np.savez_compressed):
        save(path, **arrays)
        before = path.read_bytes()
        for memory in ([], ["--memory", "1M"]):
            for name, array in arrays.items():
                axes = ",".join(map(str, reversed(range(array.ndim))))
                for words, want in [(["transpose", "--matrices"], array.swapaxes(-1, -2)), (["transpose", "--axes", axes], array.T), (["reorder", "--order", "F"], array)]:
                    failed, _ = run(command, *words, path, "--member", name, "-o", out, *memory)
                    got = np.load(out)
                    if failed or got.dtype != want.dtype or not np.array_equal(got, want):
                        yield f"{save.__name__} {name} {words} {memory}: {failed}"
            members = [word for name in arrays for word in ("--member", name)]
            failed, _ = run(command, "transpose", "--matrices", path, *members, "-o", into, *memory)
            if failed or any(not np.array_equal(np.load(into / f"{name}.npy"), array.swapaxes(-1, -2)) for name, array in arrays.items()):
                yield f"{save.__name__}, all at once: {failed}"
            shutil.rmtree(into)
        if path.read_bytes() != before:
            yield f"{save.__name__}: the archive has changed"


def records(command, folder):
    """Compares the file of each field of records."""
    path, into = folder / "records.npy", folder / "fields"
    more = [[("NAME", "S0"), ("RA", ">f8")], [("NAME", "U0"), ("b", "<u2")], [("a", [("NAME", "S0")]), ("b", "<u2")], [("a", "S3", (0, 2)), ("b", "<u2")]]
    for number, dtype in enumerate(map(np.dtype, TYPES + more)):
        for shape in [(0,), (96,), (3, 5), (2, 3, 4), ()] if dtype.names else []:
            case = f"{dtype} {shape}"
            version = (1, 0) if encodable(dtype, (1, 0)) else (3, 0)
            write(path, dtype, shape, False, version, example(dtype, shape, number))
            array, before = np.load(path), path.read_bytes()
            failed, _ = run(command, "split", path, "--into", into)
            if failed:
                yield f"{case}: {failed}"
                continue
            for name in dtype.names:
                column = np.load(into / f"{name}.npy")
                same = column.tobytes() == array[name].tobytes()
                if not same or (column.dtype, column.shape) != (array[name].dtype, array[name].shape):
                    yield f"{case}: {name}.npy is {column.dtype} {column.shape}"
            if len(list(into.iterdir())) != len(dtype.names) or path.read_bytes() != before:
                yield f"{case}: more than the fields was written"
            shutil.rmtree(into)


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


def random_arrays(draw, count):
    for _ in range(count):
        shape = tuple(int(extent) for extent in draw.choice([1, 2, 3, 4, 5, 6, 7, 12, 30], draw.integers(1, 5)))
        itemsize = int(draw.choice([1, 2, 3, 4, 8, 12]))
        data = draw.bytes(int(np.prod(shape)) * itemsize)
        yield np.frombuffer(data, dtype=f"V{itemsize}").reshape(shape)


def in_any_place(command, folder):
    """Compares random operations on .npy files, headerless data between other bytes, and tensors, in each memory order."""
    draw = np.random.default_rng(2)
    path, out = folder / "any", folder / "any out"
    for array in random_arrays(draw, 60):
        dtype = f"V{array.itemsize}"
        for words, result in operations(draw, array):
            memory = ["--memory", "1M"] if draw.random() < 0.3 else []
            # The order of the source, and of the result.
            for order, to in [("C", "C"), ("F", "F"), ("C", "F"), ("F", "C")]:
                np.save(path.with_suffix(".npy"), array.copy(order=order))
                given = [] if order == to and draw.random() < 0.5 else ["--order", to]
                failed, _ = run(command, *words, *given, path.with_suffix(".npy"), "-o", out, *memory)
                got = None if failed else np.load(out)
                flat = got is not None and got.tobytes("A") == bytes_of(result, to)
                if not flat or got.shape != result.shape:
                    yield f"{words} of {array.shape} {dtype} in {order} to {to}: {failed}"
            before, after = draw.bytes(int(draw.integers(70))), draw.bytes(int(draw.integers(70)))
            shape = list(array.shape)
            if draw.random() < 0.5:
                shape[int(draw.integers(len(shape)))] = -1
            shape = "x".join(map(str, shape))
            for order in "CF":
                path.write_bytes(before + bytes_of(array, order) + after)
                raw = ["--raw", "--dtype", dtype, "--shape", shape, "--offset", len(before), "--tail", len(after), "--order", order]
                failed, _ = run(command, *words, *raw, path, "-i", *memory)
                if path.read_bytes() != before + bytes_of(result, order) + after:
                    yield f"{words} of {array.shape} {dtype} in {order} at {len(before)}: {failed}"
                path.write_bytes(before + bytes_of(array, order) + after)
                raw[-1] = "F" if order == "C" else "C"
                failed, _ = run(command, "reorder", *raw, path, "-i", *memory)
                if path.read_bytes() != before + bytes_of(array, raw[-1]) + after:
                    yield f"reorder of {array.shape} {dtype} to {raw[-1]}: {failed}"
            if array.itemsize in (1, 2, 4, 8):
                tensors = {"a": before, "\u03bb x": array.tobytes(), "c": after}
                path.write_bytes(safetensors(tensors, "\u03bb x", array.shape, array.itemsize))
                failed, _ = run(command, *words, "--tensor", "\u03bb x", path, "-i", *memory)
                want = {**tensors, "\u03bb x": result.tobytes()}
                if read_safetensors(path.read_bytes()) != (want, list(result.shape)):
                    yield f"{words} of tensor {array.shape} {dtype}: {failed}"


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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", help="path to the turntile binary")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every comparison")
    options = parser.parse_args()
    command = str(Path(options.command).resolve())
    passed, failures = 0, []
    # In memory where possible: the command syncs each file.
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as directory:
        path = Path(directory) / "in.npy"
        for number, (dtype, shape, fortran, version) in enumerate(cases()):
            if not encodable(dtype, version):
                version = (3, 0)
            data = example(dtype, shape, number)
            # Untyped items, so that NumPy only moves bytes.
            items = np.frombuffer(data, dtype=f"V{dtype.itemsize}")
            array = items.reshape(shape, order="F" if fortran else "C")
            order = "F" if fortran else "C"
            jobs = [(words, result, order) for words, result in operations(np.random.default_rng(number), array)]
            jobs += [(["reorder", "--order", to], array, to) for to in "CF"]
            for arguments, result, to in jobs:
                write(path, dtype, shape, fortran, version, data)
                want = {
                    "version": version,
                    "descr": File(path.read_bytes()).descr,
                    "shape": result.shape,
                    "fortran": to == "F",
                    "dtype": dtype,
                    "data": bytes_of(result, to),
                }
                wrong = check(command, path, arguments, want, in_place=number % 2 == 0)
                name = f"{' '.join(arguments)} {dtype} {shape} {order} {version}"
                if wrong is None:
                    passed += 1
                else:
                    failures.append(name)
                if wrong or options.verbose:
                    print(f"{'FAILED' if wrong else 'passed'} {name}{': ' if wrong else ''}{wrong or ''}")
        for compared in (archives, records, in_any_place):
            wrong = list(compared(command, Path(directory)))
            failures += wrong
            for what in wrong:
                print(f"FAILED {what}")
            passed += not wrong
    print(f"{passed} passed, {len(failures)} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
