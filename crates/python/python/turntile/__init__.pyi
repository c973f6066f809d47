import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, SupportsIndex, TypeVar, final, overload

import numpy as np

_Array = TypeVar("_Array")
_Type = TypeVar("_Type", bound=np.dtype[Any])
_Axes = SupportsIndex | Sequence[SupportsIndex] | None
_Lender = bytearray | memoryview

__all__: list[str]
__version__: str

class CudaError(RuntimeError): ...
class CaptureError(CudaError): ...
class PlanError(ValueError): ...

class Interrupted(KeyboardInterrupt):
    result: Any

@final
class Workspace:
    def __new__(cls, nbytes: int) -> Workspace: ...
    @property
    def nbytes(self) -> int: ...

class Plan:
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    itemsize: int
    def __init__(
        self,
        shape: Sequence[SupportsIndex],
        axes: _Axes,
        itemsize: SupportsIndex,
        *,
        device: Any = "cpu",
        threads: int | None = None,
        workspace_limit: int | None = None,
    ) -> None: ...
    @property
    def device(self) -> str: ...
    @property
    def workspace_bytes(self) -> int: ...
    @overload
    def run(self, a: _Lender, /, *, workspace: Any = None, stream: Any = None, ignore_header: bool = False) -> np.ndarray[Any, Any]: ...
    @overload
    def run(
        self, a: np.ndarray[Any, _Type], /, *, workspace: Any = None, stream: Any = None, ignore_header: bool = False
    ) -> np.ndarray[Any, _Type]: ...
    @overload
    def run(self, a: _Array, /, *, workspace: Any = None, stream: Any = None, ignore_header: bool = False) -> _Array: ...

@overload
def transpose(
    a: _Lender, /, axes: _Axes = None, *, threads: int | None = None, workspace: Any = None, stream: Any = None, ignore_header: bool = False
) -> np.ndarray[Any, Any]: ...
@overload
def transpose(
    a: np.ndarray[Any, _Type],
    /,
    axes: _Axes = None,
    *,
    threads: int | None = None,
    workspace: Any = None,
    stream: Any = None,
    ignore_header: bool = False,
) -> np.ndarray[Any, _Type]: ...
@overload
def transpose(
    a: _Array, /, axes: _Axes = None, *, threads: int | None = None, workspace: Any = None, stream: Any = None, ignore_header: bool = False
) -> _Array: ...
@overload
def rearrange(
    a: _Lender,
    pattern: str,
    /,
    *,
    threads: int | None = None,
    workspace: Any = None,
    stream: Any = None,
    ignore_header: bool = False,
    **sizes: SupportsIndex,
) -> np.ndarray[Any, Any]: ...
@overload
def rearrange(
    a: np.ndarray[Any, _Type],
    pattern: str,
    /,
    *,
    threads: int | None = None,
    workspace: Any = None,
    stream: Any = None,
    ignore_header: bool = False,
    **sizes: SupportsIndex,
) -> np.ndarray[Any, _Type]: ...
@overload
def rearrange(
    a: _Array,
    pattern: str,
    /,
    *,
    threads: int | None = None,
    workspace: Any = None,
    stream: Any = None,
    ignore_header: bool = False,
    **sizes: SupportsIndex,
) -> _Array: ...
@overload
def ascontiguousarray(
    a: _Lender, /, *, threads: int | None = None, workspace: Any = None, stream: Any = None, ignore_header: bool = False
) -> np.ndarray[Any, Any]: ...
@overload
def ascontiguousarray(
    a: _Array, /, *, threads: int | None = None, workspace: Any = None, stream: Any = None, ignore_header: bool = False
) -> _Array: ...
@overload
def asfortranarray(
    a: _Lender, /, *, threads: int | None = None, workspace: Any = None, stream: Any = None, ignore_header: bool = False
) -> np.ndarray[Any, Any]: ...
@overload
def asfortranarray(
    a: _Array, /, *, threads: int | None = None, workspace: Any = None, stream: Any = None, ignore_header: bool = False
) -> _Array: ...
def permute_into(
    out: _Array, a: Any, /, axes: _Axes = None, *, threads: int | None = None, stream: Any = None
) -> _Array: ...
def transpose_file(
    path: str | bytes | os.PathLike[Any], axes: _Axes = None, *, threads: int | None = None, memory: int = 1 << 30
) -> tuple[int, ...]: ...
def cuda_available() -> bool: ...

class Columns(Mapping[str, np.ndarray[Any, Any]]):
    def __getitem__(self, name: str) -> np.ndarray[Any, Any]: ...
    def __setitem__(self, name: str, values: Any) -> None: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def records(self, *, threads: int | None = None) -> np.ndarray[Any, Any]: ...

def columns(
    a: np.ndarray[Any, Any], /, *, aligned: bool = True, threads: int | None = None, ignore_header: bool = False
) -> Columns: ...
def relayout(
    a: _Array,
    /,
    record_bytes: int,
    fields: Iterable[tuple[int, int]],
    to: str,
    *,
    source: str = "aos",
    threads: int | None = None,
    workspace: Any = None,
    stream: Any = None,
    ignore_header: bool = False,
) -> _Array: ...
