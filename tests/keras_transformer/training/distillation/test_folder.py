"""The request of a distillation: what may change until a stage is complete."""

from pathlib import Path

import pytest

from keras_transformer.training.distillation.folder import Folder
from keras_transformer.training.runs.run_directory import RunError

FIRST = {"teacher": "a", "corpus": {"max_ratio": None}, "languages": ["fr", "en"], "text": ["1"]}


@pytest.mark.parametrize(
    ("complete", "changed", "named"),
    [
        ([], {"text": ["2"]}, None),
        (["texts.json"], {"text": ["2"]}, "another text"),
        (["texts.json"], {"languages": ["fr", "de"]}, "another languages"),
        (["texts.json"], {"corpus": {"max_ratio": 9}}, None),  # a rule that dropped all translations
        (["texts.json"], {"teacher": "b"}, None),  # the translations know their own teacher
        (["texts.json", "report.json"], {"corpus": {"max_ratio": 9}}, "another corpus"),
        (["texts.json", "report.json"], {"teacher": "b", "beam": 3}, "another teacher and beam"),
    ],
)
def test_only_what_a_complete_stage_depends_on_is_refused(
    tmp_path: Path, complete: list[str], changed: dict[str, object], named: str | None
) -> None:
    folder = Folder(tmp_path / "run")
    folder.begin(FIRST)
    for name in complete:
        folder.write(name, {})
    if named is None:
        folder.begin(FIRST | changed)
        assert folder.read("request.json") == FIRST | changed
    else:
        with pytest.raises(RunError, match=named):
            folder.begin(FIRST | changed)
        assert folder.read("request.json") == FIRST
