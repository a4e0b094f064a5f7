"""The files that match a pattern, and those that are refused before any work is done."""

import gzip
from pathlib import Path

import pytest

from keras_transformer.bulk import BulkError
from keras_transformer.bulk.corpus_files import matching
from keras_transformer.text.corpus import CorpusError


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("in/b.fr", "in/a.fr", "in/deep/c.fr"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text("Merci.\n")
    (tmp_path / "in" / "d.fr.gz").write_bytes(gzip.compress(b"Non.\n"))
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("in/*", ["a.fr", "b.fr", "d.fr"]),
        ("in/*.gz", ["d.fr"]),
        ("in/**/*.fr", ["a.fr", "b.fr", "c.fr"]),
        ("in/[ab].fr", ["a.fr", "b.fr"]),
        ("in/a.fr", ["a.fr"]),
    ],
)
def test_a_pattern_means_what_it_means_in_a_shell(corpus: Path, pattern: str, names: list[str]) -> None:
    found = matching(pattern, corpus / "out")
    assert [item.name for item in found] == names
    assert all(item.path.is_absolute() and item.path.is_file() for item in found)


def test_a_file_whose_name_looks_like_a_pattern_is_found(corpus: Path) -> None:
    (corpus / "in" / "[1].fr").write_text("Merci.\n")
    assert [item.name for item in matching("in/[1].fr", corpus / "out")] == ["[1].fr"]


@pytest.mark.parametrize("pattern", ["in/*.de", "in/deep", "nowhere/*"])
def test_where_no_file_matches_it_is_refused_with_an_example(corpus: Path, pattern: str) -> None:
    with pytest.raises(BulkError, match=pattern.replace("*", r"\*")) as refused:
        matching(pattern, corpus / "out")
    assert "--input 'in/*.gz'" in str(refused.value)


def test_two_files_of_one_name_are_refused_by_both_paths(corpus: Path) -> None:
    (corpus / "in" / "a.fr.gz").write_bytes(gzip.compress(b"Non.\n"))
    with pytest.raises(BulkError) as refused:
        matching("in/*", corpus / "out")
    assert f"{corpus}/in/a.fr and {corpus}/in/a.fr.gz" in str(refused.value)


@pytest.mark.parametrize(
    ("pattern", "output", "refused"),
    [
        ("in/*", "in", True),  # would replace its own input
        ("in/*.gz", "in", False),  # the translations end in .fr
        ("in/**", "in/out", True),
        ("in/**/*.fr", "in/deep/out", True),
        ("in/*.fr", "in/out", False),  # a star stays in its directory
        ("in/*", "out", False),
    ],
)
def test_a_translation_that_would_be_input_of_the_next_command_is_refused(
    corpus: Path, pattern: str, output: str, refused: bool
) -> None:
    if not refused:
        assert matching(pattern, Path(output))
        return
    with pytest.raises(BulkError, match="--output"):
        matching(pattern, Path(output))


@pytest.mark.parametrize(
    ("pattern", "output"),
    [
        ("../in/*", "."),
        ("*", "../in"),
        ("./deep/../*", "new/.."),
        ("../link/*", "."),
        ("*", "../link"),
        ("../l*k/*", "."),  # the link is matched by a star
        ("../link/*", "../in/new/.."),
        ("../link/deep/**", "deep/new"),
        ("link.fr", "."),  # a link would be replaced by its translation
    ],
)
def test_neither_dots_nor_links_hide_that_a_translation_would_be_input(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, output: str
) -> None:
    monkeypatch.chdir(corpus / "in")
    (corpus / "link").symlink_to(corpus / "in")
    Path("link.fr").symlink_to(corpus / "in" / "a.fr")
    with pytest.raises(BulkError, match="--output"):
        matching(pattern, Path(output))


def test_a_corpus_beside_the_output_may_be_named_with_dots_and_links(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (corpus / "link").symlink_to(corpus / "in")
    (corpus / "out").mkdir()
    monkeypatch.chdir(corpus / "out")
    assert matching("../link/*", Path())


def test_a_file_that_is_named_gz_and_is_none_is_refused_at_once(corpus: Path) -> None:
    (corpus / "in" / "e.fr.gz").write_text("Merci.\n")
    with pytest.raises(CorpusError, match=r"e\.fr\.gz is named \.gz but is not gzipped"):
        matching("in/*", corpus / "out")
