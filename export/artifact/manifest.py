"""Reading of a version directory. Every file is checked before a model is loaded.

The module needs neither Keras nor TensorFlow, so a server on ONNX Runtime can use it.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from export.artifact.checksums import (
    AGAIN,
    Checksum,
    NotReadableError,
    differences,
    path_problem,
    read_regular,
)
from export.artifact.golden import Golden, GoldenError, check_tokenized, read_golden
from export.artifact.layout import CTRANSLATE2, GOLDEN, MANIFEST, ONNX, TOKENIZER
from export.artifact.quality_card import QualityCard
from export.artifact.schema import RecordError, parsed, record, shown
from export.formats.format import RuntimeName
from export.formats.registry import FORMATS, RUNTIMES
from keras_transformer.models.network import Network
from keras_transformer.text.lengths import AnswerLimit
from keras_transformer.text.tokenizer import Tokenizer

FORMAT = 1
MAX_SHOWN = 20  # problems
MAX_MANIFEST_BYTES = 2**20  # the manifest of a SavedModel with many files has 20,000 bytes
MAX_LANGUAGE = 100  # characters; RFC 5646 asks for room for 35


class VersionError(ValueError):
    """Error of a directory that is not an unchanged exported version, with every problem and its remedy."""

    def __init__(self, directory: Path, problems: list[str]) -> None:
        self.problems = problems
        self.first = problems[:MAX_SHOWN]  # if there are more, the last item says how many
        if len(problems) > MAX_SHOWN:
            self.first.append(f"and {len(problems) - MAX_SHOWN:,} problems more")
        lines = "".join(f"\n  {problem}" for problem in self.first)
        super().__init__(f"{directory} cannot be used as an exported version:{lines}")


@dataclass(frozen=True)
class Languages:
    """Languages of the tokenizer; empty if unknown."""

    source: str
    target: str

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if len(value) > MAX_LANGUAGE or not value.isprintable():
                raise ValueError(
                    f"{name} must have at most {MAX_LANGUAGE} characters, all printable; got {value[:60]!a}"
                )


@dataclass(frozen=True)
class Vocabulary:
    """Number of ids of each side, and whether the sides share a vocabulary."""

    source: int
    target: int
    joint: bool


@dataclass(frozen=True)
class SpecialIds:
    """Special ids. The decoder begins with `start`; sources and answers end with `end`."""

    padding: int
    start: int
    end: int


@dataclass(frozen=True)
class LengthLimits:
    """Limits of lengths. An answer to n source tokens has at most answer_factor * n + answer_extra tokens."""

    source_tokens: int
    target_tokens: int
    answer_factor: int
    answer_extra: int

    @classmethod
    def of(cls, network: Network) -> "LengthLimits":
        """Return the limits of a network."""
        return cls(network.max_length, network.max_length, *network.answer_limit)

    @property
    def answer(self) -> AnswerLimit:
        """Limit of an answer's length for n source tokens; target_tokens applies as well."""
        return AnswerLimit(self.answer_factor, self.answer_extra)


@dataclass(frozen=True)
class LearnedLengths:
    """Lengths of the corpus' lines in tokens (text.sentences.Lengths). They decide how a text is divided."""

    whole: int
    longest: int
    least: int


@dataclass(frozen=True)
class Manifest:
    """Content of manifest.json.

    Attributes:
        format: Number of the format.
        created: Time of the export, in UTC.
        languages: Languages of the model.
        network: Configuration of the network.
        vocabulary: Sizes of the vocabularies.
        special_ids: Special ids.
        limits: Limits of lengths.
        lengths: Lengths of the corpus.
        formats: Precisions of each format.
        versions: Versions of the tools that wrote the directory.
        quality: Quality card.
        files: Checksums of all files except the manifest.
    """

    format: int
    created: str
    languages: Languages
    network: Network
    vocabulary: Vocabulary
    special_ids: SpecialIds
    limits: LengthLimits
    lengths: LearnedLengths
    formats: dict[str, tuple[str, ...]]
    versions: dict[str, str]
    quality: QualityCard
    files: dict[str, Checksum]

    def __post_init__(self) -> None:
        problems = [*self._wrong_values(), *self._wrong_formats(), *self._wrong_files()]
        if problems:
            raise RecordError(problems)

    @property
    def runtimes(self) -> list[RuntimeName]:
        """Runtimes of this version, the lightest first."""
        return [runtime for runtime in RUNTIMES if runtime.file in self.files]

    @property
    def digest(self) -> str:
        """SHA-256 of the manifest. It identifies a version, because the manifest has all checksums."""
        return sha256(self.content()).hexdigest()

    def content(self) -> bytes:
        """Return the bytes of the file."""
        values = {**asdict(self), "network": self.network.as_dict()}
        return json.dumps(values, indent=2, ensure_ascii=False).encode() + b"\n"

    def _wrong_values(self) -> list[str]:
        problems = []
        try:
            if datetime.fromisoformat(self.created).utcoffset() is None:
                raise ValueError
        except ValueError:
            problems.append(f"created must be a time with its zone; got {shown(self.created)}")
        expected = LengthLimits.of(self.network)
        if self.limits != expected:
            problems.append(
                f"limits must be {_values(expected)} for this network; got {_values(self.limits)}"
            )
        if self.lengths.longest < 1:
            problems.append(f"lengths.longest must be at least 1; got {self.lengths.longest}")
        return problems

    def _wrong_formats(self) -> list[str]:
        problems = []
        if not self.formats:
            problems.append(f"formats must name one of {', '.join(FORMATS)} at least; got none")
        for name, precisions in self.formats.items():
            known = FORMATS[name].files if name in FORMATS else {}
            if not known:
                problems.append(f"formats must be of {', '.join(FORMATS)}; got {shown(name)}")
            elif not precisions or set(precisions) - set(known):
                problems.append(
                    f"formats.{name} must be of {', '.join(known)}; got {shown(list(precisions))}"
                )
            needed = (file for precision in precisions for file in known.get(precision, ()))
            problems += [f"files must have {file} for {name}" for file in needed if file not in self.files]
        return problems

    def _wrong_files(self) -> list[str]:
        problems = [f"files must have {GOLDEN}"] if GOLDEN not in self.files else []
        if not any(name.startswith(f"{TOKENIZER}/") for name in self.files):
            problems.append(f"files must have those of {TOKENIZER}/")
        for name in self.files:
            wrong = path_problem(name) or ("a manifest does not list itself" if name == MANIFEST else None)
            if wrong:
                problems.append(f"files, {shown(name)}: {wrong}")
        return problems


