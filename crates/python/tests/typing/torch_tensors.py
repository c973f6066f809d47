"""PyTorch tensors on the host and on a GPU."""

from typing import assert_type

import torch
import turntile


def relaid(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: turntile.ascontiguousarray(weight.detach()) for name, weight in weights.items()}


t = torch.zeros(8, 3, 56, 56)
assert_type(turntile.transpose(t, (0, 2, 3, 1)), torch.Tensor)
t = turntile.rearrange(t, "b (h d) ... -> b d h ...", d=3, threads=2)
if torch.cuda.is_available():
    w = torch.zeros(64, 7168, 2048, device="cuda", dtype=torch.bfloat16)
    stream = torch.cuda.current_stream()
    w = turntile.transpose(w, (0, 2, 1), stream=stream, workspace=torch.empty(16 << 20, device="cuda"))
    plan = turntile.Plan(w.shape, (0, 2, 1), dtype=w.dtype, device=w.device)
    w = plan(w, stream=stream.cuda_stream)
    out = turntile.transpose(w, (0, 2, 1), out=torch.empty_like(w))
    print(out.shape)
