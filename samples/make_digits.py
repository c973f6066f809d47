#!/usr/bin/env python3
"""Writes digits.npy, the sample data set, from the copy that scikit-learn ships.

Needs numpy and scikit-learn. One row for each of 1797 handwritten digits, one column for each of the
8 x 8 pixels of its image, as bytes from 0 (white) to 16 (black).
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

pixels = load_digits().data
assert pixels.shape == (1797, 64)
digits = pixels.astype(np.uint8)
assert (digits == pixels).all() and digits.max() == 16

path = Path(__file__).with_name("digits.npy")
np.save(path, digits)
print(f"{path.name}: {digits.shape[0]}x{digits.shape[1]} {digits.dtype}, {path.stat().st_size} bytes")
