"""A version that answers: its tokenizer, its engine, and what it does to a text."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from export.artifact.golden import Golden
from export.artifact.layout import ONNX
from export.artifact.manifest import Version
from keras_transformer.inference.backend import Backend
from keras_transformer.inference.batch import Batch
from keras_transformer.inference.request import End, Request
from keras_transformer.text.lengths import ANSWER_LIMIT, AnswerLimit
from keras_transformer.text.sentences import Lengths
from keras_transformer.text.tokenizer import Tokenizer
from serving.engine.attention_graph import AttentionGraph
from serving.engine.engine import Engine
from serving.registry.users import Users

EXAMPLES = 6
RUNTIMES = {"onnx": "onnx", "tensorflow": "saved_model"}  # and what of a version each reads
WARMING = 8  # golden sentences that a version translates before anybody else's


class ModelError(ValueError):
    """A version that cannot be served, and why."""


@dataclass(frozen=True)
class EngineSettings:
    """How a version is decoded."""

    precision: str = "float32"
    slots: int = 32  # sentences that are decoded together
    queue: int = 1024  # sentences that wait
    prefill_tokens: int = 512  # read between two steps
    threads: int = 1  # of a matrix product in ONNX Runtime
    runtime: str = "onnx"
    trial_seconds: int = 60  # of a processor, to open a version in a process of its own first
    trial_memory: int = 0  # bytes for that; 0: half of what there is


@dataclass(frozen=True, eq=False)
class ServedVersion:
    """One version of a model."""

    name: str
    version: int
    tokenizer: Tokenizer
    lengths: Lengths  # in tokens: what decides how a text is divided
    longest: int  # tokens of a part, and of its answer
    precision: str
    engine: Engine
    attention: AttentionGraph | None  # that tells what was looked at; a version may be exported without
    corpus: str = ""  # what it was trained on, as far as that is known
    examples: tuple[str, ...] = ()  # sentences to try it with
    limit: AnswerLimit = ANSWER_LIMIT  # of the answer to a part, as far as `longest` allows
    users: Users = field(default_factory=Users)  # requests that have found it, and are not finished

    def requests(
        self, texts: Sequence[str], max_tokens: int = 0, priority: int = 0, deadline: float | None = None
    ) -> list[Request]:
        """One for each part; one that says nothing has ended already. max_tokens 0: what the model may."""
        made = []
        for source in self.tokenizer.encode_source(texts, self.longest):
            most = min(self.limit(len(source)), self.longest, max_tokens or self.longest)
            says_nothing = source == [self.tokenizer.eos_id]
            made.append(Request(source, most, priority, deadline, end=End.STOP if says_nothing else None))
        return made


def load_model(name: str, number: int, version: Version, settings: EngineSettings) -> ServedVersion:
    """Its graphs have translated a few sentences, and said what was exported. Its engine is to be started."""
    manifest, tokenizer = version.manifest, version.tokenizer
    backend = _backend(version, settings)
    engine = Engine(backend, tokenizer.eos_id, settings.queue, settings.prefill_tokens)
    lengths = Lengths(manifest.lengths.whole, manifest.lengths.longest, manifest.lengths.least)
    attention = AttentionGraph(version.path(f"{ONNX}/attention.onnx")) if ONNX in manifest.formats else None
    examples = tuple(each.source for each in version.golden[:EXAMPLES])
    corpus = _file_names(manifest.quality.corpus or "")
    limits = manifest.limits
    model = ServedVersion(
        name, number, tokenizer, lengths, limits.source_tokens, settings.precision, engine, attention,
        corpus, examples, limits.answer,
    )  # fmt: skip
    _warm(model, backend, version.golden[:WARMING])
    return model


def _file_names(corpus: str) -> str:
    """What a version was trained on, for everyone: where its files lay on the disk is for nobody."""
    return ", ".join(PurePath(each).name for each in corpus.split(", "))


def _backend(version: Version, settings: EngineSettings) -> Backend:
    """Each loads its library, which is needed for it alone."""
    kind = RUNTIMES[settings.runtime]
    there = version.manifest.formats.get(kind, ())
    if settings.precision not in there:
        found = f"{kind} at {' and '.join(there)}" if there else f"no {kind}"
        asked = "" if settings.precision == "float32" else f" --quantize {settings.precision}"
        raise ModelError(
            f"it has {found}, and {settings.precision} is asked for: "
            f"export it with --format {kind}{asked}, or serve it with another --precision or --runtime"
        )
    slots, start_id = settings.slots, version.tokenizer.bos_id
    try:
        if settings.runtime == "tensorflow":
            from keras_transformer.inference.backends.saved_model import SavedModelBackend  # noqa: PLC0415

            return SavedModelBackend(version.directory, start_id, slots)
        from export.formats.runtimes.onnx_scheduler_runtime import open_backend  # noqa: PLC0415

        limits = version.manifest.limits
        longest = limits.source_tokens
        make_backend = open_backend(version.path(ONNX), settings.precision, start_id, settings.threads)
        return make_backend(slots, longest, min(limits.answer(longest), longest))
    except Exception as error:  # the libraries have a type for each of their reasons, and no name for all
        raise ModelError(f"its graphs cannot be loaded: {error}") from error


def _warm(model: ServedVersion, backend: Backend, golden: Sequence[Golden]) -> None:
    """What the first sentences cost is spent before anybody waits; and they tell whether it is the model."""
    requests = model.requests([each.source for each in golden])
    waiting = [each for each in requests if each.end is None]
    batch = Batch(backend, model.tokenizer.eos_id)
    while waiting or batch:
        coming, waiting = waiting[: batch.free], waiting[batch.free :]
        batch.admit(coming)
        batch.step(0)
    problems = {each.error for each in requests if each.end not in (End.STOP, End.LENGTH)}
    if problems:
        raise ModelError(f"it cannot translate its own golden sentences: {'; '.join(sorted(problems))}")
    others = sum(
        tuple(request.tokens) != each.target_ids and not each.near_tie
        for each, request in zip(golden, requests, strict=True)
    )
    if others and model.precision == "float32":
        raise ModelError(
            f"of {len(golden)} golden sentences {others} get other tokens than when it was exported: "
            "ask `keras-transformer verify` which"
        )
