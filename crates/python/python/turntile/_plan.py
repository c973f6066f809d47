"""Plans that are made once and run on many arrays."""

import re
import sys

import numpy as np

from . import _core
from ._arguments import count, extents, integers, normal, size
from ._arrays import adapt
from ._npy import refuse_map
from ._run import ALIGNMENT, move, settled


class Plan:
    """Permutation planned for arrays of one shape. Call the plan to permute an array in place.

    Parameters
    ----------
    shape : sequence of int
        Shape of the arrays, which are C-contiguous.
    axes : sequence of int, optional
        Permutation of the axes, as for `transpose`. The default reverses them.
    dtype, itemsize : dtype, int
        Bytes per element, or a NumPy or PyTorch dtype of that size: exactly one of the two.
        Elements of any dtype with this size are accepted.
    device : str or torch.device, optional
        ``"cpu"``, ``"cuda"`` or ``"cuda:N"``. For a GPU the kernels are loaded here, so that calls
        can be captured in a graph.
    threads : int, optional
        Maximum number of CPU threads.
    workspace_limit : int, optional
        Maximum workspace of a call, in bytes. The default is 2% of the array plus 1 MiB per thread;
        on a GPU the larger of 2% and 16 MiB.

    Raises
    ------
    PlanError
        No kernel supports the problem.
    CudaError
        There is no such GPU.

    See Also
    --------
    transpose

    Examples
    --------
    >>> import numpy as np, turntile
    >>> plan = turntile.Plan((300, 200), dtype=np.float32)
    >>> matrices = [np.zeros((300, 200), np.float32) for _ in range(3)]
    >>> matrices = [plan(matrix) for matrix in matrices]
    >>> matrices[0].shape
    (200, 300)
    """

    def __init__(
        self,
        shape,
        axes=None,
        *,
        dtype=None,
        itemsize=None,
        device="cpu",
        threads=None,
        workspace_limit=None,
    ):
        self.shape = extents(shape)
        self.axes = normal(integers(axes), len(self.shape))
        if (dtype is None) == (itemsize is None):
            raise TypeError("exactly one of dtype and itemsize is required")
        self.itemsize = size("itemsize", _itemsize(dtype) if itemsize is None else itemsize, 1)
        threads = count("threads", threads, 1)
        limit = count("workspace_limit", workspace_limit, 0)
        self._result = tuple([self.shape[axis] for axis in self.axes])
        self._device = _number(device)
        problem = (self.shape, self.axes, self.itemsize)
        if self._device is None:
            self._plan = _core.HostPlan(*problem, threads, limit)
            self._plan.prepare()
        elif threads is not None:
            raise ValueError(f"threads is given, but the plan is for {device}")
        else:
            self._plan = _core.CudaPlan(self._device, *problem, ALIGNMENT, limit)

    @property
    def device(self):
        """Device of the plan: ``"cpu"`` or ``"cuda:N"``."""
        return "cpu" if self._device is None else f"cuda:{self._device}"

    @property
    def workspace_bytes(self):
        """Bytes of workspace that a call needs."""
        return self._plan.workspace_bytes

    def __call__(self, a, /, *, workspace=None, stream=None):
        """Permutes the axes of `a` in place; `a` itself is stale afterwards, use the result.

        Parameters
        ----------
        a : array
            C-contiguous array with the plan's shape, itemsize and device.
        workspace, stream
            As for `transpose`.

        Returns
        -------
        array
            View of the memory of `a`.

        Examples
        --------
        >>> import numpy as np, turntile
        >>> turntile.Plan((2, 3), dtype=float)(np.arange(6.0).reshape(2, 3))
        array([[0., 3.],
               [1., 4.],
               [2., 5.]])
        """
        _, workspace, stream = settled(None, workspace, stream)
        array = adapt(a)
        refuse_map(array)
        if array.device != self._device:
            raise ValueError(f"the plan is for {self.device}, but the array is on another device")
        if array.shape != self.shape or array.itemsize != self.itemsize:
            raise ValueError(
                f"the plan is for shape {self.shape} and itemsize {self.itemsize}, "
                f"but the array has shape {array.shape} and itemsize {array.itemsize}"
            )
        strides = array.strides
        if strides is not None and _core.arrange(self.shape, strides, self.itemsize, self.axes)[0]:
            raise ValueError("a plan needs a C-contiguous array: transpose accepts others")
        result = array.contiguous(None, self._result)
        return move(array, result, self._plan, workspace, stream, _core.Moved())

    run = __call__

    def __str__(self):
        return str(self._plan)

    def __repr__(self):
        line = str(self._plan).splitlines()[-1]
        return (
            f"<turntile.Plan of shape {self.shape}, axes {self.axes}, itemsize {self.itemsize}, "
            f"device {self.device}: {line}>"
        )


def _itemsize(dtype):
    torch = sys.modules.get("torch")
    is_torch = torch is not None and isinstance(dtype, torch.dtype)
    return (dtype if is_torch else np.dtype(dtype)).itemsize


def _number(device):
    """Returns the number of a CUDA device; None for the host."""
    name = str(device)
    if name == "cpu":
        return None
    cuda = re.fullmatch(r"cuda(?::(\d{1,9}))?", name)
    if not cuda:
        raise ValueError(f"device must be 'cpu', 'cuda' or 'cuda:N', not {name!r}")
    return int(cuda[1] or 0)
