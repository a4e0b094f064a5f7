"""A version that serves: its tokenizer, its engine, and its attention graph."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

from export.artifact.golden import Golden
from export.artifact.layout import ONNX
from export.artifact.manifest import Version
from keras_transformer.inference.backend import Backend
from keras_transformer.inference.batch import Batch
from keras_transformer.inference.loop_guard import LoopGuard
from keras_transformer.inference.request import End, Request
from keras_transformer.text.lengths import ANSWER_LIMIT, AnswerLimit
from keras_transformer.text.sentences import Lengths
from keras_transformer.text.tokenizer import Tokenizer
from serving.engine.attention_graph import AttentionGraph
from serving.engine.engine import Engine
from serving.registry.users import Users

EXAMPLES = 6
FORMAT_OF_RUNTIME = {"onnx": "onnx", "tensorflow": "saved_model"}  # format that each runtime reads
WARMING = 8  # number of golden sentences that a version translates before it serves


class ModelError(ValueError):
    """Error of a version that cannot be served."""


@dataclass(frozen=True)
class EngineSettings:
    """Settings of the engine of each version, and of its trial.

    Attributes:
        precision: "float32" or "int8".
        slots: Number of rows that are decoded together.
        queue: Largest number of waiting sentences.
        prefill_tokens: Largest number of source tokens that are encoded between two steps.
        threads: Number of threads of a matrix product in ONNX Runtime.
        runtime: "onnx" or "tensorflow".
        trial_seconds: Largest processor time of a trial in seconds.
        trial_memory: Largest memory of a trial in bytes; 0 is half of the machine's or the container's.
    """

    precision: str = "float32"
    slots: int = 32
    queue: int = 1024
    prefill_tokens: int = 512
    threads: int = 1
    runtime: str = "onnx"
    trial_seconds: int = 60
    trial_memory: int = 0


@dataclass(frozen=True, eq=False)
class ServedVersion:
    """Version of a model that serves.

    Attributes:
        name: Name of the model.
        version: Number of the version.
        tokenizer: Tokenizer of the version.
        lengths: Lengths in tokens that decide how a text is divided.
        longest: Largest number of tokens of a part, and of its answer.
        precision: "float32" or "int8".
        engine: Engine that decodes.
        attention: Attention graph; None if the version was exported without it.
        corpus: Training corpus, if it is known.
        examples: Example sentences.
        limit: Length limit of the answer to a part; `longest` applies as well.
        forbidden: Ids that no answer contains.
        users: Requests that use the version.
    """

    name: str
    version: int
    tokenizer: Tokenizer
    lengths: Lengths
    longest: int
    precision: str
    engine: Engine
    attention: AttentionGraph | None
    corpus: str = ""
    examples: tuple[str, ...] = ()
    limit: AnswerLimit = ANSWER_LIMIT
    forbidden: tuple[int, ...] = ()
    users: Users = field(default_factory=Users)

    @property
    def longest_answer(self) -> int:
        """Largest number of tokens of an answer to any part."""
        return min(self.limit(self.longest), self.longest)

    def requests(
        self,
        texts: Sequence[str],
        max_tokens: int = 0,
        priority: int = 0,
        deadline: float | None = None,
        search: Mapping[str, Any] = MappingProxyType({}),
        loop_guard: bool = False,
    ) -> list[Request]:
        """Return a request for each text; a request without tokens has already ended.

        Args:
            texts: Sentences.
            max_tokens: Largest number of tokens of an answer; 0 for the model's own limit.
            priority: Priority; higher first.
            deadline: Time after which no work is done.
            search: Other fields of Request; by default the search is greedy. An answer may be longer by its
                prefix.
            loop_guard: Whether answers that repeat themselves are cut.
        """
        requests = []
        prefix, branching = search.get("prefix", ()), search.get("branching", False)
        begun = len(prefix)
        most = self.longest_answer if begun else self.longest
        for source in self.tokenizer.encode_source(texts, self.longest):
            limit = min(self.limit(len(source)) + begun, most)
            end = End.STOP if source == [self.tokenizer.eos_id] else None
            guard = LoopGuard.of(source, limit, prefix, branching) if loop_guard else None
            requests.append(
                Request(
                    source,
                    min(limit, max_tokens or limit),
                    priority,
                    deadline,
                    end=end,
                    guard=guard,
                    **search,
                )
            )
        return requests


def load_model(name: str, number: int, version: Version, settings: EngineSettings) -> ServedVersion:
    """Load a version, and check that it translates its golden sentences. Its engine is not started.

    Args:
        name: Name of the model.
        number: Number of the version.
        version: The opened version.
        settings: Settings of its engine.

    Raises:
        ModelError: If the version cannot be served.
    """
    manifest, tokenizer = version.manifest, version.tokenizer
    backend = _backend(version, settings)
    engine = Engine(backend, tokenizer.eos_id, settings.queue, settings.prefill_tokens)
    lengths = Lengths(manifest.lengths.whole, manifest.lengths.longest, manifest.lengths.least)
    attention = (
        AttentionGraph(version.directory / ONNX / "attention.onnx") if ONNX in manifest.formats else None
    )
    examples = tuple(sentence.source for sentence in version.golden[:EXAMPLES])
    corpus = _file_names(manifest.quality.corpus or "")
    limits = manifest.limits
    model = ServedVersion(
        name, number, tokenizer, lengths, limits.source_tokens, settings.precision, engine, attention,
        corpus, examples, limits.answer, manifest.network.forbidden,
    )  # fmt: skip
    _warm(model, backend, version.golden[:WARMING])
    return model


def _file_names(corpus: str) -> str:
    """Return the files of a corpus without their directories, which are private."""
    return ", ".join(PurePath(path).name for path in corpus.split(", "))


def _backend(version: Version, settings: EngineSettings) -> Backend:
    """Create the backend of a runtime; only this runtime's library is loaded."""
    kind = FORMAT_OF_RUNTIME[settings.runtime]
    precisions = version.manifest.formats.get(kind, ())
    if settings.precision not in precisions:
        exported = f"{kind} in {' and '.join(precisions)}" if precisions else f"no {kind}"
        option = "" if settings.precision == "float32" else f" --quantize {settings.precision}"
        raise ModelError(
            f"it has {exported}; {kind} in {settings.precision} is needed. "
            f"Export it with --format {kind}{option}, or serve it with another --precision or --runtime"
        )
    slots, start_id = settings.slots, version.tokenizer.bos_id
    try:
        if settings.runtime == "tensorflow":
            from keras_transformer.inference.backends.saved_model import SavedModelBackend  # noqa: PLC0415

            return SavedModelBackend(version.directory, start_id, slots)
        from export.formats.runtimes.onnx_scheduler_runtime import open_backend  # noqa: PLC0415

        limits = version.manifest.limits
        longest = limits.source_tokens
        make_backend = open_backend(version.directory / ONNX, settings.precision, start_id, settings.threads)
        return make_backend(slots, longest, min(limits.answer(longest), longest))
    except Exception as error:  # the libraries have no common error type
        raise ModelError(f"its graphs cannot be loaded: {error}") from error


def _warm(model: ServedVersion, backend: Backend, golden: Sequence[Golden]) -> None:
    """Translate golden sentences before the first request, and compare them with the exported answers.

    Raises:
        ModelError: If a sentence fails, or has other tokens.
    """
    requests = model.requests([sentence.source for sentence in golden])
    waiting = [request for request in requests if request.end is None]
    batch = Batch(backend, model.tokenizer.eos_id)
    while waiting or batch:
        coming, waiting = waiting[: batch.free], waiting[batch.free :]
        batch.admit(coming)
        batch.step(0)
    problems = {request.error for request in requests if request.end and not request.end.answered}
    if problems:
        raise ModelError(f"it cannot translate its own golden sentences: {'; '.join(sorted(problems))}")
    different = sum(
        tuple(request.tokens) != sentence.target_ids and not sentence.near_tie
        for sentence, request in zip(golden, requests, strict=True)
    )
    if different and model.precision == "float32":
        raise ModelError(
            f"{different} of {len(golden)} golden sentences have other tokens than in the export; "
            "`keras-transformer verify` lists them"
        )
