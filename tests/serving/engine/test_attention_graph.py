"""Attention is looked up one sentence at a time, whoever waits for it and whoever does not."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.inference.queue import QueueFullError
from serving.engine import attention_graph
from serving.engine.attention_graph import Attended, AttentionGraph, AttentionQueue
from tests.support.serving.echo import run


class Held(AttentionGraph):
    """It answers when it may, and knows how many were inside at once."""

    def __init__(self) -> None:
        super().__init__(Path("/dev/null"))
        self.may_go = threading.Semaphore(0)
        self.entered = threading.Semaphore(0)
        self.inside = self.most = self.done = 0

    def attended(self, source: Any, target: Any) -> Attended:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.entered.release()
        assert self.may_go.acquire(timeout=60)
        self.inside -= 1
        self.done += 1
        nothing = np.zeros((1, 1, 1, 1), np.float32)
        return Attended(source, target, nothing, nothing, nothing)


def test_callers_who_go_away_do_not_let_others_in_beside_the_one_that_is_at_work() -> None:
    async def scenario() -> None:
        graph, look = Held(), AttentionQueue()
        first = asyncio.create_task(look(graph, [5, 3], [6, 3]))
        assert await asyncio.to_thread(graph.entered.acquire, timeout=60)
        impatient = [asyncio.create_task(look(graph, [7, 3], [8, 3])) for _ in range(5)]
        await asyncio.sleep(0)  # each has asked
        for each in (first, *impatient):
            each.cancel()
        await asyncio.gather(first, *impatient, return_exceptions=True)  # they have gone
        last = asyncio.create_task(look(graph, [9, 3], [4, 3]))
        graph.may_go.release(2)
        assert (await last).source == [9, 3]
        assert (graph.most, graph.done) == (1, 2)  # who went away while waiting was never begun

    run(scenario)


def test_there_is_room_for_so_many_and_it_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention_graph, "MAX_SENTENCES", 2)

    async def scenario() -> None:
        graph, look = Held(), AttentionQueue()
        waiting = [asyncio.create_task(look(graph, [5, 3], [6, 3])) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(QueueFullError, match="2 sentences are waiting for attention"):
            await look(graph, [5, 3], [6, 3])
        graph.may_go.release(3)
        await asyncio.gather(*waiting)
        assert (await look(graph, [7, 3], [6, 3])).source == [7, 3]

    run(scenario)
