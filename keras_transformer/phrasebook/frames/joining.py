"""Frames that combine others: greetings before a wish, two deeds, a mood and what follows, an opinion."""

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

from keras_transformer.phrasebook.frames.asking import asking_time
from keras_transformer.phrasebook.frames.being import ACHES, BEINGS, FEELINGS, HAVE, being, feeling, working
from keras_transformer.phrasebook.frames.booking import booking
from keras_transformer.phrasebook.frames.doing import DUTIES, MODALS, PLEASURES, sensible, tails, told
from keras_transformer.phrasebook.frames.ordering import requesting
from keras_transformer.phrasebook.frames.places import coming_from, opening, placing, speaking
from keras_transformer.phrasebook.frames.shopping import asking_price, liking, ordering_food
from keras_transformer.phrasebook.grammar import english, french
from keras_transformer.phrasebook.grammar.french import AVOIR, ETRE, Adjective, Subject, Tense
from keras_transformer.phrasebook.lexicon.clock import AGES, BIRTHDAYS, aged, weather
from keras_transformer.phrasebook.lexicon.deeds import DEEDS, Deed
from keras_transformer.phrasebook.lexicon.moments import DeedKind
from keras_transformer.phrasebook.lexicon.nouns import (
    BUSY,
    ILL,
    NATURES,
    PEOPLE,
    PRONOUNS,
    SAD,
    SUBJECTS,
    TIRED,
    WORRIED,
    pronoun,
)
from keras_transformer.phrasebook.lexicon.verbs import Verb
from keras_transformer.phrasebook.sentence import Frame, SentencePair, Sentences, frame, lowered, say

GREETINGS = (("bonjour", "hello"), ("bonjour, madame", "good morning, madam"), ("bonsoir", "good evening"),
             ("bonjour, monsieur", "good morning, sir"), ("excusez-moi", "excuse me"),
             ("pardon, madame", "excuse me, madam"))  # fmt: skip
_TO_A_STRANGER = ("Je voudrais", "Nous voudrions", "Combien", "À quelle", "Quand", "Pouvez-vous", "Avez-vous",
                  "Est-ce que je peux", "J'ai réservé", "Nous avons réservé")  # fmt: skip


@frame(3, GREETINGS, Sentences(booking))
def greeting(greeted: tuple[str, str], wish: SentencePair | None) -> SentencePair | None:
    """Sentences like: Bonjour, madame, je voudrais une chambre pour trois nuits."""
    if wish is None or not wish.french.startswith(_TO_A_STRANGER) or "madame" in wish.french:
        return None
    if "monsieur" in wish.french:
        return None
    return say(f"{greeted[0]}, {lowered(wish.french)}", f"{greeted[1]}, {lowered(wish.english)}", wish.both)


PLANNED = tuple(deed for deed in DEEDS if deed.kind in (DeedKind.ROUTINE, DeedKind.EVENT))
DAYS = (
    *((Tense.PAST, *when) for when in (("hier", "yesterday"), ("ce matin", "this morning"),
                                       ("samedi dernier", "last Saturday"), ("", ""))),
    *((Tense.GOING, *when) for when in (("demain", "tomorrow"), ("ce soir", "tonight"),
                                        ("cet après-midi", "this afternoon"), ("", ""))),
)  # fmt: skip


@frame(4, SUBJECTS, PLANNED, PLANNED, DAYS)
def and_then(subject: Subject, first: Deed, second: Deed, day: tuple[Tense, str, str]) -> SentencePair | None:
    """Sentences like: Hier, Marie a acheté du pain et elle a écouté la radio."""
    if first.verb is second.verb or first.verb.english.base == second.verb.english.base:
        return None
    if not (sensible(subject, first) and sensible(subject, second)):
        return None
    tense, when_fr, when_en = day
    one_fr, one_en = told(subject, first.verb, tense, tails(first, subject))
    other_fr, other_en = told(pronoun(subject), second.verb, tense, tails(second, subject))
    opened_fr, opened_en = (f"{when_fr}, ", f"{when_en}, ") if when_fr else ("", "")
    return say(f"{opened_fr}{one_fr} et {other_fr}.", f"{opened_en}{one_en} and {other_en}.", subject.both)


# How one is: with être and an adjective, or with avoir; in English of one and of several.
States = tuple[Adjective | None, str, str, str]
STATES: tuple[States, ...] = (
    *((mood, "", mood.english, mood.english) for mood in (TIRED, ILL, BUSY, SAD, WORRIED)),
    *((None, source, target, target) for source, target in FEELINGS if target not in ("right", "wrong")),
    *((None, f"mal {where}", one, many) for where, one, many in ACHES),
)
WISHES = tuple(modal for modal in MODALS if modal[0].english.base != "can")


