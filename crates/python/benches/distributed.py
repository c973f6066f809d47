"""Times transpositions over processes of one host with a GPU each, compared with PyTorch.

    torchrun --nproc-per-node 2 distributed.py [--runs N] [--output FILE.csv] [--small | --gigabytes G,...]

Prints a Markdown table: medians in milliseconds; GB/s of each rank to the others, in brackets; and the bytes that PyTorch's
allocator had at the peak in addition to the part. Every result is compared, element by element.

The ways: `planned`, a plan of `turntile.distributed` that keeps the parts mapped; `transpose`, which maps them in each call;
`messages`, which never maps; `PyTorch`, a local transposition, `all_to_all_single` and a local permutation into new tensors, or
DTensor's `redistribute`; `exchange`, only NCCL's `all_to_all_single` of the bytes that cross. A way that has no memory left is a row without times. `--gigabytes` measures square matrices with parts of
so many GB each.
"""

import argparse
import csv
import statistics
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard
from turntile import distributed

#: Shape, dtype, and axes and cuts; without cuts a matrix that is transposed.
CASES = [
    ((65536, 65536), torch.float32, None),
    ((65521, 65521), torch.float32, None),
    ((49152, 24576), torch.float32, None),
    ((60000, 40000), torch.float32, None),
    ((30011, 20021), torch.float32, None),
    ((50000, 8), torch.float32, None),
    ((8192, 8192), torch.float32, None),
    ((4096, 4096), torch.float32, None),
    ((32768, 32768), torch.bfloat16, (0, 1)),
    ((64, 4096, 7168), torch.bfloat16, (0, 1)),
    ((1024, 1024, 1024), torch.complex64, (0, 1)),
    ((2048, 2048, 2048), torch.complex64, (0, 1)),
]
#: Bytes that are compared in one piece.
PIECE = 1 << 30


