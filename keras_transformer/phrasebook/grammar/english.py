"""English grammar as small pure functions: articles, plurals, verb forms, clauses."""

import re
from dataclasses import dataclass

from keras_transformer.phrasebook.grammar.french import Adjective, Noun, Polarity, Subject, Tense

_PLURALS = {"child": "children", "man": "men", "woman": "women", "tomato": "tomatoes", "potato": "potatoes"}
_PAST = {
    "eat": "ate eaten", "drink": "drank drunk", "read": "read read", "write": "wrote written",
    "buy": "bought bought",
    "sell": "sold sold", "lose": "lost lost", "find": "found found", "take": "took taken",
    "make": "made made",
    "do": "did done", "see": "saw seen", "go": "went gone", "come": "came come", "leave": "left left",
    "have": "had had", "get": "got got", "sleep": "slept slept", "swim": "swam swum", "sing": "sang sung",
    "run": "ran run", "know": "knew known", "speak": "spoke spoken", "forget": "forgot forgotten",
    "understand": "understood understood", "meet": "met met", "wear": "wore worn", "think": "thought thought",
    "put": "put put", "choose": "chose chosen", "feel": "felt felt", "give": "gave given",
    "break": "broke broken",
    "ride": "rode ridden", "hear": "heard heard", "cost": "cost cost", "send": "sent sent",
    "wake": "woke woken", "pay": "paid paid",
    "travel": "travelled travelled",
}  # fmt: skip
_COMPARATIVES = {"good": "better", "bad": "worse", "interesting": "more interesting", "nice": "nicer"}
_AN = re.compile(r"\b([Aa]) (?=[aeio]|u(?!niv|sed)|hour)")


@dataclass(frozen=True, slots=True)
class EnglishVerb:
    """Five forms of a verb."""

    base: str
    third: str
    past: str
    participle: str
    ing: str


def third_person(base: str) -> str:
    """Return the third person singular: watch -> watches, study -> studies, play -> plays."""
    if base == "have":
        return "has"
    if base.endswith(("s", "sh", "ch", "x", "o")):
        return base + "es"
    return base[:-1] + "ies" if re.search("[^aeiou]y$", base) else base + "s"


def _doubled(base: str) -> str:
    return base + base[-1] if re.fullmatch("[^aeiou]*[aeiou][bdgmnprt]|forget|travel|prefer", base) else base


def ing(base: str) -> str:
    """Return the present participle: make -> making, swim -> swimming."""
    return base[:-1] + "ing" if re.search("[^e]e$", base) else _doubled(base) + "ing"


def verb(base: str) -> EnglishVerb:
    """Return all forms of a verb, with irregular pasts from the table."""
    if base.endswith("e"):
        regular = base + "d"
    else:
        regular = base[:-1] + "ied" if re.search("[^aeiou]y$", base) else _doubled(base) + "ed"
    past, participle = _PAST.get(base, f"{regular} {regular}").split()
    return EnglishVerb(base, third_person(base), past, participle, ing(base))


BE = EnglishVerb("be", "is", "was", "been", "being")
CAN = EnglishVerb("can", "can", "could", "could", "")


def plural(word: str) -> str:
    """Return the plural: story -> stories, watch -> watches, child -> children."""
    if word.endswith("o"):
        return _PLURALS.get(word, word + "s")
    return _PLURALS.get(word) or third_person(word)


def plural_of(noun: Noun) -> str:
    """Return the given plural, or the regular one."""
    return noun.english_plural or plural(noun.english)


def describe(noun: Noun, adjective: Adjective | None, is_plural: bool = False) -> str:
    """Put an adjective before a noun: red dress, old books."""
    word = plural_of(noun) if is_plural else noun.english
    return f"{adjective.english} {word}" if adjective else word


