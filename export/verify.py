"""The certificate: a comparison of each runtime's answers to the golden sentences with those of the model.

In float32 every token and the score must be the model's; where the model's two highest logits were a
near-tie, another token is listed and allowed. In int8 the loss of BLEU is at most MAX_BLEU_LOSS; without
references it is not measured.

The runtimes that can search with a beam have a second row, for the best answers of a beam to some of the
sentences. In int8 it is not judged: the sentences are few.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from export.artifact.golden import BEAM, NEAR_TIE, Golden
from export.artifact.manifest import Version
from export.artifact.quality_card import Agreement
from export.formats.format import RuntimeName
from export.golden_sentences import evenly
from export.isolated import Reply, ReplyError, ask

MAX_SCORE_DIFFERENCE = 1e-4
MAX_BLEU_LOSS = 1.0


@dataclass(frozen=True)
class Difference:
    """Golden sentence to which a runtime gives another answer in float32."""

    runtime: str
    source: str
    expected: str
    answered: str
    margin: float
    beam: int = 1

    @property
    def near_tie(self) -> bool:
        """Whether two tokens were almost equally likely for the model."""
        return self.margin < NEAR_TIE


@dataclass(frozen=True)
class Certificate:
    """Comparison of runtimes with the model.

    Attributes:
        rows: A row for each runtime that answered, and one for its beam if it has one.
        differences: Sentences with different answers in float32.
        broken: A line for each promise that a runtime does not keep.
    """

    rows: tuple[Agreement, ...]
    differences: tuple[Difference, ...]
    broken: tuple[str, ...]


def certificate(
    version: Version, notify: Callable[[str], None], at_float32: int | None = None
) -> Certificate:
    """Compare every runtime of a version with the model, one after the other.

    Args:
        version: Version with its golden sentences.
        notify: Called with a line of progress before each runtime.
        at_float32: Number of sentences for the float32 runtimes; by default all. A few show whether a runtime
            computes what the model does; BLEU needs all of them.

    Returns:
        The certificate.
    """
    rows: list[Agreement] = []
    differences: list[Difference] = []
    broken: list[str] = []
    limits = version.manifest.limits
    for name in version.manifest.runtimes:
        few = at_float32 if name.precision == "float32" else None
        sentences = version.golden if few is None else evenly(version.golden, few)
        notify(f"asking {name}: {len(sentences):,} sentences ...")
        ids = [sentence.source_ids for sentence in sentences]
        texts = [sentence.source for sentence in sentences]
        with_beam = {index: sentence.searched() for index, sentence in enumerate(sentences)}
        searched = {index: sentence for index, sentence in with_beam.items() if name.beams and sentence}
        try:
            reply = ask(
                name, version.directory, limits.source_tokens, ids, texts, limits.answer, list(searched)
            )
        except ReplyError as error:
            broken.append(str(error))
            continue
        comparisons = [(1, sentences, reply)]
        if reply.beams:
            comparisons.append((BEAM, list(searched.values()), reply.beams))
        for beam, expected, given in comparisons:
            try:
                answers = version.tokenizer.decode_target(given.ids) if given.ids else given.texts or []
            except ValueError as error:
                broken.append(f"{name} answers with ids that do not exist: {error}")
                continue
            row = _row(name, expected, given, answers, beam)
            other = _differences(row, expected, given, answers) if name.precision == "float32" else []
            rows.append(row)
            differences += other
            broken += _broken(row, other)
    return Certificate(tuple(rows), tuple(differences), tuple(broken))


def _row(
    name: RuntimeName, sentences: Sequence[Golden], reply: Reply, answers: Sequence[str], beam: int
) -> Agreement:
    same = [index for index, sentence in enumerate(sentences) if _agrees(reply, index, sentence)]
    others = [sentence for index, sentence in enumerate(sentences) if not _agrees(reply, index, sentence)]
    direct = reply.texts
    texts = None if direct is None else sum(direct[index] == sentences[index].target for index in same)
    differences = [abs(sentences[index].score - reply.scores[index]) for index in same]
    bleu, change = _bleu(sentences, answers)
    return Agreement(
        runtime=name.runtime,
        precision=name.precision,
        sentences=len(sentences),
        identical=len(same),
        texts=texts,
        near_ties=sum(sentence.near_tie for sentence in others),
        score_difference=max(differences, default=None),
        bleu=bleu,
        bleu_change=change,
        sentences_per_second=len(sentences) / reply.seconds,
        beam=beam,
    )


def _agrees(reply: Reply, index: int, golden: Golden) -> bool:
    """Return whether an answer is the model's in every token, or in its text without tokens."""
    if reply.ids is not None:
        return tuple(reply.ids[index]) == golden.target_ids
    return reply.texts is not None and reply.texts[index] == golden.target


def _bleu(sentences: Sequence[Golden], answers: Sequence[str]) -> tuple[float, float] | tuple[None, None]:
    """Return BLEU over the sentences with references, and its difference from the model's."""
    known = [index for index, sentence in enumerate(sentences) if sentence.reference is not None]
    if not known:
        return None, None
    from keras_transformer.evaluation.scores import bleu  # noqa: PLC0415 (sacreBLEU is for references alone)

    references = [sentences[index].reference or "" for index in known]
    score = bleu([answers[index] for index in known], references)
    return score, score - bleu([sentences[index].target for index in known], references)


def _differences(
    row: Agreement, sentences: Sequence[Golden], reply: Reply, answers: Sequence[str]
) -> list[Difference]:
    return [
        Difference(row.runtime, sentence.source, sentence.target, answers[index], sentence.margin, row.beam)
        for index, sentence in enumerate(sentences)
        if not _agrees(reply, index, sentence)
    ]


def _broken(row: Agreement, differences: Sequence[Difference]) -> list[str]:
    name = f"{row.runtime} {row.precision}" + (f" with a beam of {row.beam}" if row.beam > 1 else "")
    problems = []
    wrong = sum(not difference.near_tie for difference in differences)
    if wrong:
        problems.append(
            f"{name} answers {wrong:,} of {row.sentences:,} sentences differently from the model, "
            f"although the model's two highest {'logits' if row.beam == 1 else 'scores'} differed by "
            f"{NEAR_TIE:g} or more"
        )
    if row.texts is not None and row.texts < row.identical:
        problems.append(
            f"{name} translates {row.identical - row.texts:,} of {row.identical:,} texts differently from "
            "their tokens"
        )
    worst = row.score_difference
    if row.precision == "float32" and worst is not None and not worst <= MAX_SCORE_DIFFERENCE:
        problems.append(
            f"{name} gives scores that differ by up to {worst:.2g}; {MAX_SCORE_DIFFERENCE:g} is allowed"
        )
    judged = row.precision != "float32" and row.beam == 1
    if judged and row.bleu_change is not None and row.bleu_change < -MAX_BLEU_LOSS:
        problems.append(
            f"{name} loses {-row.bleu_change:.2f} BLEU on {row.sentences:,} sentences; "
            f"{MAX_BLEU_LOSS:g} is allowed. With few sentences the loss may be chance"
        )
    return problems
