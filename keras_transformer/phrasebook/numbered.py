"""Millions of sentence pairs with numbers in them, for tests of memory and speed."""

from collections.abc import Iterator
from itertools import product
from math import gcd
from random import Random

from keras_transformer.phrasebook.grammar import english, french
from keras_transformer.phrasebook.grammar.french import Tense
from keras_transformer.phrasebook.lexicon.nouns import (
    BAG,
    BICYCLE,
    BOOK,
    CAR,
    CHAIR,
    CLOTHES,
    COMPUTER,
    LAMP,
    PHONE,
    SUBJECTS,
    TABLE,
    WATCH,
)
from keras_transformer.phrasebook.lexicon.verbs import verb
from keras_transformer.phrasebook.sentence import say
from keras_transformer.text.corpus import Pair

_NOUNS = (BAG, BICYCLE, BOOK, CAR, CHAIR, *CLOTHES, COMPUTER, LAMP, PHONE, TABLE, WATCH)
_SUBJECTS = tuple(subject for subject in SUBJECTS if subject.both)
_SMALLEST, _NUMBERS = 2, 100_000  # from 2: one would be a singular
_DEEDS = (
    (verb("prendre", "take"), Tense.GOING, "le train #", "train #"),
    (verb("prendre", "take"), Tense.PAST, "le bus #", "bus #"),
    (verb("payer", "pay"), Tense.PAST, "# euros", "# euros"),
    (verb("dormir", "sleep"), Tense.PAST, "dans la chambre #", "in room #"),
)
_YEARS = (("cette année", "this year"), ("l'année dernière", "last year"))


def _contexts() -> tuple[tuple[str, str, str, str], ...]:
    """French before and after the number, English before and after it."""
    written = [
        *(say(f"{french.definite(noun)} coûte # euros.", f"the {noun.english} costs # euros.")
          for noun in _NOUNS),
        *(say(f"{french.demonstrative(noun)} coûte # euros.", f"this {noun.english} costs # euros.")
          for noun in _NOUNS),
        *(say(f"le magasin a vendu # {french.plural_of(noun)} {year[0]}.",
              f"the shop sold # {english.plural_of(noun)} {year[1]}.") for noun,
          year in product(_NOUNS, _YEARS)),
        *(say(f"{french.clause(subject, pair.french, tense, source)}.",
              f"{english.clause(subject, pair.english, tense, target)}.")
          for subject, (pair, tense, source, target) in product(_SUBJECTS, _DEEDS)),
    ]  # fmt: skip
    return tuple(
        (before_fr, after_fr, before_en, after_en)
        for sentence in written
        for before_fr, after_fr in (sentence.french.split("#"),)
        for before_en, after_en in (sentence.english.split("#"),)
    )


def numbered_pairs(count: int, seed: int = 0) -> Iterator[Pair]:
    """Return distinct French-English pairs with prices, quantities, rooms and trains, in constant memory."""
    contexts = list(_contexts())
    most = len(contexts) * _NUMBERS
    if not 0 <= count <= most:
        raise ValueError(f"count must be between 0 and {most}; got {count}. Ask for fewer pairs.")
    random = Random(seed)
    contexts.sort(key=lambda _: random.random())
    start, stride = (int(random.random() * _NUMBERS) for _ in range(2))
    while gcd(stride, _NUMBERS) != 1:  # so that the walk meets every number once
        stride += 1
    return _walk(contexts, count, start, stride)


def _walk(contexts: list[tuple[str, str, str, str]], count: int, start: int, stride: int) -> Iterator[Pair]:
    """Round after round of the contexts, each with its own next number."""
    for index in range(count):
        lap, place = divmod(index, len(contexts))
        number = _SMALLEST + (start + stride * (lap + 17 * place)) % _NUMBERS
        before_fr, after_fr, before_en, after_en = contexts[place]
        yield Pair(f"{before_fr}{number}{after_fr}", f"{before_en}{number}{after_en}")
