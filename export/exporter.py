"""A model as a version directory: the formats asked for, held against the model before it appears."""

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import distributions
from pathlib import Path

import tensorflow as tf

from export.artifact.checksums import sums
from export.artifact.golden import Golden, golden_lines
from export.artifact.layout import GOLDEN, MANIFEST, TOKENIZER
from export.artifact.leftovers import making_alone
from export.artifact.manifest import (
    FORMAT,
    Languages,
    LengthLimits,
    Manifest,
    SpecialIds,
    Version,
    Vocabulary,
    open_version,
)
from export.artifact.quality_card import Machine, QualityCard, Scored, sizes
from export.export_request import ExportRequest, Origin
from export.formats.format import WriteStep
from export.formats.registry import write_steps
from export.golden_answers import golden_answers
from export.golden_sentences import Chosen
from export.isolated import THREADS
from export.verify import certificate
from keras_transformer import __version__
from keras_transformer.memory import give_back
from keras_transformer.models.translation import TranslationModel
from keras_transformer.text.tokenizer import Tokenizer

ASKED = 16  # golden sentences for each float32 runtime before the version appears; `verify` asks all
MADE_WITH = ("keras", "tensorflow", "tensorflow-text", "onnx", "onnxruntime", "tf2onnx", "ctranslate2",
             "sentencepiece", "numpy")  # fmt: skip

Tell = Callable[[str], None]


class ExportError(ValueError):
    """A model that is not exported as asked, and why."""


def export_version(
    model: TranslationModel,
    output: Path,
    request: ExportRequest,
    sentences: Chosen,
    origin: Origin,
    tell: Tell,
) -> Version:
    """Writes a directory that is not there yet: whole, or not at all.

    What it holds is float32, and int8 beside it if that is asked for.
    """
    tokenizer = model.tokenizer
    if tokenizer is None:
        raise ExportError("this model has no tokenizer: create it with tokenizer=... to export it")
    if not sentences.golden:
        raise ExportError("an export needs golden sentences: give one that is not blank at least")
    request.check_libraries()
    if model.dtype_policy.name != "float32":
        model = model.with_policy("float32")
    with making_alone(output) as directory:
        tell(f"translating {len(sentences.golden):,} golden sentences ...")
        golden = golden_answers(model, tokenizer, sentences.golden)
        _forget()
        (directory / GOLDEN).write_bytes(golden_lines(golden))
        tokenizer.save(directory / TOKENIZER)
        calibration = [each.source for each in sentences.calibration]
        for step in write_steps(request, tokenizer, calibration):
            _run(step, model, directory, tell)
        _remove_empty_folders(directory)
        manifest = _manifest(model, tokenizer, request, golden, origin, directory)
        (directory / MANIFEST).write_bytes(manifest.content())
        version = _agreed(open_version(directory), tell)
        (directory / MANIFEST).write_bytes(version.manifest.content())
    return replace(version, directory=output)


def _run(step: WriteStep, model: TranslationModel, directory: Path, tell: Tell) -> None:
    before, begun = _bytes(directory), time.monotonic()
    tell(f"writing {step.name} ...")
    try:
        step.write(model, directory)
    except tf.errors.OpError as error:  # how TensorFlow says that a file cannot be written
        raise ExportError(f"{step.name} could not be written: {error.message}") from error
    _forget()
    tell(f"  {(_bytes(directory) - before) / 1e6:.1f} MB in {time.monotonic() - begun:.1f} s")


def _forget() -> None:
    """TensorFlow's graphs are large, and refer to themselves."""
    gc.collect()
    give_back()


def _bytes(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def _remove_empty_folders(directory: Path) -> None:
    """TensorFlow leaves one; neither an archive nor an object store would keep it."""
    for folder in sorted(filter(Path.is_dir, directory.rglob("*")), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()


def _manifest(
    model: TranslationModel,
    tokenizer: Tokenizer,
    request: ExportRequest,
    golden: Sequence[Golden],
    origin: Origin,
    directory: Path,
) -> Manifest:
    files = sums(directory)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Manifest(
        format=FORMAT,
        created=now,
        languages=Languages(tokenizer.source_lang, tokenizer.target_lang),
        network=model.network,
        vocabulary=Vocabulary(tokenizer.source_size, tokenizer.target_size, tokenizer.joint),
        special_ids=SpecialIds(tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id),
        limits=LengthLimits.of(model.network),
        lengths=origin.lengths,
        formats=request.precisions(),
        versions=_versions(),
        quality=QualityCard(
            corpus=origin.corpus,
            pairs=origin.pairs,
            parameters=model.network.parameters(model.source_vocabulary, model.target_vocabulary),
            bytes=sizes(files),
            sentences=len(golden),
            scores=_scores(golden),
            agreement=(),
            machine=Machine.this(THREADS),
            date=now,
        ),
        files=files,
    )


def _agreed(version: Version, tell: Tell) -> Version:
    """With what the runtimes say to some golden sentences; if one breaks a promise, there is no version."""
    found = certificate(version, tell, at_float32=ASKED)
    if found.broken:
        raise ExportError(f"nothing was written, since a promise would be broken: {'; '.join(found.broken)}")
    quality = replace(version.manifest.quality, agreement=found.rows)
    return replace(version, manifest=replace(version.manifest, quality=quality))


def _scores(golden: Sequence[Golden]) -> tuple[Scored, ...]:
    known = [each for each in golden if each.reference is not None]
    if not known:
        return ()
    from keras_transformer.evaluation.scores import score  # noqa: PLC0415 (sacreBLEU is for references alone)

    found = score([each.target for each in known], [each.reference or "" for each in known])
    return tuple(Scored(**each.as_dict()) for each in found)


def _versions() -> dict[str, str]:
    installed = {each.name.lower(): each.version for each in distributions()}
    others = {name: installed[name] for name in MADE_WITH if name in installed}
    return {"keras_transformer": __version__, **others}