def comparative(adjective: str) -> str:
    """Return the comparative: tall -> taller, happy -> happier, big -> bigger, clever -> more clever."""
    if adjective in _COMPARATIVES:
        return _COMPARATIVES[adjective]
    if len(re.findall("[aeiouy]+", adjective.removesuffix("e"))) > 1 and not adjective.endswith("y"):
        return f"more {adjective}"
    if adjective.endswith("y"):
        return adjective[:-1] + "ier"
    return (adjective if adjective.endswith("e") else _doubled(adjective) + "e") + "r"


_OWNERS = ("my", "your", "his", "our", "your", "their")
_OBJECTS = ("me", "you", "him", "us", "you", "them")


def owner(person: int, is_feminine: bool = False) -> str:
    """Return the possessive: my, his, her, their."""
    return "her" if is_feminine and person == 2 else _OWNERS[person]


def object_pronoun(person: int, is_feminine: bool = False) -> str:
    """Return the object pronoun: me, him, her, them."""
    return "her" if is_feminine and person == 2 else _OBJECTS[person]


def own(text: str, subject: Subject) -> str:
    """Fill in the possessive: '{my} book' -> 'her book'."""
    return text.replace("{my}", owner(subject.person, subject.feminine)) if "{" in text else text


_BE_NOW = ("am", "are", "is", "are", "are", "are")
_BE_PAST = ("was", "were", "was", "were", "were", "were")


def _auxiliary(person: int, verb: EnglishVerb, tense: Tense, polarity: Polarity) -> tuple[str, str]:
    """Return the auxiliary for negation and questions, and the form that follows it."""
    be = _BE_NOW[person]
    has = "has" if person == 2 else "have"
    match tense:
        case Tense.NOW:
            return be, verb.ing
        case Tense.HABIT if verb is BE:
            return be, ""
        case Tense.HABIT if verb is CAN:
            return "can", ""
        case Tense.HABIT:
            return ("does" if person == 2 else "do"), verb.base
        case Tense.PAST if polarity is Polarity.NEVER:
            return has, verb.participle
        case Tense.ONCE if verb is BE:
            return _BE_PAST[person], ""
        case Tense.ONCE:
            return "", f"used to {verb.base}"
        case Tense.PAST:
            return "did", verb.base
        case Tense.GOING:
            return be, f"going to {verb.base}"
        case Tense.FUTURE:
            return "will", verb.base
        case Tense.JUST:
            return has, f"just {verb.participle}"


_NEGATIONS = {
    Polarity.YES: "", Polarity.NOT: "not", Polarity.NOTHING: "not", Polarity.NOBODY: "not",
    Polarity.NEVER: "never", Polarity.NO_LONGER: "no longer",
}  # fmt: skip


def clause(
    subject: Subject, verb: EnglishVerb, tense: Tense, tail: str = "", polarity: Polarity = Polarity.YES
) -> str:
    """Join subject, auxiliary, not, verb and the rest; only a negated clause gets 'do' or 'did'."""
    auxiliary, main = _auxiliary(subject.person, verb, tense, polarity)
    negation = _NEGATIONS[polarity]
    if negation != "not" and auxiliary in ("do", "does", "did"):
        auxiliary, main = "", {"do": verb.base, "does": verb.third, "did": verb.past}[auxiliary]
    if auxiliary == "can" and negation == "not":
        auxiliary, negation = "cannot", ""
    return _spaced(subject.english, auxiliary, negation, main, tail)


def question(
    subject: Subject, verb: EnglishVerb, tense: Tense, tail: str = "", polarity: Polarity = Polarity.YES
) -> str:
    """Join auxiliary, subject, not, verb and the rest."""
    auxiliary, main = _auxiliary(subject.person, verb, tense, polarity)
    return _spaced(auxiliary, subject.english, _NEGATIONS[polarity], main, tail)


def _spaced(*words: str) -> str:
    return " ".join(filter(None, words))


def write(text: str) -> str:
    """Finish a sentence: choose a or an, and capitalize."""
    text = _AN.sub(r"\1n ", text)
    return text[0].upper() + text[1:]
