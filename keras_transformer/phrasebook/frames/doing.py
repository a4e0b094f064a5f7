"""Frames about what people do, want, must do, think that others do."""

import re

from keras_transformer.phrasebook.grammar import english, french
from keras_transformer.phrasebook.grammar.french import Polarity, Subject, Tense
from keras_transformer.phrasebook.lexicon.deeds import DEEDS, DEEDS_IN_TIME, Deed
from keras_transformer.phrasebook.lexicon.moments import DeedKind, Moment
from keras_transformer.phrasebook.lexicon.nouns import MARIE, ME, PAUL, PEOPLE, PRONOUNS, SUBJECTS, WE, YOU
from keras_transformer.phrasebook.lexicon.verbs import Verb, verb
from keras_transformer.phrasebook.sentence import SentencePair, frame, say

YES, NOT = Polarity.YES, Polarity.NOT
PRESENT_DEEDS = tuple(entry for entry in DEEDS_IN_TIME if entry[1].tense in (Tense.NOW, Tense.HABIT))
# Verbs with many objects would drown the others.
COMMON = ("manger", "boire", "porter", "chercher", "préparer")
COMMON_DEEDS = tuple(entry for entry in PRESENT_DEEDS if entry[0].verb.french.infinitive in COMMON)
RARER_DEEDS = tuple(entry for entry in PRESENT_DEEDS if entry[0].verb.french.infinitive not in COMMON)
# 'has just taken': English has most of its participles here alone, and they would be rare among the rest.
JUST_DEEDS = tuple(entry for entry in DEEDS_IN_TIME if entry[1].tense is Tense.JUST)
OTHER_DEEDS = tuple(entry for entry in DEEDS_IN_TIME if entry[1].tense in (Tense.PAST, Tense.GOING))


def told(
    subject: Subject, pair: Verb, tense: Tense, tails: tuple[str, str], polarity: Polarity = YES
) -> tuple[str, str]:
    """Build the clause in both languages."""
    return (french.clause(subject, pair.french, tense, tails[0], polarity),
            english.clause(subject, pair.english, tense, tails[1], polarity))  # fmt: skip


def tails(deed: Deed, subject: Subject, polarity: Polarity = YES) -> tuple[str, str]:
    """Return the words after the verb, with possessives filled in."""
    words = deed.thing.french if polarity is YES else deed.thing.negated
    return french.own(words, subject), english.own(deed.thing.english, subject)


def timed(words: tuple[str, str], moment: Moment) -> tuple[str, str]:
    """Add the words for the time."""
    return f"{words[0]} {moment.french}".strip(), f"{words[1]} {moment.english}".strip()


def together(subject: Subject, deed: Deed) -> bool:
    """Return whether subject and deed name different persons: nobody does a thing together with himself."""
    return not any(
        name in deed.thing.french and name in subject.french
        for name in ("Paul", "Marie", "Julie", "Thomas", "père", "professeur", "parents", "amis")
    )


def sensible(subject: Subject, deed: Deed) -> bool:
    """Return whether an object suits a subject: several people wear coats, and dresses are for women."""
    if deed.thing.many not in (None, subject.plural) or not together(subject, deed):
        return False
    womens = deed.verb.english.base == "wear" and re.search("dress|skirt", deed.thing.english)
    return subject.feminine or not womens


@frame(9, PRONOUNS, RARER_DEEDS)
def doing(subject: Subject, deed_in_time: tuple[Deed, Moment]) -> SentencePair | None:
    """Sentences like: Elle a acheté une robe hier."""
    deed, moment = deed_in_time
    if not sensible(subject, deed):
        return None
    words = timed(tails(deed, subject, moment.polarity), moment)
    source, target = told(subject, deed.verb, moment.tense, words, moment.polarity)
    return say(f"{source}.", f"{target}.", subject.both)


def modals(*names: tuple[str, str, str]) -> tuple[tuple[Verb, str], ...]:
    """Return the French modal, the English verb, and the 'to' that follows it."""
    return tuple((verb(source, base), particle) for source, base, particle in names)


MODALS = modals(("vouloir", "want", "to"), ("devoir", "have", "to"), ("pouvoir", "can", ""))
DUTIES = tuple(deed for deed in DEEDS if deed.verb.french.infinitive not in
               ("perdre", "oublier", "trouver", "rencontrer", "porter", "chercher", "boire", "manger")
)  # fmt: skip
PLEASURES = ("regarder", "écouter", "jouer", "nager", "chanter", "danser")
WHENS = (Moment(Tense.HABIT, YES, "", ""), Moment(Tense.HABIT, NOT, "", ""),
         Moment(Tense.HABIT, YES, "ce soir", "tonight"),
         Moment(Tense.HABIT, YES, "demain", "tomorrow"), Moment(Tense.HABIT, NOT, "aujourd'hui", "today")
)  # fmt: skip


