#!/usr/bin/env python3
"""Compares the turntile command with NumPy: every class of type, order, shape and format version.

    check_numpy.py PATH_TO_TURNTILE [-v]

Needs numpy. Files are compared by what they hold: the header's text of the type, the order flag, the
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
import zipfile
from pathlib import Path

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
    return array.tobytes(order="F" if order == "fortran" else "C")


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
    """What differs between two files, or nothing."""
    if (got.version, got.descr, got.shape, got.fortran) != (
        want["version"], want["descr"], want["shape"], want["fortran"],
    ):  # fmt: skip
        return f"header: got {got.version} {got.descr} {got.shape} {got.fortran}, want {want}"
    if not (got.aligned and got.ended):
        return "header: not aligned or not ended by a newline"
    if got.data != want["data"]:
        return "data differ"
    return None


def check(command, path, arguments, want, in_place):
    output = path if in_place else path.with_name("out.npy")
    if not in_place:
        arguments = [*arguments, "--output", str(output)]
    run = subprocess.run([command, *arguments], capture_output=True, text=True)
    if run.returncode != 0:
        return f"exit {run.returncode}: {run.stderr.strip()}"
    report = json.loads(run.stdout)
    if tuple(report["after"]["shape"]) != want["shape"] or report["bytes"] != len(want["data"]):
        return f"report: {run.stdout.strip()}"
    if left := [name for name in os.listdir(path.parent) if name.endswith(".tmp")]:
        return f"left behind: {left}"
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
    """What is wrong with archives after a change of one array; nothing if the list is empty."""
    wrong, path, out = [], folder / "x.npz", folder / "y.npz"
    draw = np.random.default_rng(1)
    arrays = {
        "plain": draw.random((31, 17)),
        "fortran": np.asfortranarray(draw.integers(0, 9, (5, 6, 7), dtype="u1")),
        "\u03bb/deep name": np.arange(12, dtype=">i2").reshape(3, 4),
        "empty": np.zeros((0, 4)),
        "large": np.tile(np.arange(1000, dtype="<f4"), (300, 1)),
    }
    for save in (np.savez, np.savez_compressed):
        for name, array in arrays.items():
            for words, result in [
                (["transpose"], array.swapaxes(-1, -2)),
                (["permute", "--axes", ",".join(map(str, reversed(range(array.ndim))))], array.T),
                (["reorder", "--to", "fortran"], array),
            ]:
                for more in ([], ["--memory", "1M"], ["--output", str(out)]):
                    save(path, **arrays)
                    run = subprocess.run([command, *words, str(path), "--member", name, *more, "-q"], capture_output=True, text=True)
                    case = f"{save.__name__} {name} {words} {more}"
                    if run.returncode != 0:
                        wrong.append(f"{case}: {run.stderr}")
                        continue
                    changed = np.load(out if "--output" in more else path)
                    want = {**arrays, name: result}
                    for other, array_now in want.items():
                        got = changed[other]
                        if got.dtype != array_now.dtype or not np.array_equal(got, array_now):
                            wrong.append(f"{case}: {other} differs")
                    if list(changed) != list(arrays):
                        wrong.append(f"{case}: members {list(changed)}")
                    with zipfile.ZipFile(out if "--output" in more else path) as now, zipfile.ZipFile(path) as before:
                        if now.testzip() is not None:
                            wrong.append(f"{case}: check sum of {now.testzip()}")
                        facts = lambda zip: [(one.filename, one.compress_type, one.date_time, one.external_attr) for one in zip.infolist()]
                        if facts(now) != facts(before):
                            wrong.append(f"{case}: {facts(now)} is not {facts(before)}")
    return wrong


def unreadable(command, folder):
    """What is wrong with records of which NumPy reads no arrays: they are refused, split, or read by NumPy."""
    wrong, path, split = [], folder / "records.npy", folder / "fields"
    text = lambda descr: f"{{'descr': {descr}, 'fortran_order': False, 'shape': (6,), }}"
    for descr, size, is_refused in [
        ([("NAME", "|S0"), ("RA", ">f8")], 8, True),
        ([("NAME", "<U0"), ("RA", ">f8")], 8, True),
        ([("NAME", "|V0"), ("RA", ">f8")], 8, True),
        ([("NAME", "|S0", (2,)), ("RA", ">f8")], 8, True),
        ([("", "<f4"), ("b", "<u2")], 6, True),
        ([("", [("x", "<f4")]), ("b", "<u2")], 6, True),
        ([("a", [("NAME", "|S0")]), ("b", "<u2")], 2, False),
        ([("a", "|S3", (0, 2)), ("b", "<u2")], 2, False),
        ([("", "|V3"), ("b", "<u2")], 5, False),
    ]:
        for to in ("soa", "asta:2", "asta:6"):
            header = text(descr).encode()
            header += b" " * (-(11 + len(header)) % 64) + b"\n"
            before = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(range(6 * size))
            path.write_bytes(before)
            run = subprocess.run([command, "layout", str(path), "--to", to, "--quiet"], capture_output=True, text=True)
            if is_refused != (run.returncode != 0) or is_refused and path.read_bytes() != before:
                wrong.append(f"{descr} {to}: exit {run.returncode} {run.stderr}")
            elif not is_refused and set(np.load(path).dtype.names) != {name for name, *_ in descr if name}:
                wrong.append(f"{descr} {to}: NumPy reads {np.load(path).dtype}")
    return wrong


def layouts(command, folder):
    """What is wrong with records in other layouts, as NumPy reads them."""
    wrong, path, split = [], folder / "records.npy", folder / "fields"
    for number, dtype in enumerate(map(np.dtype, TYPES)):
        for count in (0, 96) if dtype.names else ():
            case = f"{dtype} {count}"
            write(path, dtype, (count,), False, (3, 0) if not encodable(dtype, (1, 0)) else (1, 0), example(dtype, (count,), number))
            holds = lambda: (lambda file: (file.descr, file.shape, file.data))(File(path.read_bytes()))
            before = holds()
            array = np.load(path)
            same = lambda got, name: got.tobytes() == np.ascontiguousarray(array[name]).tobytes()

            def run(*words):
                done = subprocess.run([command, "layout", str(path), *words, "--quiet"], capture_output=True, text=True)
                if done.returncode != 0:
                    wrong.append(f"{case} {words}: {done.stderr}")
                return done.returncode == 0

            for to, shape, tile in [("asta:32", (count // 32,), 32), ("soa", (1,), count)]:
                if not run("--to", to):
                    continue
                made = np.load(path)
                for name in array.dtype.names:
                    inner = made.dtype[name].shape
                    if made.shape != shape or inner[:1] != (tile,) or not same(made[name], name):
                        wrong.append(f"{case}: {name} in {to} is {inner}, {made.shape}")
                if run("--from", to, "--to", "aos") and holds() != before:
                    wrong.append(f"{case}: from {to} comes another file")
            if run("--split", str(split)):
                for name in array.dtype.names:
                    column = np.load(split / f"{name}.npy")
                    if (column.dtype, column.shape) != (array[name].dtype, array[name].shape) or not same(column, name):
                        wrong.append(f"{case}: {name}.npy is {column.dtype} {column.shape}")
                if len(list(split.iterdir())) != len(array.dtype.names) or holds() != before:
                    wrong.append(f"{case}: more than the fields was written")
                shutil.rmtree(split)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", help="path to the turntile binary")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every comparison")
    options = parser.parse_args()
    command = str(Path(options.command).resolve())
    passed, failures = 0, []
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "in.npy"
        for number, (dtype, shape, fortran, version) in enumerate(cases()):
            if not encodable(dtype, version):
                version = (3, 0)
            data = example(dtype, shape, number)
            # As items without a type, so that NumPy moves bytes and interprets none.
            items = np.frombuffer(data, dtype=f"V{dtype.itemsize}")
            array = items.reshape(shape, order="F" if fortran else "C")
            order = "fortran" if fortran else "c"
            moved = array.swapaxes(-1, -2)
            jobs = [(["transpose"], moved, order)]
            jobs += [(["reorder", "--to", to], array, to) for to in ("c", "fortran")]
            # A permutation of its own for each case.
            axes = list(np.random.default_rng(number).permutation(len(shape)))
            named = ",".join(map(str, axes))
            jobs.append((["permute", "--axes", named], array.transpose(axes), order))
            if len(shape) > 1:
                # The same, and its last two axes joined.
                turned = array.transpose(axes)
                joined = turned.reshape(*turned.shape[:-2], turned.shape[-2] * turned.shape[-1])
                before, after = ([f"n{axis}" for axis in some] for some in (range(len(shape)), axes))
                pattern = f"{' '.join(before)} -> {' '.join(after[:-2])} ({' '.join(after[-2:])})"
                jobs.append((["rearrange", pattern], joined, order))
            for arguments, result, to in jobs:
                write(path, dtype, shape, fortran, version, data)
                want = {
                    "version": version,
                    "descr": File(path.read_bytes()).descr,
                    "shape": result.shape,
                    "fortran": to == "fortran",
                    "dtype": dtype,
                    "data": bytes_of(result, to),
                }
                arguments = [*arguments, str(path), "--json"]
                wrong = check(command, path, arguments, want, in_place=number % 2 == 0)
                name = f"{' '.join(arguments[:-2])} {dtype} {shape} {order} {version}"
                if wrong is None:
                    passed += 1
                else:
                    failures.append(name)
                if wrong or options.verbose:
                    print(f"{'FAILED' if wrong else 'passed'} {name}{': ' if wrong else ''}{wrong or ''}")
        for compared in (archives, layouts, unreadable):
            wrong = compared(command, Path(directory))
            failures += wrong
            for what in wrong:
                print(f"FAILED {what}")
            passed += not wrong
    print(f"{passed} passed, {len(failures)} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
