"""Frames about prices, quantities, orders in a café, tastes."""

from keras_transformer.phrasebook.grammar import english, french
from keras_transformer.phrasebook.grammar.french import Noun, Polarity, Subject, Tense
from keras_transformer.phrasebook.lexicon.clock import number_in_english, number_in_french
from keras_transformer.phrasebook.lexicon.deeds import one, some
from keras_transformer.phrasebook.lexicon.nouns import (
    BAG,
    BEER,
    BICYCLE,
    BOOK,
    BREAD,
    BUTTER,
    CAKE,
    CARROT,
    CHAIR,
    CHEESE,
    CHOCOLATE,
    CLOTHES,
    COFFEE,
    DRINKS,
    EGG,
    FISH,
    FLOWER,
    FRUIT,
    ICE_CREAM,
    JAM,
    LAMP,
    MEAT,
    MILK,
    PAIRED,
    PEOPLE,
    PRONOUNS,
    RICE,
    SNACKS,
    SOUP,
    SUGAR,
    TABLE,
    TEA,
    TICKET,
    TOMATO,
    UMBRELLA,
    VEGETABLES,
    WATCH,
    WATER,
    WINE,
)  # fmt: skip
from keras_transformer.phrasebook.lexicon.verbs import Verb, verb
from keras_transformer.phrasebook.sentence import SentencePair, frame, say

YES, NOT = Polarity.YES, Polarity.NOT
PRICED = (*CLOTHES, BOOK, BAG, WATCH, LAMP, UMBRELLA, CHAIR, TICKET, TABLE, BICYCLE)


@frame(4, PRICED, range(2, 100), ("this", "the", "new", "these"))
def costing(noun: Noun, price: int, kind: str) -> SentencePair | None:
    """Sentences like: Ce livre coûte douze euros."""
    if kind == "new":
        return say(
            f"j'ai payé {french.definite(noun)} {number_in_french(price)} euros.",
            f"I paid {number_in_english(price)} euros for the {noun.english}.",
        )
    if kind == "these":
        return say(
            f"{french.demonstrative(noun, None, True)} coûtent {number_in_french(price)} euros.",
            f"these {english.plural_of(noun)} cost {number_in_english(price)} euros.",
        )
    source = french.demonstrative(noun) if kind == "this" else french.definite(noun)
    return say(
        f"{source} coûte {number_in_french(price)} euros.",
        f"{kind} {noun.english} costs {number_in_english(price)} euros.",
    )


ON_THE_MENU = (FISH, MEAT, BREAD, WINE, BEER, COFFEE, TEA, ICE_CREAM, CHOCOLATE)


@frame(2, (*PRICED, *PAIRED, *ON_THE_MENU), ("this", "these", "the"))
def asking_price(noun: Noun, kind: str) -> SentencePair | None:
    """Sentences like: Combien coûte ce livre ?"""
    many = kind == "these"
    if (noun in PAIRED and not many) or (noun in ON_THE_MENU and many):
        return None
    source = french.definite(noun) if kind == "the" else french.demonstrative(noun, None, many)
    word = english.plural_of(noun) if many else noun.english
    return say(
        f"combien {'coûtent' if many else 'coûte'} {source} ?",
        f"how much {'do' if many else 'does'} {kind} {word} cost?",
    )


PORTIONS: tuple[tuple[str, str], ...] = tuple(
    (f"{source} {french.plural_of(noun) if many else noun.french}",
     f"{target} {english.plural_of(noun) if many else noun.english}")
    for source, target, nouns, many in (
        ("un kilo de", "a kilo of", (*FRUIT, TOMATO, CARROT), True),
        ("deux kilos de", "two kilos of", (*FRUIT, TOMATO, CARROT), True),
        ("une douzaine de", "a dozen", (EGG,), True), ("une tasse de", "a cup of", (COFFEE, TEA), False),
        ("un verre de", "a glass of", (WATER, MILK, WINE, BEER), False),
        ("une bouteille de", "a bottle of", (WATER, WINE, MILK), False),
        ("un morceau de", "a piece of", (CHEESE, BREAD, CHOCOLATE, CAKE), False),
        ("beaucoup de", "a lot of", (BREAD, CHEESE, FISH, SUGAR, COFFEE), False),
        ("un peu de", "a little", (WATER, MILK, SUGAR, BUTTER, JAM, RICE), False),
    ) for noun in nouns
)  # fmt: skip
PLAIN_ORDERS = tuple((thing.french,
                      thing.english if thing.english.startswith("a ") else f"some {thing.english}")
                     for thing in (*some((BREAD, CHEESE, FISH, MEAT, SOUP, RICE, *DRINKS)),
                                   *one((*SNACKS, BEER, COFFEE, TEA))))  # fmt: skip
