"""The folder `distilled` in the run of a student: what was asked, and the files of each stage.

request.json         what the stages depend on
texts/               what the teacher translates: teacher.txt (the sources of the corpus), monolingual.txt
back-texts/          what the backward model translates: back.txt
translations/        the translations of texts/, each with its score; of back-texts/ in back-translations/
valid.source         the held-out pairs; their targets are in valid.target
texts.json           what was read and dropped; marks the texts, valid.* and original.tsv as complete
original.tsv         the pairs of the corpus
teacher.tsv          its sources with the teacher's translations; also monolingual.tsv and back.tsv
report.json          where all of it comes from, and what was dropped; marks all files as complete
report.txt           the same to read
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from keras_transformer.files import read_json, write_whole
from keras_transformer.training.distillation import BACK
from keras_transformer.training.runs.run_directory import DISTILLED, RunError

OF_THE_TEXTS = ("languages", "text", "monolingual text")  # what texts.json and its files depend on


class Folder:
    """Paths of the folder, and access to its small files.

    Args:
        run: The run of the student.
    """

    def __init__(self, run: Path) -> None:
        self.run = run
        self.path = run / DISTILLED
        self.translations = self.path / "translations"
        self.back_translations = self.path / "back-translations"
        self.valid = self.path / "valid.source", self.path / "valid.target"
        self.report = self.path / "report.txt"

    def texts(self, part: str) -> Path:
        """Return the file of the texts that are translated for a part."""
        return self.path / ("back-texts" if part == BACK else "texts") / f"{part}.txt"

    def translated(self, part: str) -> Path:
        """Return the file of their translations."""
        return (self.back_translations if part == BACK else self.translations) / f"{part}.txt"

    def pairs(self, part: str) -> Path:
        """Return the file of the pairs of a part, which the student learns from."""
        return self.path / f"{part}.tsv"

    def begin(self, request: Mapping[str, Any]) -> None:
        """Write the request, after a comparison with that of the stages that are complete.

        What no complete stage depends on may change, so that a command that has failed can be corrected. The
        translations have a record of their own, which is compared when they go on.

        Raises:
            RunError: A complete stage was made for another request.
        """
        known, wanted = self.read("request.json") or {}, read_json(json.dumps(request))
        compared: Iterable[str] = ()
        if self.read("report.json") is not None:
            compared = {**wanted, **known}
        elif self.read("texts.json") is not None:
            compared = OF_THE_TEXTS
        differing = [name for name in compared if wanted.get(name) != known.get(name)]
        if differing:
            raise RunError(
                f"{self.run} was begun with another {' and '.join(differing)}: repeat the first command, or "
                "name another run."
            )
        if wanted != known:
            self.path.mkdir(parents=True, exist_ok=True)
            self.write("request.json", request)

    def read(self, name: str) -> Any:
        """Return the content of a small file, or None if it is not there yet."""
        path = self.path / name
        return read_json(path.read_bytes()) if path.exists() else None

    def write(self, name: str, content: Any) -> None:
        """Write a small file atomically."""
        write_whole(self.path / name, json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n")
