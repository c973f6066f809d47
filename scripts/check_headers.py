#!/usr/bin/env python3
"""Compares which .npy headers the turntile command takes with which NumPy reads, and what both make of them.

    check_headers.py PATH_TO_TURNTILE [--count N] [--seed S] [-v]

Needs numpy. Headers are put together at random from what NumPy writes, what Python and NumPy allow, and what is near
to that. A header that one takes and the other refuses is a difference, but for those of KNOWN, which are counted. Strings in several pieces ('<f' '4') are refused and not tried.
Exits 1 if there is any other.
"""

import argparse
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np
from numpy.lib import format as npy

try:
    from numpy.lib._format_impl import _read_array_header as read_array_header
except ImportError:  # NumPy before 2.3
    from numpy.lib.format import _read_array_header as read_array_header

# What turntile refuses though NumPy reads it: no program writes it, and what it means is for nobody to guess.
KNOWN = [
    (re.compile("'(shape|descr|fortran_order)' twice"), "a key that comes twice"),
    (re.compile("is not a tuple of integers: .*(True|False)"), "an extent that is a boolean"),
    (re.compile("'descr' is malformed"), "records in other words than NumPy writes"),
    (re.compile("pickle"), "Python objects"),
]

LETTERS = "?bBcdDeEfFgGhHiIlLmMnNpPqQSTUVaO1xz"
KINDS = ["b", "i", "u", "f", "c", "S", "U", "V", "a", "m", "M", "O"]
NAMES = [
    "bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64", "float128", "complex64", "complex128",
    "complex256", "int", "uint", "float", "complex", "str", "bytes", "void", "object", "half", "single", "double", "long",
    "ulong", "longlong", "longdouble", "intp", "short", "byte", "ubyte", "str_", "bytes_", "unicode", "Float32", "string",
    "datetime64", "timedelta64", "datetime64[ns]", "timedelta64[3s]", "float8", "int7", "bool8", "nothing",
]  # fmt: skip
UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic", "foo", "B", "", "S", "min"]


def type_string(draw):
    """A type string, or something like one."""
    order = draw.choice(["", "<", ">", "|", "=", "!", "<<"]) if draw.random() < 0.7 else "<"
    kind = draw.randrange(9)
    if kind == 0:
        return order + draw.choice(LETTERS)
    if kind == 1:
        return (order if draw.random() < 0.2 else "") + draw.choice(NAMES)
    if kind == 2:
        unit = draw.choice(UNITS)
        number = draw.choice(["", "", "3", "25", "0", "-1", "10"])
        divided = draw.choice(["", "", "", "/2", "/4", "/7", "/12", "/60"])
        return f"{order}{draw.choice(['M8', 'm8', 'M8', 'M4', 'm', 'M'])}[{number}{unit}{divided}]"
    if kind == 3:
        return order + draw.choice(KINDS) + draw.choice(["04", "+4", " 4", "4 ", "-4", "x", "4x", "[3]", ""])
    if kind == 4:
        parts = [draw.choice(["", "2", "(2,3)", "(3,)", "()", "(2)"]) + order + draw.choice(["f4", "i2", "S3", "V1", "u1"])]
        parts += [draw.choice(["f8", "<i4", " >u2", "", "q", "T", "3i1"]) for _ in range(draw.randrange(3))]
        return ",".join(parts)
    return order + draw.choice(KINDS) + str(draw.choice([0, 1, 2, 3, 4, 5, 7, 8, 10, 12, 16, 24, 32, 64, 2147483647, 2147483648]))


def field(draw, depth):
    name = draw.choice(["a", "b", "c", "d", "e", "", "f0", "\u00e9", "it's"])
    name = repr(name if draw.random() < 0.8 else (draw.choice(["t", "u", "a"]), name))
    base = description(draw, depth + 1)
    shape = draw.choice(["", "", "", ", (2,)", ", (2, 3)", ", ()", ", 3", ", 1", ", (0,)", ", -1", ", [2]", ", 'x'", ", (016,)"])
    return f"({name}, {base}{shape})"


def description(draw, depth=0):
    kind = draw.random()
    if depth < 3 and kind < 0.25:
        return "[" + ", ".join(field(draw, depth) for _ in range(draw.randrange(4))) + "]"
    if depth and kind < 0.3:
        return f"({description(draw, depth + 1)}, {draw.choice(['(2,)', '(2, 3)', '3', '()'])})"
    if kind < 0.33:
        return draw.choice(["3", "None", "True", "()", "b'<f4'", "u'<f4'", "U'<f4'", "'\\x3cf4'", "'\\74f4'", "r'<f4'", "{}"])
    return repr(type_string(draw))


def integer(draw):
    k = draw.choice([0, 1, 2, 3, 7])
    return draw.choice([str(k)] * 8 + [f"{k}L", f"{k} L", f"0{k}", f"0x{k}", f"0o{k}", f"0b{k}", f"+{k}", f"-{k}", f"- {k}", f"{k}.0", f"1_{k}",
                                       f"00{k}", f"'{k}'", "True", "9" * 25, f"--{k}", f"({k})", "None", f"{k}l", f"1__{k}"])  # fmt: skip


