"""A run directory: begun once, worked on by one process, never half-written."""

import fcntl
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.text.corpus import Pair
from keras_transformer.training.data.corpus_options import Corpus
from keras_transformer.training.runs.run_directory import Run, RunError

CORPUS = Corpus(phrasebook="fr-en").as_run()
ABOUT = {**CORPUS, "recipe": {"steps": 3}}


def begun(path: Path) -> Run:
    run = Run(path)
    with run.begin(ABOUT):
        return run


def prepared(path: Path) -> Run:
    run = begun(path)
    run.write("recipe.json", {})
    return run


def asked(run: Run) -> dict[str, Any]:
    return {name: value for name, value in run.about().items() if name != "versions"}


def told(run: Run) -> str:
    with pytest.raises(RunError) as error, run.begin(ABOUT):
        pass
    return str(error.value)


def files(path: Path) -> set[str]:
    return {str(file.relative_to(path)) for file in path.rglob("*")}


def test_what_was_asked_for_is_kept(tmp_path: Path) -> None:
    run = begun(tmp_path / "new" / "run")
    assert asked(run) == {"format": 1, **ABOUT}


def test_the_versions_that_begin_it_are_kept(tmp_path: Path) -> None:
    versions = begun(tmp_path).about()["versions"]
    modules = ("keras_transformer", "keras", "tensorflow", "numpy", "sentencepiece")
    assert versions == {name: import_module(name).__version__ for name in modules}


def test_a_run_that_begins_again_forgets_the_model_that_an_earlier_attempt_started_from(
    tmp_path: Path,
) -> None:
    """It would go on from that one, if it were killed before it has copied its own and then resumed."""
    run = begun(tmp_path)
    run.initial.write_bytes(b"a model")
    run.write_pairs("initial-valid.jsonl", [Pair("Oui.", "Yes.")])
    with run.begin(ABOUT):
        assert files(tmp_path) == {".lock", "run.json"}


def test_a_run_is_never_overwritten(tmp_path: Path) -> None:
    run = prepared(tmp_path)
    before = run.about()
    remedy = f"continue it with `train --run {tmp_path} --resume`, or name another."
    assert told(Run(tmp_path)) == f"{tmp_path} holds a run already: {remedy}"
    assert run.about() == before


def test_what_is_no_run_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("mine")
    assert told(Run(tmp_path)) == f"{tmp_path} exists and is not a run: name a new or an empty directory."
    assert told(Run(tmp_path / "letters.txt")).endswith("letters.txt exists and is not a run: "
                                                        "name a new or an empty directory.")  # fmt: skip
    assert files(tmp_path) == {"letters.txt"}


def test_a_run_that_was_never_prepared_can_be_begun_again_otherwise(tmp_path: Path) -> None:
    run = begun(tmp_path)
    run.write_pairs("corpus.jsonl", [Pair("a", "b")])
    with run.begin({**ABOUT, "source_lang": "de"}):
        pass
    assert run.about()["source_lang"] == "de"


def test_a_run_json_that_is_not_ours_is_not_overwritten(tmp_path: Path) -> None:
    for content in ('{"name": "marathon"}', "not JSON"):
        (tmp_path / "run.json").write_text(content)
        told(Run(tmp_path))
        assert (tmp_path / "run.json").read_text() == content


def test_a_run_that_another_process_prepares_is_not_begun_again(tmp_path: Path) -> None:
    run = begun(tmp_path)
    with run.lock():
        assert "another process is at work on" in told(Run(tmp_path))
    assert asked(run) == {"format": 1, **ABOUT}


def test_who_begins_a_run_has_it_alone_until_it_is_prepared(tmp_path: Path) -> None:
    with Run(tmp_path).begin(ABOUT):
        assert "another process is at work on" in told(Run(tmp_path))
        with pytest.raises(RunError, match="another process is at work on"), Run(tmp_path).lock():
            pass


def test_a_run_that_another_process_prepared_a_moment_ago_is_not_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", lambda *_: prepared_meanwhile.touch())
    prepared_meanwhile = tmp_path / "recipe.json"
    assert told(Run(tmp_path)).startswith(f"{tmp_path} holds a run already")
    assert not (tmp_path / "run.json").exists()


@pytest.mark.parametrize("left", [[], [".lock"], [".lock", ".partial-run.json"]])
def test_a_kill_while_it_begins_stops_nobody_from_beginning(tmp_path: Path, left: list[str]) -> None:
    for name in left:
        (tmp_path / name).touch()
    assert asked(begun(tmp_path)) == {"format": 1, **ABOUT}


def test_one_process_at_a_time(tmp_path: Path) -> None:
    run = begun(tmp_path)
    with run.lock():
        with pytest.raises(RunError) as error, Run(tmp_path).lock():
            pass
        assert str(error.value) == f"another process is at work on {tmp_path}: wait for it, or end it."
    with run.lock():
        pass


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_where_no_run_is_the_lock_says_so_and_leaves_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(RunError) as error, Run(tmp_path / name).lock():
        pass
    assert str(error.value) == f"{tmp_path / name} holds no run: there is no run.json in it."
    assert files(tmp_path) == {"empty"}


