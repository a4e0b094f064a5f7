"""Frames about what people and things are: moods, jobs, colours, comparisons, what hurts, what is needed."""

from keras_transformer.phrasebook.grammar import english, french
from keras_transformer.phrasebook.grammar.english import BE
from keras_transformer.phrasebook.grammar.french import AVOIR, ETRE, Adjective, Polarity, Subject, Tense
from keras_transformer.phrasebook.lexicon.deeds import Thing, one, personal, several, some
from keras_transformer.phrasebook.lexicon.nouns import (
    AGREEING,
    BAG,
    BICYCLE,
    BREAD,
    CAMERA,
    CAR,
    CAT,
    CHAIR,
    CHEESE,
    COAT,
    COFFEE,
    COMPUTER,
    DOG,
    EGG,
    FLAT,
    GARDEN,
    HOUSE,
    JOBS,
    LAMP,
    MARKED,
    MEAT,
    MOODS,
    NATIONALITIES,
    NATURES,
    PASSPORT,
    PEN,
    PEOPLE,
    PHONE,
    PRONOUNS,
    READY,
    SHOE,
    SINGLE_PEOPLE,
    SUBJECTS,
    SUITCASE,
    TABLE,
    TICKET,
    TOMATO,
    UMBRELLA,
    WATCH,
    WATER,
    pronoun,
)  # fmt: skip
from keras_transformer.phrasebook.lexicon.verbs import verb
from keras_transformer.phrasebook.sentence import SentencePair, frame, say

YES, NOT = Polarity.YES, Polarity.NOT
STATES = (*MOODS, *NATURES)
BEINGS = (
    (Tense.HABIT, YES, "", "", "", ""), (Tense.HABIT, NOT, "", "", "", ""),
    (Tense.HABIT, YES, "très", "very", "", ""),
    (Tense.HABIT, Polarity.NEVER, "", "", "", ""), (Tense.HABIT, YES, "trop", "too", "", ""),
    (Tense.ONCE, YES, "", "", "hier", "yesterday"),
    (Tense.ONCE, YES, "très", "very", "hier soir", "last night"),
    (Tense.ONCE, NOT, "", "", "ce matin", "this morning"),
    (Tense.HABIT, YES, "toujours", "always", "", ""), (Tense.HABIT, YES, "souvent", "often", "", ""),
    (Tense.HABIT, NOT, "", "", "aujourd'hui", "today"),
    (Tense.HABIT, YES, "", "", "aujourd'hui", "today"),
)  # fmt: skip


def hidden(subject: Subject, state: Adjective) -> bool:
    """Return whether a marked subject looks like the unmarked one in this sentence: vous êtes heureux."""
    form = french.agree(state, subject.feminine, subject.plural)
    return subject.marked and form == french.agree(state, False, subject.person == 3)


@frame(8, (*PRONOUNS, *MARKED), STATES, BEINGS)
def being(
    subject: Subject, state: Adjective, how: tuple[Tense, Polarity, str, str, str, str]
) -> SentencePair | None:
    """Sentences like: Elle est très fatiguée."""
    tense, polarity, very_fr, very_en, when_fr, when_en = how
    lasting = state in NATURES
    if lasting and (when_fr or polarity is Polarity.NEVER or very_fr in ("toujours", "souvent")):
        return None
    if hidden(subject, state) or (state is READY and very_fr):
        return None
    form = french.agree(state, subject.feminine, subject.plural)
    source = french.clause(subject, ETRE, tense, f"{very_fr} {form} {when_fr}".strip(), polarity)
    target = english.clause(subject, BE, tense, f"{very_en} {state.english} {when_en}".strip(), polarity)
    return say(f"{source}.", f"{target}.", subject.both)


WORKING = (
    ("", ""),
    ("à Paris", "in Paris"),
    ("à Londres", "in London"),
    ("à Lyon", "in Lyon"),
    ("à Berlin", "in Berlin"),
)


@frame(5, AGREEING, JOBS, WORKING, (YES, NOT, Polarity.NO_LONGER))
def working(
    subject: Subject, job: Adjective, where: tuple[str, str], polarity: Polarity
) -> SentencePair | None:
    """Sentences like: Je suis étudiant. -> I am a student."""
    form = french.agree(job, subject.feminine, subject.plural)
    if hidden(subject, job):
        return None
    if subject.english == "the teacher" or (polarity is not YES and where[0]) or "enfants" in subject.french:
        return None
    name = english.plural(job.english) if subject.plural else f"a {job.english}"
    source = french.clause(subject, ETRE, Tense.HABIT, f"{form} {where[0]}".strip(), polarity)
    target = english.clause(subject, BE, Tense.HABIT, f"{name} {where[1]}".strip(), polarity)
    return say(f"{source}.", f"{target}.", subject.both)


FEELINGS = (("faim", "hungry"), ("soif", "thirsty"), ("froid", "cold"), ("chaud", "hot"),
            ("sommeil", "sleepy"), ("peur", "afraid"),
            ("raison", "right"), ("tort", "wrong"))  # fmt: skip
