"""A version directory with anything wrong in it is refused, with the reason, by whatever would load it."""

import os
import shutil
from pathlib import Path

import pytest

from export.artifact.manifest import VersionError, open_version
from keras_transformer.cli import main
from tests.support.versions.damages import DAMAGES, MODEL, summed_again


@pytest.fixture
def version(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "fr-en" / "1"))


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_version_is_refused_with_the_reason_by_all_that_load_it(
    damage: str, version: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    do, problems = DAMAGES[damage]
    do(version)
    with pytest.raises(VersionError) as told:
        open_version(version)
    found = str(told.value).split("\n  ")
    assert found[0] == f"{version} cannot be used as an exported version:"
    for problem, expected in zip(found[1:], problems, strict=True):
        assert problem.startswith(expected)
    for verb, *options in (["verify"], ["translate", "--input", os.devnull], ["info"]):
        assert main([verb, str(version), *options]) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert err == f"keras-transformer {verb}: {told.value}\n"


def test_the_version_that_is_damaged_here_is_whole_before(version: Path) -> None:
    assert len(open_version(version).golden) == 24


def test_everything_that_is_wrong_is_told_at_once(version: Path) -> None:
    (version / MODEL).unlink()
    (version / "extra").write_text("")
    (version / "tokenizer" / "about.json").write_text("{}")
    with pytest.raises(VersionError) as told:
        open_version(version)
    assert [problem.partition(":")[0] for problem in told.value.problems] == [
        MODEL,
        "tokenizer/about.json",
        "extra",
    ]


def test_of_a_thousand_problems_the_first_are_told_and_the_rest_counted(version: Path) -> None:
    for number in range(1000):
        (version / f"{number:04}").write_text("")
    with pytest.raises(VersionError) as told:
        open_version(version)
    assert len(told.value.problems) == 1000
    assert str(told.value).splitlines()[-2:] == [
        "  0019: it is not in the manifest; remove it",
        "  and 980 problems more",
    ]


def test_a_run_is_no_version_and_the_way_to_one_is_told(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(VersionError) as told:
        open_version(tmp_path)
    assert told.value.problems == [
        "manifest.json: it is missing, and this is a run: export it first with `keras-transformer export`"
    ]


def test_what_is_not_there_is_told_as_that(tmp_path: Path) -> None:
    with pytest.raises(VersionError) as told:
        open_version(tmp_path / "2")
    assert told.value.problems == [
        "there is no such directory: name one that `keras-transformer export` wrote"
    ]
    (tmp_path / "file").write_text("")
    with pytest.raises(VersionError):
        open_version(tmp_path / "file")


def test_links_that_stay_inside_and_to_the_version_itself_are_fine(version: Path) -> None:
    (version / MODEL).rename(version / "ctranslate2" / "weights")
    (version / MODEL).symlink_to("weights")
    (version.parent / "latest").symlink_to(version)
    with pytest.raises(VersionError) as told:
        open_version(version.parent / "latest")
    assert told.value.problems == ["ctranslate2/weights: it is not in the manifest; remove it"]
    summed_again(version, "ctranslate2/weights")
    assert open_version(version.parent / "latest").manifest.languages.source == "fr"
