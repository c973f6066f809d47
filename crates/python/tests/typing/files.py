"""Arrays in .npy files."""

from pathlib import Path

import turntile

shape = turntile.transpose_file(Path("images.npy"), (0, 3, 1, 2))
print(shape[0], turntile.transpose_file("matrix.npy", memory=1 << 20))
