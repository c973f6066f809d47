"""Arrays over processes."""

import numpy as np
from turntile import distributed


class Alone:
    """The only rank."""

    rank, ranks = 0, 1

    def gather(self, number: int) -> list[int]:
        return [number]

    def exchange(self, partner: int, send: memoryview, receive: memoryview) -> None:
        raise AssertionError("there is no other rank")


local = distributed.empty((300, 200), np.float64, comm=Alone())
local[...] = 1
try:
    local = distributed.transpose(local, (300, 200), comm=Alone(), parts="blocks", cut=(0, 1))
except (distributed.RefusedError, distributed.LostError) as error:
    print(error.args)
print(local.sum(), distributed.capacity((300, 200), comm=Alone()))
