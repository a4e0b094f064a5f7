"""What cannot work is refused before Keras is loaded or a corpus is read, with what may be meant instead."""

import argparse
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import fields
from pathlib import Path

import pytest

from keras_transformer import TranslationModel
from keras_transformer.cli import CommandError, _models, failures, main, train
from keras_transformer.models.network import Network
from keras_transformer.training.recipe import Recipe
from tests.support.commands import failed
from tests.support.paths import ROOT
from tests.support.small_training import small_tiny

ABSURD = "99999999999999999999"


@pytest.fixture
def here(tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory as `make demo` leaves it: run/, and models/fr-en/1 and 2 by their manifests; and a text."""
    for number in ("1", "2"):
        version = tmp_path / "models" / "fr-en" / number
        version.mkdir(parents=True)
        (version / "manifest.json").write_text("{}")
    (tmp_path / "run").symlink_to(run)
    (tmp_path / "text.txt").write_text("Merci.\n")
    (tmp_path / "other.txt").write_text("Thanks.\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], *arguments: object, status: int = 1) -> str:
    """Why, told at once: nothing was loaded before."""
    capsys.readouterr()
    told = failed(capsys, *arguments, status=status)
    assert "Loading" not in told
    return told


# Which MODEL


OPTIONS: dict[str, list[str]] = {
    "translate": ["--input", "text.txt"],
    "evaluate": ["--source", "text.txt", "--reference", "other.txt"],
    "attention": ["Merci."],
    "export": ["--output", "models/fr-en/3"],
    "info": [],
    "verify": [],
    "serve": ["--port", "0"],
}
VERSION, RUN = "models/fr-en/2", "run"


@pytest.mark.parametrize(
    ("verb", "given", "meant"),
    [
        *[(verb, "models/fr-en", VERSION) for verb in ("translate", "info", "verify", "serve")],
        *[(verb, "models/fr-en/7", VERSION) for verb in ("translate", "info", "verify", "serve")],
        *[(verb, ".", RUN) for verb in ("evaluate", "attention", "export", "translate", "info")],
        *[(verb, "runs", RUN) for verb in ("evaluate", "attention", "export", "translate", "info")],
        ("serve", ".", "models"),
        ("verify", "models", VERSION),
    ],
)
@pytest.mark.usefixtures("here")
def test_the_model_near_the_path_is_named(
    verb: str, given: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(capsys, verb, given, *OPTIONS[verb]).endswith(f": did you mean {meant}?")


@pytest.mark.parametrize("verb", ["translate", "evaluate", "attention", "export"])
@pytest.mark.usefixtures("here")
def test_a_text_is_no_model(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, verb, "text.txt", *OPTIONS[verb]).startswith("text.txt is not a .keras file: ")


@pytest.mark.usefixtures("here")
def test_an_export_of_nothing_speaks_of_what_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    for option in ([], ["--golden", "text.txt"]):
        told = refused(capsys, "export", "nofile", "--output", "models/fr-en/3", *option)
        assert told.startswith("nofile does not exist: ")


def test_of_a_directory_of_very_many_entries_only_some_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        for inner in range(20):
            (tmp_path / f"{number}" / f"{inner}" / "deep").mkdir(parents=True)
    seen: list[Path] = []

    def is_version(path: Path) -> bool:
        seen.append(path)
        return False

    monkeypatch.setattr(_models, "MAX_ENTRIES", 50)
    monkeypatch.setattr(_models, "is_version", is_version)
    _models.refuse_if_another_is_near(tmp_path, _models.is_version, _models.is_root)
    # the path itself; beside its 20 names 30 entries in them; then near it the 20 names, and of the first
    # name 20 entries, in which 10 more are looked at
    assert len(seen) == 1 + 30 + 20 + 10


# Which values


@pytest.mark.parametrize(
    "name", ["steps", "batch_tokens", "gradient_accumulation_steps", "vocabulary_size", "warmup_steps",
             "validate_every", "patience", "average_checkpoints", "max_tokens", "seed"]
)  # fmt: skip
def test_a_recipe_of_absurd_numbers_is_refused_before_the_corpus_is_read(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    option = f"--{name.replace('_', '-')}"
    arguments = ["--phrasebook", "fr-en", "--run", tmp_path / "run", option, ABSURD]
    told = refused(capsys, "train", *arguments, status=2)
    assert re.search(rf"{name} must be a whole number of at least \d+ and at most [\d,]+; got {ABSURD}", told)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "option", ["--accumulate", "--average", "--average-last", "--clip", "--peak", "--piece-dropout",
               "--smoothing", "--tokens", "--vocabulary", "--warm-up"]
)  # fmt: skip
def test_an_option_of_the_recipe_goes_by_its_whole_current_name(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--phrasebook", "fr-en", "--run", tmp_path / "run", option, "0"]
    told = refused(capsys, "train", *arguments, status=2)
    assert told.endswith(f"unrecognized arguments: {option} 0")


@pytest.mark.parametrize(
    ("verb", "option"),
    [
        *[(verb, "--beam") for verb in ("translate", "evaluate")],
        ("translate", "--max-tokens"),
        ("export", "--golden-count"),
        *[("serve", f"--{name}") for name in ("slots", "queue", "prefill", "threads")],
        *[("serve", f"--{name}") for name in ("characters", "tokens", "segments", "message-bytes")],
    ],
)
@pytest.mark.usefixtures("here")
def test_an_absurd_count_is_wrong_usage(verb: str, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    for absurd in (ABSURD, "1" + "0" * 5000, str(2**31), "0"):
        told = refused(capsys, verb, VERSION, *OPTIONS[verb], option, absurd, status=2)
        assert re.search(rf"argument {option}: .* at most [\d,]+; got {absurd}$", told)


@pytest.mark.slow
def test_a_run_of_one_step_needs_no_warm_up_from_its_user(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = [f"Bonjour {number}.\tHello {number}.\n" for number in range(300)]
    (tmp_path / "a.tsv").write_text("".join(pairs))
    corpus = ["--pairs", str(tmp_path / "a.tsv"), "--source-lang", "fr", "--target-lang", "en"]
    small = [
        "--vocabulary-size",
        "300",
        "--batch-tokens",
        "256",
        "--max-tokens",
        "32",
        "--precision",
        "float32",
    ]
    with small_tiny():
        assert main(["train", *corpus, *small, "--run", str(tmp_path / "run"), "--steps", "1"]) == 0
    assert "step 1, held-out BLEU" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (["walkthrough", "--output"], "--output"),
        (["train", "--phrasebook", "fr-en", "--run"], "--run"),
        (["export", "run", "--output"], "--output"),
        (["evaluate", "run", "--reference", "other.txt", "--source"], "--source"),
    ],
)
def test_an_empty_path_is_not_the_current_directory(
    command: list[str], option: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(here.iterdir())
    told = refused(capsys, *command, "", status=2)
    assert told == f"error: argument {option}: a path is needed; got an empty text"
    assert sorted(here.iterdir()) == before


def test_a_directory_that_cannot_be_imported_is_refused_before_keras_is_loaded(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    marian = ROOT / "tests" / "keras_transformer" / "pretrained" / "golden" / "relu"
    assert "models cannot be imported" in refused(capsys, "import", "models", "--run", "new")
    assert "run exists and is never overwritten" in refused(capsys, "import", marian, "--run", "run")
    (here / "marian").mkdir()
    (here / "marian" / "model.npz").write_bytes(b"PK")
    assert "no model of Marian" in refused(capsys, "import", "marian", "--run", "new")
    for library in ("safetensors", "yaml"):
        monkeypatch.setitem(sys.modules, library, None)
    told = refused(capsys, "import", marian, "--run", "new")
    assert told.startswith("importing a model needs safetensors and yaml, not installed in this environment")
    assert not (here / "new").exists()


@pytest.mark.parametrize("config", [{}, {"network": [], "tokenizer": None}, {"network": {"width": 0}}])
def test_a_model_whose_config_is_damaged_is_told_by_its_file(
    here: Path, capsys: pytest.CaptureFixture[str], config: object
) -> None:
    with zipfile.ZipFile("damaged.keras", "w") as archive:
        archive.writestr("metadata.json", "{}")
        archive.writestr("config.json", json.dumps({"class_name": "TranslationModel", "config": config}))
    for options in (["export", "damaged.keras", "--output", "new"], ["attention", "damaged.keras", "Merci."]):
        assert refused(capsys, *options).startswith("damaged.keras is damaged (")


def test_what_the_config_of_a_model_excludes_is_refused_before_keras_is_loaded(here: Path) -> None:
    model = TranslationModel(Network(1, 1, 16, 24, 2), 300)
    model.build()
    model.save(here / "model.keras")
    code = (
        "import sys\nfrom keras_transformer.cli import main\n"
        "assert main(['export', 'model.keras', '--output', 'new', '--golden', 'text.txt']) == 1\n"
        "assert main(['attention', 'run', 'Merci.', '--layer', '99']) == 1\n"
        "assert main(['attention', 'run', 'Merci.', '--head', '0']) == 1\n"
        "assert not {'keras', 'tensorflow'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert re.findall("has .*", done.stderr) == [
        "has no tokenizer: it translates ids, not text.",
        "has the layers 1 to 1; got layer 99.",
        "has the heads 1 to 2; got head 0.",
    ]


# Which files to write


@pytest.mark.parametrize("output", ["/proc/page.html", "text.txt/page.html", "a" * 300 + ".html"])
@pytest.mark.usefixtures("here")
def test_a_file_that_cannot_be_written_is_named_before_a_model_is_loaded(
    output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    compared = ["--source", "text.txt", "--reference", "other.txt"]
    for command in (
        ["evaluate", "run", *compared, "--worst", output],
        ["export", "run", "--output", output, "--golden", "text.txt"],
        ["train", "--phrasebook", "fr-en", "--run", output],
    ):
        assert output in refused(capsys, *command)
    told = refused(capsys, "attention", "run", "Merci.", "--output", output)
    assert output in told or "text.txt is not a directory" in told


@pytest.mark.parametrize("verb", ["evaluate", "attention", "export"])
def test_a_full_disk_is_noticed_before_a_model_is_loaded(
    verb: str,
    here: Path,
    capsys: pytest.CaptureFixture[str],
    disk_of: Callable[[int], AbstractContextManager[None]],
) -> None:
    options = {
        "evaluate": ["--source", "text.txt", "--reference", "other.txt", "--worst", "page.html"],
        "attention": ["Merci.", "--output", "page.html"],
        "export": ["--output", "page.html", "--golden", "text.txt"],
    }
    before = sorted(here.iterdir())
    with disk_of(100):
        told = refused(capsys, verb, "run", *options[verb])
    assert told == "[Errno 27] File too large: 'page.html'"
    assert sorted(here.iterdir()) == before


def test_a_full_disk_is_a_matter_of_the_file_that_did_not_fit(
    here: Path, capsys: pytest.CaptureFixture[str], disk_of: Callable[[int], AbstractContextManager[None]]
) -> None:
    files = ["--source", "a.fr", "--target", "b.en"]
    with disk_of(20_000):
        told = refused(capsys, "phrasebook", "fr-en", "--pairs", 5000, *files)
    assert told == "[Errno 27] File too large: 'a.fr'"
    assert not (here / "a.fr").exists()
    assert not (here / "b.en").exists()


def test_a_name_that_is_nearly_too_long_is_written(here: Path) -> None:
    name = "é" * 125  # 250 bytes
    assert main(["phrasebook", "fr-en", "--pairs", "2", "--source", name, "--target", "b.txt"]) == 0
    assert len((here / name).read_text().splitlines()) == 2


# What the help says


def test_the_usage_names_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert capsys.readouterr().out.startswith("usage: keras-transformer [-h] [--version] VERB ...\n")


def test_the_help_of_a_recipe_shows_no_default_but_those_that_are_used() -> None:
    recipes = [Recipe.for_corpus(pairs) for pairs in (1000, 10_000, 49_999, 100_000, 2_000_000)]
    parser = argparse.ArgumentParser()
    train.configure(parser)
    text = {action.dest: action.help or "" for action in parser._actions}
    in_words = {"vocabulary_size", "warmup_steps", "validate_every", "precision"}
    described = {*in_words, "gradient_accumulation_steps"}
    for field in fields(Recipe):
        if field.name in {"joint", "extended_at", *described}:  # no options of these names
            continue
        used = {getattr(recipe, field.name) for recipe in recipes}
        (shown,) = re.findall(r"\(([^()]+)\)$", text[field.name])
        if len(used) > 1:
            assert shown.startswith("follows the size of the corpus: "), field.name
            numbers = {float(number.replace(",", "")) for number in re.findall(r"[\d.,]+", shown)}
            assert {min(used), max(used)} == numbers, field.name
        else:
            (value,) = used
            default = shown.partition(";")[0]
            assert (default if isinstance(value, str) else float(default)) == value, field.name
    assert "the phrasebook has a recipe of its own" in parser.format_help().replace("\n", " ")


@pytest.mark.parametrize("message", ["two lines are missing", "two lines are missing."])
def test_a_message_ends_with_one_full_stop(message: str) -> None:
    with pytest.raises(CommandError) as refused, failures(ValueError, end="."):
        raise ValueError(message)
    assert str(refused.value) == "two lines are missing."
