"""Things that people do: a verb with what it can sensibly be done to, in both languages."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from keras_transformer.phrasebook.grammar import english, french
from keras_transformer.phrasebook.grammar.french import Noun
from keras_transformer.phrasebook.lexicon.moments import JUST, MOMENTS, DeedKind
from keras_transformer.phrasebook.lexicon.nouns import (
    ARTICLE,
    BAG,
    BELONGINGS,
    BICYCLE,
    BOOK,
    CAKE,
    CAMERA,
    CAR,
    CASTLE,
    CLOTHES,
    COAT,
    COFFEE,
    COMPUTER,
    DRESS,
    DRINKS,
    EXERCISE,
    FILM,
    FLAT,
    FLOWER,
    FOOD,
    FRUIT,
    HOUSE,
    KEY,
    LANGUAGES,
    LESSON,
    LETTER,
    MESSAGE,
    MILK,
    MUSEUM,
    NEWSPAPER,
    NOVEL,
    PAIRED,
    PHONE,
    PHOTO,
    POEM,
    PRESENT,
    REPORT,
    SALAD,
    SANDWICH,
    SNACKS,
    SONG,
    SOUP,
    STORY,
    TEA,
    VEGETABLES,
    WINE,
)  # fmt: skip
from keras_transformer.phrasebook.lexicon.verbs import Verb, verb


@dataclass(frozen=True, slots=True)
class Thing:
    """Object of a verb in French, French after a negation, and English; the subject fills {mon} and {my}."""

    french: str
    negated: str
    english: str
    single: bool = False  # 'an apple': eaten now or yesterday, not as a habit
    many: bool | None = None  # said of several people, one each; of one; of either


@dataclass(frozen=True, slots=True)
class Deed:
    """Verb and its object."""

    verb: Verb
    thing: Thing
    kind: DeedKind = DeedKind.ROUTINE


def some(nouns: Iterable[Noun]) -> Iterator[Thing]:
    """Return an object like: du pain; pas de pain."""
    for noun in nouns:
        yield Thing(f"de {french.definite(noun)}", f"de {noun.french}", noun.english)


def one(nouns: Iterable[Noun]) -> Iterator[Thing]:
    """Return an object like: une pomme; pas de pomme."""
    for noun in nouns:
        yield Thing(french.indefinite(noun), f"de {noun.french}", f"a {noun.english}", single=True)


def several(nouns: Iterable[Noun]) -> Iterator[Thing]:
    """Return an object like: des pommes; pas de pommes."""
    for noun in nouns:
        word = french.plural_of(noun)
        yield Thing(f"des {word}", f"de {word}", english.plural_of(noun))


def the(nouns: Iterable[Noun], is_plural: bool = False) -> Iterator[Thing]:
    """Return an object like: la porte, les exercices."""
    for noun in nouns:
        words = french.definite(noun, is_plural)
        yield Thing(words, words, f"the {english.plural_of(noun) if is_plural else noun.english}")


def this(nouns: Iterable[Noun]) -> Iterator[Thing]:
    """Return an object like: ce livre."""
    for noun in nouns:
        yield Thing(
            french.demonstrative(noun), french.demonstrative(noun), f"this {noun.english}", single=True
        )


def owned(nouns: Iterable[Noun], is_plural: bool = False) -> Iterator[Thing]:
    """Return an object like {mon} sac or {mes} gants, which the subject fills."""
    for noun in nouns:
        mark = french.possessive(0, noun).split()[0] if not is_plural else "mes"
        word, meaning = (
            (french.plural_of(noun), english.plural_of(noun)) if is_plural else (noun.french, noun.english)
        )
        yield Thing(f"{{{mark}}} {word}", f"{{{mark}}} {word}", f"{{my}} {meaning}")


def each(alone: Iterable[Thing], together: Iterable[Thing]) -> Iterator[Thing]:
    """Return an object like: un manteau for one person, des manteaux for several."""
    yield from (replace(thing, many=False) for thing in alone)
    yield from (replace(thing, many=True) for thing in together)


def personal(nouns: tuple[Noun, ...]) -> Iterator[Thing]:
    """Return an object like: {mon} sac for one person, {mes} sacs for several."""
    return each(owned(nouns), owned(nouns, True))


def words(*pairs: str) -> Iterator[Thing]:
    """Return fixed complements, written 'au football = football'."""
    for pair in pairs:
        source, target = (side.strip() for side in pair.split("="))
        yield Thing(source, source, target)


def deeds(
    infinitive: str,
    base: str,
    *things: Iterable[Thing],
    kind: DeedKind = DeedKind.ROUTINE,
    particle: str = "",
) -> Iterator[Deed]:
    """Return the verb with each of its objects; the particle is 'at' in 'look at'."""
    pair = verb(infinitive, base)
    for thing in (thing for group in things for thing in group):
        meaning = f"{particle} {thing.english}".strip()
        when = DeedKind.ONGOING if thing.single and kind is DeedKind.ROUTINE else kind
        yield Deed(pair, replace(thing, english=meaning), when)


ONGOING, PASSING, EVENT, MAJOR, ACCIDENT = (
    DeedKind.ONGOING,
    DeedKind.PASSING,
    DeedKind.EVENT,
    DeedKind.MAJOR,
    DeedKind.ACCIDENT,
)
DEEDS = (
    *deeds("manger", "eat", some(FOOD), one(SNACKS), several((*FRUIT, *VEGETABLES))),
    *deeds("boire", "drink", some(DRINKS)),
    *deeds(
        "préparer",
        "make",
        some((SOUP, COFFEE, TEA)),
        one((CAKE, SANDWICH, SALAD)),
        words("le dîner = dinner"),
    ),
    *deeds(
        "lire",
        "read",
        one((NOVEL, NEWSPAPER, POEM)),
        owned((NEWSPAPER,)),
        this((ARTICLE, STORY)),
        (Thing("des livres", "de livres", "books"),),
    ),
    *deeds("écrire", "write", one((LETTER, REPORT, STORY, MESSAGE)), several((LETTER, POEM))),
    *deeds("regarder", "watch", words("la télévision = television"), one((FILM,)), several((FILM,))),
    *deeds("regarder", "look", personal((PHONE,)), this((PHOTO,)), kind=PASSING, particle="at"),
    *deeds(
        "écouter",
        "listen",
        words("la radio = to the radio", "cette chanson = to this song"),
        (Thing("de la musique", "de musique", "to music"),),
    ),
    *deeds(
        "jouer",
        "play",
        words(
            "au football = football",
            "au tennis = tennis",
            "du piano = the piano",
            "de la guitare = the guitar",
            "aux cartes = cards",
        ),
    ),
    *deeds(
        "étudier",
        "study",
        the((LESSON,)),
        words("l'histoire = history", "la musique = music", "les mathématiques = maths"),
    ),
    *deeds(
        "apprendre",
        "learn",
        words(*(f"{french.elide('le ' + name)} = {meaning}" for name, meaning in LANGUAGES)),
    ),
    *deeds(
        "travailler",
        "work",
        words(
            "=",
            "dans un bureau = in an office",
            "au restaurant = at the restaurant",
            "à la maison = at home",
            "avec Paul = with Paul",
            "avec {mon} père = with {my} father",
        ),
    ),
    *deeds(
        "dormir",
        "sleep",
        words(
            "=",
            "dans le jardin = in the garden",
            "dans cette chambre = in this room",
            "à l'hôtel = at the hotel",
        ),
        kind=ONGOING,
    ),
    *deeds("nager", "swim", words("à la piscine = at the swimming pool", "dans la mer = in the sea")),
    *deeds(
        "courir",
        "run",
        words("dans le parc = in the park", "sur la plage = on the beach", "avec Thomas = with Thomas"),
    ),
    *deeds("chanter", "sing", one((SONG,)), words("=")),
    *deeds(
        "danser",
        "dance",
        words(
            "=", "avec {mes} amis = with {my} friends", "à la fête = at the party", "avec Julie = with Julie"
        ),
    ),
    *deeds(
        "faire",
        "do",
        words("la vaisselle = the dishes", "les courses = the shopping", "{mes} devoirs = {my} homework"),
    ),
    *deeds(
        "parler",
        "talk",
        words(
            "avec Marie = with Marie",
            "avec le professeur = with the teacher",
            "avec {mes} parents = with {my} parents",
        ),
    ),
    *deeds(
        "prendre",
        "take",
        words("le bus = the bus", "le train = the train", "le métro = the underground"),
        several((PHOTO,)),
    ),
    *deeds("porter", "wear", each(one(CLOTHES), several(CLOTHES)), kind=ONGOING),
    *deeds("porter", "wear", owned(PAIRED, True)),
    *deeds("laver", "wash", the((CAR,)), words("les fenêtres = the windows")),
    *deeds("chercher", "look", personal(BELONGINGS), kind=PASSING, particle="for"),
    *deeds(
        "acheter",
        "buy",
        some((*FOOD[:5], COFFEE, TEA, MILK, WINE)),
        one((CAMERA, *CLOTHES, BAG)),
        several((*FRUIT, *VEGETABLES, FLOWER)),
        kind=EVENT,
    ),
    *deeds("acheter", "buy", one((CAR, HOUSE, FLAT, BICYCLE, COMPUTER)), kind=MAJOR),
    *deeds("vendre", "sell", owned((CAR, HOUSE, FLAT)), personal((BICYCLE, COMPUTER)), kind=MAJOR),
    *deeds("visiter", "visit", words("Paris = Paris", "Londres = London", "Rome = Rome"), kind=MAJOR),
    *deeds("perdre", "lose", personal(BELONGINGS), kind=ACCIDENT),
    *deeds("trouver", "find", personal((KEY, BAG, PHONE)), one((FLAT,)), kind=ACCIDENT),
    *deeds("oublier", "forget", personal(BELONGINGS), the((PRESENT,)), kind=ACCIDENT),
    *deeds("visiter", "visit", the((MUSEUM, CASTLE)), kind=EVENT),
    *deeds(
        "finir",
        "finish",
        personal((BOOK,)),
        owned((REPORT,)),
        the((EXERCISE,)),
        words("{mes} devoirs = {my} homework"),
        kind=EVENT,
    ),
    *deeds("choisir", "choose", one((PRESENT, FILM)), this((DRESS, COAT)), kind=EVENT),
    *deeds(
        "payer",
        "pay",
        words("le loyer = the rent", "le taxi = for the taxi", "les billets = for the tickets"),
        kind=EVENT,
    ),
    *deeds(
        "voir",
        "see",
        one((FILM,)),
        words("{mes} parents = {my} parents", "le médecin = the doctor"),
        kind=EVENT,
    ),
    *deeds("rencontrer", "meet", words("Julie = Julie", "{mon} professeur = {my} teacher"), kind=ACCIDENT),
    *deeds(
        "inviter",
        "invite",
        words("Paul = Paul", "{mes} amis = {my} friends", "les voisins = the neighbours"),
        kind=EVENT,
    ),
    *deeds("ouvrir", "open", words("la porte = the door", "la fenêtre = the window"), kind=EVENT),
    *deeds("fermer", "close", words("la porte = the door", "la fenêtre = the window"), kind=EVENT),
)
_NEVER_JUST = ("porter", "oublier", "courir", "chanter", "apprendre")
DEEDS_IN_TIME = tuple((deed, moment) for deed in DEEDS for moment in MOMENTS[deed.kind]
                      if moment is not JUST or deed.verb.french.infinitive not in _NEVER_JUST)  # fmt: skip
