"""Processes of one host that map each other's parts: every element is compared."""

import datetime
import multiprocessing
import os
import time

import pytest
from turntile import distributed

#: Seconds that a group waits for a lost process.
PATIENCE = 20


def started(rank, ranks, backend, file, hide):
    """Joins the group and returns torch and the device; with `hide`, the process sees only its own GPU."""
    if hide:
        os.environ["CUDA_VISIBLE_DEVICES"] = str(rank)
    import torch
    import torch.distributed as dist

    device = torch.device("cuda", 0 if hide else rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    patience = datetime.timedelta(seconds=PATIENCE)
    dist.init_process_group(backend, f"file://{file}", rank=rank, world_size=ranks, timeout=patience)
    return torch, device


def run(rank, work, ranks, backend, file, results, hide, arguments):
    try:
        torch, device = started(rank, ranks, backend, file, hide)
        result = work(torch, device, rank, ranks, *arguments)
    except BaseException as error:
        result = f"{type(error).__name__}: {error}"
    results.put((rank, result))
    results.close()
    results.join_thread()
    # A group with a lost process may not end.
    os._exit(0)


def on_processes(work, tmp_path, ranks, *arguments, backend="gloo", hide=False, answers=None):
    """Returns what `work` returned or raised on each rank; None for ranks that died."""
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    options = (work, ranks, backend, tmp_path / "group", results, hide, arguments)
    processes = [context.Process(target=run, args=(rank, *options)) for rank in range(ranks)]
    for process in processes:
        process.start()
    found = [None] * ranks
    for _ in range(ranks if answers is None else answers):
        rank, result = results.get(timeout=10 * PATIENCE)
        found[rank] = result
    for process in processes:
        process.kill()
        process.join()
    return found


def bounds(extent, ranks):
    return [rank * (extent // ranks) + min(rank, extent % ranks) for rank in range(ranks + 1)]


def filled(torch, device, rank, ranks, shape, dtype):
    """Returns this rank's part with the number of each element, and its part of the transpose."""
    rows, columns = (bounds(extent, ranks)[rank : rank + 2] for extent in shape)
    number = lambda r, c: (r[:, None] * shape[1] + c[None, :]) % (1 << 23)
    index = lambda begin, end: torch.arange(begin, end, device=device)
    want = number(index(0, shape[0]), index(*columns)).T.to(dtype)
    local = distributed.empty(shape, dtype, device=device)
    local.copy_(number(index(*rows), index(0, shape[1])).to(dtype))
    return local, want


def transposes(torch, device, rank, ranks, cases):
    """Runs all cases; returns for each whether parts were mapped, or what is wrong."""
    found, distributed._MAPPED = [], 0
    for shape, dtype in cases:
        local, want = filled(torch, device, rank, ranks, shape, getattr(torch, dtype))
        before = local.clone()
        with distributed.plan(local, shape) as planned:
            mapped = planned.mapped, str(planned)
            result = planned.run()
            wrong = int((result != want).sum())
            if shape[0] == shape[1]:
                wrong += int((planned.run() != before).sum())
                local.copy_(before)
                wrong += int((planned.run() != want).sum())
        local.copy_(before)
        wrong += int((distributed.transpose(local, shape) != want).sum())
        found.append(mapped if wrong == 0 else f"{shape} {dtype}: {wrong} wrong elements, {mapped}")
    return found


def compared(found, ranks_map):
    """Checks the results of `transposes`, and that `ranks_map(number)` says whether parts are mapped, the same on all ranks."""
    assert all(isinstance(rank, list) for rank in found), "\n".join(map(str, found))
    for number, results in enumerate(zip(*found, strict=True)):
        assert not any(isinstance(one, str) for one in results), results
        assert len({mapped for mapped, _ in results}) == 1 and ranks_map(number) in (None, results[0][0]), results


#: Sides that 2 to 5 and 8 divide, in rows of whole 16 bytes.
SQUARES = [((840 * side, 840 * side), dtype) for side, dtype in [(4, "float32"), (2, "float64"), (8, "int32"), (8, "complex64")]]
EQUAL = [((840 * 4, 840 * 8), "float32"), ((840 * 16, 840 * 4), "float64")]
#: Unequal and empty parts, rows of any alignment; of the last some blocks are not whole 4 bytes if there are more than 2 ranks.
UNEVEN = [
    *[((side, side), dtype) for side in (1, 5, 1001, 2003) for dtype in ("float32", "float64", "complex128")],
    *[((5, 3), "int32"), ((3001, 2003), "float32"), ((999, 1001), "complex64"), ((50000, 8), "float32"), ((7, 9001), "float64")],
    ((1001, 1003), "int16"),
]
ALL = SQUARES + EQUAL + UNEVEN


def several():
    torch = pytest.importorskip("torch")
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU")
    return torch


@pytest.mark.parametrize("backend", ["gloo", "nccl", "cpu:gloo,cuda:nccl"])
def test_two_gpus_map_each_other(tmp_path, backend):
    several()
    compared(on_processes(transposes, tmp_path, 2, ALL, backend=backend), lambda number: True)


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8])
def test_ranks_share_gpus(tmp_path, ranks):
    """With one GPU too: its processes map each other's memory."""
    pytest.importorskip("torch")
    compared(on_processes(transposes, tmp_path, ranks, ALL), lambda number: number < len(ALL) - 1 or ranks == 2)


def changes_shards(torch, device, rank, ranks):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Shard

    distributed._MAPPED, mesh, found = 0, init_device_mesh("cuda", (ranks,)), []
    for shape, dtype in [((64, 512, 96), torch.bfloat16), ((30, 64, 16), torch.float32), ((512, 512), torch.bfloat16)]:
        whole = (torch.arange(torch.Size(shape).numel(), device=device) % 251).to(dtype).view(shape)
        for before, after in [(0, 1), (1, 0), (len(shape) - 1, 0)]:
            options = dict(parts="blocks", cut=(before, after))
            room = distributed.empty(shape, dtype, range(len(shape)), device=device, **options)
            room.copy_(whole.chunk(ranks, before)[rank])
            tensor = DTensor.from_local(room, mesh, [Shard(before)], run_check=False)
            moved = distributed.redistribute(tensor, [Shard(after)]).to_local()
            found.append(torch.equal(moved, whole.chunk(ranks, after)[rank]))
    return found


@pytest.mark.parametrize("backend", ["nccl", "cpu:gloo,cuda:nccl"])
def test_shards_change_axes(tmp_path, backend):
    several()
    assert on_processes(changes_shards, tmp_path, 2, backend=backend) == [[True] * 9] * 2


def test_parts_that_cannot_be_mapped_are_sent(tmp_path):
    several()
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    try:
        found = on_processes(transposes, tmp_path, 2, SQUARES)
    finally:
        del os.environ["PYTORCH_CUDA_ALLOC_CONF"]
    compared(found, lambda _: False)
    assert found[0] == found[1] and found[0][0][1].startswith("messages: rank 0: "), found


def test_hidden_devices_give_the_same_answer_on_all_ranks(tmp_path):
    """CUDA maps memory of devices that a process does not see; if it did not, parts would be sent."""
    several()
    compared(on_processes(transposes, tmp_path, 2, SQUARES, hide=True), lambda _: None)


def refused(torch, device, rank, ranks, fault):
    """Lets rank 1 break a run; returns the type of the error of this rank, and whether its part is unchanged."""
    columns = 4096 - 1024 * rank if fault == "shape" else 4096
    local, _ = filled(torch, device, rank, ranks, (4096, 4096), torch.float32)
    before, storage, planned, error = local.clone(), local.untyped_storage(), None, None
    try:
        planned = distributed.plan(local[:, :columns].contiguous(), (4096, columns))
        if fault == "freed" and rank == 1:
            storage.resize_(0)
            storage.resize_(before.nbytes + (64 << 20))
        if fault == "capture" and rank == 1:
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                planned.run()
        planned.run()
    except Exception as raised:
        error = type(raised).__name__
    unchanged = (fault == "freed" and rank == 1) or torch.equal(local, before)
    if planned:
        planned.close()
    return error, unchanged


@pytest.mark.parametrize("backend", ["gloo", "nccl"])
@pytest.mark.parametrize("fault, errors", [("shape", ["RefusedError"] * 2), ("freed", ["RefusedError"] * 2), ("capture", ["RefusedError", "CaptureError"])])
def test_nothing_moves_after_a_fault(tmp_path, fault, errors, backend):
    several()
    assert on_processes(refused, tmp_path, 2, fault, backend=backend) == [(error, True) for error in errors]


def dies(torch, device, rank, ranks, when):
    """Ends or leaves rank 1; returns the error of this rank, and whether it did not wait for the group's time limit."""
    shape = (3001, 101)  # columns too short for tiles, so messages follow the swaps
    local, _ = filled(torch, device, rank, ranks, shape, torch.float32)
    begun = time.monotonic()
    try:
        with distributed.plan(local, shape) as planned:
            planned.run()
            if rank == 1:
                if when == "leaves":
                    raise KeyError("an error of the caller")
                if when == "inside":
                    for name in ["swap", "send", "receive", "slide"]:
                        setattr(planned._on_gpu, name, lambda *_: os._exit(1))
                    planned.run()
                time.sleep(1 if when == "waited for" else 0)
                os._exit(1)
            planned.run()
    except Exception as error:
        return type(error).__name__, time.monotonic() - begun < PATIENCE / 2


@pytest.mark.parametrize("when, error", [("before", "RefusedError"), ("waited for", "RefusedError"), ("inside", "LostError")])
def test_a_process_that_dies_is_an_error_of_the_others(tmp_path, when, error):
    several()
    assert on_processes(dies, tmp_path, 2, when, answers=1) == [(error, True), None]


def test_a_rank_that_leaves_is_an_error_of_the_others(tmp_path):
    several()
    assert on_processes(dies, tmp_path, 2, "leaves") == [("RefusedError", True), ("KeyError", True)]


def test_closed_plans_and_parts_on_the_host(tmp_path):
    torch = pytest.importorskip("torch")

    class Single:
        rank, ranks, exchange = 0, 1, None

        def gather(self, number):
            return [number]

    local = torch.arange(12.0, device="cuda").view(3, 4)
    planned = distributed.plan(local, (3, 4), comm=Single())
    assert not planned.mapped and "no data cross" in str(planned)
    assert planned.run().flatten().tolist() == [float(k % 3 * 4 + k // 3) for k in range(12)]
    planned.close()
    planned.close()
    assert str(planned) == "closed"
    with pytest.raises(ValueError, match="closed"):
        planned.run()
    with pytest.raises(TypeError, match="on the host"):
        distributed.plan(torch.zeros(3, 4), (3, 4), comm=Single())
