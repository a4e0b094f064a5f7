"""Preparation of a run directory for training: clean, split and tokenize the corpus, and write the recipe."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from itertools import chain
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keras_transformer.text.cleaning import CleaningReport, CleaningRules, clean, regular
from keras_transformer.text.corpus import CorpusError, Pair
from keras_transformer.text.token_store import TokenStore
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.text.tokenizer_training import learn
from keras_transformer.training.data.mixture import Mixture
from keras_transformer.training.data.typed import Typed
from keras_transformer.training.recipe import Recipe
from keras_transformer.training.runs.run_directory import INITIAL_VALID, VALID, Run
from keras_transformer.training.runs.starting_point import StartingPoint

SPOOL = "corpus.jsonl"
SAMPLES = 16  # number of tokenizations of the corpus with BPE-dropout
HELD_OUT_SHARE, MAX_HELD_OUT = 50, 1000  # one source text in fifty, at most a thousand

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
    """Write everything that training reads. The recipe is written last and marks the run as prepared.

    The corpus is read once and buffered on disk, so it may be a pipe, or larger than memory.

    Args:
        run: The run directory.
        about: Content of its run.json.
        training: Pairs for training.
        valid: Pairs for validation, which are not cleaned. Overlap with the training data is reported, and
            allowed. None holds out one source text in fifty, with its first translation: the same source is
            never on both sides.
        rules: Cleaning rules for the training pairs.
        overrides: Fields of the recipe that the user set.
        notify: Called with each line of progress.
        defaults: Fields of the recipe whose defaults differ for this corpus.
        start: Model that the run starts from. The pairs held out by its run are not trained on.
        tokenizer: Existing tokenizer, with the languages of the run. None trains one.

    Returns:
        The recipe.

    Raises:
        CorpusError: If no pairs are left for training or for validation.
        ValueError: If the recipe or an option of the tokenizer is out of range.
    """
    for left in run.path.glob(f".{run.tokenizer.name}-*"):
        shutil.rmtree(left, ignore_errors=True)  # of a preparation that was killed
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
            f"{len(overlap.found):,} of {len(overlap.sources):,} held-out sources are also in the training "
            "text: scores will be too high"
        )
    if before.found:
        notify(f"{before.found:,} pairs are not trained on: their sources are held out by the other run")
    validation = list(held_out.pairs.values()) if own is None else own
    count = spooled - held_out.times.total()
    check_divided(report.kept, count, len(validation))
    run.write_pairs(VALID, validation)
    network = None if start is None else start.network
    recipe = Recipe.for_corpus(count, defaults, network, **overrides)
    notify(f"{count:,} pairs to train on, {len(validation):,} held out for scores")

    def trained_on() -> Iterator[Pair]:
        return (pair for pair in run.read_pairs(SPOOL) if pair.source not in held_out.pairs)

    kept = (pair.source not in held_out.pairs for pair in run.read_pairs(SPOOL))
    rates = None if mixture is None else mixture.rates(kept, notify)
    typed = Typed(recipe.typing(), recipe.seed, rates)
    if tokenizer is None:
        options = recipe.vocabulary_size, recipe.tokenizer, recipe.joint
        models = learn(chain(trained_on(), typed.drawn(trained_on())), *options, temp_directory=run.path)
        tokenizer = Tokenizer(models, about["source_lang"], about["target_lang"])
    _check_checkpoints(run, tokenizer)
    shutil.rmtree(run.tokenizer, ignore_errors=True)
    tokenizer.save(run.tokenizer)
    tokens = _write_tokens(run, recipe, tokenizer, trained_on, typed, rates)
    (run.path / SPOOL).unlink()
    notify(f"{tokenizer.target_size:,} pieces, {tokens:,} target tokens")
    if typed.counts:
        notify(str(typed))
    run.write("recipe.json", recipe.as_dict())
    return recipe


def check_divided(kept: int, training: int, validation: int) -> None:
    """Raise CorpusError if none of the pairs are left to train on, or none to validate on."""
    if not validation or not training:
        raise CorpusError(
            f"of {kept} pairs {training} are left to train on and {validation} to validate on: "
            "both are needed. Give more pairs, or files of your own with --valid-source and --valid-target."
        )


def _write_tokens(
    run: Run,
    recipe: Recipe,
    tokenizer: Tokenizer,
    corpus: Callable[[], Iterable[Pair]],
    typed: Typed,
    rates: NDArray[np.float64] | None,
) -> int:
    """Write the corpus and its variants as ids, and return the number of target tokens of the corpus."""
    times = SAMPLES if recipe.bpe_dropout else 1

    def write(directory: Path, pairs: Callable[[], Iterable[Pair]], rates: ArrayLike | None) -> TokenStore:
        repeated = chain.from_iterable(pairs() for _ in range(times))
        options = recipe.max_tokens, recipe.bpe_dropout, recipe.seed
        return TokenStore.write(directory, repeated, tokenizer, *options, rates)

    store = write(run.tokens, corpus, rates)
    shutil.rmtree(run.typed, ignore_errors=True)  # of an earlier attempt
    if next(typed.variants(corpus()), None) is not None:
        write(run.typed, lambda: typed.variants(corpus()), typed.rates)
    return int(store.lengths()[:, 1].sum()) // times


def _check_checkpoints(run: Run, tokenizer: Tokenizer) -> None:
    """Raise CorpusError for checkpoints of another vocabulary, from which the run would continue."""
    if not any(run.checkpoints.glob("step-*.npz")) or not run.tokenizer.exists():
        return
    if Tokenizer.load(run.tokenizer).get_config() != tokenizer.get_config():
        raise CorpusError(
            f"{run.checkpoints} belong to another corpus or tokenizer: begin a new run for this one"
        )


class HeldOut:
    """Selection of the held-out pairs of a stream: the sources with the smallest checksums.

    The selection depends on the texts alone, not on their order. A source that was replaced by a smaller one
    is never selected again, so at most MAX_HELD_OUT are in memory.
    """

    def __init__(self) -> None:
        self.pairs: dict[str, Pair] = {}  # the first pair of each source
        self.times: Counter[str] = Counter()  # number of pairs of each of these sources
        self._largest_first: list[tuple[int, str]] = []

    def chosen_from(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield the same pairs; the selection is complete after the last one."""
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
        self.sources = {regular(pair.source) for pair in held_out}
        self.found = 0

    def left_out_of(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield the pairs with other sources."""
        for pair in pairs:
            if pair.source in self.sources:
                self.found += 1
            else:
                yield pair


class Overlap:
    """Sources of the user's own validation text that occur in the training text."""

    def __init__(self, valid: Iterable[Pair]) -> None:
        self.sources = {regular(pair.source) for pair in valid}
        self.found: set[str] = set()

    def looked_for_in(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield the same pairs; `found` is complete after the last one."""
        for pair in pairs:
            if pair.source in self.sources:
                self.found.add(pair.source)
            yield pair
