"""Frames with le, la, les, l' and the people they stand for: the context always says which."""

from keras_transformer.phrasebook.grammar import english, french
from keras_transformer.phrasebook.grammar.french import ETRE, Noun, Polarity, Subject, Tense
from keras_transformer.phrasebook.lexicon.nouns import (
    ARTICLE,
    BAG,
    BELONGINGS,
    BOOK,
    CAKE,
    CAR,
    CLOTHES,
    EXERCISE,
    FAMILY,
    FILM,
    GROUPS,
    HE,
    JULIE,
    KEY,
    LETTER,
    MARIE,
    ME,
    NAMES,
    NEWSPAPER,
    PAUL,
    PEOPLE,
    PHONE,
    PHOTO,
    REPORT,
    SALAD,
    SHE,
    SHOE,
    SONG,
    SUBJECTS,
    WE,
    YOU,
)  # fmt: skip
from keras_transformer.phrasebook.lexicon.verbs import Verb, verb
from keras_transformer.phrasebook.sentence import SentencePair, frame, say

YES, NOT = Polarity.YES, Polarity.NOT


def clitic(is_feminine: bool, is_plural: bool) -> str:
    """Return the French object pronoun: le, la, les."""
    return "les" if is_plural else "la" if is_feminine else "le"


def it(is_plural: bool) -> str:
    """Return the English object pronoun: it, them."""
    return "them" if is_plural else "it"


MINE = (*((noun, False) for noun in (*BELONGINGS, BOOK, CAR)), (KEY, True), (SHOE, True), (BOOK, True))
MISSING = (
    ("je ne {it} trouve pas", "I cannot find {it}"), ("je {it} cherche", "I am looking for {it}"),
    ("je ne {it} vois pas", "I cannot see {it}"), ("est-ce que vous {it} voyez", "do you see {it}"),
    ("est-ce que vous {it} avez", "do you have {it}"), ("Marie {it} a", "Marie has {it}"),
    ("Paul {it} cherche", "Paul is looking for {it}"), ("j'en ai besoin", "I need {it}"),
)  # fmt: skip


@frame(2, MINE, MISSING, (("mon", 0), ("votre", 4), ("notre", 3)))
def missing(mine: tuple[Noun, bool], search: tuple[str, str], whose: tuple[str, int]) -> SentencePair:
    """Sentences like: Où est mon livre ? Je ne le trouve pas."""
    noun, many = mine
    word = english.plural_of(noun) if many else noun.english
    source, target = (
        side.replace("{it}", filled)
        for side, filled in zip(search, (clitic(noun.feminine, many), it(many)), strict=True)
    )
    mark = " ?" if source.startswith("est-ce") else "."
    second_fr, second_en = french.write(source), english.write(target)
    are_fr, are_en = ("sont", "are") if many else ("est", "is")
    return say(
        f"où {are_fr} {french.possessive(whose[1], noun, many)} ? {second_fr}{mark}",
        f"where {are_en} {english.owner(whose[1])} {word}? {second_en}{mark.strip()}",
    )


TREATED: tuple[tuple[tuple[Noun, ...], tuple[Verb, ...]], ...] = (
    ((LETTER, REPORT, ARTICLE), (verb("lire", "read"), verb("écrire", "write"), verb("perdre", "lose"))),
    ((KEY, BAG, PHONE, *CLOTHES[:3]),
     (verb("perdre", "lose"), verb("trouver", "find"), verb("oublier", "forget"), verb("acheter", "buy"))),
    ((PHOTO, FILM), (verb("voir", "see"), verb("regarder", "watch"), verb("aimer", "like"))),
    ((SONG,), (verb("écouter", "listen"), verb("aimer", "like"), verb("chanter", "sing"))),
    ((CAKE, SALAD), (verb("manger", "eat"), verb("préparer", "make"), verb("acheter", "buy"))),
    ((EXERCISE,), (verb("finir", "finish"), verb("comprendre", "understand"))),
    ((CAR,), (verb("vendre", "sell"), verb("laver", "wash"), verb("acheter", "buy"))),
    ((BOOK, NEWSPAPER), (verb("lire", "read"), verb("acheter", "buy"), verb("perdre", "lose"),
                         verb("prendre", "take"))),
)  # fmt: skip
TREATMENTS = tuple((noun, pair) for nouns, pairs in TREATED for noun in nouns for pair in pairs)
TREATMENT_TIMES = ((Tense.PAST, YES, "", ""), (Tense.PAST, YES, "hier", "yesterday"),
                   (Tense.PAST, NOT, "", ""), (Tense.GOING, YES, "demain", "tomorrow"),
                   (Tense.PAST, YES, "ce matin", "this morning"), (Tense.GOING, YES, "", ""))  # fmt: skip


