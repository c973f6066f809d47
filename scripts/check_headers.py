#!/usr/bin/env python3
"""Compares what the turntile command makes of .npy headers with what NumPy makes of them.

    check_headers.py PATH_TO_TURNTILE [--count N] [--seed S] [-v]

Needs numpy. Half of the headers are what NumPy writes for types put together at random: the command must take them. The others
have some characters changed: what the command takes NumPy must take, as the same shape with items of as many bytes.
Exits 1 if there is a difference.
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
    from numpy.lib._format_impl import _read_array_header as read_array_header, _write_array_header as write_array_header
except ImportError:  # NumPy before 2.3
    from numpy.lib.format import _read_array_header as read_array_header, _write_array_header as write_array_header

PLAIN = ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "g", "F", "D", "G", "S5", "U3", "V1", "V7", "M8[ns]", "m8[25s]", "M8[D]", "M8", "m8[10ms]"]
# 8-bit floats of other packages, which NumPy writes and does not read: it is shown others of as many bytes.
SMALL = re.compile(r"(['\"][<>|=]?)f1(['\"])")
SHAPES = [(2, 3), (4,), (), (0, 5), (3, 0), (1, 2, 3), (2, 3, 1, 2)]
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


def written(draw):
    """A header as NumPy writes it: its text and version."""
    file = io.BytesIO()
    entries = {"descr": npy.dtype_to_descr(random_dtype(draw)), "fortran_order": draw.random() < 0.3, "shape": draw.choice(SHAPES)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write_array_header(file, entries, None)
    raw = file.getvalue()
    version = raw[6]
    start = 10 if version == 1 else 12
    text = raw[start:].decode("utf-8" if version == 3 else "latin1")
    return text.replace("'|V1'", "'<f1'") if draw.random() < 0.5 else text, version


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
    """Shape and bytes of an item, or why not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            file = io.BytesIO(file_of(SMALL.sub(r"\1V1\2", text), version, b"")[8:])
            extents, _, dtype = read_array_header(file, (version, 0))
            if dtype.hasobject:
                return "objects"
            return list(map(int, extents)), dtype.itemsize
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def read_by_turntile(command, path, text, version):
    """Returns shape and bytes of an item, or the error. That for missing data says how many bytes are expected."""
    expected = 0
    for _ in range(2):
        with open(path, "wb") as file:
            file.write(file_of(text, version, bytes(expected)))
        run = subprocess.run([command, "reorder", "--order", "C", path, "-i", "--json"], capture_output=True, text=True)
        if run.returncode == 0:
            before = json.loads(run.stdout)["before"]
            return before["shape"], before["itemsize"]
        found = re.search(r"expected (\d+) bytes of data \(shape \[([\d, ]*)\], items of (\d+) bytes", run.stderr)
        if found is None:
            return run.stderr.strip()
        expected = int(found[1])
        if expected > 1 << 20:
            return [int(extent) for extent in found[2].split(",") if extent.strip()], int(found[3])
    return run.stderr.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command")
    parser.add_argument("--count", type=int, default=2400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-v", "--verbose", action="store_true", help="print what is refused though NumPy reads it")
    options = parser.parse_args()
    draw = random.Random(options.seed)
    differences, refused = 0, 0
    # In memory where possible: the command syncs each file.
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as directory:
        path = os.path.join(directory, "a.npy")
        for number in range(options.count):
            text, version = written(draw)
            if number % 2:
                text = changed(draw, text)
            theirs = read_by_numpy(text, version)
            ours = read_by_turntile(os.path.abspath(options.command), path, text, version)
            if theirs == ours or isinstance(theirs, str) and isinstance(ours, str):
                continue
            is_refusal = number % 2 and isinstance(ours, str)
            refused, differences = refused + is_refusal, differences + (not is_refusal)
            if options.verbose or not is_refusal:
                print(f"{'refused' if is_refusal else 'DIFFERENT'} version {version} {text!r}\n    NumPy:    {theirs}\n    turntile: {ours}")
    print(f"{options.count} headers, {refused} changed ones refused though NumPy reads them: {differences} differences")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    main()
