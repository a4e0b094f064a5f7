"""`keras-transformer attention`: a page or a picture of the heads, or a message that says what to do."""

import base64
import json
import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from keras_transformer import TranslationModel
from keras_transformer.cli import main
from keras_transformer.cli.attention import KINDS
from keras_transformer.models.network import Network
from keras_transformer.models.translate import translate_sentences
from keras_transformer.phrasebook import phrasebook
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.viz import heads
from tests.support import fork_server

TEXT = "Je suis étudiant."
GIVEN = [TEXT, "--target", "I am a student."]  # quicker than a translation of the model's own


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the command needs of a run directory: one layer reads, two write, of two heads."""
    tokenizer = Tokenizer.train(phrasebook("fr-en", "train", 200), 400)
    keras.utils.set_random_seed(5)
    model = TranslationModel(
        Network(1, 2, 16, 24, 2, max_length=30), tokenizer.source_size, tokenizer=tokenizer
    )
    model.build()
    path = tmp_path_factory.mktemp("run")
    model.save(path / "model.keras")
    return path


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def shown(path: Path) -> dict[str, Any]:
    """What a page holds."""
    content = re.search(r'<script type="application/json" id="heads">(.*?)</script>', path.read_text("utf-8"))
    assert content
    return json.loads(content[1])


def failing(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The message of a command that fails and writes nothing."""
    before = sorted(Path().rglob("*"))
    assert main(["attention", *map(str, arguments)]) == 1
    assert sorted(Path().rglob("*")) == before
    out, err = capsys.readouterr()
    assert out == ""
    return err.splitlines()[-1].removeprefix("keras-transformer attention: ")


def test_without_an_output_it_writes_a_page_here_and_says_so(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["attention", str(run), TEXT]) == 0
    page = Path("attention.html").resolve()
    out = capsys.readouterr().out.splitlines()
    (translation,) = translate_sentences(TranslationModel.load(run), [TEXT], loop_guard=False)
    assert out[0] == f"translation: {translation}"
    assert out[1] == f"wrote attention.html ({page.stat().st_size / 1000:,.0f} kB)"
    assert out[2] == f"look at it: python -m webbrowser {page.as_uri()}"
    assert f'<dd dir="auto">{TEXT}</dd>' in page.read_text("utf-8")
    assert [kind["key"] for kind in shown(page)["kinds"]] == list(heads.KINDS)


def test_a_page_or_a_picture_by_its_name_over_what_was_there(run: Path) -> None:
    for name, begins in (("a.html", b"<!DOCTYPE html>"), ("a.png", b"\x89PNG\r\n")):
        Path(name).write_text("old")
        assert main(["attention", str(run), *GIVEN, "--output", name]) == 0
        assert Path(name).read_bytes().startswith(begins)
    assert sorted(path.name for path in Path().iterdir()) == ["a.html", "a.png"]


def test_the_same_text_gives_the_same_page_and_the_same_picture(run: Path) -> None:
    for suffix in ("html", "png"):
        for name in "ab":
            assert main(["attention", str(run), *GIVEN, "--output", f"{name}.{suffix}"]) == 0
        assert Path(f"a.{suffix}").read_bytes() == Path(f"b.{suffix}").read_bytes()


