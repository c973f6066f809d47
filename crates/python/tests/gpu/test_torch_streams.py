"""Calls on a stream that is not the default run after the work queued there, without waiting, also in a graph."""

import queue
import threading

import pytest
import turntile
from turntile import distributed

torch = pytest.importorskip("torch")

SHAPE = (4092, 2036)
#: Records of 4 + 12 + 1 + 7 bytes: the elements determine their number.
RECORD, FIELDS = 24, [(4, 12), (0, 4), (16, 1)]


class Alone:
    """The one rank there is."""

    rank, ranks = 0, 1

    def gather(self, number):
        return [number]

    def exchange(self, partner, send, receive):
        raise AssertionError("there is nobody")


def in_tiles(t, tile):
    """Returns records in tiles of that length; -1 is one tile of all."""
    rows = t.reshape(-1).view(torch.uint8).view(-1, RECORD)
    tiles = rows.view(-1, len(rows) if tile < 0 else tile, RECORD)
    parts = [tiles[:, :, begin:end].flatten(1) for begin, end in [(4, 16), (0, 4), (16, 17), (17, 24)]]
    return torch.cat(parts, 1).view(-1).view(t.dtype).view(t.shape)


def same(a, b):
    """Compares bytes, since parts of records may look like NaN."""
    return a.shape == b.shape and torch.equal(*(t.contiguous().view(-1).view(torch.uint8) for t in (a, b)))


def into(t):
    return turntile.transpose(t, out=torch.empty(t.shape[::-1], dtype=t.dtype, device=t.device))


#: What is called, what it makes of `t`, and whether a graph takes it.
CALLS = {
    "transpose": (turntile.transpose, lambda t: t.t(), True),
    "transpose to out": (into, lambda t: t.t(), True),
    "rearrange": (lambda t: turntile.rearrange(t, "(a b) c -> c b a", a=1), lambda t: t.t()[:, :, None], True),
    "relayout to columns": (lambda t: turntile.relayout(t, RECORD, FIELDS, "soa"), lambda t: in_tiles(t, -1), True),
    "relayout to tiles": (lambda t: turntile.relayout(t, RECORD, FIELDS, "asta:8"), lambda t: in_tiles(t, 8), True),
    "distributed.transpose": (lambda t: distributed.transpose(t, SHAPE, comm=Alone()), lambda t: t.t(), False),
}
ALL = pytest.mark.parametrize("name", CALLS)


def numbered():
    return (torch.arange(SHAPE[0] * SHAPE[1], device="cuda") * 2654435761 >> 7 & 0xFFFFFF).to(torch.float32).view(SHAPE)


@ALL
def test_after_what_was_queued_before_and_without_waiting(name):
    call, makes, _ = CALLS[name]
    t, new = numbered(), numbered().flip(0).contiguous()
    wanted = makes(new).contiguous()
    call(t.clone())
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(500_000_000)
        t.copy_(new)
        result = call(t)
        event = stream.record_event()
    assert not event.query(), "it has waited"
    torch.cuda.current_stream().wait_stream(stream)
    assert same(result, wanted)


@ALL
def test_in_a_graph(name):
    call, makes, taken = CALLS[name]
    t = numbered()
    before = t.clone()
    call(t.clone())
    torch.cuda.synchronize()
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    if not taken:
        with pytest.raises(turntile.CaptureError, match="ranks must agree first"):
            with torch.cuda.graph(graph, stream=stream):
                call(t)
        assert torch.equal(t, before)
        return
    with torch.cuda.graph(graph, stream=stream):
        result = call(t)
    assert torch.equal(t, before), "captured, not run"
    wanted = makes(before).contiguous()
    for _ in range(3):
        t.copy_(before)
        graph.replay()
        assert same(result, wanted)


def test_a_graph_of_records_that_are_not_loaded():
    t = numbered().view(-1)[:22392].clone()
    before = t.clone()
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(turntile.CaptureError, match="before the capture"):
        with torch.cuda.graph(graph):
            turntile.relayout(t, 12, [(0, 2), (2, 4)], "asta:11")
    assert torch.equal(t, before)


@pytest.mark.parametrize("given", ["stream", "handle"])
def test_relayout_on_a_stream_given(given):
    t, new = numbered(), numbered().flip(0).contiguous()
    turntile.relayout(t.clone(), RECORD, FIELDS, "soa")
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(500_000_000)
        t.copy_(new)
    turntile.relayout(t, RECORD, FIELDS, "soa", stream={"stream": stream, "handle": stream.cuda_stream}[given])
    event = stream.record_event()
    assert not event.query()
    torch.cuda.current_stream().wait_stream(stream)
    assert same(t, in_tiles(new, -1))


def test_parts_of_two_ranks_on_streams_of_their_own():
    """Messages are handed over once they are there, and kept until they are copied: the streams know nothing of each other."""
    lines, answers = {(a, b): queue.Queue() for a in range(2) for b in range(2)}, [None, None]

    class Rank:
        ranks = 2

        def __init__(self, rank):
            self.rank = rank

        def put(self, partner, what):
            lines[self.rank, partner].put(what)

        def get(self, partner):
            return lines[partner, self.rank].get(timeout=60)

        def gather(self, number):
            for partner in range(2):
                self.put(partner, number)
            return [self.get(partner) for partner in range(2)]

        def exchange_tensors(self, partner, send, receive):
            if send.numel():
                copy = send.clone()
                torch.cuda.current_stream().synchronize()
                self.put(partner, copy)
            if receive.numel():
                receive.copy_(self.get(partner))
                torch.cuda.current_stream().synchronize()

    whole = numbered()
    wanted = whole.t().contiguous()
    torch.cuda.synchronize()

    def work(rank):
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                ranks = Rank(rank)
                local = distributed.empty(SHAPE, whole.dtype, comm=ranks, device="cuda")
                local.copy_(torch.tensor_split(whole, 2)[rank])
                result = distributed.transpose(local, SHAPE, comm=ranks)
                torch.cuda.current_stream().synchronize()
                answers[rank] = torch.equal(result, torch.tensor_split(wanted, 2)[rank])
        except BaseException as error:
            answers[rank] = error

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [True, True]
