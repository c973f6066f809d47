"""A weight of 4-bit codes, [M, K/2] bytes, transposed to [K, M/2] bytes in place.

    nvfp4_weight.py [M K]

Two codes share a byte, the first in the low bits. The scales of NVFP4, one per 16 codes of a row,
belong to the untransposed weight and are not changed.
"""

import sys

import numpy as np
import turntile


def main(m=512, k=1536):
    codes = np.random.default_rng(0).integers(0, 16, (m, k), np.uint8)
    weight = codes[:, 0::2] | codes[:, 1::2] << 4

    weight = turntile.transpose_bits(weight, bits=4, bitorder="little")

    assert weight.shape == (k, m // 2)
    assert np.array_equal(weight & 15, codes.T[:, 0::2])
    assert np.array_equal(weight >> 4, codes.T[:, 1::2])
    print(f"[{m}, {k // 2}] -> [{k}, {m // 2}] bytes of codes in place: right")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