def test_a_given_translation_is_looked_at(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attention", str(run), TEXT, "--target", "I am <a> student."]) == 0
    kinds = shown(Path("attention.html"))["kinds"]
    assert "".join(kinds[2]["queries"]).replace("␣", " ").strip() == "I am <a> student.⟨end⟩"
    assert "I am &lt;a&gt; student." in Path("attention.html").read_text("utf-8")
    assert "translation:" not in capsys.readouterr().out


def test_a_layer_a_head_and_a_kind_can_be_chosen(run: Path) -> None:
    chosen = ["--kind", "output-output", "--layer", "2", "--head", "2"]
    assert main(["attention", str(run), *GIVEN, *chosen]) == 0
    assert shown(Path("attention.html"))["start"] == {"kind": 1, "layer": 1, "head": 1}
    assert main(["attention", str(run), *GIVEN, "--output", "one.png", *chosen]) == 0
    assert main(["attention", str(run), *GIVEN, "--output", "all.png"]) == 0
    assert Path("one.png").read_bytes() != Path("all.png").read_bytes()


def test_the_kinds_are_those_there_are() -> None:
    assert tuple(heads.KINDS) == KINDS


def test_standard_input_is_one_text(run: Path) -> None:
    done = fork_server.run(
        [sys.executable, "-m", "keras_transformer", "attention", str(run), "-", "--output", "a.html"],
        input="Je suis\nétudiant.\n".encode(), capture_output=True, check=True, timeout=120,
    )  # fmt: skip
    assert done.stderr == b""
    assert main(["attention", str(run), TEXT]) == 0
    one, other = shown(Path("a.html")), shown(Path("attention.html"))
    for kind, same in zip(one["kinds"], other["kinds"], strict=True):
        weights = [np.frombuffer(base64.b64decode(each.pop("weights")), "<u2") for each in (kind, same)]
        np.testing.assert_allclose(*weights, rtol=0, atol=1)  # two processes may round the last bit apart
    assert one == other


def test_a_text_that_is_too_long_is_cut_and_that_is_told(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["attention", str(run), TEXT * 20, "--target", "I am."]) == 0
    notice = re.fullmatch(
        r"notice: The text has (\d+) tokens; the first 30 are shown\.",
        capsys.readouterr().err.splitlines()[-1],
    )
    assert notice
    assert int(notice[1]) > 100
    assert notice[0].removeprefix("notice: ") in Path("attention.html").read_text("utf-8")


@pytest.mark.parametrize("text", ["", " \n", "\u200b"])
def test_a_text_that_says_nothing_is_refused(
    run: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    assert "must have at least one word" in failing(capsys, run, text)


def test_what_cannot_be_shown_is_refused_with_what_can(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for chosen, message in (
        (
            ["a.html", "--layer", 2, "--kind", "input-input"],
            "Input–Input has the layers 1 to 1; got layer 2.",
        ),
        (["a.png", "--layer", 0], "has the layers 1 to 1; got layer 0."),
        (["a.html", "--head", 3], "has the heads 1 to 2; got head 3."),
    ):
        assert message in failing(capsys, run, *GIVEN, "--output", *chosen)


def test_a_place_that_cannot_be_written_is_refused_before_anything_is_loaded(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("there.html").mkdir()
    assert failing(capsys, "nowhere", TEXT, "--output", "there.html") == (
        "there.html is a directory: --output names the file to write."
    )
    assert failing(capsys, "nowhere", TEXT, "--output", "none/a.png") == (
        "none is not a directory: create it, or name another file."
    )


def test_where_no_model_is_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert failing(capsys, "nowhere", TEXT).startswith("nowhere does not exist: name a run directory")


def test_a_disk_that_fills_up_leaves_the_page_that_was_there(
    run: Path, capsys: pytest.CaptureFixture[str], disk_of: Callable[[int], AbstractContextManager[None]]
) -> None:
    Path("attention.html").write_text("old")
    with disk_of(4096):
        assert "File too large" in failing(capsys, run, *GIVEN)
    assert Path("attention.html").read_text() == "old"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: MODEL, TEXT"),
        (["run"], "the following arguments are required: TEXT"),
        (["run", TEXT, "--output", "a.jpg"], "--output must end with .html or .png; got a.jpg"),
        (["run", TEXT, "--output", "html"], "--output must end with .html or .png; got html"),
        (["run", TEXT, "--kind", "cross"], "invalid choice: 'cross'"),
        (["run", TEXT, "--layer", "last"], "invalid int value: 'last'"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["attention", *arguments])
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err