@frame(3, SUBJECTS, STATES, WISHES, DUTIES)
def but(subject: Subject, state: States, wish: tuple[Verb, str], deed: Deed) -> SentencePair | None:
    """Sentences like: Je suis fatigué, mais je dois finir mon rapport."""
    pair, particle = wish
    if not sensible(subject, deed) or deed not in PLANNED:
        return None
    if pair.english.base == "have" and deed.verb.french.infinitive in PLEASURES:
        return None
    mood, kind, one, many = state
    if mood is not None:
        words = french.agree(mood, subject.feminine, subject.plural), one
        being_fr, being_en = told_state(subject, words, ETRE, english.BE)
    else:
        verb_en = HAVE.english if kind.startswith("mal ") else english.BE
        being_fr, being_en = told_state(subject, (kind, many if subject.plural else one), AVOIR, verb_en)
    object_fr, object_en = tails(deed, subject)
    wished_fr, wished_en = told(
        pronoun(subject),
        pair,
        Tense.HABIT,
        (
            f"{deed.verb.french.infinitive} {object_fr}".strip(),
            f"{particle} {deed.verb.english.base} {object_en}".strip(),
        ),
    )
    return say(f"{being_fr}, mais {wished_fr}.", f"{being_en}, but {wished_en}.", subject.both)


def told_state(
    subject: Subject, words: tuple[str, str], verb_fr: french.FrenchVerb, verb_en: english.EnglishVerb
) -> tuple[str, str]:
    """Describe the state of the subject now, in both languages."""
    return (french.clause(subject, verb_fr, Tense.HABIT, words[0]),
            english.clause(subject, verb_en, Tense.HABIT, words[1]))  # fmt: skip


OPINIONS = (("je pense que", "I think that"), ("nous pensons que", "we think that"),
            ("je sais que", "I know that"), ("Paul pense que", "Paul thinks that"),
            ("ma mère sait que", "my mother knows that"))  # fmt: skip
PEOPLE_ARE = Sentences(being.also(1, (*PRONOUNS[2:4], *PEOPLE[2:]), *being.slots[1:]))
PEOPLE_FEEL = Sentences(feeling.also(1, (*PRONOUNS[2:4], *PEOPLE[2:]), *feeling.slots[1:]))


@frame(2, OPINIONS, PEOPLE_ARE)
def supposing(opinion: tuple[str, str], opined: SentencePair | None) -> SentencePair | None:
    """Sentences like: Je pense que ma sœur est très fatiguée."""
    if opined is None or opined.french[-1] == "?":
        return None
    if any(name in opinion[0] and name in lowered(opined.french) for name in ("Paul", "ma mère")):
        return None
    return say(
        f"{opinion[0]} {lowered(opined.french)}", f"{opinion[1]} {lowered(opined.english)}", opined.both
    )


def some_of(frames: Iterable[Frame], count: int = 40) -> tuple[SentencePair, ...]:
    """Return sentences at even distances from each frame; joining all of them would give too many."""
    random = Random(count)
    said = (part.at(int(random.random() * part.size)) for part in frames for _ in range(count))
    return tuple(dict.fromkeys(sentence for sentence in said if sentence))


def of_people(part: Frame, *slots: Sequence[Any]) -> Frame:
    """Return a variant of a frame with named people as its subject, and these slots instead of its others."""
    return part.also(1, PEOPLE, *(slots or part.slots[1:]))


# What is said of people, and of the sights of a town. A sentence is joined to those of the other frames of
# its group, never to one of its own: two likings or two skies in one sentence are left for tests.
FACTS = (of_people(speaking), of_people(coming_from), of_people(working), aged.also(1, AGES, BIRTHDAYS[:1]),
         of_people(liking), of_people(being, NATURES, BEINGS[:3]))  # fmt: skip
SIGHTS = (placing, opening, weather)
NAMED = tuple(french.write(someone.french) for someone in PEOPLE)
LINKS = ((" et", " and"), (", mais", ", but"))


@frame(1, Sentences(weather), LINKS, some_of((placing, opening)))
def beside(first: SentencePair | None, link: tuple[str, str], second: SentencePair) -> SentencePair | None:
    """Sentences like: Il pleut à Lyon, mais le musée est ouvert."""
    if first is None or "?" in first.french + second.french or "parce" in first.french + second.french:
        return None
    if any(first.french.startswith(name) and second.french.startswith(name) for name in NAMED):
        return None
    (one_fr, one_en), (link_fr, link_en) = (side.removesuffix(".") for side in first[:2]), link
    return say(f"{one_fr}{link_fr} {lowered(second.french)}", f"{one_en}{link_en} {lowered(second.english)}")


FRAMES = (
    greeting,
    greeting.also(1.5, GREETINGS, Sentences(ordering_food)),
    greeting.also(1, GREETINGS, Sentences(asking_price)),
    greeting.also(1, GREETINGS, Sentences(asking_time)),
    greeting.also(1, GREETINGS, Sentences(requesting)),
    and_then,
    but,
    supposing,
    supposing.also(1.5, OPINIONS, PEOPLE_FEEL),
    supposing.also(1, OPINIONS, Sentences(placing)),
    supposing.also(1, OPINIONS, Sentences(opening)),
    *(
        beside.also(weight, Sentences(part), LINKS, some_of(other for other in group if other is not part))
        for group, weight in ((FACTS, 0.7), (SIGHTS, 0.9))
        for part in group
    ),
)
