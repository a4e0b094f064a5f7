"""From a corpus to a run directory that can be trained: cleaned, split, tokenized, with its recipe."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from itertools import chain
from typing import Any
from zlib import crc32

from keras_transformer.text.cleaning import CleaningReport, CleaningRules, clean, regular
from keras_transformer.text.corpus import CorpusError, Pair
from keras_transformer.text.token_store import TokenStore
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.text.tokenizer_training import learn
from keras_transformer.training.data.mixture import Mixture
from keras_transformer.training.recipe import Recipe
from keras_transformer.training.run_directory import INITIAL_VALID, VALID, Run
from keras_transformer.training.starting_point import StartingPoint

SPOOL = "corpus.jsonl"
SAMPLES = 16  # how often a corpus is cut into pieces when that is left to chance
HELD_OUT_SHARE, MAX_HELD_OUT = 50, 1000  # one source text in fifty, a thousand at most

Notify = Callable[[str], None]


def prepare(
    run: Run,
    about: dict[str, Any],
    training: Iterable[Pair],
    valid: Iterable[Pair] | None,
    rules: CleaningRules,
    overrides: dict[str, Any],
    notify: Notify,
    defaults: dict[str, Any] | None = None,
    start: StartingPoint | None = None,
    tokenizer: Tokenizer | None = None,
) -> Recipe:
    """Write everything that training reads; the recipe comes last and marks the run as prepared.

    The corpus is read once and spooled to disk, so that it may be a pipe, or larger than memory.

    Args:
        run: the run directory.
        about: the content of its run.json.
        training: the pairs to train on.
        valid: the pairs to validate on, which are not cleaned. Overlap with the training data is reported,
            and allowed. None holds out one source text in fifty, with its first translation: the same source
            is never on both sides.
        rules: how the training pairs are cleaned.
        overrides: the fields of the recipe that the user set.
        notify: is called with each line of progress.
        defaults: the fields of the recipe that differ for this corpus.
        start: the model that the run goes on from. Its held-out pairs are not trained on.
        tokenizer: a tokenizer that is there, with the languages of the run; by default one is learned.

    Returns:
        The recipe.

    Raises:
        CorpusError: no pairs are left to train or to validate on.
        ValueError: the recipe or the tokenizer's options are out of range.
    """
    for left in run.path.glob(f".{run.tokenizer.name}-*"):
        shutil.rmtree(left, ignore_errors=True)  # by a preparation that was killed
    report, held_out = CleaningReport(), HeldOut()
    pairs: Iterable[Pair] = clean(training, rules, report)
    before = Before(run.read_pairs(INITIAL_VALID) if (run.path / INITIAL_VALID).exists() else ())
    if start is not None:
        pairs = before.left_out_of(start.with_language(pairs, about["target_lang"]))
        valid = valid and start.with_language(valid, about["target_lang"])
    mixture = training if isinstance(training, Mixture) else None
    if mixture is not None:
        pairs = mixture.noted(pairs)
    own = None if valid is None else list(valid)
    overlap = Overlap(own or [])
    through = held_out.chosen_from(pairs) if own is None else overlap.looked_for_in(pairs)
    spooled = run.write_pairs(SPOOL, through)
    run.write("cleaning.json", report.as_dict())
    notify(str(report))
    if overlap.found:
        notify(
            f"{len(overlap.found):,} of {len(overlap.sources):,} held-out sources are in the training text "
            "too: the scores are those of text that was learned"
        )
    if before.found:
        notify(f"{before.found:,} pairs are not trained on: their sources are held out by the other run")
    validation = list(held_out.pairs.values()) if own is None else own
    count = spooled - held_out.times.total()
    if not validation or not count:
        raise CorpusError(
            f"of {report.kept} pairs {count} are left to train on and {len(validation)} to validate on: "
            "both are needed. Give more pairs, or files of your own with --valid-source and --valid-target."
        )
    run.write_pairs(VALID, validation)
    network = None if start is None else start.network
    recipe = Recipe.for_corpus(count, defaults, network, **overrides)
    notify(f"{count:,} pairs to train on, {len(validation):,} held out for scores")

    def trained_on() -> Iterator[Pair]:
        return (pair for pair in run.read_pairs(SPOOL) if pair.source not in held_out.pairs)

    if tokenizer is None:
        options = recipe.vocabulary_size, recipe.tokenizer, recipe.joint
        models = learn(trained_on(), *options, temp_directory=run.path)
        tokenizer = Tokenizer(models, about["source_lang"], about["target_lang"])
    _check_checkpoints(run, tokenizer)
    shutil.rmtree(run.tokenizer, ignore_errors=True)
    tokenizer.save(run.tokenizer)
    kept = (pair.source not in held_out.pairs for pair in run.read_pairs(SPOOL))
    rates = None if mixture is None else mixture.rates(kept, notify)
    dropout = recipe.bpe_dropout
    times = SAMPLES if dropout else 1
    pairs = chain.from_iterable(trained_on() for _ in range(times))
    store = TokenStore.write(run.tokens, pairs, tokenizer, recipe.max_tokens, dropout, recipe.seed, rates)
    (run.path / SPOOL).unlink()
    notify(f"{tokenizer.target_size:,} pieces, {int(store.lengths()[:, 1].sum()) // times:,} target tokens")
    run.write("recipe.json", recipe.as_dict())
    return recipe


def _check_checkpoints(run: Run, tokenizer: Tokenizer) -> None:
    """Refuse checkpoints of another vocabulary, as a run that is prepared again continues from them."""
    if not any(run.checkpoints.glob("step-*.npz")) or not run.tokenizer.exists():
        return
    if Tokenizer.load(run.tokenizer).get_config() != tokenizer.get_config():
        raise CorpusError(
            f"{run.checkpoints} are of another corpus, or of other pieces: begin a new run for this one"
        )


class HeldOut:
    """The held-out pairs of a stream: the sources with the smallest checksums, in any order.

    The choice depends on the texts alone. A source that is replaced by a smaller one never comes back, so
    that no more than MAX_HELD_OUT are remembered.
    """

    def __init__(self) -> None:
        self.pairs: dict[str, Pair] = {}  # by their source: the first that has it
        self.times: Counter[str] = Counter()  # that each of these sources comes
        self._largest_first: list[tuple[int, str]] = []

    def chosen_from(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield the same pairs; the held-out ones are known when they end."""
        for pair in pairs:
            checksum = crc32(pair.source.encode())
            if checksum % HELD_OUT_SHARE == 0:
                self._look_at(pair, checksum)
            yield pair

    def _look_at(self, pair: Pair, checksum: int) -> None:
        if pair.source not in self.pairs:
            self.pairs[pair.source] = pair
            heappush(self._largest_first, (-checksum, pair.source))
        self.times[pair.source] += 1
        if len(self.pairs) > MAX_HELD_OUT:
            _, largest = heappop(self._largest_first)
            del self.pairs[largest], self.times[largest]


class Before:
    """The sources that the run held out that this one goes on from."""

    def __init__(self, held_out: Iterable[Pair]) -> None:
        self.sources = {pair.source for pair in held_out}
        self.found = 0

    def left_out_of(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield the pairs with other sources."""
        for pair in pairs:
            if pair.source in self.sources:
                self.found += 1
            else:
                yield pair


class Overlap:
    """The sources of the user's own held-out text that are in the training text."""

    def __init__(self, valid: Iterable[Pair]) -> None:
        self.sources = {regular(pair.source) for pair in valid}
        self.found: set[str] = set()

    def looked_for_in(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield the same pairs; `found` is complete when they end."""
        for pair in pairs:
            if pair.source in self.sources:
                self.found.add(pair.source)
            yield pair
