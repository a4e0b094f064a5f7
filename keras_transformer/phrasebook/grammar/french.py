"""French grammar as small pure functions: agreement, elision, contraction, conjugation, clauses."""

import re
from dataclasses import dataclass
from enum import Enum

VOWELS = "aeiouyàâéèêëîïôûœh"
# No elision before 'huit', 'onze', 'oui' and 'haut', although their first letters are in VOWELS.
_BEFORE_VOWEL = rf"(?=[{VOWELS}{VOWELS.upper()}])(?!huit|onze|oui|haut)"
_ELISION = re.compile(
    rf"(?<![-\w])((?:[jnmtsldc]|qu|parce qu)(?=e )|l(?=a ))[ea] {_BEFORE_VOWEL}", re.IGNORECASE
)
_SI = re.compile(r"\b([Ss])i (?=ils?\b)")
_CONTRACTION = re.compile(r"\b([Dd]e|[Àà]) (les?) ")
_CONTRACTED = {"de le": "du", "de les": "des", "à le": "au", "à les": "aux"}


class Tense(Enum):
    """Tense of a clause. NOW and HABIT are the same tense in French, but two tenses in English."""

    NOW = "now"
    HABIT = "habit"
    PAST = "past"
    ONCE = "once"  # imparfait: 'was', 'used to'
    GOING = "going"
    FUTURE = "future"
    JUST = "just"


class Polarity(Enum):
    """Second half of the French negation."""

    YES = None
    NOT = "pas"
    NEVER = "jamais"
    NO_LONGER = "plus"
    NOTHING = "rien"
    NOBODY = ""  # 'personne' stands after the participle, so a frame puts it into the tail


@dataclass(frozen=True, slots=True)
class Noun:
    """Noun in both languages. A plural that is not given is formed by the rules."""

    french: str
    english: str
    feminine: bool = False
    french_plural: str = ""
    english_plural: str = ""


@dataclass(frozen=True, slots=True)
class Adjective:
    """Adjective in both languages; `before` says that it stands before the noun in French."""

    masculine: str
    feminine: str
    english: str
    before: bool = False
    vowel: str = ""  # masculine form before a vowel: bel, nouvel, vieil


@dataclass(frozen=True, slots=True)
class FrenchVerb:
    """Stems and forms of a verb, from which all forms of every Tense are derived."""

    infinitive: str
    present: tuple[str, ...]
    participle: str
    future: str
    imperfect: str
    auxiliary: str = "avoir"
    reflexive: bool = False


@dataclass(frozen=True, slots=True)
class Subject:
    """Subject of a clause.

    With `both` False, its sentences are used only from French to English: the English subject has several
    French ones, as "you" has "tu" and "vous". A `marked` subject is only for clauses in which a French form
    shows its gender or number.
    """

    french: str
    english: str
    person: int  # je, tu, il, nous, vous, ils: 0 to 5
    feminine: bool = False
    plural: bool = False
    both: bool = True
    marked: bool = False


def starts_with_vowel(word: str) -> bool:
    """Return whether the word before this one is elided, as "la" is in "l'école"."""
    return re.match(_BEFORE_VOWEL, word, re.IGNORECASE) is not None


def elide(text: str) -> str:
    """Elide: je ai -> j'ai, la école -> l'école, si il -> s'il; le huit stays."""
    return _SI.sub(r"\1'", _ELISION.sub(r"\1'", text))


def contract(text: str) -> str:
    """Contract after elision: de le -> du, à les -> aux; de l'eau stays."""

    def merged(match: re.Match[str]) -> str:
        word = _CONTRACTED[f"{match[1].lower()} {match[2]}"]
        return (word.capitalize() if match[1][0].isupper() else word) + " "

    return _CONTRACTION.sub(merged, text)


def plural(word: str) -> str:
    """Return the plural: gâteau -> gâteaux, journal -> journaux, bus -> bus, pomme -> pommes."""
    if word[-1] in "sxz":
        return word
    if word.endswith("al"):
        return word[:-2] + "aux"
    return word + ("x" if word.endswith(("eau", "eu")) and word != "bleu" else "s")