@dataclass(frozen=True)
class Version:
    """Version directory whose files have all been checked and are unchanged.

    Attributes:
        directory: The directory.
        manifest: Content of its manifest.json.
        tokenizer: Its tokenizer.
        golden: Its golden sentences, with the tokens that every runtime must return for them.
    """

    directory: Path
    manifest: Manifest
    tokenizer: Tokenizer
    golden: tuple[Golden, ...]


def open_version(directory: Path) -> Version:
    """Read and check a version directory.

    Args:
        directory: The directory.

    Returns:
        The version.

    Raises:
        VersionError: With every problem.
    """
    manifest = read_manifest(directory)
    problems = differences(directory, manifest.files, besides=MANIFEST)
    if problems:
        raise VersionError(directory, problems)
    tokenizer = _tokenizer(directory, manifest)
    return Version(directory, manifest, tokenizer, _golden(directory, manifest, tokenizer))


def looks_exported(path: Path) -> bool:
    """Return whether a directory is an exported version, undamaged or damaged."""
    return any((path / name).exists() for name in (MANIFEST, GOLDEN, ONNX, CTRANSLATE2, "saved_model.pb"))


def read_manifest(directory: Path) -> Manifest:
    """Read and check the manifest of a version directory, but none of its other files.

    Raises:
        VersionError: With every problem.
    """
    try:
        content = read_regular(directory / MANIFEST, MAX_MANIFEST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        raise VersionError(directory, [_no_manifest(directory)]) from None
    except NotReadableError as error:
        raise VersionError(directory, [f"{MANIFEST}: {error}; {AGAIN}"]) from None
    try:
        values = parsed(content)
        newer = _of_another_format(values)
        if newer is not None:
            raise VersionError(directory, [newer])
        return record(Manifest, values)
    except RecordError as error:
        raise VersionError(
            directory, [f"{MANIFEST}: {problem}; {AGAIN}" for problem in error.problems]
        ) from error


def _no_manifest(directory: Path) -> str:
    if not directory.exists():
        return "there is no such directory: name one that `keras-transformer export` wrote"
    if (directory / "run.json").exists():
        return (
            f"{MANIFEST}: it is missing, and this is a run: export it first with `keras-transformer export`"
        )
    return f"{MANIFEST}: it is missing; name a directory that `keras-transformer export` wrote, or {AGAIN}"


def _of_another_format(values: Any) -> str | None:
    """Return the problem of a manifest in another format, or None.

    No other problem is reported with it: in another format, a key may have another meaning.
    """
    written = values.get("format") if isinstance(values, Mapping) else None
    if type(written) is not int or written == FORMAT:
        return None
    if written > FORMAT:
        return (
            f"{MANIFEST}: it has format {shown(written)}, and this program supports up to {FORMAT}; "
            "install the release of this package that wrote it, or a later one"
        )
    return f"{MANIFEST}: there is no format {written}; this program supports {FORMAT}; {AGAIN}"


def facts_of(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return the fields of a manifest that describe a tokenizer, as a dictionary by field name."""
    return {
        "languages": Languages(tokenizer.source_lang, tokenizer.target_lang),
        "vocabulary": Vocabulary(tokenizer.source_size, tokenizer.target_size, tokenizer.joint),
        "special_ids": SpecialIds(tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id),
    }


def _tokenizer(directory: Path, manifest: Manifest) -> Tokenizer:
    try:
        tokenizer = Tokenizer.load(directory / TOKENIZER)
        actual = facts_of(tokenizer)
    except (ValueError, OSError) as error:
        raise VersionError(directory, [f"{TOKENIZER}: {error}"]) from error
    problems = [
        f"{TOKENIZER}: its {name} {_values(value)} are not the manifest's "
        f"{_values(getattr(manifest, name))}: it belongs to another version; {AGAIN}"
        for name, value in actual.items()
        if value != getattr(manifest, name)
    ]
    if problems:
        raise VersionError(directory, problems)
    return tokenizer


def _golden(directory: Path, manifest: Manifest, tokenizer: Tokenizer) -> tuple[Golden, ...]:
    try:
        sentences = read_golden(read_regular(directory / GOLDEN, manifest.files[GOLDEN].bytes))
        check_tokenized(sentences, tokenizer, manifest.limits.source_tokens)
    except GoldenError as error:
        raise VersionError(
            directory, [f"{GOLDEN}{problem}; {AGAIN}" for problem in error.problems]
        ) from error
    return sentences


def _values(group: Any) -> str:
    return ", ".join(f"{name} {value}" for name, value in asdict(group).items())
