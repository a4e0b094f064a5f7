"""An exported version searches the beams that its run does."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from export.artifact.layout import CANDIDATES
from export.artifact.manifest import Version, open_version
from export.translator import BeamError, Translator, lightest
from keras_transformer.cli import main
from tests.support.versions.small_model import PAIRS, small_model

TEXTS = [pair.source for pair in PAIRS[:40]]


@pytest.fixture(scope="module")
def version(exported: Path) -> Version:
    return open_version(exported)


@pytest.mark.parametrize(("beam", "penalty"), [(2, 1.0), (5, 0.6)])
def test_a_version_translates_with_a_beam_as_its_run_does(
    version: Version, beam: int, penalty: float
) -> None:
    model = small_model()
    answers = Translator(version, lightest(version), beam, penalty).translate(TEXTS)
    expected = [
        beams[0] for beams in model.hypotheses(TEXTS, beam=beam, length_penalty=penalty, alignment=False)
    ]
    assert [answer.text for answer in answers] == [best.text for best in expected]
    for answer, best in zip(answers, expected, strict=True):
        assert answer.score == pytest.approx(sum(best.log_probs) / len(best.log_probs), abs=1e-6)
    assert [answer.looped for answer in answers] == [best.finish_reason == "loop" for best in expected]
    greedy = [answer.text for answer in Translator(version, lightest(version)).translate(TEXTS)]
    assert greedy != [answer.text for answer in answers]


def test_the_int8_graphs_of_a_version_search_beams_as_well(version: Version) -> None:
    int8 = next(name for name in version.manifest.runtimes if name.precision == "int8")
    greedy, beams = (Translator(version, int8, beam).translate(TEXTS) for beam in (1, 4))
    assert all(answer.tokens for answer in beams)
    assert [answer.text for answer in greedy] != [answer.text for answer in beams]


def test_a_version_of_an_earlier_release_goes_on_greedily_and_refuses_a_beam_with_the_remedy(
    version: Version, tmp_path: Path
) -> None:
    directory = shutil.copytree(version.directory, tmp_path / "1")
    (directory / CANDIDATES).unlink()
    files = {name: sum_ for name, sum_ in version.manifest.files.items() if name != CANDIDATES}
    (directory / "manifest.json").write_bytes(replace(version.manifest, files=files).content())
    earlier = open_version(directory)
    name = lightest(earlier)
    greedy = Translator(version, name).translate(TEXTS)
    assert Translator(earlier, name).translate(TEXTS) == greedy
    with pytest.raises(BeamError, match="earlier release exported it: export it again, or leave out --beam"):
        Translator(earlier, name, beam=4)


def test_evaluate_scores_a_version_with_a_beam(
    version: Version, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    translations = Translator(version, lightest(version), 3).translate_divided(TEXTS)
    looped = sum(translation.looped for translation in translations)
    assert 0 < looped < len(TEXTS)
    for name, lines in (("source", TEXTS), ("reference", [translation.text for translation in translations])):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    files = [f"--{name}={tmp_path / name}" for name in ("source", "reference")]
    capsys.readouterr()
    assert main(["evaluate", str(version.directory), *files, "--beam", "3"]) == 0
    out = capsys.readouterr().out
    assert f"{len(TEXTS)} sentences, {len(TEXTS)} exactly as the reference, {looped} loops" in out
    assert main(["evaluate", str(version.directory), *files, "--beam", "3", "--no-loop-guard"]) == 0
    assert " loops (" not in capsys.readouterr().out
