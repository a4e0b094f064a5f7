"""Frames about where things are, journeys, countries and languages."""

from keras_transformer.phrasebook.grammar import english, french
from keras_transformer.phrasebook.grammar.french import ETRE, Adjective, Noun, Polarity, Subject, Tense
from keras_transformer.phrasebook.lexicon.nouns import (
    AGREEING,
    AIRPORT,
    BAG,
    BED,
    BOOK,
    BRIDGE,
    CAT,
    CHAIR,
    CITIES,
    CLOSED,
    COUNTRIES,
    DOG,
    GLASS,
    KEY,
    LANDMARKS,
    LANGUAGES,
    LETTER,
    OPEN,
    PASSPORT,
    PEN,
    PEOPLE,
    PHONE,
    PHOTO,
    PRONOUNS,
    SHOPS,
    SUBJECTS,
    TABLE,
    UMBRELLA,
    WALLET,
    WATCH,
    pronoun,
)  # fmt: skip
from keras_transformer.phrasebook.lexicon.verbs import Verb, verb
from keras_transformer.phrasebook.sentence import SentencePair, frame, say

YES, NOT = Polarity.YES, Polarity.NOT
RELATIONS = (("près de", "near"), ("à côté de", "next to"), ("en face de", "opposite"),
             ("derrière", "behind"), ("devant", "in front of"),
             ("loin de", "far from"))  # fmt: skip


def the(noun: Noun) -> Subject:
    """Return a noun with its definite article, as the subject of a clause: la gare, the station."""
    return Subject(french.definite(noun), f"the {noun.english}", 2, noun.feminine)


@frame(
    5, LANDMARKS, RELATIONS, (*LANDMARKS, BRIDGE, AIRPORT), ("is", "is not", "is it", "there is", "is there")
)
def placing(noun: Noun, relation: tuple[str, str], other: Noun, kind: str) -> SentencePair | None:
    """Sentences like: La gare est à côté de l'hôtel."""
    if noun is other:
        return None
    place, where_fr, where_en = (
        the(noun),
        f"{relation[0]} {french.definite(other)}",
        f"{relation[1]} the {other.english}",
    )
    match kind:
        case "is" | "is not":
            polarity = YES if kind == "is" else NOT
            return say(
                french.clause(place, ETRE, Tense.HABIT, where_fr, polarity) + ".",
                english.clause(place, english.BE, Tense.HABIT, where_en, polarity) + ".",
            )
        case "is it":
            return say(f"est-ce que {place.french} est {where_fr} ?", f"is {place.english} {where_en}?")
        case "there is":
            return say(
                f"il y a {french.indefinite(noun)} {where_fr}.", f"there is a {noun.english} {where_en}."
            )
        case _:
            return say(
                f"est-ce qu'il y a {french.indefinite(noun)} {where_fr} ?",
                f"is there a {noun.english} {where_en}?",
            )


SPOTS = tuple((preposition, meaning, noun) for preposition, meaning, nouns in (
    ("sur", "on", (TABLE, BED, CHAIR)), ("sous", "under", (TABLE, BED, CHAIR)), ("dans", "in", (BAG,)),
    ("à côté de", "next to", (BED,)))
    for noun in nouns)  # fmt: skip
SMALL_THINGS = (BOOK, KEY, PASSPORT, PEN, PHONE, PHOTO, LETTER, UMBRELLA, WALLET, WATCH, GLASS, CAT, DOG, BAG)


@frame(3, SMALL_THINGS, SPOTS, ("the", "my", "your", "is", "Paul"))
def lying(noun: Noun, spot: tuple[str, str, Noun], owner: str) -> SentencePair | None:
    """Sentences like: Le livre est sur la table."""
    preposition, meaning, place = spot
    if (
        (noun in (CAT, DOG) and preposition == "dans")
        or noun is place
        or (noun is DOG and preposition == "sur" and place is TABLE)
    ):
        return None
    where_fr, where_en = f"{preposition} {french.definite(place)}", f"{meaning} the {place.english}"
    match owner:
        case "the" | "is":
            source = french.definite(noun)
        case "my" | "your":
            source = french.possessive(0 if owner == "my" else 4, noun)
        case _:
            source = f"{french.definite(noun)} de Paul"
    if owner == "is":
        return say(f"est-ce que {source} est {where_fr} ?", f"is the {noun.english} {where_en}?")
    return say(
        f"{source} est {where_fr}.",
        f"{'Paul' + chr(39) + 's' if owner == 'Paul' else owner} {noun.english} is {where_en}.",
    )


