"""PyTorch's tensors, on the host, on CUDA devices, and on none."""

import contextlib

import torch

from . import _streams
from ._device import NOWHERE


def adapt(tensor, write):
    """A tensor whose elements can be moved in place; see `_arrays`."""
    kind = type(tensor).__name__
    if tensor.is_nested:
        raise TypeError("a nested tensor is several tensors: permute each of tensor.unbind()")
    if type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
        raise TypeError(f"{kind} is a tensor over others: permute those")
    if tensor.layout is not torch.strided:
        raise TypeError(f"a tensor of layout {tensor.layout} is not elements in order")
    if tensor.is_quantized:
        raise TypeError("a quantized tensor is more than its elements: use int_repr()")
    if tensor.requires_grad:
        raise ValueError("the tensor requires grad, and autograd does not see its elements move: pass tensor.detach()")
    if tensor.is_conj() or tensor.is_neg():
        raise ValueError("the tensor is conjugated or negated when read: use resolve_conj() or resolve_neg() first")
    place = tensor.device
    if place.type == "cpu":
        return Array(tensor, None)
    if place.type == "meta":
        return Array(tensor, NOWHERE)
    if place.type == "cuda" and torch.version.hip is None:
        return OnCuda(tensor, place.index)
    raise TypeError(f"a tensor on {place}: only cpu, NVIDIA's cuda and meta are known")


class Array:
    """A tensor on the host or without memory."""

    __slots__ = ("array", "address", "nbytes", "shape", "itemsize", "strides", "dtype", "device")

    def __init__(self, tensor, device):
        self.array = tensor
        self.device = device
        self.itemsize = tensor.element_size()
        self.nbytes = tensor.numel() * self.itemsize
        self.address = tensor.data_ptr() if device != NOWHERE and self.nbytes else 0
        self.shape = tuple(tensor.shape)
        item = self.itemsize
        self.strides = None if tensor.is_contiguous() else tuple(step * item for step in tensor.stride())
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
        # Tensors of inference mode have no version.
        if not self.array.is_inference():
            torch.autograd.graph.increment_version(self.array)

    def copy_from(self, flat):
        self.array.view(-1).copy_(flat)


class OnCuda(Array):
    """A tensor on a CUDA device."""

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
            raise ValueError(f"the stream is of {given.device}, the tensor of {place}")
        # What is allocated meanwhile belongs to that stream, and the tensor's memory stays until the stream is done.
        with torch.cuda.stream(given):
            self.array.record_stream(given)
            yield given.cuda_stream

    def allocate(self, nbytes):
        memory = torch.empty(nbytes, dtype=torch.uint8, device=self.array.device)
        return memory.data_ptr(), memory
