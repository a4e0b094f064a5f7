"""Frames about what things are like: colours, sizes, qualities, and the place of the adjective."""

from keras_transformer.phrasebook.grammar import english, french
from keras_transformer.phrasebook.grammar.english import BE
from keras_transformer.phrasebook.grammar.french import ETRE, Adjective, Noun, Polarity, Subject, Tense
from keras_transformer.phrasebook.lexicon.nouns import (
    APPLE,
    ARTICLE,
    BAG,
    BEAUTIFUL,
    BICYCLE,
    BIG,
    BLACK,
    BLUE,
    BOOK,
    BREAD,
    CAKE,
    CAR,
    CASTLE,
    CAT,
    CHEESE,
    CHURCH,
    CLOTHES,
    COFFEE,
    COLD,
    COLOURS,
    COMPUTER,
    DELICIOUS,
    DIFFICULT,
    DOG,
    DRESS,
    EASY,
    EXERCISE,
    EXPENSIVE,
    FILM,
    FISH,
    FLAT,
    FLOWER,
    FRESH,
    GARDEN,
    GOOD,
    GREEN,
    HOT,
    HOTEL,
    HOUSE,
    INTERESTING,
    KITCHEN,
    LAMP,
    LESSON,
    LETTER,
    LONG,
    MEAT,
    MODERN,
    MUSEUM,
    NEW,
    NOVEL,
    OLD,
    ORANGE,
    PAIRED,
    PARK,
    PHONE,
    PHOTO,
    PRETTY,
    QUIET,
    RED,
    REPORT,
    RESTAURANT,
    ROOM,
    SALAD,
    SHOE,
    SMALL,
    SONG,
    SOUP,
    STORY,
    STREET,
    SUITCASE,
    TABLE,
    TEA,
    TOMATO,
    TOWN,
    VILLAGE,
    WATCH,
    WATER,
    WHITE,
    YOUNG,
)  # fmt: skip
from keras_transformer.phrasebook.sentence import SentencePair, frame, say

YES, NOT = Polarity.YES, Polarity.NOT
IMPORTANT = Adjective("important", "importante", "important")
PRAISE = {
    (DRESS, *CLOTHES[1:6], BAG, WATCH): (BEAUTIFUL, EXPENSIVE, NEW, OLD, RED, BLUE, BLACK, WHITE, GREEN,
                                         PRETTY, SMALL),
    (SHOE, *PAIRED[1:]): (NEW, OLD, BLACK, RED, BLUE, WHITE, PRETTY, EXPENSIVE),
    (BOOK, FILM, NOVEL, ARTICLE, STORY, REPORT): (INTERESTING, LONG, GOOD),
    (EXERCISE, LESSON): (EASY, DIFFICULT, LONG, INTERESTING),
    (CAKE, SOUP, SALAD, BREAD, CHEESE, FISH, MEAT): (DELICIOUS, GOOD, EXPENSIVE),
    (COFFEE, TEA, WATER): (HOT, COLD, GOOD), (APPLE, ORANGE, TOMATO): (GOOD, EXPENSIVE, FRESH),
    (HOUSE, FLAT, ROOM, KITCHEN, GARDEN): (BIG, SMALL, BEAUTIFUL, OLD, NEW, QUIET, MODERN, EXPENSIVE),
    (CAR, BICYCLE, COMPUTER, PHONE, TABLE, LAMP, SUITCASE): (NEW, OLD, EXPENSIVE, SMALL, BLACK, BLUE, WHITE),
    (TOWN, VILLAGE, STREET, PARK): (BIG, SMALL, BEAUTIFUL, QUIET, OLD),
    (HOTEL, RESTAURANT): (GOOD, NEW, OLD, BIG, SMALL, EXPENSIVE, QUIET, MODERN),
    (MUSEUM, CASTLE, CHURCH): (BIG, OLD, BEAUTIFUL, INTERESTING),
    (DOG, CAT): (BIG, SMALL, OLD, BLACK, WHITE, BEAUTIFUL, YOUNG),
    (FLOWER,): (RED, WHITE, BEAUTIFUL, PRETTY), (SONG,): (BEAUTIFUL, OLD, NEW, LONG),
    (PHOTO,): (BEAUTIFUL, OLD, NEW),
    (LETTER,): (LONG, IMPORTANT, INTERESTING),
}  # fmt: skip
QUALITIES = tuple(
    (noun, quality) for nouns, qualities in PRAISE.items() for noun in nouns for quality in qualities
)
# As a predicate 'nouveau' would be 'neuf'; colours have few degrees, and would be rare among the rest.
COLOURED = tuple(entry for entry in QUALITIES if entry[1] in COLOURS)
PLAIN = tuple(entry for entry in QUALITIES if entry[1] not in (*COLOURS, NEW))
MASS = (SOUP, BREAD, CHEESE, FISH, MEAT, COFFEE, TEA, WATER)
COUNTED = tuple((noun, quality) for noun, quality in QUALITIES if noun not in MASS)
PLURABLE = (
    *CLOTHES,
    BOOK,
    FILM,
    EXERCISE,
    LESSON,
    HOUSE,
    CAR,
    PHOTO,
    LETTER,
    FLOWER,
    SONG,
    DOG,
    CAT,
    APPLE,
    ORANGE,
)
MANY = tuple(entry for entry in PLAIN if entry[0] in (*PLURABLE, *PAIRED))
DEGREES = (
    ("", "", YES),
    ("très", "very", YES),
    ("trop", "too", YES),
    ("", "", NOT),
    ("un peu", "a little", YES),
)


