#!/usr/bin/env python3
"""Checks the contents of a wheel.

    check_wheel.py WHEEL

The wheel has one library, which needs only the C library (the GPU's driver is found at run time) and exports only its
entry. The wheel has types and the texts of licences, and is small.
"""

import pathlib
import re
import struct
import sys
import zipfile

PROJECT = pathlib.Path(__file__).resolve().parents[1]
#: C library and support of the compiler, which every system has.
COMMON = re.compile(r"(libc|libm|libdl|libpthread|librt|libgcc_s|ld-linux[-\w]*)\.so\.\d+")
MOST_BYTES = 10 << 20


class Elf:
    """The dynamic section of a 64-bit little-endian shared library."""

    def __init__(self, data):
        assert data[:6] == b"\x7fELF\x02\x01", "not a 64-bit little-endian ELF file"
        (start,), (size, count) = struct.unpack_from("<Q", data, 40), struct.unpack_from("<HH", data, 58)
        rows = [struct.unpack_from("<IIQQQQIIQQ", data, start + k * size) for k in range(count)]
        kinds = {row[1]: row for row in rows}
        dynamic, symbols = kinds[6], kinds[11]
        text = lambda row: data[row[4] : row[4] + row[5]]
        strings = lambda row, at: text(rows[row[6]])[at:].split(b"\0", 1)[0].decode()
        self.needed = [strings(dynamic, value) for tag, value in struct.iter_unpack("<qQ", text(dynamic)) if tag == 1]
        entries = struct.iter_unpack("<IBBHQQ", text(symbols))
        # Defined, of global or weak binding.
        self.exported = [strings(symbols, name) for name, info, _, section, *_ in entries if section and info >> 4]


def main():
    path = sys.argv[1]
    wheel = zipfile.ZipFile(path)
    names = wheel.namelist()
    libraries = [name for name in names if ".so" in name]
    failures = []

    def must(holds, what):
        print(f"{'ok  ' if holds else 'FAIL'} {what}")
        failures.extend([] if holds else [what])

    must(len(libraries) == 1 and libraries[0].startswith("turntile/_core."), f"one library: {libraries}")
    elf = Elf(wheel.read(libraries[0]))
    must(all(COMMON.fullmatch(name) for name in elf.needed), f"needs only common libraries: {elf.needed}")
    must(elf.exported == ["PyInit__core"], f"exports only its entry: {elf.exported[:5]}")
    for name in ("turntile/py.typed", "turntile/__init__.pyi", "turntile/_core.pyi"):
        must(name in names, f"has {name}")
    texts = {found.rpartition("/")[2]: wheel.read(found) for found in names if "/licenses/" in found}
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        must(texts.get(name) == (PROJECT / name).read_bytes(), f"has the text of {name}")
    must(len(texts.get("THIRD-PARTY", b"")) > 500, "has the text of THIRD-PARTY")
    named = [name for name in names if b"file:///" in wheel.read(name)]
    must(not named, f"names no folder of the build machine: {named}")
    sizes = sum(info.file_size for info in wheel.infolist())
    packed = sum(info.compress_size for info in wheel.infolist())
    must(packed < MOST_BYTES, f"{packed / 1e6:.1f} MB, {sizes / 1e6:.1f} MB unpacked; at most {MOST_BYTES / 1e6:.1f}")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
