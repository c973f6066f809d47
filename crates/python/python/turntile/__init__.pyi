from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, Protocol, SupportsIndex, TypeVar, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer

from ._core import CaptureError as CaptureError
from ._core import CudaError as CudaError
from ._core import PlanError as PlanError
from ._core import Workspace as Workspace
from ._core import __version__ as __version__

class _Dlpack(Protocol):
    def __dlpack__(self, *, stream: Any = ...) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

class _CudaArray(Protocol):
    @property
    def __cuda_array_interface__(self) -> Mapping[str, Any]: ...

class _HostArray(Protocol):
    @property
    def __array_interface__(self) -> Mapping[str, Any]: ...

class _CudaStream(Protocol):
    def __cuda_stream__(self) -> tuple[int, int]: ...

class _TorchStream(Protocol):
    @property
    def cuda_stream(self) -> int: ...

class _CupyStream(Protocol):
    @property
    def ptr(self) -> int: ...

class _TorchDtype(Protocol):
    @property
    def itemsize(self) -> int: ...
    @property
    def is_floating_point(self) -> bool: ...

class _Device(Protocol):
    @property
    def type(self) -> str: ...
    @property
    def index(self) -> int | None: ...

# Arrays whose type the result keeps, and other objects that export host memory.
_Array = TypeVar("_Array", bound=np.ndarray[Any, Any] | _Dlpack | _CudaArray)
_Dtype = TypeVar("_Dtype", bound=np.dtype[Any])
_Exporter = Buffer | _HostArray
_AnyArray = np.ndarray[Any, Any] | _Dlpack | _CudaArray | _Exporter
_Out = TypeVar("_Out", bound=_AnyArray)
_Path = str | bytes | PathLike[str] | PathLike[bytes]
_Axes = SupportsIndex | Sequence[SupportsIndex] | None
_BitOrder = Literal["big", "little"]
_Count = SupportsIndex | None
_Workspace = Workspace | _AnyArray | None
_Stream = SupportsIndex | _CudaStream | _TorchStream | _CupyStream | None

class Interrupted(KeyboardInterrupt):
    result: Any

class Plan:
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    itemsize: int
    def __init__(
        self,
        shape: Sequence[SupportsIndex],
        axes: _Axes = None,
        *,
        dtype: npt.DTypeLike | _TorchDtype | None = None,
        itemsize: SupportsIndex | None = None,
        device: str | _Device = "cpu",
        threads: _Count = None,
        workspace_limit: _Count = None,
    ) -> None: ...
    @property
    def device(self) -> str: ...
    @property
    def workspace_bytes(self) -> int: ...
    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, a: _Array, /, *, workspace: _Workspace = None, stream: _Stream = None
    ) -> _Array: ...
    @overload
    def __call__(
        self, a: _Exporter, /, *, workspace: _Workspace = None, stream: _Stream = None
    ) -> npt.NDArray[Any]: ...
    run = __call__

@overload
def transpose(
    a: _AnyArray,
    /,
    axes: _Axes = None,
    *,
    out: _Out,
    threads: _Count = None,
    workspace: None = None,
    stream: _Stream = None,
    ignore_header: bool = False,
) -> _Out: ...
@overload
def transpose(  # type: ignore[overload-overlap]
    a: _Array,
    /,
    axes: _Axes = None,
    *,
    out: None = None,
    threads: _Count = None,
    workspace: _Workspace = None,
    stream: _Stream = None,
    ignore_header: bool = False,
) -> _Array: ...
@overload
def transpose(
    a: _Exporter,
    /,
    axes: _Axes = None,
    *,
    out: None = None,
    threads: _Count = None,
    workspace: Workspace | None = None,
    ignore_header: bool = False,
) -> npt.NDArray[Any]: ...

permute_dims = transpose

