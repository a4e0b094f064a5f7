"""Frames about comings and goings, the daily routine, and how life used to be."""

from keras_transformer.phrasebook.frames.doing import NOT, YES, timed, told
from keras_transformer.phrasebook.grammar import english, french
from keras_transformer.phrasebook.grammar.english import BE
from keras_transformer.phrasebook.grammar.french import ETRE, Polarity, Subject, Tense
from keras_transformer.phrasebook.lexicon.clock import EVENINGS, MORNINGS
from keras_transformer.phrasebook.lexicon.moments import Moment
from keras_transformer.phrasebook.lexicon.nouns import MARKED, PEOPLE, PRONOUNS, pronoun
from keras_transformer.phrasebook.lexicon.verbs import Verb, verb
from keras_transformer.phrasebook.sentence import SentencePair, frame, say

MOTIONS: tuple[tuple[Verb, str, str], ...] = tuple(
    (verb(source, base), *complement)
    for source, base, complements in (
        ("aller", "go", (("à la gare", "to the station"), ("à l'école", "to school"),
                         ("au marché", "to the market"),
                         ("à la plage", "to the beach"), ("au cinéma", "to the cinema"),
                         ("chez le dentiste", "to the dentist"),
                         ("au travail", "to work"), ("en ville", "into town"),
                         ("à l'hôpital", "to the hospital"), ("à Paris", "to Paris"))),
        ("venir", "come", (("avec Thomas", "with Thomas"), ("à la fête", "to the party"),
                           ("en train", "by train"), ("en voiture", "by car"))),
        ("partir", "leave", (("", ""), ("pour Londres", "for London"), ("à midi", "at noon"),
                             ("avec les enfants", "with the children"))),
        ("rentrer", "come", (("à la maison", "home"), ("de l'école", "home from school"),
                             ("à l'hôtel", "back to the hotel"), ("en bus", "home by bus"))),
        ("rester", "stay", (("à la maison", "at home"), ("à l'hôtel", "at the hotel"),
                            ("avec les enfants", "with the children"))),
        ("sortir", "go", (("avec des amis", "out with friends"), ("avec le chien", "out with the dog"),
                          ("avec Paul", "out with Paul"), ("dans le jardin", "out into the garden"))),
        ("arriver", "arrive", (("en retard", "late"), ("à l'heure", "on time"),
                               ("à l'aéroport", "at the airport"), ("à la gare", "at the station"))),
    )
    for complement in complements
)  # fmt: skip
TRIPS = (
    *(Moment(Tense.PAST, polarity, *time) for polarity in (YES, NOT)
      for time in (("", ""), ("hier", "yesterday"), ("samedi dernier", "last Saturday"),
                   ("lundi dernier", "last Monday"))),
    *(Moment(Tense.GOING, polarity, *time) for polarity in (YES, NOT)
      for time in (("", ""), ("demain", "tomorrow"), ("samedi", "on Saturday"))),
    Moment(Tense.FUTURE, YES, "demain", "tomorrow"),
    Moment(Tense.FUTURE, YES, "la semaine prochaine", "next week"),
    Moment(Tense.FUTURE, NOT, "demain", "tomorrow"),
)  # fmt: skip
USUAL = (
    Moment(Tense.HABIT, YES, "le samedi", "on Saturdays"),
    Moment(Tense.HABIT, YES, "le dimanche", "on Sundays"),
    Moment(Tense.HABIT, YES, "tous les jours", "every day"),
    Moment(Tense.HABIT, Polarity.NEVER, "", ""),
    Moment(Tense.HABIT, Polarity.NO_LONGER, "", ""),
)
# Nobody goes to the dentist every day.
OCCASIONAL = ("", "to the dentist", "to the hospital", "to the party", "for London", "back to the hotel",
              "at the hotel", "at the airport", "at the station")  # fmt: skip
USUAL_MOTIONS = tuple(motion for motion in MOTIONS if motion[2] not in OCCASIONAL)


@frame(7, (*PRONOUNS, *MARKED), MOTIONS, TRIPS)
def moving(subject: Subject, motion: tuple[Verb, str, str], trip: Moment) -> SentencePair | None:
    """Sentences like: Marie est allée à la gare hier."""
    pair, where_fr, where_en = motion
    if subject.marked and trip.tense is not Tense.PAST:
        return None
    if trip.tense is Tense.FUTURE and pair.french.infinitive not in ("aller", "rester"):
        return None
    if any(name in where_fr and name in subject.french for name in ("Paul", "Thomas")) or (
        subject.french == "les enfants" and "enfants" in where_fr
    ):
        return None
    source, target = told(subject, pair, trip.tense, timed((where_fr, where_en), trip), trip.polarity)
    return say(f"{source}.", f"{target}.", subject.both)


