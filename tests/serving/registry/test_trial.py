"""Hostile versions: what a trial refuses, at the start and beside others that answer all the time."""

import asyncio
import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from export.artifact.manifest import open_version
from serving import Client
from serving.observability.logs import Text
from serving.registry.discovery import find_versions, open_checked, scan
from serving.registry.served_version import EngineSettings, ModelError
from serving.v1 import translation_pb2 as wire
from tests.support.paths import ROOT
from tests.support.serving.echo import run
from tests.support.serving.live_versions import SETTINGS, TEXT, live, put, refusals, serving
from tests.support.serving.serve_process import process, serving_both
from tests.support.versions import hostile_versions as hostile
from tests.support.versions.damages import changed

Hostile = Callable[[Path], None]

#: What is done to a version, and why it is refused.
VERSIONS: dict[str, tuple[Hostile, str]] = {
    "it divides by -1": (hostile.divides(), "its trial ended with SIGFPE; "),
    "its attention divides by -1": (hostile.divides(hostile.ATTENTION), "its trial ended with SIGFPE; "),
    "its loop has no end": (
        hostile.loops,
        "its trial took more than 3 s of processor time or 30 s of wall time; ",
    ),
    "it fills the memory": (hostile.fills_memory, "its trial needed more than 400 MiB of memory; "),
    "its manifest is a pipe": (
        hostile.manifest_is_a_pipe,
        "manifest.json: it must be a file, and is neither file nor directory; ",
    ),
    "its manifest has no end": (
        hostile.manifest_is_endless,
        "manifest.json: it must be a file, and is neither file nor directory; ",
    ),
    "its manifest has a huge number": (
        hostile.with_a_huge_number,
        "manifest.json: lengths.longest must be 0 to 2147483647; got 4294967296; ",
    ),
}
LIMITS = ("--trial-seconds", 3, "--trial-memory", 400)


@contextmanager
def all_hostile(root: Path, version: Path) -> Iterator[dict[int, str]]:
    """Beside the good version 1 a hostile one for each kind. -> why they are refused, by number."""
    reasons = {}
    for number, (do, why) in enumerate(VERSIONS.values(), 2):
        scratch = root / f"fr-en/.{number}"
        shutil.copytree(version, scratch)
        do(scratch)
        scratch.rename(root / f"fr-en/{number}")
        reasons[number] = why
    yield reasons


def refused(client: Client) -> dict[int, str]:
    (model,) = client.models().models
    return {each.version: each.reason for each in model.versions if each.state == wire.STATE_UNAVAILABLE}


def assert_refused(found: dict[int, str], expected: dict[int, str], root: Path) -> None:
    assert found.keys() == expected.keys()
    for number, why in expected.items():
        assert found[number].startswith(why)
        assert str(root) not in found[number]


def test_a_server_starts_beside_versions_that_crash_hang_and_fill_the_memory(root: Path) -> None:
    changed("quality", "corpus", to=f"{root}/train.fr, {root}/train.en")(root / "fr-en/1")
    with (
        all_hostile(root, root / "fr-en/1") as expected,
        serving_both(root, *LIMITS, "--watch", 0) as (started, address, http),
        Client(address) as client,
    ):
        assert client.translate(TEXT).version == 1
        assert_refused(refused(client), expected, root)
        listed = asyncio.run(page_models(http))
        reasons = {each["version"]: each["reason"] for each in listed["models"][0]["versions"]}
        assert_refused({number: why for number, why in reasons.items() if why}, expected, root)
        assert '"corpus": "train.fr, train.en"' in json.dumps(listed)
        assert str(root.parent) not in json.dumps(listed)
        assert started.poll() is None


def test_versions_that_crash_hang_and_fill_the_memory_stop_no_answer_and_no_update(
    root: Path, another: Path
) -> None:
    with (
        serving_both(root, *LIMITS, "--watch", 0.2) as (started, address, _),
        Client(address) as client,
        all_hostile(root, root / "fr-en/1") as expected,
    ):
        put(another, root / "fr-en/9")
        answered = 0
        while client.translate(TEXT).version != 9:
            answered += 1
            assert started.poll() is None
        assert answered
        assert_refused(refused(client), expected, root)
        assert len(client.attend(TEXT).parts) == 1


async def page_models(http: str) -> dict[str, list[dict[str, list[dict[str, object]]]]]:
    async with aiohttp.ClientSession() as session, session.get(f"http://{http}/models") as answer:
        assert answer.status == 200
        return await answer.json()


