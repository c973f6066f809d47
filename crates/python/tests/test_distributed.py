"""Arrays over ranks: threads with queues always, processes of torch.distributed and of MPI where these are."""

import itertools
import math
import multiprocessing
import os
import pathlib
import pickle
import queue
import runpy
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest
import turntile
from turntile import distributed


class Queues:
    """A thread's connections with all others."""

    def __init__(self, rank, lines):
        self.rank, self.ranks, self.lines, self.left = rank, len(lines), lines, math.inf
        self.patience = 30

    def exchange(self, partner, send, receive):
        self.left -= 1
        if self.left < 0:
            raise OSError("the line is cut")
        assert send.readonly and not receive.readonly
        if send.nbytes:
            self.lines[self.rank][partner].put(bytes(send))
        if receive.nbytes:
            receive[:] = self.lines[partner][self.rank].get(timeout=self.patience)

    def gather(self, number):
        for partner in range(self.ranks):
            self.lines[self.rank][partner].put(number)
        return [self.lines[partner][self.rank].get(timeout=self.patience) for partner in range(self.ranks)]


def on_ranks(ranks, work):
    """What `work(queues)` answers or raises on so many threads."""
    lines = [[queue.SimpleQueue() for _ in range(ranks)] for _ in range(ranks)]
    answers = [None] * ranks

    def run(rank):
        try:
            answers[rank] = work(Queues(rank, lines))
        except BaseException as error:
            answers[rank] = error

    threads = [threading.Thread(target=run, args=[rank]) for rank in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def split(array, axis, parts, ranks):
    if parts == "balanced":
        return np.array_split(array, ranks, axis)
    block = -(-array.shape[axis] // ranks)
    ends = [min(block * rank, array.shape[axis]) for rank in range(1, ranks)]
    return np.split(array, ends, axis)


def check(rank, ranks, shape, axes=None, cut=(0, 0), parts="balanced", dtype="i4", tensor=False, device=None, message=64, **how):
    """One rank's part against NumPy's; on a device, and as a tensor, if those are asked for."""
    whole = np.arange(math.prod(shape)).astype(dtype).reshape(shape)
    before = split(whole, cut[0], parts, ranks)[rank]
    after = split(whole.transpose(axes), cut[1], parts, ranks)[rank]
    kind = dtype
    if tensor:
        import torch

        before, kind = torch.from_numpy(before.copy()), torch.from_numpy(whole).dtype
    local = distributed.empty(shape, kind, axes, cut=cut, parts=parts, device=device, **how)
    assert distributed.capacity(shape, axes, cut=cut, parts=parts, **how) == max(math.prod(before.shape), after.size)
    local[...] = before
    moved = distributed.transpose(local, shape, axes, cut=cut, parts=parts, message=message, **how)
    assert type(moved) is type(local) and moved.dtype == local.dtype
    assert tuple(moved.shape) == after.shape and np.array_equal(np.asarray(moved.cpu() if device else moved), after)
    if moved.nbytes and local.nbytes:
        at = (lambda a: a.data_ptr()) if tensor else (lambda a: a.ctypes.data)
        assert at(moved) == at(local)


CASES = [(shape, axes, cut, parts)
         for shape in [(1, 1), (3, 5), (5, 3), (4, 4), (0, 3), (7, 2)]
         for axes, cut in [(None, (0, 0)), ((0, 1), (0, 1)), ((0, 1), (1, 0)), (None, (1, 1))]
         for parts in ["balanced", "blocks"]]
CASES += [((3, 4, 5), axes, cut, "balanced")
          for axes in itertools.permutations(range(3)) for cut in itertools.product(range(3), repeat=2)]


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_threads_against_numpy(ranks):
    def work(queues):
        for case in CASES:
            check(queues.rank, ranks, *case, comm=queues)

    assert on_ranks(ranks, work) == [None] * ranks


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_the_example_of_fft_against_numpy(ranks):
    folder = pathlib.Path(__file__).parent.parent / "examples"
    example = runpy.run_path(str(folder / "fft_slabs.py"))["main"]
    for shape in [(6, 5, 4), (3, 8, 2), (2, 2, 7)]:
        assert on_ranks(ranks, lambda queues: example(queues, queues.rank, ranks, shape)) == [True] * ranks


@pytest.mark.parametrize("rows, columns", [(1, 1), (2, 3), (3, 2), (1, 4)])
def test_the_example_of_pencils_against_numpy(rows, columns):
    folder = pathlib.Path(__file__).parent.parent / "examples"
    example = runpy.run_path(str(folder / "fft_pencils.py"))["main"]

    def some(queues, group):
        lines = [[queues.lines[a][b] for b in group] for a in group]
        return Queues(group.index(queues.rank), lines)

    def work(queues):
        p, q = divmod(queues.rank, columns)
        over_0 = some(queues, range(q, rows * columns, columns))
        return example(over_0, some(queues, range(p * columns, (p + 1) * columns)), shape)

    for shape in [(6, 5, 4), (3, 8, 2), (2, 2, 7)]:
        assert on_ranks(rows * columns, work) == [True] * (rows * columns)


@pytest.mark.parametrize("dtype", ["u1", "c16", "M8[s]", ">f8", [("a", "u1"), ("b", "f8")]])
def test_elements(dtype):
    def work(queues):
        local = distributed.empty((40, 30), dtype, comm=queues)
        values = np.random.default_rng(1).integers(0, 256, (40, 30, local.itemsize), np.uint8)
        whole = values.reshape(40, -1).view(dtype)
        local[...] = np.array_split(whole, 3)[queues.rank]
        moved = distributed.transpose(local, (40, 30), comm=queues)
        assert moved.dtype == whole.dtype
        assert moved.tobytes() == np.array_split(whole.T, 3)[queues.rank].tobytes()

    assert on_ranks(3, work) == [None] * 3


def test_given_parts_and_results_moved_again():
    parts = ([1, 4, 0], [3, 0, 4])

    def work(queues):
        whole = np.arange(35.0).reshape(5, 7)
        local = distributed.empty((5, 7), "f8", parts=parts, comm=queues)
        local[...] = np.split(whole, np.cumsum(parts[0])[:-1])[queues.rank]
        moved = distributed.transpose(local, (5, 7), parts=parts, comm=queues)
        assert np.array_equal(moved, np.split(whole.T, np.cumsum(parts[1])[:-1])[queues.rank])
        back = distributed.transpose(moved, (7, 5), parts=parts[::-1], comm=queues)
        assert np.array_equal(back, np.split(whole, np.cumsum(parts[0])[:-1])[queues.rank])

    assert on_ranks(3, work) == [None] * 3


def refused(change, ranks=3, shape=(6, 9), **options):
    """What the ranks raise where `change(rank, local)` answers the part, and that none has moved."""
    kept = {}

    def work(queues):
        local = change(queues.rank, np.full((2, 9), queues.rank, "f8"))
        kept[queues.rank] = local.tobytes(), local
        given = options if queues.rank == 1 else {}
        return distributed.transpose(local, **{"shape": shape, "comm": queues} | given)

    answers = on_ranks(ranks, work)
    assert all(local.tobytes() == before for before, local in kept.values())
    return answers


@pytest.mark.parametrize(
    "change, error, says",
    [
        (lambda a: a.astype("f4"), distributed.RefusedError, "another dtype"),
        (lambda a: a.astype("i8"), distributed.RefusedError, "another dtype"),
        (lambda a: np.asfortranarray(a), ValueError, "not C-contiguous"),
        (lambda a: np.repeat(a, 2, 1)[:, ::2], ValueError, ""),
        (lambda a: a[:1].copy(), ValueError, r"shape \(2, 9\)"),
        (lambda a: a.astype(object), TypeError, "object"),
    ],
)
def test_an_error_of_one_is_one_of_all(change, error, says):
    raised = refused(lambda rank, local: change(local) if rank == 1 else local)
    assert isinstance(raised[1], error)
    assert any(word in str(raised[1]) for word in [says.replace("\\", "")])
    assert all(isinstance(raised[rank], distributed.RefusedError) for rank in (0, 2)), raised


@pytest.mark.parametrize("options", [{"axes": (0, 1)}, {"parts": ([2, 2, 2], [9, 0, 0])}, {"message": 5}])
def test_ranks_that_disagree(options):
    raised = refused(lambda rank, local: local, **options)
    assert all(type(error) is distributed.RefusedError and "rank 1 requests another" in str(error) for error in raised), raised


@pytest.mark.parametrize(
    "options",
    [{"shape": (5, 9)}, {"parts": "even"}, {"parts": ([6], [9])}, {"parts": ([7, -1, 0], [9, 0, 0])}, {"axes": (0, 0)}, {"cut": (2, 0)},
     {"threads": 0}, {"message": 0}, {"axes": (0, 1), "parts": ([2, 2, 2], [3, 3, 0])}],
)
def test_bad_arguments(options):
    raised = refused(lambda rank, local: local, **options)
    assert all(isinstance(error, ValueError) for error in raised), raised


def test_a_short_buffer_says_need_and_have():
    def work(queues):
        local = np.zeros((3, 4) if queues.rank == 0 else (2, 4), "f8")
        try:
            distributed.transpose(local, (5, 4), parts=([3, 2], [0, 4]), comm=queues)
        finally:
            assert not local.any()

    for error in on_ranks(2, work):
        assert type(error) is distributed.RefusedError
        assert "rank 1 needs a buffer of 160 bytes, and has 64" in str(error)


def test_a_line_that_breaks():
    """What a transport raises is the cause; an interrupt is itself; nobody waits for ever."""

    def work(queues):
        queues.patience = 1
        if queues.rank == 1:
            queues.left = 1
        local = distributed.empty((30, 20), "f8", comm=queues)
        distributed.transpose(local, (30, 20), message=64, comm=queues)

    errors = on_ranks(2, work)
    assert [type(error) for error in errors] == [distributed.LostError] * 2
    assert "incomplete" in str(errors[1]) and "the line is cut" in str(errors[1])
    assert type(errors[1].__cause__) is OSError and type(errors[0].__cause__) is queue.Empty

    class Stopped(Queues):
        def exchange(self, partner, send, receive):
            raise KeyboardInterrupt

    def stop(queues):
        queues.__class__ = Stopped
        distributed.transpose(np.zeros((2, 4)), (4, 4), comm=queues)

    assert [type(error) for error in on_ranks(2, stop)] == [KeyboardInterrupt] * 2


def test_transports_may_gather_any_iterable():
    class Lazy(Queues):
        def gather(self, number):
            return iter(super().gather(number))

    def run(queues):
        queues.__class__ = Lazy
        return distributed.transpose(np.arange(8.0).reshape(2, 4) + 8 * queues.rank, (4, 4), comm=queues)

    assert np.array_equal(np.concatenate(on_ranks(2, run)), np.arange(16.0).reshape(4, 4).T)


def test_transports_that_break_their_word():
    class Keeps(Queues):
        def exchange(self, partner, send, receive):
            self.kept = pickle.PickleBuffer(send)
            super().exchange(partner, send, receive)

    class Few(Queues):
        def gather(self, number):
            return super().gather(number)[:1] if number > 1 << 32 else super().gather(number)

    def work(kind):
        def run(queues):
            queues.__class__ = kind
            distributed.transpose(np.zeros((2, 4)), (4, 4), comm=queues)

        return run

    for error in on_ranks(2, work(Keeps)):
        assert type(error) is distributed.LostError and type(error.__cause__) is BufferError
    for error in on_ranks(2, work(Few)):
        assert type(error) is distributed.RefusedError and "1 numbers for 2 ranks" in str(error)


class Direct(Queues):
    """Tensors of a GPU as they are; all threads queue on one stream."""

    def exchange_tensors(self, partner, send, receive):
        assert send.is_cuda and receive.is_cuda
        if send.nbytes:
            self.lines[self.rank][partner].put(send.clone())
        if receive.nbytes:
            receive.copy_(self.lines[partner][self.rank].get(timeout=self.patience))


def a_gpu():
    torch = pytest.importorskip("torch")
    if not (torch.cuda.is_available() and turntile.cuda_available()):
        pytest.skip("no GPU")
    return torch


@pytest.mark.parametrize("kind", [Queues, Direct])
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_threads_on_a_gpu_against_numpy(ranks, kind):
    a_gpu()

    def work(queues):
        queues.__class__ = kind
        on_gpu = dict(tensor=True, device="cuda", comm=queues)
        for case in CASES:
            check(queues.rank, ranks, *case, **on_gpu)
        for shape, dtype in [((3001, 2003), "f4"), ((4096, 2048), "f8"), ((999, 1001), "c16"), ((5003, 1009), "i2")]:
            for message in [None, 1 << 20]:
                check(queues.rank, ranks, shape, dtype=dtype, message=message, **on_gpu)

    assert on_ranks(ranks, work) == [None] * ranks


def test_errors_on_a_gpu():
    torch = a_gpu()
    whole = torch.arange(81.0, device="cuda").view(9, 9)
    kept = whole.clone()
    for rows, options, says in [
        (lambda: whole[1:4], {}, "multiple of 16"),
        (lambda: whole[:3], {"threads": 2}, "not on the host"),
        (lambda: whole[:3].clone(), {"parts": ([3, 6], [9, 0])}, "needs a buffer of 324 bytes, and has 108"),
    ]:
        def work(queues):
            part = whole[:6].clone() if queues.rank else rows()
            distributed.transpose(part, (9, 9), comm=queues, **{"parts": ([3, 6], [5, 4])} | options)

        answers = on_ranks(2, work)
        assert says in str(answers[0]) and all(isinstance(error, ValueError) for error in answers), answers
        assert torch.equal(whole, kept)

    def broken(queues):
        queues.left, queues.patience = 1, 1
        local = distributed.empty((30, 20), torch.float64, comm=queues, device="cuda")
        distributed.transpose(local, (30, 20), message=64, comm=queues)

    assert [type(error) for error in on_ranks(2, broken)] == [distributed.LostError] * 2


def test_messages_of_nccl_are_one_batch_of_what_is_not_empty():
    """Both at once, or two ranks wait for each other; without NCCL, by what is asked of it."""
    from turntile._transports import Group

    class Torch:
        isend, irecv = "isend", "irecv"

        def __init__(self):
            self.batches = []

        def get_global_rank(self, group, rank):
            return 10 * rank

        def P2POp(self, *op):
            return op

        def batch_isend_irecv(self, ops):
            self.batches.append(ops)
            return []

    class Bytes:
        def __init__(self, count):
            self.numel = lambda: count

    group, some, none = Group.__new__(Group), Bytes(3), Bytes(0)
    group.torch_distributed, group.group = Torch(), "group"
    for send, receive in [(some, some), (some, none), (none, some), (none, none)]:
        group._exchange_by_nccl(2, send, receive)
    sent, got = ("isend", some, 20, "group"), ("irecv", some, 20, "group")
    assert group.torch_distributed.batches == [[sent, got], [sent], [got]]


def nccl(file):
    import torch
    import torch.distributed as dist

    dist.init_process_group("nccl", f"file://{file}", rank=0, world_size=1)
    for case in CASES:
        check(0, 1, *case, tensor=True, device="cuda")
    with pytest.raises(TypeError, match="has only nccl"):
        distributed.transpose(torch.zeros(2, 2), (2, 2))
    dist.destroy_process_group()


def test_one_process_of_nccl(tmp_path):
    a_gpu()
    process = multiprocessing.get_context("spawn").Process(target=nccl, args=(tmp_path / "file",))
    process.start()
    process.join(100)
    process.kill()
    assert process.exitcode == 0


def test_nothing_connects():
    with pytest.raises(TypeError, match="pass comm, or call"):
        distributed.transpose(np.zeros((2, 2)), (2, 2))
    with pytest.raises(TypeError, match="only one of group and comm"):
        distributed.transpose(np.zeros((2, 2)), (2, 2), group=1, comm=2)


def gloo(rank, ranks, file):
    import datetime

    import torch
    import torch.distributed as dist
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    dist.init_process_group("gloo", f"file://{file}", rank=rank, world_size=ranks, timeout=datetime.timedelta(seconds=120))
    for case in CASES:
        check(rank, ranks, *case)
        check(rank, ranks, *case, dtype="f8", tensor=True)
    if torch.cuda.is_available() and turntile.cuda_available():
        # Through the host's memory.
        for case in [*CASES, ((3001, 2003),)]:
            check(rank, ranks, *case, tensor=True, device="cuda", message=None)
    backwards = list(range(ranks))[::-1]
    pair = dist.new_group(backwards[:2])
    if rank in backwards[:2]:
        check(dist.get_rank(pair), 2, (50, 40), group=pair)
    mesh = DeviceMesh("cpu", torch.arange(ranks))
    for shape in [(6, 8), (5, 9), (7, 2, 4), (ranks - 1, 8)]:
        whole = torch.arange(math.prod(shape), dtype=torch.float64).reshape(shape)
        tensor = distribute_tensor(whole, mesh, [Shard(0)])
        room = distributed.empty(shape, whole.dtype, range(len(shape)), parts="blocks", cut=(0, 1))
        room.copy_(tensor.to_local())
        tensor = type(tensor).from_local(room, mesh, [Shard(0)], run_check=False, shape=whole.shape, stride=whole.stride())
        changed = distributed.redistribute(tensor, [Shard(1)])
        assert changed.placements == (Shard(1),) and changed.to_local().untyped_storage().data_ptr() == room.untyped_storage().data_ptr()
        assert torch.equal(changed.full_tensor(), whole)
        back = distributed.redistribute(changed, [Shard(-len(shape))])
        assert torch.equal(back.full_tensor(), whole)
    # Uneven shards in storage of their own: some rank has no room.
    whole = torch.arange(5 * (5 + ranks), dtype=torch.float64).reshape(5, -1)
    part = distribute_tensor(whole, mesh, [Shard(0)]).to_local().clone()
    tensor = type(tensor).from_local(part, mesh, [Shard(0)], run_check=False, shape=whole.shape, stride=whole.stride())
    with pytest.raises(distributed.RefusedError, match=r"needs a buffer of \d+ bytes, and has \d+"):
        distributed.redistribute(tensor, [Shard(1)])
    assert torch.equal(tensor.full_tensor(), whole)
    with pytest.raises(ValueError, match="only from one Shard"):
        distributed.redistribute(tensor, [Replicate()])
    with pytest.raises(TypeError, match="a part on a GPU must be a tensor"):
        distributed.transpose(torch.empty(1, 2, device="meta"), (ranks, 2))
    dist.destroy_process_group()


@pytest.mark.parametrize("ranks", [2, 3])
def test_processes_of_torch(ranks, tmp_path):
    pytest.importorskip("torch")
    spawn = multiprocessing.get_context("spawn")
    all = [spawn.Process(target=gloo, args=(rank, ranks, tmp_path / "file")) for rank in range(ranks)]
    for process in all:
        process.start()
    for process in all:
        process.join(200)
        process.kill()
    assert [process.exitcode for process in all] == [0] * ranks


@pytest.mark.parametrize("ranks", [2, 3])
def test_processes_of_mpi(ranks):
    pytest.importorskip("mpi4py")
    if not shutil.which("mpirun"):
        pytest.skip("no mpirun")
    # Open MPI as root, as in a container, and with more processes than cores.
    root = ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"]
    run = ["mpirun", "-n", str(ranks), sys.executable, pathlib.Path(__file__)]
    ended = subprocess.run(run, capture_output=True, text=True, timeout=100, env=os.environ | dict.fromkeys(root, "1"))
    assert ended.returncode == 0 and ended.stdout.split() == ["passed"] * ranks, ended.stdout + ended.stderr


if __name__ == "__main__":
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    for case in CASES:
        check(world.rank, world.size, *case, comm=world)
    sys.stdout.write("passed\n")