ROUTINES = (
    (verb("se lever", "get"), "up", MORNINGS), (verb("se réveiller", "wake"), "up", MORNINGS),
    (verb("se coucher", "go"), "to bed", EVENINGS),
)  # fmt: skip
RISINGS = tuple((pair, particle, hour) for pair, particle, hours in ROUTINES for hour in hours)
ROUTINE_DAYS = (
    Moment(Tense.HABIT, YES, "", ""), Moment(Tense.HABIT, YES, "tous les jours", "every day"),
    Moment(Tense.HABIT, YES, "le dimanche", "on Sundays"), Moment(Tense.PAST, YES, "hier", "yesterday"),
    Moment(Tense.PAST, YES, "lundi dernier", "last Monday"), Moment(Tense.GOING, YES, "demain", "tomorrow"),
    Moment(Tense.HABIT, NOT, "", ""),
)  # fmt: skip


@frame(3, (*PRONOUNS, *MARKED), RISINGS, ROUTINE_DAYS)
def routine(subject: Subject, rising: tuple[Verb, str, tuple[str, str]], day: Moment) -> SentencePair | None:
    """Sentences like: Je me lève à sept heures."""
    pair, particle, (hour_fr, hour_en) = rising
    if subject.marked and day.tense is not Tense.PAST:
        return None
    words = timed((f"à {hour_fr}", f"{particle} at {hour_en}"), day)
    source, target = told(subject, pair, day.tense, words, day.polarity)
    return say(f"{source}.", f"{target}.", subject.both)


STATES = (
    ("habiter", "live", (("à Paris", "in Paris"), ("à Londres", "in London"),
                         ("dans une petite maison", "in a small house"),
                         ("près de la gare", "near the station"),
                         ("au centre-ville", "in the city centre"), ("à la campagne", "in the country"),
                         ("avec {mes} parents", "with {my} parents"))),
    ("travailler", "work", (("à l'hôpital", "at the hospital"), ("dans une banque", "in a bank"),
                            ("à Genève", "in Geneva"))),
    ("jouer", "play", (("au tennis", "tennis"), ("du piano", "the piano"), ("au football", "football"))),
    ("aller", "go", (("à l'école à pied", "to school on foot"),
                     ("au marché le samedi", "to the market on Saturdays"), ("à la plage", "to the beach"),
                     ("à la piscine le dimanche", "to the swimming pool on Sundays"))),
    ("lire", "read", (("beaucoup de livres", "a lot of books"), ("le journal", "the newspaper"),
                      ("des romans", "novels"))),
    ("parler", "speak", (("anglais", "English"), ("français", "French"), ("espagnol", "Spanish"))),
)  # fmt: skip
ONCE = tuple(
    (verb(source, base), *complement) for source, base, complements in STATES for complement in complements
)


YOUNG_DAYS = (False, True)


@frame(2.5, PRONOUNS, ONCE, YOUNG_DAYS)
def formerly(subject: Subject, state: tuple[Verb, str, str], young: bool) -> SentencePair | None:
    """Sentences like: Avant, j'habitais à Paris. -> I used to live in Paris."""
    pair, where_fr, where_en = state
    if subject.english in ("my parents", "my son", "my daughter", "the children") and (
        "parents" in where_fr or young
    ):
        return None
    source, target = told(
        subject, pair, Tense.ONCE, (french.own(where_fr, subject), english.own(where_en, subject))
    )
    if not young:
        return say(f"avant, {source}.", f"{target}.", subject.both)
    who = pronoun(subject)
    years = french.clause(who, ETRE, Tense.ONCE, french.plural("jeune") if subject.plural else "jeune")
    source = french.clause(who, pair.french, Tense.ONCE, french.own(where_fr, subject))
    if subject is not who:  # named once, in the first clause
        years = years.replace(who.french, subject.french, 1)
    target = english.clause(who, pair.english, Tense.ONCE, english.own(where_en, subject))
    return say(
        f"quand {years}, {source}.",
        f"when {english.clause(subject, BE, Tense.ONCE, 'young')}, {target}.",
        subject.both,
    )


FRAMES = (
    moving,
    moving.also(4, PEOPLE, MOTIONS, TRIPS),
    moving.also(4, PRONOUNS, USUAL_MOTIONS, USUAL),
    moving.also(2, PEOPLE, USUAL_MOTIONS, USUAL),
    routine,
    routine.also(2, PEOPLE, RISINGS, ROUTINE_DAYS),
    formerly,
    formerly.also(1, PEOPLE, ONCE, YOUNG_DAYS),
)