@frame(8, TREATMENTS, (*SUBJECTS[:1], *SUBJECTS[2:6], *PEOPLE[:4]), TREATMENT_TIMES, (False, True))
def treating(
    treatment: tuple[Noun, Verb], subject: Subject, time: tuple[Tense, Polarity, str, str], many: bool
) -> SentencePair | None:
    """Sentences like: Les clés ? Je les ai perdues hier."""
    (noun, pair), (tense, polarity, when_fr, when_en) = treatment, time
    accidental = pair.english.base in ("lose", "forget", "find", "like", "understand")
    if tense is Tense.GOING and (accidental or (pair.english.base == "see" and noun is PHOTO)):
        return None
    if pair.english.base in ("like",) and when_fr:
        return None
    source = french.clause(
        subject, pair.french, tense, when_fr, polarity, clitic(noun.feminine, many), (noun.feminine, many)
    )
    particle = (
        "to "
        if pair.english.base == "listen"
        else "at "
        if pair.english.base == "watch" and noun is PHOTO
        else ""
    )
    base = verb("regarder", "look").english if particle == "at " else pair.english
    target = english.clause(subject, base, tense, f"{particle}{it(many)} {when_en}".strip(), polarity)
    word = english.plural_of(noun) if many else noun.english
    return say(
        f"{french.definite(noun, many)} ? {french.write(source)}.",
        f"the {word}? {english.write(target)}.",
        subject.both,
    )


FASHION = (*((noun, many) for noun in (*CLOTHES, BAG) for many in (False, True)), (SHOE, True))
DECISIONS = (("je {it} prends", "I will take {it}"), ("je vais {it} acheter", "I am going to buy {it}"),
             ("je voudrais {it} acheter", "I would like to buy {it}"),
             ("Marie va {it} acheter", "Marie is going to buy {it}"),
             ("je ne vais pas {it} acheter", "I am not going to buy {it}"),
             ("nous {it} prenons", "we will take {it}"))  # fmt: skip


@frame(2, FASHION, DECISIONS, ("beautiful", "expensive", "small", "pretty"))
def deciding(item: tuple[Noun, bool], decision: tuple[str, str], quality: str) -> SentencePair | None:
    """Sentences like: Cette robe est belle. Je la prends."""
    noun, many = item
    bad = quality in ("expensive", "small")
    if bad != ("pas" in decision[0]):
        return None
    forms = {"beautiful": ("beau", "belle", "beaux", "belles"),
             "expensive": ("trop cher", "trop chère", "trop chers", "trop chères"),
             "small": ("trop petit", "trop petite", "trop petits", "trop petites"),
             "pretty": ("très joli", "très jolie", "très jolis", "très jolies")}[quality]  # fmt: skip
    words = {
        "beautiful": "beautiful",
        "expensive": "too expensive",
        "small": "too small",
        "pretty": "very pretty",
    }[quality]
    source, target = (
        side.replace("{it}", filled)
        for side, filled in zip(decision, (clitic(noun.feminine, many), it(many)), strict=True)
    )
    form = forms[noun.feminine + 2 * many]
    are_fr, are_en = ("sont", "these {} are") if many else ("est", "this {} is")
    shown = are_en.format(english.describe(noun, None, many))
    return say(
        f"{french.demonstrative(noun, None, many)} {are_fr} {form}. {french.write(source)}.",
        f"{shown} {words}. {english.write(target)}.",
    )


KNOWING = (verb("connaître", "know"), verb("comprendre", "understand"))
MEETING = (verb("voir", "see"), verb("attendre", "wait"), verb("appeler", "call"), verb("inviter", "invite"),
           verb("aider", "help"), verb("rencontrer", "meet"))  # fmt: skip
WHOM = ((0, False, False), (2, False, False), (2, True, False), (3, False, True), (5, False, True))
KNOWN_TIMES = ((Tense.HABIT, YES, "", ""), (Tense.HABIT, NOT, "", ""))
MET_TIMES = ((Tense.PAST, YES, "hier", "yesterday"), (Tense.PAST, NOT, "", ""),
             (Tense.GOING, YES, "demain", "tomorrow"), (Tense.GOING, NOT, "ce soir", "tonight"),
             (Tense.PAST, YES, "samedi dernier", "last Saturday"))  # fmt: skip
WHO_KNOWS = (*SUBJECTS[:1], *SUBJECTS[2:6], *PEOPLE[:17])


@frame(1.5, WHO_KNOWS, KNOWING, WHOM, KNOWN_TIMES)
def knowing(
    subject: Subject, pair: Verb, whom: tuple[int, bool, bool], time: tuple[Tense, Polarity, str, str]
) -> SentencePair | None:
    """Sentences like: Nous l'avons invitée hier. -> We invited her yesterday."""
    (person, feminine, many), (tense, polarity, when_fr, when_en) = whom, time
    if person in (0, 3) and subject.person in (0, 3):
        return None
    if person in (0, 3) and subject in FAMILY and pair.english.base in ("know", "meet"):
        return None
    pronoun = ("me", "te", clitic(feminine, many), "nous", "vous", "les")[person]
    if pronoun in ("le", "la") and french.starts_with_vowel(pair.french.infinitive) and tense is Tense.GOING:
        return None  # 'l'aider' hides whom
    if pair.english.base == "wait" and polarity is NOT and tense is Tense.GOING:
        return None
    placed = (feminine, many) if person in (2, 3, 5) else (False, False)
    particle = "for " if pair.english.base == "wait" else ""
    source = french.clause(subject, pair.french, tense, when_fr, polarity, pronoun, placed)
    target = english.clause(
        subject,
        pair.english,
        tense,
        f"{particle}{english.object_pronoun(person, feminine)} {when_en}".strip(),
        polarity,
    )
    return say(f"{source}.", f"{target}.", subject.both)


