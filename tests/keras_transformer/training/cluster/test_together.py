"""Workers that train together are one process with all of their batches. Real processes, on loopback."""

import json
import signal
from pathlib import Path

import pytest

from keras_transformer.text.corpus import Pair
from tests.support.together import assert_same_bits, finish_together, together
from tests.support.trainings import Trainings, checkpoints, finish, wait_until


@pytest.fixture(scope="module")
def trainings(tmp_path_factory: pytest.TempPathFactory, pairs: list[Pair]) -> Trainings:
    return Trainings(tmp_path_factory.mktemp("corpus"), pairs)


def end_one(run: Path, rank: int, *commands: list[str], how: signal.Signals = signal.SIGKILL) -> None:
    """End a worker at the second checkpoint; the others end and name it."""
    with together(*commands) as workers:
        *others, ended = [*workers.processes[:rank], *workers.processes[rank + 1 :], workers.processes[rank]]
        wait_until(lambda: len(checkpoints(run)) == 2, ended)
        ended.send_signal(how)
        for process in others:
            _, err = process.communicate(timeout=60)
            *_, line = err.decode().splitlines()
            assert process.returncode == 1
            assert workers.names[rank] in line
            assert "--resume" in line


def test_two_workers_have_the_bits_of_two_batches_in_one_process_also_after_a_kill(
    trainings: Trainings, tmp_path: Path
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    finish([*trainings.new(one, dropout=0), "--gradient-accumulation-steps", "2"])
    end_one(two, 1, *[trainings.new(two, dropout=0)] * 2)
    finish_together(*[trainings.resumed(two)] * 2)
    assert_same_bits(one, two)
    for name in ("recipe.json", "cleaning.json", "valid.jsonl"):
        assert (one / name).read_bytes() == (two / name).read_bytes(), name
    histories = [json.loads((run / "history.json").read_bytes()) for run in (one, two)]
    for ours, theirs in zip(*histories, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-6)  # the loss in training is summed in another order


def test_workers_with_other_files_are_refused_before_tensorflow_loads(
    trainings: Trainings, tmp_path: Path
) -> None:
    run, other = tmp_path / "run", trainings.new(tmp_path / "run")
    other[other.index("--source") + 1] = str(tmp_path / "b.fr")
    with together(trainings.new(run), other) as workers:
        for status, line in workers.ended():
            assert status == 1
            assert workers.names[1] in line
            assert f"--source {tmp_path / 'b.fr'}, not {trainings.corpus[0]}" in line
    assert not run.exists()
