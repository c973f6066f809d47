"""Records as columns, and by offsets."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import turntile


def mean(columns: Mapping[str, npt.NDArray[Any]]) -> dict[str, float]:
    return {name: float(column.mean()) for name, column in columns.items()}


a = np.zeros(1000, [("tag", "u1"), ("value", "f8")])
c: turntile.Columns = turntile.columns(a, threads=1)
c["tag"] += 1
c["value"] = 2.5
print(mean(c), len(c), "tag" in c)
a = c.records()
raw = turntile.relayout(a.view(np.uint8), 9, [(0, 1), (1, 8)], "asta:32", source="aos")
print(raw.nbytes)
turntile.columns([(1, 2.0)])  # type: ignore[arg-type]