FEELING_TIMES = (
    (Tense.HABIT, YES, "", ""), (Tense.HABIT, NOT, "", ""), (Tense.HABIT, Polarity.NEVER, "", ""),
    (Tense.HABIT, YES, "maintenant", "now"),
    (Tense.ONCE, YES, "hier soir", "last night"), (Tense.ONCE, NOT, "ce matin", "this morning"),
    (Tense.ONCE, YES, "ce matin", "this morning"),
    (Tense.HABIT, Polarity.NO_LONGER, "", ""),
)  # fmt: skip


@frame(4, SUBJECTS, FEELINGS, FEELING_TIMES)
def feeling(
    subject: Subject, name: tuple[str, str], time: tuple[Tense, Polarity, str, str]
) -> SentencePair | None:
    """Sentences like: J'ai faim. -> I am hungry."""
    tense, polarity, when_fr, when_en = time
    if name[0] in ("raison", "tort") and (when_fr or polarity is Polarity.NO_LONGER):
        return None
    source = french.clause(subject, AVOIR, tense, f"{name[0]} {when_fr}".strip(), polarity)
    target = english.clause(subject, BE, tense, f"{name[1]} {when_en}".strip(), polarity)
    return say(f"{source}.", f"{target}.", subject.both)


# Where it hurts; what one has, and what several have.
ACHES = (
    ("à la tête", "a headache", "headaches"),
    ("aux dents", "toothache", "toothache"),
    ("au ventre", "a stomach ache", "stomach aches"),
    ("à la gorge", "a sore throat", "sore throats"),
    ("au dos", "backache", "backache"),
)
HAVE = verb("avoir", "have")
NEED = verb("avoir", "need")
# French lasts where English happened: elle avait mal hier, she had a headache yesterday.
ACHE_TIMES = (
    (Tense.HABIT, Tense.HABIT, "", ""),
    (Tense.HABIT, Tense.HABIT, "aujourd'hui", "today"),
    (Tense.ONCE, Tense.PAST, "hier", "yesterday"),
)


@frame(1.5, SUBJECTS, ACHES, ACHE_TIMES)
def aching(subject: Subject, ache: tuple[str, str, str], time: tuple[Tense, Tense, str, str]) -> SentencePair:
    """Sentences like: Elle a mal à la tête. -> She has a headache."""
    tense_fr, tense_en, when_fr, when_en = time
    source = french.clause(subject, AVOIR, tense_fr, f"mal {ache[0]} {when_fr}".strip())
    suffered = ache[2] if subject.plural else ache[1]
    target = english.clause(subject, HAVE.english, tense_en, f"{suffered} {when_en}".strip())
    return say(f"{source}.", f"{target}.", subject.both)


OWNABLE = (*one((CAR, BICYCLE, DOG, CAT, COMPUTER, PHONE, CAMERA, PASSPORT, HOUSE, FLAT, GARDEN, UMBRELLA,
                 PEN, SUITCASE, WATCH, COAT)),
           Thing("un frère", "de frère", "a brother"), Thing("une sœur", "de sœur", "a sister"),
           Thing("des enfants", "d'enfants", "children"), Thing("de l'argent", "d'argent", "money"),
           Thing("des amis", "d'amis", "friends"))  # fmt: skip
HAVINGS = ((Tense.HABIT, YES, "", ""), (Tense.HABIT, NOT, "", ""), (Tense.HABIT, Polarity.NO_LONGER, "", ""),
           (Tense.FUTURE, YES, "un jour", "one day"))  # fmt: skip


@frame(3, SUBJECTS, OWNABLE, HAVINGS)
def having(subject: Subject, thing: Thing, time: tuple[Tense, Polarity, str, str]) -> SentencePair | None:
    """Sentences like: Nous n'avons pas de voiture."""
    tense, polarity, when_fr, when_en = time
    if subject.french in ("les enfants", "mes amis") and "enfants" in thing.french + subject.french:
        return None
    if polarity is Polarity.NO_LONGER and thing.english in ("a brother", "a sister", "children"):
        return None
    if tense is Tense.FUTURE and thing.english not in (
        "a car",
        "a house",
        "a flat",
        "a garden",
        "a dog",
        "a cat",
        "children",
    ):
        return None
    words = thing.french if polarity is YES else thing.negated
    source = french.clause(subject, AVOIR, tense, f"{words} {when_fr}".strip(), polarity)
    target = english.clause(subject, HAVE.english, tense, f"{thing.english} {when_en}".strip(), polarity)
    return say(f"{source}.", f"{target}.", subject.both)


# French, English, and whether it is said of several people, of one, of either.
NEEDS: tuple[tuple[str, str, bool | None], ...] = (
    *((thing.negated, thing.english, None)
      for thing in (*some((BREAD, CHEESE, WATER, COFFEE, MEAT)), *several((SHOE, EGG, TOMATO)))),
    *((f"de {thing.french}", thing.english, thing.many)
      for thing in (*one((COAT, PEN, BAG, CAR, COMPUTER, UMBRELLA, TABLE, LAMP, CHAIR, TICKET)),
                    *personal((BICYCLE, COMPUTER, PASSPORT, PHONE)))),
    ("d'argent", "money", None), ("de temps", "time", None), ("d'aide", "help", None),
    ("de vacances", "a holiday", None),
)  # fmt: skip


