"""A mixture of experts' weight transposed on a card that has no room for a second one.

    moe_weight.py [EXPERTS ROWS COLS]

Makes a weight of EXPERTS x ROWS x COLS, fills the card until half a weight is free, and shows that
`.transpose(1, 2).contiguous()` runs out of memory, and turntile does not.
"""

import sys

import torch
import turntile


def main(experts=64, rows=7168, cols=2048):
    weight = torch.randn(experts, rows, cols, device="cuda", dtype=torch.bfloat16)
    size = weight.numel() * weight.element_size()
    some = sorted({0, experts // 2, experts - 1})
    wanted = [weight[expert].t().cpu() for expert in some]
    # Kernels are loaded while there is room for them.
    plan = turntile.Plan(weight.shape, (0, 2, 1), dtype=weight.dtype, device=weight.device)
    print(f"a weight of {size / 1e9:.2f} GB; the plan: {plan}, {plan.workspace_bytes / 1e6:.1f} MB of workspace")

    torch.cuda.empty_cache()
    free, total = torch.cuda.mem_get_info()
    ballast = torch.empty(max(free - size // 2, 0), dtype=torch.uint8, device="cuda")
    free, _ = torch.cuda.mem_get_info()
    print(f"{free / 1e9:.2f} of {total / 1e9:.0f} GB are free")

    try:
        weight.transpose(1, 2).contiguous()
        print("out of place: there was room after all")
    except torch.cuda.OutOfMemoryError as error:
        print(f"out of place: OutOfMemoryError: {str(error).split('. ')[0]}")

    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    weight = turntile.ascontiguousarray(weight.transpose(1, 2))
    end.record()
    end.synchronize()
    seconds = start.elapsed_time(end) / 1e3
    more = torch.cuda.max_memory_allocated() - before
    for expert, matrix in zip(some, wanted):
        assert torch.equal(weight[expert].cpu(), matrix), expert
    print(
        f"in place: {tuple(weight.shape)} in {seconds * 1e3:.2f} ms, {2 * size / seconds / 1e9:.0f} GB/s, "
        f"{more / 1e6:.1f} MB more than the weight; compared: experts {some}"
    )
    del ballast


if __name__ == "__main__":
    if not turntile.cuda_available():
        sys.exit("there is no GPU")
    main(*map(int, sys.argv[1:]))
