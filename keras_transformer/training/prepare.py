"""From a corpus to a run directory that can be trained: cleaned, split, tokenised, its recipe settled."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any
from zlib import crc32

from keras_transformer.text.cleaning import CleaningReport, CleaningRules, clean
from keras_transformer.text.corpus import CorpusError, Pair
from keras_transformer.text.token_store import TokenStore
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training.recipe import Recipe
from keras_transformer.training.run import Run

SPOOL = "corpus.jsonl"
SAMPLES = 16  # how often a corpus is cut into pieces when that is left to chance
HELD_OUT_SHARE, HELD_OUT_MOST = 50, 1000  # one pair in fifty, a thousand at most

Tell = Callable[[str], None]


def prepare(
    run: Run,
    about: dict[str, Any],
    training: Iterable[Pair],
    valid: Iterable[Pair] | None,
    rules: CleaningRules,
    said: dict[str, Any],
    tell: Tell,
    usual: dict[str, Any] | None = None,
) -> Recipe:
    """Everything that training reads. The recipe is written last: with it, a run is prepared.

    The corpus is read once and spooled to disk, so that a pipe will do and memory does not matter. Without
    `valid`, one pair in fifty is held out, chosen by its source text: the same sentence is never on both
    sides. `said` are the fields of the recipe that the user said.
    """
    report = CleaningReport()
    held_out = None if valid is not None else _HeldOut()
    pairs = clean(training, rules, report)
    count = run.write_pairs(SPOOL, pairs if held_out is None else held_out.without(pairs))
    run.write("cleaning.json", report.as_dict())
    tell(str(report))
    validation = list(valid) if valid is not None else held_out.pairs if held_out else []
    if not validation or not count:
        raise CorpusError(
            f"of {report.kept} pairs {count} are left to train on and {len(validation)} to validate on: "
            "both are needed. Give more pairs, or files of your own with --valid-source and --valid-target."
        )
    run.write_pairs("valid.jsonl", validation)
    recipe = Recipe.for_corpus(count, usual, **said)
    tell(f"{count:,} pairs to train on, {len(validation):,} held out for scores")
    tokenizer = Tokenizer.train(
        run.read_pairs(SPOOL),
        recipe.vocabulary,
        recipe.tokenizer,
        recipe.joint,
        about["source_lang"],
        about["target_lang"],
    )
    for left in (run.tokenizer, *run.path.glob(f".{run.tokenizer.name}-*")):
        shutil.rmtree(left, ignore_errors=True)  # by a preparation that was killed
    tokenizer.save(run.tokenizer)
    dropout = recipe.piece_dropout
    times = SAMPLES if dropout else 1
    pairs = chain.from_iterable(run.read_pairs(SPOOL) for _ in range(times))
    store = TokenStore.write(run.tokens, pairs, tokenizer, recipe.max_tokens, dropout, recipe.seed)
    (run.path / SPOOL).unlink()
    tell(f"{tokenizer.target_size:,} pieces, {int(store.lengths()[:, 1].sum()) // times:,} target tokens")
    run.write("recipe.json", recipe.as_dict())
    return recipe


class _HeldOut:
    """Takes pairs out of a stream for validation."""

    def __init__(self) -> None:
        self.pairs: list[Pair] = []
        self._sources: set[str] = set()

    def without(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        for pair in pairs:
            if crc32(pair.source.encode()) % HELD_OUT_SHARE or not self._take(pair):
                yield pair

    def _take(self, pair: Pair) -> bool:
        if pair.source not in self._sources and len(self.pairs) == HELD_OUT_MOST:
            return False
        self._sources.add(pair.source)
        if len(self.pairs) < HELD_OUT_MOST:
            self.pairs.append(pair)
        return True
