"""A file of images changed from pixels to planes, in the file and without a second one.

    numpy_memmap.py [IMAGES HEIGHT WIDTH]
"""

import pathlib
import sys
import tempfile

import numpy as np
import turntile


def main(images=20, height=480, width=640):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "images.raw")
        pixels = np.random.default_rng(0).integers(0, 256, (images, height, width, 3), np.uint8)
        pixels.tofile(file)

        mapped = np.memmap(file, np.uint8, "r+", shape=pixels.shape)
        mapped = turntile.transpose(mapped, (0, 3, 1, 2))
        mapped.flush()

        planes = np.fromfile(file, np.uint8).reshape(images, 3, height, width)
        assert np.array_equal(planes, pixels.transpose(0, 3, 1, 2))
        print(f"{file.name}: {pixels.shape} -> {planes.shape}, {planes.nbytes / 1e6:.1f} MB in place")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
