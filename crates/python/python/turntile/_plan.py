"""An order of axes planned once, to be run on many arrays."""

import re

from . import _core
from ._arguments import count, extents, integers, normal, size
from ._arrays import adapt
from ._npy import refuse_map
from ._run import ALIGNMENT, move, settled


class Plan:
    """An order of axes planned for arrays of one shape: `run` destroys the order of what it is given.

    `shape` is a C-contiguous array's, `axes` as for `transpose` (None reverses them), `itemsize` bytes of an
    element. `device` is ``"cpu"``, ``"cuda"``, ``"cuda:1"`` or a ``torch.device``; on a GPU the kernels are loaded here, so
    that runs can be captured in a graph. `workspace_limit` is how many bytes of workspace a run may use; otherwise
    2% of the array and 1 MiB for each thread, on a GPU 2% or 16 MiB where that is more. `threads` are the host's.

    Raises PlanError when no kernel serves the problem, CudaError when there is no such GPU.

    >>> import numpy as np, turntile
    >>> plan = turntile.Plan((300, 200), (1, 0), itemsize=4)
    >>> matrices = [np.zeros((300, 200), np.float32) for _ in range(3)]
    >>> matrices = [plan.run(matrix) for matrix in matrices]
    >>> matrices[0].shape
    (200, 300)
    """

    def __init__(self, shape, axes, itemsize, *, device="cpu", threads=None, workspace_limit=None):
        self.shape = extents(shape)
        self.axes = normal(integers(axes), len(self.shape))
        self.itemsize = size("itemsize", itemsize, 1)
        threads, workspace_limit = count("threads", threads, 1), count("workspace_limit", workspace_limit, 0)
        self._result = tuple([self.shape[axis] for axis in self.axes])
        self._device = _number(device)
        if self._device is None:
            self._plan = _core.HostPlan(self.shape, self.axes, self.itemsize, threads, workspace_limit)
            self._plan.prepare()
        elif threads is not None:
            raise ValueError(f"threads are given, and the plan is for {device}")
        else:
            self._plan = _core.CudaPlan(self._device, self.shape, self.axes, self.itemsize, ALIGNMENT, workspace_limit)

    @property
    def device(self):
        """``"cpu"``, or ``"cuda:"`` and the device's number."""
        return "cpu" if self._device is None else f"cuda:{self._device}"

    @property
    def workspace_bytes(self):
        """Bytes that a run needs beside the array."""
        return self._plan.workspace_bytes

    def run(self, a, /, *, workspace=None, stream=None, ignore_header=False):
        """Permutes the axes of `a` in place; `a` itself is stale afterwards, use what is returned.

        `a` is C-contiguous, of the plan's shape, itemsize and device. The rest is as for `transpose`.

        >>> import numpy as np, turntile
        >>> turntile.Plan((2, 3), None, itemsize=8).run(np.arange(6.0).reshape(2, 3))
        array([[0., 3.],
               [1., 4.],
               [2., 5.]])
        """
        (_, workspace, stream), ignore_header = settled(None, workspace, stream), bool(ignore_header)
        array = adapt(a)
        ignore_header or refuse_map(array)
        if array.device != self._device:
            raise ValueError(f"the plan is for {self.device}, the array is elsewhere")
        if array.shape != self.shape or array.itemsize != self.itemsize:
            raise ValueError(
                f"the plan is for shape {self.shape} and elements of {self.itemsize} bytes, "
                f"the array has {array.shape} and {array.itemsize}"
            )
        if array.strides is not None and _core.arrange(array.shape, array.strides, array.itemsize, self.axes)[0]:
            raise ValueError("the plan is for C-contiguous arrays; transpose takes others")
        return move(array, array.contiguous(None, self._result), self._plan, workspace, stream, _core.Moved())

    def __str__(self):
        return str(self._plan)

    def __repr__(self):
        line = str(self._plan).splitlines()[-1]
        return f"<turntile.Plan {self.shape} by {self.axes}, {self.itemsize} bytes, on {self.device}: {line}>"


def _number(device):
    """A CUDA device's number; None for the host."""
    name = str(device)
    if name == "cpu":
        return None
    cuda = re.fullmatch(r"cuda(?::(\d{1,9}))?", name)
    if not cuda:
        raise ValueError(f"device {name!r} is neither cpu nor cuda nor cuda:N")
    return int(cuda[1] or 0)