ACQUAINTED = (
    ("connaissez-vous {who} ? Oui, je {it} connais bien.", "do you know {who}? Yes, I know {it} well."),
    ("connaissez-vous {who} ? Non, je ne {it} connais pas.", "do you know {who}? No, I do not know {it}."),
    ("est-ce que Thomas a vu {who} ? Oui, il {it} a vu+ hier.",
     "did Thomas see {who}? Yes, he saw {it} yesterday."),
    ("où est {who} ? Je ne {it} vois pas.", "where is {who}? I cannot see {it}."),
    ("voici {who}. Je {it} connais depuis deux ans.", "here is {who}. I have known {it} for two years."),
    ("j'aime {who}. Je {it} vois tous les jours.", "I love {who}. I see {it} every day."),
    ("{who} est en retard. Nous {it} attendons.", "{who} is late. We are waiting for {it}."),
    ("{who} est malade. Je vais {it} aider.", "{who} is ill. I am going to help {it}."),
    ("{who} est à l'hôpital. Je vais {it} voir demain.",
     "{who} is in hospital. I am going to see {it} tomorrow."),
)  # fmt: skip


@frame(2, (*NAMES, *FAMILY, *GROUPS), ACQUAINTED)
def acquainted(who: Subject, talk: tuple[str, str]) -> SentencePair | None:
    """Sentences like: Connaissez-vous Marie ? Oui, je la connais bien."""
    if who.french == "Thomas" and "Thomas" in talk[0]:
        return None
    source = (
        talk[0]
        .replace("{who}", who.french)
        .replace("{it}", clitic(who.feminine, who.plural))
        .replace("vu+", french.agree_participle("vu", who.feminine, who.plural))
    )
    target = (
        talk[1]
        .replace("{who}", who.english)
        .replace("{it}", english.object_pronoun(who.person, who.feminine))
    )
    if who.plural:
        source = (
            source.replace(" est malade", " sont malades")
            .replace(" est en", " sont en")
            .replace(" est à", " sont à")
            .replace("où est ", "où sont ")
        )
        target = (
            target.replace(" is ill", " are ill")
            .replace(" is late", " are late")
            .replace(" is in", " are in")
            .replace("where is", "where are")
            .replace("here is", "here are")
        )
    return say(source, target)


RELATIVES = (
    ("acheter", "buy"),
    ("choisir", "choose"),
    ("perdre", "lose"),
    ("oublier", "forget"),
    ("trouver", "find"),
)
JUDGED = (
    ("être", "sur la table", "on the table", False),
    ("être", "dans la voiture", "in the car", False),
    ("être", "trop petit", "too small", True),
    ("être", "noir", "black", True),
    ("être", "très joli", "very pretty", True),
)
RELATED = (*CLOTHES, BAG, SHOE)


@frame(3, RELATED, RELATIVES, (ME, HE, SHE, WE, YOU, PAUL, MARIE, JULIE, *FAMILY[:4]), JUDGED, (False, True))
def relating(
    noun: Noun, names: tuple[str, str], subject: Subject, judged: tuple[str, str, str, bool], many: bool
) -> SentencePair | None:
    """Sentences like: La robe que Marie a achetée est trop petite."""
    if noun is SHOE and not many:
        return None
    pair, (_, words, meaning, agrees) = verb(*names), judged
    if (not agrees and names[1] in ("forget", "lose")) or (
        agrees and names[1] == "lose" and meaning != "black"
    ):
        return None
    which = Subject(
        french.definite(noun, many),
        f"the {english.describe(noun, None, many)}",
        5 if many else 2,
        noun.feminine,
        many,
    )
    if agrees:
        degree, _, word = words.rpartition(" ")
        words = f"{degree} {french.agree_participle(word, noun.feminine, many)}".strip()
    inner = french.clause(subject, pair.french, Tense.PAST, placed=(noun.feminine, many))
    source = french.clause(Subject(f"{which.french} que {inner}", "", which.person), ETRE, Tense.HABIT, words)
    told = english.clause(subject, pair.english, Tense.PAST)
    target = english.clause(
        Subject("", f"{which.english} that {told}", which.person), english.BE, Tense.HABIT, meaning
    )
    return say(f"{source}.", f"{target}.")


FRAMES = (
    missing,
    treating,
    deciding,
    knowing,
    knowing.also(4, WHO_KNOWS, MEETING, WHOM, MET_TIMES),
    acquainted,
    relating,
)