WANTED = (*PORTIONS, *PLAIN_ORDERS)
ORDERS = (
    ("je voudrais", ", s'il vous plaît.", "I would like", ", please."),
    ("je voudrais", ".", "I would like", "."),
    ("nous voudrions", ", s'il vous plaît.", "we would like", ", please."),
    ("Marie voudrait", ".", "Marie would like", "."),
    ("mon père voudrait", ".", "my father would like", "."),
    ("mes amis voudraient", ".", "my friends would like", "."),
    ("voulez-vous", " ?", "do you want", "?"), ("voulez-vous", ", madame ?", "do you want", ", madam?"),
    ("voulez-vous", ", monsieur ?", "do you want", ", sir?"),
    ("est-ce que tu veux", ", maman ?", "do you want", ", Mum?"),
    ("est-ce que tu veux", ", Paul ?", "do you want", ", Paul?"),
    ("donnez-moi", ", s'il vous plaît.", "give me", ", please."),
    ("je vais prendre", ".", "I am going to have", "."), ("j'ai demandé", ".", "I asked for", "."),
    ("je prendrai", ", s'il vous plaît.", "I will have", ", please."),
    ("il reste", ".", "there is", " left."), ("nous avons commandé", ".", "we ordered", "."),
)  # fmt: skip


@frame(5, WANTED, ORDERS)
def ordering_food(wanted: tuple[str, str], order: tuple[str, str, str, str]) -> SentencePair | None:
    """Sentences like: Je voudrais un verre d'eau, s'il vous plaît."""
    if order[0] == "il reste" and wanted[1].startswith(
        ("two", "a dozen", "a lot", "a kilo", "a cup", "some w")
    ):
        return None
    return say(f"{order[0]} {wanted[0]}{order[1]}", f"{order[2]} {wanted[1]}{order[3]}")


LIKED = (
    *((french.definite(noun), noun.english)
      for noun in (COFFEE, TEA, MILK, WINE, CHEESE, FISH, MEAT, RICE, CHOCOLATE, SOUP, ICE_CREAM, BEER)),
    *((french.definite(noun, True), english.plural_of(noun)) for noun in (*FRUIT, *VEGETABLES, CAKE, FLOWER)),
    ("le cinéma", "the cinema"), ("la musique", "music"), ("le sport", "sport"),
    ("le football", "football"), ("la campagne", "the country"), ("la mer", "the sea"),
    ("les chiens", "dogs"),
    ("les chats", "cats"), ("les films italiens", "Italian films"), ("les vieux livres", "old books"),
    ("la cuisine japonaise", "Japanese food"), ("les mathématiques", "maths"),
    ("lire", "reading"), ("nager", "swimming"), ("danser", "dancing"), ("chanter", "singing"),
    ("voyager", "travelling"), ("faire la cuisine", "cooking"), ("courir", "running"),
)  # fmt: skip
TASTES = ((verb("aimer", "like"), YES, "", ""), (verb("aimer", "like"), NOT, "", ""),
          (verb("aimer", "like"), YES, "beaucoup", "a lot"), (verb("préférer", "prefer"), YES, "", ""),
          (verb("détester", "hate"), YES, "", ""), (verb("aimer", "like"), Polarity.NO_LONGER, "", "")
)  # fmt: skip


@frame(5, PRONOUNS, LIKED, TASTES)
def liking(subject: Subject, liked: tuple[str, str], taste: tuple[Verb, Polarity, str, str]) -> SentencePair:
    """Sentences like: J'aime beaucoup le café. -> I like coffee a lot."""
    pair, polarity, much_fr, much_en = taste
    source = french.clause(subject, pair.french, Tense.HABIT, f"{much_fr} {liked[0]}".strip(), polarity)
    return say(
        f"{source}.",
        english.clause(subject, pair.english, Tense.HABIT, f"{liked[1]} {much_en}".strip(), polarity) + ".",
        subject.both,
    )


FRAMES = (costing, asking_price, ordering_food, liking, liking.also(2, PEOPLE, LIKED, TASTES))