@frame(3, SUBJECTS, NEEDS, HAVINGS[:2])
def needing(
    subject: Subject, need: tuple[str, str, bool | None], time: tuple[Tense, Polarity, str, str]
) -> SentencePair | None:
    """Sentences like: J'ai besoin d'un stylo. -> I need a pen."""
    (words, meaning, many), (tense, polarity, *_) = need, time
    if many not in (None, subject.plural):
        return None
    source = french.clause(subject, AVOIR, tense, f"besoin {french.own(words, subject)}", polarity)
    target = english.clause(subject, NEED.english, tense, english.own(meaning, subject), polarity)
    return say(f"{source}.", f"{target}.", subject.both)


COMPARED = (*NATURES, *MOODS[:2])


@frame(4, (*PEOPLE[:20], *SUBJECTS[2:4]), COMPARED, ("plus", "aussi"), SINGLE_PEOPLE, (YES, NOT))
def comparing(
    subject: Subject, quality: Adjective, how: str, other: Subject, polarity: Polarity
) -> SentencePair | None:
    """Sentences like: Paul est plus grand que Marie. -> Paul is taller than Marie."""
    if (
        subject.french in other.french
        or other.french in subject.french
        or (polarity is NOT and how == "plus")
    ):
        return None
    form = french.agree(quality, subject.feminine, subject.plural)
    words = f"{english.comparative(quality.english)} than" if how == "plus" else f"as {quality.english} as"
    source = french.clause(subject, ETRE, Tense.HABIT, f"{how} {form} que {other.french}", polarity)
    return say(
        f"{source}.",
        f"{english.clause(subject, BE, Tense.HABIT, f'{words} {other.english}', polarity)}.",
        subject.both,
    )


# What one does and what several do, in both languages, and what explains it.
ABSENCES: tuple[tuple[tuple[str, str, str, str], tuple[str, ...]], ...] = (
    (("ne vient pas", "ne viennent pas", "is not coming", "are not coming"),
     ("tired", "ill", "busy", "sad", "worried", "a headache", "afraid", "sleepy")),
    (("reste à la maison", "restent à la maison", "is staying at home", "are staying at home"),
     ("tired", "ill", "busy", "sad", "worried", "a headache", "afraid", "cold")),
    (("ne mange pas", "ne mangent pas", "is not eating", "are not eating"),
     ("tired", "ill", "busy", "sad", "worried", "a headache")),
    (("va voir le médecin", "vont voir le médecin", "is going to see the doctor",
      "are going to see the doctor"), ("tired", "ill", "worried", "a headache")),
    (("ne travaille pas aujourd'hui", "ne travaillent pas aujourd'hui", "is not working today",
      "are not working today"), ("tired", "ill", "busy", "a headache")),
    (("rentre à la maison", "rentrent à la maison", "is coming home", "are coming home"),
     ("tired", "ill", "sad", "worried", "a headache", "afraid", "cold", "hungry", "sleepy")),
)  # fmt: skip
REASONS: tuple[tuple[str, str, Adjective | None], ...] = (
    *(("être", mood.english, mood) for mood in MOODS
      if mood.english in ("tired", "ill", "busy", "sad", "worried")),
    ("froid", "cold", None), ("mal à la tête", "a headache", None), ("faim", "hungry", None),
    ("peur", "afraid", None), ("sommeil", "sleepy", None),
)  # fmt: skip


@frame(4, PEOPLE, ABSENCES, REASONS)
def because(
    subject: Subject,
    absence: tuple[tuple[str, str, str, str], tuple[str, ...]],
    reason: tuple[str, str, Adjective | None],
) -> SentencePair | None:
    """Sentences like: Mes parents restent à la maison parce qu'ils sont fatigués."""
    many = subject.person == 5
    who, (kind, meaning, mood), (doing, reasons) = pronoun(subject), reason, absence
    if meaning not in reasons:
        return None
    if mood is not None:
        source = french.clause(who, ETRE, Tense.HABIT, french.agree(mood, subject.feminine, subject.plural))
    else:
        source = french.clause(who, AVOIR, Tense.HABIT, kind)
    if meaning == "a headache":
        target = english.clause(who, HAVE.english, Tense.HABIT, "headaches" if many else meaning)
    else:
        target = english.clause(who, BE, Tense.HABIT, meaning)
    return say(
        f"{subject.french} {doing[many]} parce que {source}.",
        f"{subject.english} {doing[2 + many]} because {target}.",
    )


FRAMES = (
    being,
    being.also(5, PEOPLE, STATES, BEINGS),
    being.also(2, AGREEING, NATIONALITIES, BEINGS[:2]),
    working,
    feeling,
    aching,
    having,
    needing,
    comparing,
    because,
)
