"""Export of a model to a version directory, which appears only if its runtimes agree with the model."""

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import tensorflow as tf

from export.artifact.checksums import Checksum, checksums
from export.artifact.golden import BEAM, Golden, golden_lines
from export.artifact.layout import CARD, GOLDEN, MANIFEST, TOKENIZER
from export.artifact.leftovers import making_alone
from export.artifact.manifest import FORMAT, LengthLimits, Manifest, Version, facts_of, open_version
from export.artifact.quality_card import BeamQuality, Machine, QualityCard, Scored, sizes
from export.artifact.version_summary import manifest_facts
from export.export_request import ExportRequest, Origin
from export.formats.format import WriteStep
from export.formats.registry import write_steps
from export.golden_answers import golden_answers
from export.golden_sentences import Chosen
from export.isolated import THREADS
from export.verify import certificate
from keras_transformer.libraries import versions_of
from keras_transformer.memory import give_back
from keras_transformer.models.translation import TranslationModel
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training.runs.model_card import model_card

CHECKED_SENTENCES = 16  # for each float32 runtime before the version appears; `verify` checks all
MADE_WITH = ("keras", "tensorflow", "tensorflow-text", "onnx", "onnxruntime", "tf2onnx", "ctranslate2",
             "sentencepiece", "numpy")  # fmt: skip

Notify = Callable[[str], None]


class ExportError(ValueError):
    """Error of a model that cannot be exported as requested, with the reason."""


def export_version(
    model: TranslationModel,
    output: Path,
    request: ExportRequest,
    sentences: Chosen,
    origin: Origin,
    notify: Notify,
) -> Version:
    """Write a version directory, atomically.

    Args:
        model: Model with a tokenizer; it is exported in float32, and in int8 too if requested.
        output: The directory, which must not exist.
        request: The formats.
        sentences: The golden sentences, and those for the int8 calibration.
        origin: Facts about the training that the model does not contain.
        notify: Called with each line of progress.

    Returns:
        The version, as it is read from the directory.

    Raises:
        ExportError: If there is no tokenizer or no sentence, a file cannot be written, or a runtime's answers
            differ from the model's.
        FileExistsError: If the directory exists.
    """
    if not isinstance(model, TranslationModel):
        raise ExportError(f"only a TranslationModel is exported; got a {type(model).__name__}")
    tokenizer = model.tokenizer
    if tokenizer is None:
        raise ExportError("this model has no tokenizer: create it with tokenizer=... to export it")
    if not sentences.golden:
        raise ExportError("an export needs golden sentences: give at least one that is not blank")
    if request.with_tokenizer and tokenizer.vocabularies:
        raise ExportError(
            "text.onnx cannot be written for this model: the operators of onnxruntime-extensions use the ids "
            "of a SentencePiece model, but a vocabulary numbers its pieces. Leave out --with-tokenizer"
        )
    request.check_libraries()
    if model.dtype_policy.name != "float32":
        model = model.with_policy("float32")
    with making_alone(output) as directory:
        notify(f"translating {len(sentences.golden):,} golden sentences ...")
        golden = golden_answers(model, tokenizer, sentences.golden)
        _forget()
        (directory / GOLDEN).write_bytes(golden_lines(golden))
        tokenizer.save(directory / TOKENIZER)
        calibration = [sentence.source for sentence in sentences.calibration]
        for step in write_steps(request, tokenizer, calibration):
            _run(step, model, directory, notify)
        _remove_empty_folders(directory)
        manifest = _manifest(model, tokenizer, request, golden, origin, directory)
        manifest = _with_card(
            manifest, model_card(manifest_facts(manifest, tokenizer), origin.license), directory
        )
        (directory / MANIFEST).write_bytes(manifest.content())
        version = _agreed(open_version(directory), notify)
        (directory / MANIFEST).write_bytes(version.manifest.content())
    return replace(version, directory=output)


def _run(step: WriteStep, model: TranslationModel, directory: Path, notify: Notify) -> None:
    before, begun = _bytes(directory), time.monotonic()
    notify(f"writing {step.name} ...")
    try:
        step.write(model, directory)
    except tf.errors.OpError as error:  # TensorFlow raises it for a file that cannot be written
        raise ExportError(f"{step.name} could not be written: {error.message}") from error
    _forget()
    notify(f"  {(_bytes(directory) - before) / 1e6:.1f} MB in {time.monotonic() - begun:.1f} s")


def _forget() -> None:
    """Free TensorFlow's graphs, which are large and have reference cycles."""
    gc.collect()
    give_back()


def _bytes(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def _remove_empty_folders(directory: Path) -> None:
    """Remove empty folders, such as TensorFlow's assets: archives and object stores drop them."""
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
    files = checksums(directory)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Manifest(
        format=FORMAT,
        created=now,
        network=model.network,
        limits=LengthLimits.of(model.network),
        lengths=origin.lengths,
        formats=request.precisions(),
        versions=versions_of(MADE_WITH),
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
            beam=_beam_quality(golden),
        ),
        files=files,
        **facts_of(tokenizer),
    )


def _with_card(manifest: Manifest, card: str, directory: Path) -> Manifest:
    """Write the model card, and return the manifest with its checksum and its size."""
    (directory / CARD).write_text(card, "utf-8")
    files = {**manifest.files, CARD: Checksum.of(directory / CARD)}
    return replace(manifest, files=files, quality=replace(manifest.quality, bytes=sizes(files)))


def _agreed(version: Version, notify: Notify) -> Version:
    """Return the version with the certificate of some golden sentences.

    Raises:
        ExportError: If the answers of a runtime differ.
    """
    result = certificate(version, notify, at_float32=CHECKED_SENTENCES)
    if result.broken:
        raise ExportError(f"nothing was written, because runtimes disagree: {'; '.join(result.broken)}")
    quality = replace(version.manifest.quality, agreement=result.rows)
    return replace(version, manifest=replace(version.manifest, quality=quality))


def _scores(golden: Sequence[Golden]) -> tuple[Scored, ...]:
    known = [sentence for sentence in golden if sentence.reference is not None]
    if not known:
        return ()
    from keras_transformer.evaluation.scores import score  # noqa: PLC0415 (sacreBLEU is for references alone)

    scores = score([sentence.target for sentence in known], [sentence.reference or "" for sentence in known])
    return tuple(Scored(**asdict(metric)) for metric in scores)


def _beam_quality(golden: Sequence[Golden]) -> BeamQuality | None:
    known = [sentence for sentence in golden if sentence.reference is not None and sentence.beam is not None]
    if not known:
        return None
    from keras_transformer.evaluation.scores import bleu  # noqa: PLC0415

    references = [sentence.reference or "" for sentence in known]
    searched = [sentence.beam.target for sentence in known if sentence.beam is not None]
    greedy = bleu([sentence.target for sentence in known], references)
    return BeamQuality(BEAM, len(known), bleu(searched, references), greedy)