def plural_of(noun: Noun) -> str:
    """Return the given plural, or the regular one."""
    return noun.french_plural or plural(noun.french)


def feminine(adjective: str) -> str:
    """Return the feminine: heureux -> heureuse, cher -> chère, gentil -> gentille, rouge -> rouge."""
    for ending, other in (("eux", "euse"), ("er", "ère"), ("f", "ve"), ("en", "enne"), ("on", "onne"),
                          ("el", "elle"), ("il", "ille"), ("e", "e")):  # fmt: skip
        if adjective.endswith(ending):
            return adjective.removesuffix(ending) + other
    return adjective + "e"


def agree(adjective: Adjective, is_feminine: bool, is_plural: bool) -> str:
    """Return the form that agrees with a noun or subject of this gender and number."""
    form = adjective.feminine if is_feminine else adjective.masculine
    return plural(form) if is_plural else form


def agree_participle(participle: str, is_feminine: bool, is_plural: bool) -> str:
    """Return the participle that agrees: allé -> allée, allés, allées; masculine plural of pris -> pris."""
    form = participle + "e" * is_feminine
    return plural(form) if is_plural else form


def describe(noun: Noun, adjective: Adjective | None, is_plural: bool = False) -> str:
    """Put an adjective on the correct side of a noun: bel appartement, robes rouges."""
    word = plural_of(noun) if is_plural else noun.french
    if adjective is None:
        return word
    form = agree(adjective, noun.feminine, is_plural)
    if not adjective.before:
        return f"{word} {form}"
    if adjective.vowel and not noun.feminine and not is_plural and starts_with_vowel(word):
        form = adjective.vowel
    return f"{form} {word}"


def definite(noun: Noun, is_plural: bool = False) -> str:
    """Add the definite article: le train, la gare, les clés; `elide` elides later."""
    return f"les {plural_of(noun)}" if is_plural else f"{'la' if noun.feminine else 'le'} {noun.french}"


def indefinite(noun: Noun, adjective: Adjective | None = None, is_plural: bool = False) -> str:
    """Add the indefinite article: un livre, une belle robe, des pommes, de belles robes."""
    if is_plural:
        article = "de" if adjective is not None and adjective.before else "des"
    else:
        article = "une" if noun.feminine else "un"
    return f"{article} {describe(noun, adjective, is_plural)}"


def demonstrative(noun: Noun, adjective: Adjective | None = None, is_plural: bool = False) -> str:
    """Add the demonstrative: ce livre, cet hôtel, cette robe, ces clés."""
    words = describe(noun, adjective, is_plural)
    if is_plural:
        return f"ces {words}"
    masculine = "cet" if starts_with_vowel(words) else "ce"
    return f"{'cette' if noun.feminine else masculine} {words}"


_OWNERS = (("mon", "ma", "mes"), ("ton", "ta", "tes"), ("son", "sa", "ses"),
           ("notre", "notre", "nos"), ("votre", "votre", "vos"), ("leur", "leur", "leurs"))  # fmt: skip


def possessive(person: int, noun: Noun, is_plural: bool = False) -> str:
    """Add the possessive: mon livre, ma clé, mon amie, mes clés."""
    masculine, feminine_form, plural_form = _OWNERS[person]
    if is_plural:
        return f"{plural_form} {plural_of(noun)}"
    as_masculine = not noun.feminine or starts_with_vowel(noun.french)
    return f"{masculine if as_masculine else feminine_form} {noun.french}"


_REFLEXIVE = ("me", "te", "se", "nous", "vous", "se")
_IMPERFECT = ("ais", "ais", "ait", "ions", "iez", "aient")
_FUTURE = ("ai", "as", "a", "ons", "ez", "ont")
AVOIR = FrenchVerb("avoir", ("ai", "as", "a", "avons", "avez", "ont"), "eu", "aur", "av")
ETRE = FrenchVerb("être", ("suis", "es", "est", "sommes", "êtes", "sont"), "été", "ser", "ét")
ALLER = FrenchVerb("aller", ("vais", "vas", "va", "allons", "allez", "vont"), "allé", "ir", "all", "être")
VENIR = FrenchVerb("venir", ("viens", "viens", "vient", "venons", "venez", "viennent"), "venu", "viendr",
                   "ven",
                   "être")  # fmt: skip