COUNTRY_DEEDS = (
    (verb("habiter", "live"), "in", Tense.HABIT), (verb("travailler", "work"), "in", Tense.HABIT),
    (verb("étudier", "study"), "in", Tense.HABIT),
    (verb("aller", "go"), "to", Tense.GOING), (verb("aller", "go"), "to", Tense.FUTURE),
    (verb("aller", "go"), "to", Tense.PAST), (verb("rester", "stay"), "in", Tense.PAST),
    (verb("voyager", "travel"), "in", Tense.PAST),
)  # fmt: skip
STAYS = {
    Tense.HABIT: ("", ""),
    Tense.GOING: ("cette année", "this year"),
    Tense.FUTURE: ("l'année prochaine", "next year"),
    Tense.PAST: ("l'année dernière", "last year"),
}
WHEREABOUTS = (
    *((f"{where}", name) for _, where, name in COUNTRIES),
    *((f"à {source}", name) for source, name in CITIES),
)


@frame(5, AGREEING, COUNTRY_DEEDS, WHEREABOUTS, (YES, NOT))
def abroad(
    subject: Subject, deed: tuple[Verb, str, Tense], place: tuple[str, str], polarity: Polarity
) -> SentencePair | None:
    """Sentences like: Nous irons en Italie l'année prochaine."""
    pair, preposition, tense = deed
    motion = pair.french.auxiliary == "être"
    if subject.marked and not (motion and tense is Tense.PAST):
        return None
    if tense is Tense.PAST and pair.french.infinitive == "voyager" and place[0].startswith("à "):
        return None
    when = STAYS[tense]
    source = french.clause(subject, pair.french, tense, f"{place[0]} {when[0]}".strip(), polarity)
    return say(
        f"{source}.",
        english.clause(subject, pair.english, tense, f"{preposition} {place[1]} {when[1]}".strip(), polarity)
        + ".",
        subject.both,
    )


SPEAKING = (
    ("", "", YES),
    ("", "", NOT),
    ("un peu", "a little", YES),
    ("très bien", "very well", YES),
    ("bien", "well", YES),
    ("bien", "well", NOT),
    ("couramment", "fluently", YES),
)
SPEAK = verb("parler", "speak")


@frame(2, SUBJECTS, LANGUAGES, SPEAKING)
def speaking(subject: Subject, language: tuple[str, str], how: tuple[str, str, Polarity]) -> SentencePair:
    """Sentences like: Elle parle bien anglais. -> She speaks English well."""
    degree_fr, degree_en, polarity = how
    words = f"{language[0]} {degree_fr}" if degree_fr == "couramment" else f"{degree_fr} {language[0]}"
    english_words = f"{degree_en} {language[1]}" if degree_en == "a little" else f"{language[1]} {degree_en}"
    source = french.clause(subject, SPEAK.french, Tense.HABIT, words.strip(), polarity)
    return say(
        f"{source}.",
        english.clause(subject, SPEAK.english, Tense.HABIT, english_words.strip(), polarity) + ".",
        subject.both,
    )


COME, HAVE = verb("venir", "come"), verb("avoir", "have")


def country_of_origin(name: str) -> str:
    """Return "from" a country in French: la France -> de France, le Canada -> de le Canada.

    `french.write` contracts and elides later: du Canada, d'Italie.
    """
    article, _, bare = name.replace("l'", "la ").partition(" ")
    return f"de {bare}" if article == "la" else f"de {article} {bare}"


ORIGINS = (*((f"de {source}", target) for source, target in CITIES),
           *((country_of_origin(name), meaning) for name, _, meaning in COUNTRIES))  # fmt: skip


@frame(1.5, SUBJECTS, ORIGINS, (YES, NOT))
def coming_from(subject: Subject, origin: tuple[str, str], polarity: Polarity) -> SentencePair:
    """Sentences like: Il vient du Canada."""
    source = french.clause(subject, COME.french, Tense.HABIT, origin[0], polarity)
    return say(
        f"{source}.",
        english.clause(subject, COME.english, Tense.HABIT, f"from {origin[1]}", polarity) + ".",
        subject.both,
    )


