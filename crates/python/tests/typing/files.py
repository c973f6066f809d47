"""Arrays in .npy files."""

from pathlib import Path

import turntile

turntile.transpose_file(Path("images.npy"), (0, 3, 1, 2))
turntile.transpose_file("matrix.npy", out=b"transposed.npy")
turntile.transpose_file(3)  # type: ignore[arg-type]