def bounds(extent, ranks, rank, blocks):
    if blocks:
        block = -(-extent // ranks)
        return min(rank * block, extent), min((rank + 1) * block, extent)
    return tuple(r * (extent // ranks) + min(r, extent % ranks) for r in (rank, rank + 1))


def numbers(shape, axis, begin, end, dtype):
    """Returns elements `begin` to `end` along an axis of an array whose elements are numbered, modulo 251."""
    part = torch.zeros([end - begin if k == axis else extent for k, extent in enumerate(shape)], dtype=dtype, device="cuda")
    for k, extent in enumerate(shape):
        first, last = (begin, end) if k == axis else (0, extent)
        factor = (31, 7, 3)[k % 3]
        index = (torch.arange(first, last, device="cuda") // (1, 5, 2)[k % 3] * factor % 251).to(dtype)
        part += index.view([-1 if other == k else 1 for other in range(len(shape))])
    return part


def pytorch(local, shape):
    """Transposes out of place in three steps; needs equal parts."""
    ranks = dist.get_world_size()
    rows, columns = shape[0] // ranks, shape[1] // ranks
    sent = local.t().contiguous()
    got = torch.empty_like(sent)
    dist.all_to_all_single(got, sent)
    del sent
    return got.view(ranks, columns, rows).permute(1, 0, 2).reshape(columns, ranks * rows)


def measured(run):
    """Returns milliseconds on the slowest rank, bytes at the peak, and the result."""
    torch.cuda.synchronize()
    dist.barrier()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    result = run()
    end.record()
    end.synchronize()
    worst = torch.tensor([start.elapsed_time(end), torch.cuda.max_memory_allocated() - before], dtype=torch.float64, device="cuda")
    dist.all_reduce(worst, dist.ReduceOp.MAX)
    return *worst.tolist(), result


def ways(shape, cut, local):
    """Yields name, what to run, and whether the result is in the memory of `local`."""
    ranks = dist.get_world_size()
    options = dict(axes=None) if cut is None else dict(axes=range(len(shape)), cut=cut, parts="blocks")
    planned = distributed.plan(local, shape, **options)
    if dist.get_rank() == 0:
        print(f"{shape}: {planned}", file=sys.stderr)
    yield "planned", planned.run, True
    planned.close()
    yield "transpose", lambda: distributed.transpose(local, shape, **options), True
    maps, distributed._MAPPED = distributed._MAPPED, 1 << 62
    yield "messages", lambda: distributed.transpose(local, shape, **options), True
    distributed._MAPPED = maps
    if cut is not None:
        mesh = init_device_mesh("cuda", (ranks,))
        tensor = DTensor.from_local(local, mesh, [Shard(cut[0])], run_check=False)
        yield "PyTorch", lambda: tensor.redistribute(placements=[Shard(cut[1])]).to_local(), False
    elif all(extent % ranks == 0 for extent in shape):
        yield "PyTorch", lambda: pytorch(local, shape), False
    if all(extent % ranks == 0 for extent in (shape if cut is None else [shape[axis] for axis in cut])):
        other = local.new_empty(0)

        def exchange():
            nonlocal other
            if not other.numel():
                other = torch.empty_like(local)
            dist.all_to_all_single(other.view(-1), local.view(-1))

        yield "exchange", exchange, None


def same(result, want):
    pieces = -(-result.nbytes // PIECE)
    return result.shape == want.shape and all(torch.equal(a, b) for a, b in zip(result.chunk(pieces), want.chunk(pieces)))


def squares(gigabytes):
    """Returns a case for each size of a part in GB: a square matrix whose side is a multiple of 64 x ranks."""
    ranks = dist.get_world_size()
    sides = [int((gb * 1e9 * ranks / 4) ** 0.5) // (64 * ranks) * 64 * ranks for gb in gigabytes]
    return [((side, side), torch.float32, None) for side in sides]


def repeated(runs, run, in_place, fill, check):
    """Returns the median in milliseconds and the bytes at the peak; nothing if memory runs out, which it does on every rank."""
    found = []
    for number in range(runs + 2):
        if in_place or number == 0:
            fill()
        try:
            ms, more, result = measured(run)
        except torch.cuda.OutOfMemoryError:
            torch.cuda.empty_cache()
            return "", ""
        if number == 0 and in_place is not None:
            check(result)
        del result
        found.append((ms, more))
    return statistics.median(one for one, _ in found[2:]), int(max(one for _, one in found[2:]))


def rows(runs, cases):
    rank, ranks = dist.get_rank(), dist.get_world_size()
    for shape, dtype, cut in cases:
        transposed, blocks = cut is None, cut is not None
        before, after = (0, 1) if transposed else cut
        place = bounds(shape[before], ranks, rank, blocks)
        options = dict(axes=None) if transposed else dict(axes=range(len(shape)), cut=cut, parts="blocks")
        local = distributed.empty(shape, dtype, device="cuda", **options)
        fill = lambda: local.copy_(numbers(shape, before, *place, dtype))
        crossing = local.nbytes * (ranks - 1) / ranks
        for way, run, in_place in ways(shape, cut, local):

            def check(result):
                want = numbers(shape, after, *bounds(shape[after], ranks, rank, blocks), dtype)
                assert same(result, want.t() if transposed else want), (shape, way)

            ms, more = repeated(runs, run, in_place, fill, check)
            torch.cuda.empty_cache()
            yield {
                "shape": "x".join(map(str, shape)),
                "dtype": str(dtype).removeprefix("torch."),
                "shards": "transposed" if transposed else f"{before} to {after}",
                "ranks": ranks,
                "way": way,
                "ms": ms and round(ms, 4),
                "gb_per_s": ms and round(crossing / ms / 1e6, 1),
                "extra_bytes": more,
            }
        del local


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--runs", type=int, default=9)
    options.add_argument("--output")
    options.add_argument("--small", action="store_true", help="extents divided by 8")
    options.add_argument("--gigabytes", type=lambda text: [float(one) for one in text.split(",")])
    given = options.parse_args()
    dist.init_process_group("cpu:gloo,cuda:nccl")
    torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
    all_rows = []
    if dist.get_rank() == 0:
        print("| array | way | ms | GB/s | MB in addition |\n|---|---|---|---|---|")
    cases = squares(given.gigabytes) if given.gigabytes else CASES
    if given.small:
        cases = [(tuple(max(1, extent // 8) for extent in shape), dtype, cut) for shape, dtype, cut in cases]
    for row in rows(given.runs, cases):
        all_rows.append(row)
        if dist.get_rank() == 0:
            name = f"{row['shape']} {row['dtype']} {row['shards']}"
            figures = f"{row['ms']:.2f} | {row['gb_per_s']} | {row['extra_bytes'] / 1e6:.1f}" if row["ms"] else "no memory | | "
            print(f"| {name} | {row['way']} | {figures} |", flush=True)
    if given.output and dist.get_rank() == 0:
        with open(given.output, "w", newline="") as file:
            writer = csv.DictWriter(file, all_rows[0])
            writer.writeheader()
            writer.writerows(all_rows)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