def infinitive(verb: FrenchVerb, person: int, clitic: str = "") -> str:
    """Return the infinitive with its pronoun: manger, le manger, me lever."""
    return _spaced(_REFLEXIVE[person] if verb.reflexive else clitic, verb.infinitive)


def _verb_group(subject: Subject, verb: FrenchVerb, tense: Tense, clitic: str,
                placed: tuple[bool, bool]) -> tuple[str, str, str]:  # fmt: skip
    """Return the pronoun before the finite verb, the finite verb, and the words after "pas"."""
    person = subject.person
    pronoun = _REFLEXIVE[person] if verb.reflexive else clitic
    match tense:
        case Tense.NOW | Tense.HABIT:
            return pronoun, verb.present[person], ""
        case Tense.PAST if verb.reflexive or verb.auxiliary == "être":
            participle = agree_participle(verb.participle, subject.feminine, subject.plural)
            return pronoun, ETRE.present[person], participle
        case Tense.PAST:
            return pronoun, AVOIR.present[person], agree_participle(verb.participle, *placed)
        case Tense.ONCE:
            stem = verb.imperfect.removesuffix("e") if verb.imperfect.endswith("ge") and person in (3,
                4) else verb.imperfect  # fmt: skip
            return pronoun, stem + _IMPERFECT[person], ""
        case Tense.FUTURE:
            return pronoun, verb.future + _FUTURE[person], ""
        case Tense.GOING:
            return "", ALLER.present[person], infinitive(verb, person, clitic)
        case Tense.JUST:
            return "", VENIR.present[person], f"de {infinitive(verb, person, clitic)}"


def clause(subject: Subject, verb: FrenchVerb, tense: Tense, tail: str = "",
           polarity: Polarity = Polarity.YES,
           clitic: str = "", placed: tuple[bool, bool] = (False, False)) -> str:  # fmt: skip
    """Join subject, ne, pronoun, verb, pas and the rest.

    `placed` says whether an object before "avoir" is feminine and plural: the participle agrees with it.
    """
    pronoun, finite, rest = _verb_group(subject, verb, tense, clitic, placed)
    ne = "" if polarity is Polarity.YES else "ne"
    return _spaced(subject.french, ne, pronoun, finite, polarity.value or "", rest, tail)


def inverted(subject: Subject, verb: FrenchVerb, tense: Tense, tail: str = "",
             polarity: Polarity = Polarity.YES,
             clitic: str = "", placed: tuple[bool, bool] = (False, False)) -> str:  # fmt: skip
    """Return the verb before a pronoun subject: aimez-vous, a-t-il mangé. `placed` is as in `clause`."""
    pronoun, finite, rest = _verb_group(subject, verb, tense, clitic, placed)
    link = "-t-" if subject.person == 2 and finite[-1] in "aec" else "-"
    ne = "" if polarity is Polarity.YES else "ne"
    return _spaced(ne, pronoun, f"{finite}{link}{subject.french}", polarity.value or "", rest, tail)


def _spaced(*words: str) -> str:
    return " ".join(filter(None, words))


_OWNED = re.compile(r"\{(\w+)\}")


def own(text: str, subject: Subject) -> str:
    """Fill in the possessive: '{mon} livre' -> 'son livre' for a subject in the third person."""
    if "{" not in text:
        return text
    forms = dict(zip(("mon", "ma", "mes"), _OWNERS[subject.person], strict=True))
    return _OWNED.sub(lambda match: forms[match[1]], text)


def write(text: str) -> str:
    """Finish a sentence: elide, contract and capitalize."""
    text = contract(elide(text))
    return text[0].upper() + text[1:]
