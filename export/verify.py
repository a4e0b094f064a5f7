"""The certificate: what each runtime of a version says to the golden sentences, beside what the model said.

At float32 every token is the model's, and the score with it; where the model's first two logits were a
near-tie, another token is listed and excused. At int8 at most MOST_BLEU_LOST is lost; without references
nobody knows, and nothing is judged.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from export.artifact.golden import NEAR_TIE, Golden
from export.artifact.manifest import Version
from export.artifact.quality_card import Agreement
from export.formats.format import RuntimeName
from export.golden_sentences import evenly
from export.isolated import Reply, ReplyError, ask

MOST_SCORE_DIFFERENCE = 1e-4
MOST_BLEU_LOST = 1.0


@dataclass(frozen=True)
class Difference:
    """A golden sentence that a runtime answers otherwise at float32."""

    runtime: str
    source: str
    expected: str
    answered: str
    margin: float

    @property
    def near_tie(self) -> bool:
        """The model itself could hardly decide."""
        return self.margin < NEAR_TIE


@dataclass(frozen=True)
class Certificate:
    """A row for each runtime that could be asked. `broken` says which promises are not kept."""

    rows: tuple[Agreement, ...]
    differences: tuple[Difference, ...]
    broken: tuple[str, ...]


def certificate(version: Version, tell: Callable[[str], None], at_float32: int | None = None) -> Certificate:
    """Each runtime of the version, one after the other, asked its golden sentences, or so many at float32.

    A few tell whether a runtime computes what the model does. Of BLEU a few tell nothing.
    """
    rows: list[Agreement] = []
    differences: list[Difference] = []
    broken: list[str] = []
    for name in version.manifest.runtimes:
        few = at_float32 if name.precision == "float32" else None
        sentences = version.golden if few is None else evenly(version.golden, few)
        tell(f"asking {name}: {len(sentences):,} sentences ...")
        ids, texts = [each.source_ids for each in sentences], [each.source for each in sentences]
        try:
            asked = ask(name, version.directory, version.manifest.limits.source_tokens, ids, texts)
            said = version.tokenizer.decode_target(asked.ids) if asked.ids else asked.texts or []
        except ReplyError as error:
            broken.append(str(error))
            continue
        except ValueError as error:
            broken.append(f"{name} answers with ids that are none: {error}")
            continue
        row = _row(name, sentences, asked, said)
        other = _differences(name, sentences, asked, said) if name.precision == "float32" else []
        rows.append(row)
        differences += other
        broken += _broken(name, row, other)
    return Certificate(tuple(rows), tuple(differences), tuple(broken))


def _row(name: RuntimeName, sentences: Sequence[Golden], asked: Reply, said: Sequence[str]) -> Agreement:
    same = [place for place, each in enumerate(sentences) if _says(asked, place, each)]
    near_ties = sum(each.near_tie for place, each in enumerate(sentences) if not _says(asked, place, each))
    direct = asked.texts
    texts = None if direct is None else sum(direct[place] == sentences[place].target for place in same)
    differences = [abs(sentences[place].score - asked.scores[place]) for place in same]
    bleu, change = _bleu(sentences, said)
    return Agreement(
        runtime=name.runtime,
        precision=name.precision,
        sentences=len(sentences),
        identical=len(same),
        texts=texts,
        near_ties=near_ties,
        score_difference=max(differences, default=None),
        bleu=bleu,
        bleu_change=change,
        sentences_per_second=len(sentences) / asked.seconds,
    )


def _says(asked: Reply, place: int, golden: Golden) -> bool:
    """Whether its answer is the model's: in every token, or in its text where it tells no tokens."""
    if asked.ids is not None:
        return tuple(asked.ids[place]) == golden.target_ids
    return asked.texts is not None and asked.texts[place] == golden.target


def _bleu(sentences: Sequence[Golden], said: Sequence[str]) -> tuple[float, float] | tuple[None, None]:
    """Of the answers whose references are known, and how much more that is than the model's own."""
    known = [place for place, each in enumerate(sentences) if each.reference is not None]
    if not known:
        return None, None
    from keras_transformer.evaluation.scores import bleu  # noqa: PLC0415 (sacreBLEU is for references alone)

    references = [sentences[place].reference or "" for place in known]
    found = bleu([said[place] for place in known], references)
    return found, found - bleu([sentences[place].target for place in known], references)


def _differences(
    name: RuntimeName, sentences: Sequence[Golden], asked: Reply, said: Sequence[str]
) -> list[Difference]:
    return [
        Difference(name.runtime, each.source, each.target, said[place], each.margin)
        for place, each in enumerate(sentences)
        if not _says(asked, place, each)
    ]


def _broken(name: RuntimeName, row: Agreement, differences: Sequence[Difference]) -> list[str]:
    problems = []
    wrong = sum(not each.near_tie for each in differences)
    if wrong:
        problems.append(
            f"{name} answers {wrong:,} of {row.sentences:,} sentences otherwise than the model did, "
            f"where its first two logits were {NEAR_TIE:g} or more apart"
        )
    if row.texts is not None and row.texts < row.identical:
        problems.append(
            f"{name} translates {row.identical - row.texts:,} of {row.identical:,} texts otherwise than "
            "their tokens"
        )
    worst = row.score_difference
    if name.precision == "float32" and worst is not None and not worst <= MOST_SCORE_DIFFERENCE:
        problems.append(
            f"{name} gives scores that are up to {worst:.2g} off; {MOST_SCORE_DIFFERENCE:g} is allowed"
        )
    if name.precision != "float32" and row.bleu_change is not None and row.bleu_change < -MOST_BLEU_LOST:
        problems.append(
            f"{name} loses {-row.bleu_change:.2f} BLEU on {row.sentences:,} sentences; "
            f"{MOST_BLEU_LOST:g} is allowed, and the fewer sentences, the more is chance"
        )
    return problems
