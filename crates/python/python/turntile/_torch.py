"""PyTorch tensors on the host, on CUDA devices and on the meta device."""

import contextlib

import torch

from . import _streams
from ._device import NOWHERE


def adapt(tensor, write):
    """Returns the adapter of a tensor; see `_arrays`."""
    kind = type(tensor).__name__
    if tensor.is_nested:
        raise TypeError("a nested tensor is several tensors: permute each of tensor.unbind()")
    if type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
        raise TypeError(f"{kind} wraps other tensors: permute those")
    if tensor.layout is not torch.strided:
        raise TypeError(f"layout {tensor.layout} is not supported")
    if tensor.is_quantized:
        raise TypeError("a quantized tensor is more than its elements: use int_repr()")
    if tensor.requires_grad:
        raise ValueError(
            "the tensor requires grad, but autograd does not track this call: pass tensor.detach()"
        )
    if tensor.is_conj() or tensor.is_neg():
        raise ValueError(
            "the tensor is a lazy conjugate or negative: call resolve_conj() or resolve_neg() first"
        )
    place = tensor.device
    if place.type == "cpu":
        return Array(tensor, None)
    if place.type == "meta":
        return Array(tensor, NOWHERE)
    if place.type == "cuda" and torch.version.hip is None:
        return OnCuda(tensor, place.index)
    raise TypeError(f"device {place} is not supported: use cpu, cuda (NVIDIA) or meta")


class Array:
    """Adapter of a tensor on the host or the meta device."""

    __slots__ = ("array", "address", "nbytes", "shape", "itemsize", "strides", "dtype", "device")

    # `tensor.contiguous()` keeps it.
    least_shape = ()

    def __init__(self, tensor, device):
        self.array = tensor
        self.device = device
        self.itemsize = tensor.element_size()
        self.nbytes = tensor.numel() * self.itemsize
        self.address = tensor.data_ptr() if device != NOWHERE and self.nbytes else 0
        self.shape = tuple(tensor.shape)
        item = self.itemsize
        self.strides = (
            None if tensor.is_contiguous() else tuple(step * item for step in tensor.stride())
        )
        self.dtype = tensor.dtype

    def contiguous(self, order, shape):
        tensor = self.array
        if not self.nbytes:
            return tensor.reshape(shape)
        return (tensor if order is None else tensor.permute(order)).view(shape)

    @staticmethod
    def reversed(tensor):
        return tensor.permute(tuple(range(tensor.dim() - 1, -1, -1)))

    def changed(self):
        # Tensors made in inference mode have no version counter.
        if not self.array.is_inference():
            torch.autograd.graph.increment_version(self.array)

    def copy_from(self, other, axes):
        self.array.copy_(other.array.permute(axes))

    def stream(self, given):
        return contextlib.nullcontext()


class OnCuda(Array):
    """Adapter of a tensor on a CUDA device."""

    __slots__ = ()

    @contextlib.contextmanager
    def stream(self, given):
        place = self.array.device
        if given is None:
            yield torch.cuda.current_stream(place).cuda_stream
            return
        if not isinstance(given, torch.cuda.Stream):
            given = torch.cuda.ExternalStream(_streams.handle(given), place)
        if given.device != place:
            raise ValueError(f"the stream is on {given.device}, the tensor on {place}")
        # The workspace is allocated on this stream, and the tensor's memory is not reused before
        # the stream is done.
        with torch.cuda.stream(given):
            self.array.record_stream(given)
            yield given.cuda_stream

    def allocate(self, nbytes):
        memory = torch.empty(nbytes, dtype=torch.uint8, device=self.array.device)
        return memory.data_ptr(), memory
