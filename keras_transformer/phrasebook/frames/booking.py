"""Frames that book rooms, tables, tickets and bicycles for so many people, nights or days, and that thank."""

from itertools import product

from keras_transformer.phrasebook.grammar import english, french
from keras_transformer.phrasebook.lexicon.clock import SHORT_SPANS, number_in_english, number_in_french, spans
from keras_transformer.phrasebook.lexicon.nouns import (
    BOOK,
    CAKE,
    CITIES,
    COFFEE,
    DRINKS,
    FLOWER,
    FOOD,
    KEY,
    LETTER,
    MESSAGE,
    PHOTO,
    PRESENT,
    ROOM,
    SANDWICH,
    TICKET,
)  # fmt: skip
from keras_transformer.phrasebook.sentence import SentencePair, frame, say

Words = tuple[str, str]
NOTHING: Words = ("", "")
NIGHTS = (("une nuit", "one night"), *spans(("nuits", "nights")))
PEOPLE = (("une personne", "one person"), *spans(("personnes", "people")))
DAYS = (("ce soir", "tonight"), ("demain", "tomorrow"), ("lundi", "Monday"), ("samedi", "Saturday"),
        ("dimanche", "Sunday"), ("la semaine prochaine", "next week"))  # fmt: skip


def several(source: str, target: str) -> tuple[Words, ...]:
    """Return two to six of a thing, in both languages."""
    return tuple((f"{number_in_french(count)} {source}", f"{number_in_english(count)} {target}")
                 for count in range(2, 7))  # fmt: skip


ROOMS = (("une chambre", "a room"), ("une chambre calme", "a quiet room"),
         ("une grande chambre", "a big room"), ("une petite chambre", "a small room"))  # fmt: skip
HOMES = (("un appartement", "a flat"), ("une maison", "a house"))
TABLES = (("une table", "a table"), ("une table près de la fenêtre", "a table near the window"),
          ("une table dans le jardin", "a table in the garden"))  # fmt: skip
TICKETS = (("un billet", "a ticket"), *several("billets", "tickets"))
RIDES = (("une voiture", "a car"), ("un vélo", "a bicycle"), *several("vélos", "bicycles"))
FOR_CITIES = tuple((f"pour {source}", f"to {target}") for source, target in CITIES)


def for_(*groups: tuple[Words, ...]) -> tuple[Words, ...]:
    """Return phrases like: pour deux nuits, for two nights."""
    return tuple((f"pour {source}", f"for {target}") for group in groups for source, target in group)


# What is booked, for whom or where to, for how long or when. Never the thing alone.
BOOKINGS: tuple[tuple[Words, Words, Words], ...] = tuple(
    booking
    for things, details, times in (
        (ROOMS, (NOTHING, *for_(PEOPLE[:4])), (NOTHING, *for_(NIGHTS, SHORT_SPANS, DAYS))),
        (several("chambres", "rooms"), (NOTHING,), for_(NIGHTS, SHORT_SPANS, DAYS)),
        (HOMES, (NOTHING, *for_(PEOPLE)), (NOTHING, *for_(SHORT_SPANS))),
        (TABLES, (NOTHING, *for_(PEOPLE)), (NOTHING, *for_(DAYS))),
        (TICKETS, FOR_CITIES, (NOTHING, *for_(DAYS))),
        (RIDES, (NOTHING,), for_(SHORT_SPANS, DAYS)),
    )
    for booking in product(things, details, times)
    if booking[1:] != (NOTHING, NOTHING)
)  # fmt: skip
BOOKERS = (
    ("je voudrais", ".", "I would like", "."),
    ("je voudrais", ", s'il vous plaît.", "I would like", ", please."),
    ("nous voudrions", ".", "we would like", "."),
    ("je voudrais réserver", ".", "I would like to book", "."),
    ("nous voudrions réserver", ", s'il vous plaît.", "we would like to book", ", please."),
    ("j'ai réservé", ".", "I have booked", "."), ("nous avons réservé", ".", "we have booked", "."),
    ("ma mère a réservé", ".", "my mother has booked", "."),
    ("avez-vous", " ?", "do you have", "?"), ("est-ce que vous avez", " ?", "do you have", "?"),
    ("est-ce que je peux réserver", " ?", "can I book", "?"),
    ("je cherche", ".", "I am looking for", "."), ("nous cherchons", ".", "we are looking for", "."),
    ("Paul a besoin de", ".", "Paul needs", "."),
)  # fmt: skip


@frame(5, BOOKINGS, BOOKERS)
def booking(booked: tuple[Words, Words, Words], booker: tuple[str, str, str, str]) -> SentencePair:
    """Sentences like: Nous voudrions une table pour quatre personnes pour ce soir."""
    before_fr, after_fr, before_en, after_en = booker
    source, target = (" ".join(filter(None, side)) for side in zip(*booked, strict=True))
    return say(
        f"{before_fr} {source}{after_fr}",
        f"{before_en} {target}{after_en}",
        before_fr != "est-ce que vous avez",
    )


GIVEN = (
    *((french.definite(noun), f"the {noun.english}")
      for noun in (*FOOD, *DRINKS, CAKE, SANDWICH, PRESENT, BOOK, KEY, ROOM)),
    *((french.definite(noun, True), f"the {english.plural_of(noun)}")
      for noun in (FLOWER, PHOTO, TICKET, CAKE, KEY)),
    *((french.demonstrative(noun), f"this {noun.english}") for noun in (PRESENT, BOOK, CAKE, COFFEE, PHOTO)),
    *((french.possessive(4, noun), f"your {noun.english}") for noun in (LETTER, MESSAGE, PRESENT)),
    ("votre aide", "your help"), ("le dîner", "dinner"), ("tout", "everything"),
)  # fmt: skip
THANKED = (("", ""), (", madame", ", madam"), (", monsieur", ", sir"), (", Paul", ", Paul"),
           (", Marie", ", Marie"), (", maman", ", Mum"), (", papa", ", Dad"),
           (", mes amis", ", my friends"))  # fmt: skip
THANKS = (("merci pour", "thank you for"), ("merci beaucoup pour", "thank you very much for"))


@frame(1.5, GIVEN, THANKED, THANKS)
def thanking(given: Words, thanked: Words, thanks: Words) -> SentencePair | None:
    """Sentences like: Merci beaucoup pour les fleurs, maman."""
    familiar = thanked[0] in (", Paul", ", Marie", ", maman", ", papa")
    if familiar and given[0].startswith("votre"):
        return None
    return say(f"{thanks[0]} {given[0]}{thanked[0]}.", f"{thanks[1]} {given[1]}{thanked[1]}.")


FRAMES = (booking, thanking)
