"""Replicas behind Envoy are killed and restarted under load, and nobody who asks notices."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.support.deploy.front import Config, Front, front
from tests.support.deploy.load import Load, quantiles, until
from tests.support.deploy.replica import Replica

Program = Callable[[str], str]
Happening = Callable[[Load, Front, list[Replica], int], Coroutine[Any, Any, None]]

counts = pytest.mark.parametrize(
    ("requests", "times"),
    [(300, 2), pytest.param(10_000, 20, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])],
)


@pytest.fixture
def load(expected: dict[str, str]) -> Load:
    return Load(expected)


async def killing(load: Load, places: Front, two: list[Replica], times: int) -> None:
    """So many times one of them, in turn, dies with all that it has, is missed, and comes back."""
    for number in range(times):
        await until(load.more(20))
        two[number % 2].kill()
        await until(load.more(40))
        await asyncio.to_thread(two[number % 2].start)
        await until(lambda: places.healthy() == 2)


async def rolling(load: Load, places: Front, two: list[Replica], times: int) -> None:
    """So many times one of them, in turn, is told to go, has gone, and comes back."""
    for number in range(times):
        await until(load.more(20))
        assert await asyncio.to_thread(two[number % 2].leave) == 0
        await until(load.more(40))
        await asyncio.to_thread(two[number % 2].start)
        await until(lambda: places.healthy() == 2)


def failures(
    happen: Happening, times: int, requests: int, load: Load, places: Front, two: list[Replica]
) -> int:
    """Of at least so many requests, a quarter of them in peace."""

    async def scenario() -> None:
        await load.run(places.grpc, places.http, load.more(requests // 4))
        quiet = len(load.seconds)
        assert not load.failed
        happening = asyncio.create_task(happen(load, places, two, times))
        await load.run(places.grpc, places.http, lambda: happening.done() and len(load.seconds) >= requests)
        await happening
        print(
            f"\n{times} times {happen.__name__}, {len(load.seconds):,} requests, failed: {dict(load.failed)}"
        )
        print(f"quiet {quantiles(load.seconds[:quiet])}; meanwhile {quantiles(load.seconds[quiet:])}")

    asyncio.run(scenario())
    return load.failed.total()


@counts
def test_replicas_are_killed_and_no_caller_fails(
    program: Program, tmp_path: Path, two: list[Replica], load: Load, requests: int, times: int
) -> None:
    with front(program("envoy"), tmp_path, two) as places:
        assert failures(killing, times, requests, load, places, two) == 0
        assert places.count("cluster.grpc.upstream_rq_retry_success") > 0


@counts
def test_replicas_are_restarted_one_after_the_other_and_no_caller_fails_even_without_retries(
    program: Program, tmp_path: Path, two: list[Replica], load: Load, requests: int, times: int
) -> None:
    with front(program("envoy"), tmp_path, two, no_retries) as places:
        assert failures(rolling, times, requests, load, places, two) == 0


def test_without_retries_callers_of_a_replica_that_is_killed_fail(
    program: Program, tmp_path: Path, two: list[Replica], load: Load
) -> None:
    with front(program("envoy"), tmp_path, two, no_retries) as places:
        assert failures(killing, 1, 100, load, places, two) > 0


def test_without_health_checks_callers_of_a_replica_that_goes_fail(
    program: Program, tmp_path: Path, two: list[Replica], load: Load
) -> None:
    with front(program("envoy"), tmp_path, two, neither) as places:
        assert failures(rolling, 1, 100, load, places, two) > 0


def no_retries(bootstrap: Config, clusters: Config) -> None:
    for listener in bootstrap["static_resources"]["listeners"][:2]:
        (filters,) = (each["filters"] for each in listener["filter_chains"])
        (host,) = filters[0]["typed_config"]["route_config"]["virtual_hosts"]
        del host["retry_policy"]


def neither(bootstrap: Config, clusters: Config) -> None:
    no_retries(bootstrap, clusters)
    for cluster in clusters["resources"]:
        del cluster["health_checks"]