def _sayable(quality: Adjective, degree: str) -> bool:
    """Colours are not 'very', nothing is 'a little delicious'."""
    if quality in COLOURS or quality is DELICIOUS:
        return degree == ""
    if degree == "a little":
        return quality in (EXPENSIVE, LONG, DIFFICULT, OLD, COLD, SMALL)
    return degree != "too" or quality not in (
        BEAUTIFUL,
        INTERESTING,
        GOOD,
        PRETTY,
        FRESH,
        MODERN,
        YOUNG,
        QUIET,
        IMPORTANT,
    )


@frame(7, PLAIN, DEGREES, ("this", "the", "my"))
def describing(
    thing: tuple[Noun, Adjective], degree: tuple[str, str, Polarity], determiner: str
) -> SentencePair | None:
    """Sentences like: Ces chaussures sont trop chères."""
    noun, quality = thing
    many = determiner == "these"
    if not _sayable(quality, degree[1]) or (noun in MASS
                                            and determiner in ("these", "my")) or (determiner == "my"
                                                and noun in (
            TOWN, STREET, PARK, HOTEL, RESTAURANT, MUSEUM, CASTLE, CHURCH, EXERCISE, TOMATO, ORANGE, APPLE,
                                                    FLOWER)):  # fmt: skip
        return None
    if (noun in PAIRED and not many) or (many and noun not in (*PAIRED, *PLURABLE)):
        return None
    if determiner == "the" and noun in (DOG, CAT, PHOTO, APPLE):
        return None
    source = {"this": french.demonstrative(noun), "these": french.demonstrative(noun, None, True),
              "the": french.definite(noun), "my": french.possessive(0, noun)}[determiner]  # fmt: skip
    thing_described = Subject(
        source, f"{determiner} {english.describe(noun, None, many)}", 5 if many else 2, noun.feminine, many
    )
    form = french.agree(quality, noun.feminine, many)
    return say(french.clause(thing_described, ETRE, Tense.HABIT, f"{degree[0]} {form}".strip(),
                             degree[2]) + ".",
               english.clause(thing_described, BE, Tense.HABIT, f"{degree[1]} {quality.english}".strip(),
                              degree[2]) + ".")  # fmt: skip


POINTED = (
    ("c'est", "it is", False), ("ce n'est pas", "it is not", False), ("ce sont", "they are", True),
    ("voici", "here is", False), ("j'ai vu", "I saw", False),
    ("nous avons", "we have", False), ("Marie a", "Marie has", False),
    ("mes amis ont", "my friends have", False), ("je cherche", "I am looking for", False),
    ("Paul voudrait", "Paul would like", False), ("nous voudrions", "we would like", False),
)  # fmt: skip
PLACES = (MUSEUM, CASTLE, CHURCH, TOWN, VILLAGE, STREET, PARK, HOTEL, RESTAURANT, KITCHEN, ROOM)
WORKS = (FILM, ARTICLE, STORY, REPORT, LETTER, SONG, LESSON, EXERCISE)
# What nobody says that he has or would like, is looking for, has seen.
UNSAID = {**dict.fromkeys(("we have", "Marie has", "my friends have", "Paul would like", "we would like"),
                          (*PLACES, *WORKS)),
          "I am looking for": (STORY, REPORT, LETTER, LESSON, EXERCISE),
          "I saw": (STORY, SONG, LESSON, EXERCISE)}  # fmt: skip


@frame(8, COUNTED, POINTED)
def pointing(thing: tuple[Noun, Adjective], pointed: tuple[str, str, bool]) -> SentencePair | None:
    """Sentences like: C'est un bel appartement. / Ce sont de belles maisons."""
    (noun, quality), (before_fr, before_en, many) = thing, pointed
    if (noun in PAIRED and not many) or (many and noun not in (*PAIRED, *PLURABLE)):
        return None
    if noun in UNSAID.get(before_en, ()):
        return None
    article = "" if many else "a "
    return say(
        f"{before_fr} {french.indefinite(noun, quality, many)}.",
        f"{before_en} {article}{english.describe(noun, quality, many)}.",
    )


FRAMES = (
    describing,
    describing.also(5, COLOURED, (DEGREES[0], DEGREES[3]), ("this", "these", "the", "my")),
    describing.also(4, MANY, DEGREES, ("these",)),
    pointing,
)
