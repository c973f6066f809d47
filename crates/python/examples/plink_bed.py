"""A PLINK .bed file of genotypes changed from individual-major to SNP-major order, in bands of rows.

    plink_bed.py [INDIVIDUALS SNPS]

A .bed file has a header of 3 bytes, then rows of genotypes of 2 bits, four per byte from the low
bits on. Each row starts at a byte. The third byte of the header is 1 if a row is a SNP.
"""

import pathlib
import sys
import tempfile

import numpy as np
import turntile

MAGIC = b"\x6c\x1b"
INDIVIDUAL_MAJOR, SNP_MAJOR = b"\0", b"\1"

#: Bytes of each of the two buffers.
BAND = 1 << 20


def to_snp_major(source, target, individuals, snps):
    """Writes `target` from `source`, with two buffers of `BAND` bytes instead of the genotypes."""
    row, snp = -(-snps // 4), -(-individuals // 4)
    rows = max(BAND // max(row, 1) // 4 * 4, 4)
    with open(target, "wb") as write:
        write.write(MAGIC + SNP_MAJOR)
        write.truncate(3 + snps * snp)
    result = np.memmap(target, np.uint8, "r+", offset=3, shape=(snps, snp))
    with open(source, "rb") as read:
        assert read.read(3) == MAGIC + INDIVIDUAL_MAJOR
        for first in range(0, individuals, rows):
            count = min(rows, individuals - first)
            band = np.fromfile(read, np.uint8, count * row).reshape(count, row)
            out = np.empty((snps, -(-count // 4)), np.uint8)
            turntile.transpose_bits(band, bits=2, bitorder="little", out=out)
            result[:, first // 4 :][:, : out.shape[1]] = out
    result.flush()


def main(individuals=1002, snps=7003):
    genotypes = np.random.default_rng(0).integers(0, 4, (individuals, snps), np.uint8)

    def packed(rows):
        padded = np.pad(rows, ((0, 0), (0, -rows.shape[1] % 4))).reshape(len(rows), -1, 4)
        return (padded << (0, 2, 4, 6)).sum(-1, dtype=np.uint8).tobytes()

    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder, "a.bed"), pathlib.Path(folder, "b.bed")
        source.write_bytes(MAGIC + INDIVIDUAL_MAJOR + packed(genotypes))
        to_snp_major(source, target, individuals, snps)
        assert target.read_bytes() == MAGIC + SNP_MAJOR + packed(genotypes.T)
    print(f"{individuals} individuals, {snps} SNPs: right")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
