"""A checkpoint: all of it or none of it, whatever happens to the disk."""

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from keras_transformer.training.runs import checkpoint
from keras_transformer.training.runs.checkpoint import CheckpointError

PROGRESS = {"step": 7, "history": [{"bleu": 1.5}], "text": "é"}


def variables(seed: int) -> list[Any]:
    random = np.random.default_rng(seed)
    return [
        keras.Variable(random.normal(size=(30, 4)), dtype="float32"),
        keras.Variable(random.integers(0, 2**32, 2), dtype="uint32"),
        keras.Variable(seed, dtype="int64"),
    ]


def values(found: list[Any]) -> list[Any]:
    return [np.asarray(variable).tolist() for variable in found]


def test_every_bit_comes_back_with_the_progress(tmp_path: Path) -> None:
    one, other = variables(1), variables(2)
    checkpoint.save(tmp_path / "step-1.npz", one, PROGRESS)
    assert checkpoint.restore(tmp_path / "step-1.npz", other) == PROGRESS
    assert values(other) == values(one)
    assert [path.name for path in tmp_path.iterdir()] == ["step-1.npz"]


def test_a_hundred_and_one_tensors_keep_their_order(tmp_path: Path) -> None:
    saved = [np.array(number) for number in range(101)]
    checkpoint.save(tmp_path / "c.npz", saved, {})
    fresh = [keras.Variable(0, dtype="int64") for _ in saved]
    checkpoint.restore(tmp_path / "c.npz", fresh)
    assert values(fresh) == list(range(101))


@pytest.mark.parametrize(
    "of_another", [variables(3)[:2], [*variables(3), *variables(3)[:1]], variables(3)[::-1]]
)
def test_the_state_of_another_recipe_is_refused_and_nothing_is_assigned(
    tmp_path: Path, of_another: list[Any]
) -> None:
    checkpoint.save(tmp_path / "c.npz", variables(1), PROGRESS)
    before = values(of_another)
    with pytest.raises(CheckpointError) as told:
        checkpoint.restore(tmp_path / "c.npz", of_another)
    assert str(told.value) == (
        f"{tmp_path}/c.npz holds 3 tensors that do not fit the {len(of_another)} of this run: "
        "it belongs to another recipe."
    )
    assert values(of_another) == before


def test_cut_off_anywhere_it_is_told_with_the_way_out_and_nothing_is_assigned(tmp_path: Path) -> None:
    path = tmp_path / "step-000000008.npz"
    checkpoint.save(path, variables(1), PROGRESS)
    content = path.read_bytes()
    for cut in [*range(0, len(content), 37), len(content) - 1]:
        path.write_bytes(content[:cut])
        assert_damage_is_told(path)


def test_a_flipped_bit_anywhere_is_told_or_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "step-000000008.npz"
    checkpoint.save(path, variables(1), PROGRESS)
    content, wanted = path.read_bytes(), values(variables(1))
    for place in range(0, len(content), 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :])
        fresh = variables(2)
        try:
            checkpoint.restore(path, fresh)
        except CheckpointError:
            assert values(fresh) == values(variables(2))
        else:  # a time stamp, or an attribute of a file
            assert values(fresh) == wanted


def assert_damage_is_told(path: Path) -> None:
    fresh = variables(2)
    with pytest.raises(CheckpointError) as told:
        checkpoint.restore(path, fresh)
    assert str(told.value).startswith(f"{path} is damaged (")
    assert str(told.value).endswith("): remove it, and the run goes on from the checkpoint before it.")
    assert values(fresh) == values(variables(2))


def test_a_checkpoint_that_memory_has_no_room_for_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_: Any, **__: Any) -> None:
        raise MemoryError

    checkpoint.save(tmp_path / "c.npz", variables(1), PROGRESS)
    monkeypatch.setattr(np, "load", no_room)
    with pytest.raises(MemoryError):
        checkpoint.restore(tmp_path / "c.npz", variables(2))


def test_a_full_disk_leaves_the_old_checkpoint_and_nothing_half_written(tmp_path: Path, disk_of: Any) -> None:
    path = tmp_path / "step-1.npz"
    checkpoint.save(path, variables(1), PROGRESS)
    before = path.read_bytes()
    for size in (0, 100, len(before) // 2, len(before) - 1):
        with disk_of(size), pytest.raises(OSError):
            checkpoint.save(path, variables(2), PROGRESS)
        assert path.read_bytes() == before
        assert [path.name for path in tmp_path.iterdir()] == ["step-1.npz"]
    with disk_of(len(before)):
        checkpoint.save(path, variables(2), PROGRESS)


def test_the_kept_ones_come_by_their_steps_and_no_unfinished_one(tmp_path: Path) -> None:
    assert checkpoint.checkpoints(tmp_path) == []
    for name in ("step-000000010.npz", "step-000000009.npz", ".partial-step-000000011.npz"):
        (tmp_path / name).touch()
    assert [path.name for path in checkpoint.checkpoints(tmp_path)] == [
        "step-000000009.npz",
        "step-000000010.npz",
    ]


def test_some_of_the_tensors_are_read_by_their_places(tmp_path: Path) -> None:
    saved = variables(1)
    checkpoint.save(tmp_path / "c.npz", saved, PROGRESS)
    assert values(checkpoint.read(tmp_path / "c.npz", [2, 0])) == values([saved[2], saved[0]])
    with pytest.raises(CheckpointError, match=r"c\.npz is damaged"):
        (tmp_path / "c.npz").write_bytes((tmp_path / "c.npz").read_bytes()[:-300])
        checkpoint.read(tmp_path / "c.npz", [0])