def shape(draw):
    if draw.random() < 0.05:
        return draw.choice(["3", "[3, 4]", "()", "(3)", "(,)", "None", "(3 4)", "(3,,4)", "(3, 4", "{3, 4}"])
    extents = [integer(draw) for _ in range(draw.randrange(1, 4))]
    return "(" + ", ".join(extents) + ("," if len(extents) == 1 or draw.random() < 0.1 else "") + ")"


def header(draw):
    entries = [("'descr'", description(draw)), ("'fortran_order'", "False"), ("'shape'", "(2, 3)" if draw.random() < 0.5 else shape(draw))]
    if draw.random() < 0.1:
        entries[1] = ("'fortran_order'", draw.choice(["True", "0", "1", "None", "'False'", "false"]))
    if draw.random() < 0.1:
        draw.shuffle(entries)
    if draw.random() < 0.03:
        entries.append(draw.choice([("'more'", "1"), ("'shape'", "(2, 3)"), ("b'shape'", "(2, 3)"), ("1", "2")]))
    if draw.random() < 0.03:
        entries.pop(draw.randrange(len(entries)))
    if draw.random() < 0.05:
        entries[-1] = (draw.choice(["u'shape'", '"shape"', "'sh\\x61pe'", "'Shape'", "shape"]), entries[-1][1])
    colon, comma = draw.choice([(": ", ", ")] * 6 + [(":", ","), (" : ", " , "), (":\n", ",\t"), (": # one\n", ", ")])
    text = "{" + comma.join(key + colon + value for key, value in entries) + draw.choice([", }", "}", ",}"])
    return draw.choice(["", "", "", " ", "\t", "\n"]) + text + draw.choice(["", "", "", " ", "\n\n", " + 1", "}", " # end"])


def file_of(text, version, data):
    raw = text.encode("utf-8" if version == 3 else "latin1", "replace")
    start = 10 if version == 1 else 12
    raw += b" " * (-(start + len(raw) + 1) % 64) + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + len(raw).to_bytes(start - 8, "little") + raw + data


def read_by_numpy(text, version):
    """Shape and bytes of an item, or why not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            file = io.BytesIO(file_of(text, version, b"")[8:])
            readers = {1: npy.read_array_header_1_0, 2: npy.read_array_header_2_0}
            if version in readers:
                extents, _, dtype = readers[version](file)
            else:
                extents, _, dtype = read_array_header(file, (3, 0))
            if dtype.hasobject:
                return "objects"
            count = 1
            for extent in extents:
                count *= extent
            if count < 0 or any(extent < 0 for extent in extents) or count * dtype.itemsize >= 1 << 63:
                return "more than there can be"
            # A large one is read where there are data enough: its header is all that counts.
            if count * dtype.itemsize < 1 << 20:
                whole = io.BytesIO(file_of(text, version, bytes(count * dtype.itemsize)))
                array = np.load(whole, allow_pickle=False)
                if array.dtype != dtype:
                    return "another type than the header's"
            return list(map(int, extents)), dtype.itemsize
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def read_by_turntile(command, path, text, version):
    """The same; data that are missing are asked for by the announcement of how many there are."""
    for attempt in range(2):
        data = b"" if attempt == 0 else bytes(announced)
        with open(path, "wb") as file:
            file.write(file_of(text, version, data))
        run = subprocess.run([command, "reorder", path, "--to", "c", "--json"], capture_output=True, text=True)
        if run.returncode == 0:
            before = json.loads(run.stdout)["before"]
            return before["shape"], before["elem_bytes"]
        found = re.search(r"announces (\d+) bytes of data \(shape \[([\d, ]*)\], items of (\d+) bytes", run.stderr)
        if found is None:
            return run.stderr.strip()
        announced = int(found[1])
        if announced > 1 << 20:
            extents = [int(extent) for extent in found[2].split(",") if extent.strip()]
            return extents, int(found[3])
    return run.stderr.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command")
    parser.add_argument("--count", type=int, default=2400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    draw = random.Random(options.seed)
    known, differences, taken = {}, 0, 0
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "a.npy")
        for _ in range(options.count):
            text, version = header(draw), draw.choice([1, 1, 2, 3])
            theirs = read_by_numpy(text, version)
            ours = read_by_turntile(os.path.abspath(options.command), path, text, version)
            taken += isinstance(theirs, tuple)
            if theirs == ours or isinstance(theirs, str) and isinstance(ours, str):
                continue
            why = next((name for words, name in KNOWN if isinstance(ours, str) and words.search(ours)), None)
            if why is not None:
                known[why] = known.get(why, 0) + 1
                if not options.verbose:
                    continue
            differences += why is None
            print(f"{'known' if why else 'DIFFERENT'} version {version} {text!r}\n    NumPy:    {theirs}\n    turntile: {ours}")
    for why, count in known.items():
        print(f"refused though NumPy reads it: {why}: {count}")
    print(f"{options.count} headers, {taken} of which NumPy reads: {differences} differences")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
