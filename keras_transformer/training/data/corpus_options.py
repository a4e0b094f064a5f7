"""Options of a run's corpus, as run.json stores them: its files, and how they are cleaned."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from itertools import chain
from pathlib import Path
from types import UnionType
from typing import Any, Self

from keras_transformer.phrasebook import DIRECTIONS, learned_whole, phrasebook, with_typographic_apostrophes
from keras_transformer.text.cleaning import CleaningRules
from keras_transformer.text.corpus import STANDARD_INPUT, Pair, read_pairs, read_parallel
from keras_transformer.training.data.mixture import Mixture, Weighted
from keras_transformer.training.recipe import PHRASEBOOK

MAX_WEIGHT = 1_000_000
PHRASES, REPEATED, HELD_OUT = 70_000, 20, 500  # of the phrasebook
OF_THE_PHRASEBOOK = ("source_lang", "target_lang", "valid_source", "valid_target")  # options that it implies


@dataclass(frozen=True)
class Corpus:
    """Corpus of a run: parallel files, files of pairs, or the phrasebook.

    Raises:
        ValueError: With every problem of the options.
    """

    source_lang: str | None = None
    target_lang: str | None = None
    source: list[str] | None = None
    target: list[str] | None = None
    pairs: list[str] | None = None
    phrasebook: str | None = None
    valid_source: list[str] | None = None
    valid_target: list[str] | None = None
    max_words: int | None = None
    max_ratio: float | None = None
    keep_duplicates: bool = False

    def __post_init__(self) -> None:
        kinds = [name for name in ("source", "pairs", "phrasebook") if getattr(self, name)]
        problems = []
        if len(kinds) != 1:
            problems.append(
                "name one corpus: --source and --target, --pairs, or --phrasebook"
                + (f"; got {' and '.join('--' + kind_name for kind_name in kinds)}" if kinds else "")
            )
        for one, other in (("source", "target"), ("valid_source", "valid_target")):
            if bool(getattr(self, one)) != bool(getattr(self, other)):
                problems.append(f"--{one} and --{other} go together".replace("_", "-"))
        surplus = [name for name in OF_THE_PHRASEBOOK if getattr(self, name)]
        if kinds == ["phrasebook"] and surplus:
            options = ", ".join(f"--{name}".replace("_", "-") for name in surplus)
            problems.append(f"--phrasebook has its own languages and held-out pairs: leave out {options}")
        if self.phrasebook and self.phrasebook not in DIRECTIONS:
            problems.append(f"--phrasebook is {' or '.join(DIRECTIONS)}; got {self.phrasebook!r}")
        elif not all(self.languages):
            problems.append("--source-lang and --target-lang are needed: the model records its languages")
        elif self.source_lang == self.target_lang and any(_is_by_language(file) for file, _ in self.weighted):
            problems.append(
                f"--source-lang and --target-lang are both {self.source_lang}, but JSONL and TMX distinguish "
                "the sides by language; for one language give two parallel files, or TSV"
            )
        problems += [
            f"the weight of {file} must be above 0 and at most {MAX_WEIGHT:,}; got {weight:g}"
            for file, weight in self.weighted
            if weight is not None and not 0 < weight <= MAX_WEIGHT
        ]
        if problems:
            raise ValueError("; ".join(problems))

    @property
    def weighted(self) -> list[Weighted]:
        """The files of pairs, with their weights."""
        return [Weighted.parsed(name) for name in self.pairs or []]

    @property
    def languages(self) -> tuple[str | None, str | None]:
        """Codes of the source language and the target language."""
        if self.phrasebook:
            source, _, target = self.phrasebook.partition("-")
            return source, target
        return self.source_lang, self.target_lang

    @classmethod
    def from_run(cls, about: dict[str, Any]) -> Self:
        """Create a corpus from the result of `as_run`, with the same files from any directory."""
        begun_in = about.get("directory", "")  # older runs do not have it
        corpus: dict[str, Any] = {
            name: [_placed(file, begun_in) for file in value] if isinstance(value, list) else value
            for name, value in about["corpus"].items()
        }
        if corpus["phrasebook"]:
            return cls(**corpus)
        return cls(about["source_lang"], about["target_lang"], **corpus)

    def as_run(self) -> dict[str, Any]:
        """Return the fields of run.json: the files as given, and the directory of relative ones.

        An exported model contains only the names of the files: their directories are private.
        """
        source_lang, target_lang = self.languages
        corpus = {name: getattr(self, name) for name in CORPUS_FIELDS}
        directory = str(Path.cwd())
        return {
            "source_lang": source_lang,
            "target_lang": target_lang,
            "corpus": corpus,
            "directory": directory,
        }

    @property
    def is_piped(self) -> bool:
        """Whether one of the files is standard input."""
        names = (name for files in FILES for name in getattr(self, files) or ())
        return any(Weighted.parsed(name).file == str(STANDARD_INPUT) for name in names)

    def check_files(self) -> None:
        """Open each file of the corpus, before work is done for it; a pipe or a device is left alone.

        Raises:
            OSError: A file is not there, or cannot be read.
        """
        parallel = (getattr(self, name) or [] for name in FILES if name != "pairs")
        for path in _paths([*chain(*parallel), *(file for file, _ in self.weighted)]):
            if path.is_file() or not path.exists():
                path.open("rb").close()

    def rules(self) -> CleaningRules:
        """Return the cleaning rules. The phrasebook keeps duplicates: it repeats fixed phrases on purpose."""
        limits: dict[str, Any] = {
            name: value
            for name, value in (("max_words", self.max_words), ("max_ratio", self.max_ratio))
            if value is not None
        }
        return CleaningRules(**limits, drop_duplicates=not (self.keep_duplicates or self.phrasebook))

    def recipe_defaults(self) -> dict[str, Any]:
        """Return defaults of the recipe for this corpus that do not depend on its size."""
        if self.phrasebook:
            return PHRASEBOOK
        source_lang, target_lang = self.languages
        # with one language, nothing distinguishes the two directions
        return {"both_ways": 0.0} if source_lang == target_lang else {}

    def read(self) -> tuple[Iterable[Pair], Iterable[Pair] | None]:
        """Return the pairs for training, and those for validation or None."""
        if self.phrasebook:
            whole = learned_whole(self.phrasebook) * REPEATED
            phrases = phrasebook(self.phrasebook, "train", PHRASES)
            held_out = phrasebook(self.phrasebook, "valid", HELD_OUT)
            return with_typographic_apostrophes(chain(whole, phrases)), held_out
        valid = (
            read_parallel(_paths(self.valid_source), _paths(self.valid_target)) if self.valid_source else None
        )
        if self.pairs:
            return self._read_pairs(), valid
        return read_parallel(_paths(self.source), _paths(self.target)), valid

    def _read_pairs(self) -> Iterable[Pair]:
        languages = self.source_lang or "", self.target_lang or ""
        if all(weight is None for _, weight in self.weighted):
            return read_pairs(_paths(self.pairs), *languages)
        corpora = [read_pairs([Path(file)], *languages) for file, _ in self.weighted]
        return Mixture(self.weighted, corpora)


def _is_by_language(file: str) -> bool:
    return file.removesuffix(".gz").endswith((".jsonl", ".tmx"))


CORPUS_FIELDS = [  # what as_run keeps
    field.name for field in fields(Corpus) if not field.name.endswith("_lang")
]
FILES = ("source", "target", "pairs", "valid_source", "valid_target")
TYPES: dict[str, type[Any] | UnionType] = {
    "phrasebook": str | None,
    "max_words": int | None,
    "max_ratio": float | int | None,
    "keep_duplicates": bool,
}  # of the others


def wrong_types(corpus: dict[str, Any]) -> list[str]:
    """Return an error text for each value in the result of `as_run` that has a wrong type."""
    problems = []
    for name, value in corpus.items():
        if name in FILES:
            kind = "a list of names, or null"
            right = value is None or (
                isinstance(value, list) and all(isinstance(item, str) for item in value)
            )
        else:
            kind = str(TYPES[name]).removeprefix("<class '").removesuffix("'>")
            right = isinstance(value, TYPES[name])
        if not right:
            problems.append(f"{name} must be {kind}; got {value!r:.40}")
    return problems


def _placed(file: str, directory: str) -> str:
    return file if Weighted.parsed(file).file == str(STANDARD_INPUT) else str(Path(directory, file))


def _paths(names: list[str] | None) -> list[Path]:
    return [Path(name) for name in names or []]
