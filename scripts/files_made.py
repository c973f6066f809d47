"""Files for check_files.py, each of whose elements encodes its place."""

import array
import hashlib
import io
import os


def padded(text):
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def header(rows, cols):
    return padded(f"{{'descr': '<u4', 'fortran_order': False, 'shape': ({rows}, {cols}), }}")


try:
    import numpy as np
except ImportError:
    np = None


def line(start, count, first, step):
    """Returns `count` elements that encode their positions: multiples of `step`, mixed with those of the other axis."""
    if np is not None:
        places = np.arange(count, dtype=np.uint64) * np.uint64(step)
        return ((places ^ np.uint64(start * first)) & np.uint64(0xFFFFFFFF)).astype("<u4").tobytes()
    return array.array("I", ((start * first ^ k * step) & 0xFFFFFFFF for k in range(count))).tobytes()


ROW, COL = 2654435761, 40503


def write(path, rows, cols, turned=False, every=1):
    """An array each of whose elements encodes its place, or the same transposed; one row in `every`, holes between."""
    with open(path, "wb") as file:
        file.write(header(cols, rows) if turned else header(rows, cols))
        begin = file.tell()
        for k in range(0, cols if turned else rows, every):
            file.seek(begin + k * 4 * (rows if turned else cols))
            file.write(line(k, rows, COL, ROW) if turned else line(k, cols, ROW, COL))
        file.truncate(begin + 4 * rows * cols)


def digest(path):
    sums = hashlib.blake2b()
    with open(path, "rb") as file:
        while chunk := file.read(1 << 22):
            sums.update(chunk)
    return sums.digest()


class Holes(io.BufferedIOBase):
    """A file in which zeros are not written, but left out."""

    def __init__(self, file):
        self.file = file
        self.tell, self.seek, self.flush = file.tell, file.seek, file.flush

    def seekable(self):
        return True

    def write(self, data):
        if len(data) >= 1 << 20 and not any(memoryview(data)[:: 1 << 12]) and not bytes(data).strip(b"\0"):
            self.file.seek(len(data), os.SEEK_CUR)
            return len(data)
        return self.file.write(data)