@frame(6, PRONOUNS, MODALS, DUTIES, WHENS)
def wishing(subject: Subject, modal: tuple[Verb, str], deed: Deed, when: Moment) -> SentencePair | None:
    """Sentences like: Nous devons finir l'exercice demain."""
    if not sensible(subject, deed):
        return None
    pair, particle = modal
    if deed.kind in (DeedKind.MAJOR, DeedKind.PASSING) and when.english:
        return None
    if pair.english.base == "have" and deed.verb.french.infinitive in PLEASURES:
        return None
    if pair.english.base == "have" and when.polarity is NOT:  # 'ne doit pas' is 'must not', another verb
        return None
    # French denies the object after 'ne veut pas acheter de pain' just as after a plain verb.
    object_fr, object_en = tails(deed, subject, when.polarity)
    source, target = timed(
        (
            f"{deed.verb.french.infinitive} {object_fr}".strip(),
            f"{particle} {deed.verb.english.base} {object_en}".strip(),
        ),
        when,
    )
    source, target = told(subject, pair, Tense.HABIT, (source, target), when.polarity)
    return say(f"{source}.", f"{target}.", subject.both)


EMPTY_DEEDS = tuple(verb(*names) for names in (
    ("manger", "eat"), ("boire", "drink"), ("voir", "see"), ("acheter", "buy"), ("faire", "do"),
    ("comprendre", "understand"),
    ("trouver", "find"), ("écrire", "write"), ("entendre", "hear"), ("oublier", "forget")))  # fmt: skip
EMPTY_TIMES = (
    ("", ""),
    ("hier", "yesterday"),
    ("ce matin", "this morning"),
    ("aujourd'hui", "today"),
    ("hier soir", "last night"),
)


@frame(2, SUBJECTS, EMPTY_DEEDS, EMPTY_TIMES)
def nothing(subject: Subject, deed: Verb, time: tuple[str, str]) -> SentencePair:
    """Sentences like: Je n'ai rien mangé ce matin."""
    source, target = told(
        subject, deed, Tense.PAST, (time[0], f"anything {time[1]}".strip()), Polarity.NOTHING
    )
    return say(f"{source}.", f"{target}.", subject.both)


MET = tuple(verb(*names) for names in (
    ("voir", "see"), ("rencontrer", "meet"), ("inviter", "invite"), ("appeler", "call"), ("aider", "help"))
)  # fmt: skip
WHERE_MET = (
    ("", ""),
    ("hier", "yesterday"),
    ("ce matin", "this morning"),
    ("dans la rue", "in the street"),
    ("à la fête", "at the party"),
)


@frame(1, SUBJECTS, MET, WHERE_MET)
def nobody(subject: Subject, deed: Verb, where: tuple[str, str]) -> SentencePair:
    """Sentences like: Elle n'a rencontré personne à la fête."""
    source, target = told(
        subject,
        deed,
        Tense.PAST,
        (f"personne {where[0]}".strip(), f"anyone {where[1]}".strip()),
        Polarity.NOBODY,
    )
    return say(f"{source}.", f"{target}.", subject.both)


THINK, KNOW = verb("penser", "think"), verb("savoir", "know")
OPINIONS = (
    (ME, THINK),
    (PAUL, THINK),
    (MARIE, THINK),
    (WE, THINK),
    (ME, KNOW),
    (PAUL, KNOW),
    (MARIE, KNOW),
    (YOU, KNOW),
)
FUTURE_DEEDS = tuple(
    entry
    for entry in DEEDS_IN_TIME
    if entry[1].tense in (Tense.GOING, Tense.PAST)
    and entry[1].french in ("hier", "demain", "ce soir", "lundi")
)


@frame(3, OPINIONS, PEOPLE, FUTURE_DEEDS)
def thinking(
    opinion: tuple[Subject, Verb], subject: Subject, deed_in_time: tuple[Deed, Moment]
) -> SentencePair | None:
    """Sentences like: Je pense que Thomas va acheter une voiture."""
    holder, pair = opinion
    deed, moment = deed_in_time
    if holder.french in subject.french or not sensible(subject, deed) or not together(holder, deed):
        return None
    source, target = told(
        subject,
        deed.verb,
        moment.tense,
        timed(tails(deed, subject, moment.polarity), moment),
        moment.polarity,
    )
    opened_fr, opened_en = told(holder, pair, Tense.HABIT, ("que", "that"))
    return say(f"{opened_fr} {source}.", f"{opened_en} {target}.")


FRAMES = (
    doing,
    doing.also(6, PRONOUNS, OTHER_DEEDS),
    doing.also(4, PRONOUNS, COMMON_DEEDS),
    doing.also(5, PEOPLE, PRESENT_DEEDS),
    doing.also(6, PEOPLE, OTHER_DEEDS),
    doing.also(2, SUBJECTS, JUST_DEEDS),
    wishing,
    wishing.also(4, PEOPLE, MODALS, DUTIES, WHENS),
    nothing,
    nobody,
    thinking,
)