def test_a_version_whose_files_change_while_it_is_opened_is_refused(
    root: Path, another: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from serving.registry import discovery

    (place,) = find_versions(root)

    def changes(directory: Path, settings: EngineSettings) -> str:
        passed = try_version(directory, settings)
        shutil.rmtree(directory)
        shutil.copytree(another, directory)
        return passed

    try_version = discovery.try_version
    monkeypatch.setattr(discovery, "try_version", changes)
    assert open_checked(place, SETTINGS) == (
        "it changed while it was opened; it is tried again when it no longer changes"
    )


def test_why_a_version_fails_unexpectedly_is_in_the_log_alone(
    root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from serving.registry import discovery

    def fails(*arguments: object) -> None:
        raise MemoryError("the secret of the house")

    (place,) = find_versions(root)
    digest = open_version(place.directory).manifest.digest
    monkeypatch.setattr(discovery, "try_version", lambda directory, settings: digest)
    monkeypatch.setattr(discovery, "load_model", fails)
    assert open_checked(place, SETTINGS) == "it could not be opened; see the log of the server"
    assert "fr-en 1 is refused" in caplog.text
    assert "the secret of the house" in caplog.text


def test_empty_versions_need_no_trial_so_that_hundreds_of_them_delay_no_other(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trial takes a twentieth of a second at least."""
    from serving.registry import discovery

    for number in range(2, 402):
        (root / f"fr-en/{number}").mkdir()
    tried: list[Path] = []
    monkeypatch.setattr(discovery, "try_version", lambda directory, settings: tried.append(directory))
    reasons = [open_checked(place, SETTINGS) for place in find_versions(root)]
    assert tried == [root / "fr-en/1"]
    assert {str(why).partition(";")[0] for why in reasons[1:]} == {"manifest.json: it is missing"}


def test_a_trial_ends_with_its_server(root: Path) -> None:
    hostile.loops(root / "fr-en/1")
    with process(root, "--port", 0) as server:
        while not (found := children(server.pid)):
            assert server.poll() is None
        (trial,) = found
        server.kill()
        server.communicate(timeout=60)
        while alive(trial):
            pass


def test_a_version_whose_trial_was_killed_is_tried_again_until_it_serves(root: Path, another: Path) -> None:
    with (
        serving_both(root, "--watch", 0.2) as (started, address, _),
        Client(address) as client,
    ):
        put(another, root / "fr-en/2")
        while not (trials := children(started.pid)):
            assert started.poll() is None
        os.kill(trials[0], signal.SIGKILL)  # as the system does where memory is short
        while not (found := refused(client)):
            assert started.poll() is None
        assert "killed" in found[2]
        assert "memory" in found[2]
        while client.translate(TEXT).version != 2:
            assert started.poll() is None


def test_a_trial_leaves_no_process_and_no_core(root: Path) -> None:
    hostile.divides()(root / "fr-en/1")
    (place,) = find_versions(root)
    before = children(os.getpid())
    assert isinstance(open_checked(place, SETTINGS), str)
    assert children(os.getpid()) == before
    assert not list(ROOT.glob("core*"))


def children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError):  # the thread has ended meanwhile
            found += map(int, (task / "children").read_text().split())
    return found


def alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def test_a_trial_has_the_rows_of_the_servers_own_first_sentences(root: Path) -> None:
    """A graph that fails on so many rows together fails in its trial."""
    for slots in (1, 4, 32):
        hostile_root = root.with_name(f"rows{slots}")
        shutil.copytree(root, hostile_root)
        hostile.divides_rows(min(slots, 8))(hostile_root / "fr-en/1")
        (place,) = find_versions(hostile_root)
        why = open_checked(place, replace(SETTINGS, slots=slots))
        assert isinstance(why, str)
        assert why.startswith("its trial ended with SIGFPE; ")


def test_a_directory_of_everything_is_no_version_and_is_not_walked_at_every_look(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    everything = root.with_name("everything")
    everything.mkdir()
    for number in range(10_001):
        (everything / str(number)).touch()
    (root / "fr-en/7").symlink_to(everything)
    (root / "fr-en/8").symlink_to("/")

    async def scenario() -> None:
        async with live(root) as (versions, models):
            assert serving(models) == [("fr-en", 1)]
            for number in (7, 8):
                assert models.refused["fr-en", number].startswith("manifest.json: it is missing; ")
            (everything / "manifest.json").write_bytes((root / "fr-en/1/manifest.json").read_bytes())
            for _ in range(3):
                await versions.update()
            assert len(refusals(caplog.records)) == 2
            assert {each.version: each.stamp for each in scan(root).versions if each.version > 1} == {
                7: (),
                8: (),
            }

    run(scenario)


def test_a_name_with_a_newline_forges_no_line_of_the_log_and_is_no_model(root: Path, another: Path) -> None:
    forged = "de-en\n2026-11-19 20:00:00,000 INFO serving.observability.access_log: forged"
    for name in (forged, "\x1b[2J", os.fsdecode(b"\xff")):
        shutil.copytree(another.parent, root / name)
    with process(root, "--port", 0) as started:
        assert started.stdout is not None
        address = started.stdout.readline().split()[-1]
        with Client(address) as client:
            assert [model.name for model in client.models().models] == ["fr-en"]
        started.terminate()
        _, err = started.communicate(timeout=60)
    assert len(re.findall(r"is ignored: the name of a model must have printable", err)) == 3
    assert not [line for line in err.splitlines() if "forged" in line and "is ignored" not in line]
    with pytest.raises(ModelError, match=r"'de-en\\n2026.* is ignored"):
        find_versions(root / forged / "2")


def test_what_a_version_writes_into_a_message_of_the_log_stays_one_line(root: Path, another: Path) -> None:
    name = "x\n2026-11-19 20:00:00,000 INFO forged\x1b[2J\x9b\u2028"
    put(another, root / "fr-en/2")
    (root / "fr-en/2" / name).touch()
    formatter = Text("%(levelname)s %(message)s")
    records = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(formatter.format(record))

    logger, handler = logging.getLogger("serving"), Kept()
    logger.addHandler(handler)
    try:
        (place,) = (each for each in find_versions(root) if each.version == 2)
        why = open_checked(place, SETTINGS)
        try:
            raise ValueError(name)
        except ValueError:
            logger.exception("%s", name)
    finally:
        logger.removeHandler(handler)
    assert isinstance(why, str)
    assert why.isprintable()
    assert "2026" in why
    lines = [line for record in records for line in record.splitlines()]
    assert [line for line in lines if not line.isprintable()] == []
    assert {line[:2] for line in lines} == {"ER", "  "}


def test_the_process_of_a_trial_loads_no_framework_and_no_grpc(root: Path) -> None:
    code = (
        "import sys, serving.registry.trial\n"
        "print(*sorted({'tensorflow', 'keras', 'onnx', 'grpc', 'aiohttp', 'google'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout == "\n"