OPENINGS = (
    ("", ""),
    ("aujourd'hui", "today"),
    ("le dimanche", "on Sundays"),
    ("le lundi", "on Mondays"),
    ("ce matin", "this morning"),
    ("le samedi", "on Saturdays"),
)


@frame(2, SHOPS, (OPEN, CLOSED), OPENINGS, ("yes", "no", "ask", "because"))
def opening(noun: Noun, state: Adjective, time: tuple[str, str], kind: str) -> SentencePair | None:
    """Sentences like: Le musée est fermé le lundi."""
    place = the(noun)
    form = french.agree(state, noun.feminine, False)
    words = f"{form} {time[0]}".strip(), f"{state.english} {time[1]}".strip()
    match kind:
        case "ask":
            return say(f"est-ce que {place.french} est {words[0]} ?", f"is {place.english} {words[1]}?")
        case "because" if time[0]:
            return None
        case "because":
            return (
                say(
                    f"je ne peux pas entrer parce que {place.french} est {form}.",
                    f"I cannot go in because {place.english} is {state.english}.",
                )
                if state is CLOSED
                else None
            )
        case _:
            polarity = YES if kind == "yes" else NOT
            return say(
                french.clause(place, ETRE, Tense.HABIT, words[0], polarity) + ".",
                english.clause(place, english.BE, Tense.HABIT, words[1], polarity) + ".",
            )


SKIES = (("il fait beau", "the weather is nice"), ("il pleut", "it rains"), ("il neige", "it snows"),
         ("il fait froid", "it is cold"))  # fmt: skip
SOON = (
    ("demain", "tomorrow"),
    ("samedi", "on Saturday"),
    ("dimanche", "on Sunday"),
    ("cet après-midi", "this afternoon"),
)
FINE_DAYS = tuple(
    (f"si {source} {day}", f"if {target} {when}") for source, target in SKIES for day, when in SOON
)
PLANS = tuple(
    (index < 4, verb(source, base), fr, en)
    for index, (source, base, fr, en) in enumerate(
        (
            ("aller", "go", "à la plage", "to the beach"),
            ("aller", "go", "au parc", "to the park"),
            ("manger", "eat", "dans le jardin", "in the garden"),
            ("visiter", "visit", "le château", "the castle"),
            ("rester", "stay", "à la maison", "at home"),
            ("aller", "go", "au cinéma", "to the cinema"),
            ("visiter", "visit", "le musée", "the museum"),
            ("regarder", "watch", "un film", "a film"),
        )
    )
)
OUTINGS = tuple(plan for plan in PLANS if plan[3] != "at home")


@frame(3, PRONOUNS, FINE_DAYS, PLANS)
def planning(
    subject: Subject, day: tuple[str, str], plan: tuple[bool, Verb, str, str]
) -> SentencePair | None:
    """Sentences like: S'il fait beau demain, nous irons à la plage."""
    sunny, pair, words, meaning = plan
    if sunny != ("nice" in day[1]):
        return None
    source = french.clause(subject, pair.french, Tense.FUTURE, words)
    return say(
        f"{day[0]}, {source}.",
        f"{day[1]}, {english.clause(subject, pair.english, Tense.FUTURE, meaning)}.",
        subject.both,
    )


@frame(1, PRONOUNS, SOON, OUTINGS)
def having_time(subject: Subject, day: tuple[str, str], plan: tuple[bool, Verb, str, str]) -> SentencePair:
    """Sentences like: Si Marie a le temps demain, elle ira au cinéma."""
    who, (_, pair, words, meaning) = pronoun(subject), plan
    free = french.clause(subject, HAVE.french, Tense.HABIT, f"le temps {day[0]}")
    free_en = english.clause(subject, HAVE.english, Tense.HABIT, f"time {day[1]}")
    return say(
        f"si {free}, {french.clause(who, pair.french, Tense.FUTURE, words)}.",
        f"if {free_en}, {english.clause(who, pair.english, Tense.FUTURE, meaning)}.",
        subject.both,
    )


FRAMES = (
    placing,
    lying,
    abroad,
    speaking,
    coming_from,
    opening,
    planning,
    planning.also(1, PEOPLE, FINE_DAYS, PLANS),
    having_time,
    having_time.also(1, PEOPLE, SOON, OUTINGS),
)