@overload
def matrix_transpose(
    a: _AnyArray,
    /,
    *,
    out: _Out,
    threads: _Count = None,
    workspace: None = None,
    stream: _Stream = None,
) -> _Out: ...
@overload
def matrix_transpose(  # type: ignore[overload-overlap]
    a: _Array,
    /,
    *,
    out: None = None,
    threads: _Count = None,
    workspace: _Workspace = None,
    stream: _Stream = None,
) -> _Array: ...
@overload
def matrix_transpose(
    a: _Exporter, /, *, out: None = None, threads: _Count = None, workspace: Workspace | None = None
) -> npt.NDArray[Any]: ...
@overload
def transpose_bits(
    a: _AnyArray,
    /,
    *,
    bits: SupportsIndex,
    bitorder: _BitOrder = "big",
    out: _Out,
    threads: _Count = None,
    stream: _Stream = None,
) -> _Out: ...
@overload
def transpose_bits(  # type: ignore[overload-overlap]
    a: _Array,
    /,
    *,
    bits: SupportsIndex,
    bitorder: _BitOrder = "big",
    out: None = None,
    threads: _Count = None,
    stream: _Stream = None,
) -> _Array: ...
@overload
def transpose_bits(
    a: _Exporter,
    /,
    *,
    bits: SupportsIndex,
    bitorder: _BitOrder = "big",
    out: None = None,
    threads: _Count = None,
    stream: None = None,
) -> npt.NDArray[Any]: ...
@overload
def flip(  # type: ignore[overload-overlap]
    a: _Array,
    /,
    axis: _Axes = None,
    *,
    threads: _Count = None,
    workspace: _Workspace = None,
    stream: _Stream = None,
) -> _Array: ...
@overload
def flip(
    a: _Exporter,
    /,
    axis: _Axes = None,
    *,
    threads: _Count = None,
    workspace: Workspace | None = None,
) -> npt.NDArray[Any]: ...
@overload
def rot90(  # type: ignore[overload-overlap]
    a: _Array,
    /,
    k: SupportsIndex = 1,
    axes: Sequence[SupportsIndex] = (0, 1),
    *,
    threads: _Count = None,
    workspace: _Workspace = None,
    stream: _Stream = None,
) -> _Array: ...
@overload
def rot90(
    a: _Exporter,
    /,
    k: SupportsIndex = 1,
    axes: Sequence[SupportsIndex] = (0, 1),
    *,
    threads: _Count = None,
    workspace: Workspace | None = None,
) -> npt.NDArray[Any]: ...
@overload
def rearrange(
    a: np.ndarray[Any, _Dtype],
    pattern: str,
    /,
    *,
    threads: _Count = None,
    workspace: _Workspace = None,
    stream: _Stream = None,
    **sizes: SupportsIndex,
) -> np.ndarray[Any, _Dtype]: ...
@overload
def rearrange(  # type: ignore[overload-overlap]
    a: _Array,
    pattern: str,
    /,
    *,
    threads: _Count = None,
    workspace: _Workspace = None,
    stream: _Stream = None,
    **sizes: SupportsIndex,
) -> _Array: ...
@overload
def rearrange(
    a: _Exporter,
    pattern: str,
    /,
    *,
    threads: _Count = None,
    workspace: Workspace | None = None,
    stream: None = None,
    **sizes: SupportsIndex,
) -> npt.NDArray[Any]: ...
@overload
def ascontiguousarray(  # type: ignore[overload-overlap]
    a: _Array, /, *, threads: _Count = None, workspace: _Workspace = None, stream: _Stream = None
) -> _Array: ...
@overload
def ascontiguousarray(
    a: _Exporter, /, *, threads: _Count = None, workspace: Workspace | None = None
) -> npt.NDArray[Any]: ...
@overload
def asfortranarray(  # type: ignore[overload-overlap]
    a: _Array, /, *, threads: _Count = None, workspace: _Workspace = None, stream: _Stream = None
) -> _Array: ...
@overload
def asfortranarray(
    a: _Exporter, /, *, threads: _Count = None, workspace: Workspace | None = None
) -> npt.NDArray[Any]: ...
def transpose_file(path: _Path, axes: _Axes = None, out: _Path | None = None) -> None: ...
def cuda_available() -> bool: ...

class Columns(Mapping[str, npt.NDArray[Any]]):
    def __init__(
        self, memory: npt.NDArray[Any], dtype: np.dtype[Any], shape: tuple[int, ...]
    ) -> None: ...
    def __getitem__(self, name: str) -> npt.NDArray[Any]: ...
    def __setitem__(self, name: str, values: npt.ArrayLike) -> None: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def __copy__(self) -> Columns: ...
    def __deepcopy__(self, memo: object) -> Columns: ...
    def records(self, *, threads: _Count = None) -> npt.NDArray[Any]: ...

def columns(
    a: np.ndarray[Any, Any], /, *, aligned: bool = True, threads: _Count = None
) -> Columns: ...
def relayout(
    a: _Out,
    /,
    record_bytes: SupportsIndex,
    fields: Iterable[tuple[SupportsIndex, SupportsIndex]],
    to: str,
    *,
    source: str = "aos",
    threads: _Count = None,
    workspace: _Workspace = None,
    stream: _Stream = None,
) -> _Out: ...