def test_a_damaged_or_foreign_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"holds no run: there is no run\.json in it"):
        Run(tmp_path).about()
    (tmp_path / "run.json").write_text('{"format": ')
    with pytest.raises(RunError, match=r"run\.json is damaged \(Expecting value"):
        Run(tmp_path).about()
    (tmp_path / "run.json").write_text('{"format": 9}')
    with pytest.raises(RunError) as error:
        Run(tmp_path).about()
    assert str(error.value) == (
        f"{tmp_path} was written in format 9; this program supports 1: use the version that made it."
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("[]", "it holds [], not an object"),
        ('{"format": 1}', "it does not say source_lang, target_lang, corpus, recipe"),
        ('{"format": 1, "source_lang": "fr", "target_lang": "en", "corpus": []}',
         "it does not say corpus, recipe"),
    ],
)  # fmt: skip
def test_a_run_json_that_does_not_say_what_was_asked_for_is_told(
    tmp_path: Path, content: str, why: str
) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(RunError) as error:
        Run(tmp_path).about()
    assert str(error.value) == (
        f"{tmp_path}/run.json is damaged ({why}): restore it from an intact copy, or begin a new run."
    )


@pytest.mark.parametrize(
    ("corpus", "says"),
    [
        ({}, "nothing"),
        ({"phrasebook": "fr-en"}, "phrasebook"),
        ({**CORPUS["corpus"], "colour": "red"}, ", ".join([*CORPUS["corpus"], "colour"])),
    ],
)
def test_a_run_json_whose_corpus_is_none_is_told(tmp_path: Path, corpus: dict[str, Any], says: str) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"format": 1, **ABOUT, "corpus": corpus}))
    with pytest.raises(RunError) as error:
        Run(tmp_path).about()
    assert str(error.value) == (
        f"{tmp_path}/run.json is damaged (its corpus must say source, target, pairs, phrasebook, "
        "valid_source, valid_target, max_words, max_ratio, keep_duplicates; "
        f"it says {says}): restore it from an intact copy, or begin a new run."
    )


@pytest.mark.parametrize("line", ['["one"]', '["one", "two", "three"]', '["one", 2]', '"it"', "{}", "", "["])
def test_a_line_that_is_not_two_texts_is_told_by_its_number(tmp_path: Path, line: str) -> None:
    run = begun(tmp_path)
    (tmp_path / "valid.jsonl").write_text(f'["un", "one"]\n{line}\n["deux", "two"]\n')
    with pytest.raises(RunError) as error:
        list(run.read_pairs("valid.jsonl"))
    assert str(error.value) == (
        f"{tmp_path}/valid.jsonl is damaged (line 2 is not two texts): remove recipe.json beside it, and "
        "`train --resume` prepares the run again from its corpus."
    )


def test_a_full_disk_leaves_the_old_file_whole(tmp_path: Path, disk_of: Any) -> None:
    run = begun(tmp_path)
    run.write("history.json", [1])
    with disk_of(1000), pytest.raises(OSError):
        run.write("history.json", list(range(1000)))
    assert run.read("history.json") == [1]
    assert not list(tmp_path.glob(".partial*"))


def test_pairs_come_back_whatever_their_characters(tmp_path: Path) -> None:
    hostile = [Pair("a\u2028b\u0085c", '\t"\\'), Pair("\n\r\n", "日本\0"), Pair("", "é")]
    run = Run(tmp_path)
    assert run.write_pairs("p.jsonl", iter(hostile)) == 3
    assert list(run.read_pairs("p.jsonl")) == hostile


EARLIER = """{
  "format": 1,
  "versions": {
    "keras_transformer": "0.1.0",
    "keras": "3.15.1"
  },
  "source_lang": "fr",
  "target_lang": "en",
  "corpus": {
    "source": null,
    "target": null,
    "pairs": null,
    "phrasebook": "fr-en",
    "valid_source": null,
    "valid_target": null,
    "max_words": null,
    "max_ratio": null,
    "keep_duplicates": false
  },
  "directory": "/home/somebody",
  "recipe": {
    "piece_dropout": 0.05,
    "vocabulary": 3400,
    "tokens": 4096,
    "accumulate": 2,
    "steps": 320,
    "peak": 0.004,
    "warm_up": 80,
    "smoothing": 0.2,
    "clip": 0.5,
    "average": 0.0,
    "average_last": 5,
    "joint": false
  }
}
"""


def test_the_run_json_of_an_earlier_version_is_read_by_the_current_names(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(EARLIER, "utf-8")
    assert Run(tmp_path).about()["recipe"] == {
        "bpe_dropout": 0.05,
        "vocabulary_size": 3400,
        "batch_tokens": 4096,
        "gradient_accumulation_steps": 2,
        "steps": 320,
        "peak_learning_rate": 0.004,
        "warmup_steps": 80,
        "label_smoothing": 0.2,
        "clip_norm": 0.5,
        "ema_decay": 0.0,
        "average_checkpoints": 5,
        "joint": False,
    }


def test_the_digests_of_a_run_are_those_of_its_files_and_pass_over_directories(tmp_path: Path) -> None:
    run = prepared(tmp_path / "run")
    run.write_pairs("valid.jsonl", [])
    for directory in (run.tokenizer, run.tokens):
        (directory / ".snapshot").mkdir(parents=True)
    before = run.digests()
    (run.tokenizer / "shared.model").write_bytes(b"1")
    assert {part for part, digest in run.digests().items() if before[part] != digest} == {"tokenizer"}
