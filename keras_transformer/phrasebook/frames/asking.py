"""Frames that ask: yes or no, where, when, why, what, who, how much."""

from keras_transformer.phrasebook.frames.being import HAVE, OWNABLE
from keras_transformer.phrasebook.frames.doing import sensible, tails, timed
from keras_transformer.phrasebook.frames.shopping import LIKED
from keras_transformer.phrasebook.grammar import english, french
from keras_transformer.phrasebook.grammar.french import Adjective, Polarity, Subject, Tense
from keras_transformer.phrasebook.lexicon.deeds import DEEDS_IN_TIME, Deed, Thing
from keras_transformer.phrasebook.lexicon.moments import Moment
from keras_transformer.phrasebook.lexicon.nouns import (
    BELONGINGS,
    CAR,
    HE,
    KEY,
    LANDMARKS,
    MOODS,
    PEOPLE,
    SHE,
    SHOPS,
    TICKET,
    YOU,
    YOU_FAMILIAR,
)  # fmt: skip
from keras_transformer.phrasebook.lexicon.verbs import Verb, verb
from keras_transformer.phrasebook.sentence import SentencePair, frame, say

YES = Polarity.YES
# Who is asked: subject, vocative in both languages, whether inverted, whether English tells it back.
YOUS = (
    (YOU, "", "", True, True), (YOU, ", madame", ", madam", True, True),
    (YOU, ", monsieur", ", sir", True, True), (YOU, "", "", False, False),
    (YOU_FAMILIAR, "", "", False, False), (YOU_FAMILIAR, "", "", True, False),
    (YOU_FAMILIAR, ", Paul", ", Paul", False, True),
    (YOU_FAMILIAR, ", Marie", ", Marie", False, True), (YOU_FAMILIAR, ", maman", ", Mum", False, True),
    (YOU_FAMILIAR, ", papa", ", Dad", False, True),
)  # fmt: skip
OTHERS = (
    (HE, "", "", False, True), (SHE, "", "", False, True), (HE, "", "", True, False),
    (SHE, "", "", True, False),
    *((someone, "", "", False, True) for someone in PEOPLE),
)  # fmt: skip
Asked = tuple[Subject, str, str, bool, bool]
ASKED: tuple[Asked, ...] = (*YOUS, *OTHERS)


def ask(
    asked: Asked,
    pair: Verb,
    tense: Tense,
    words: tuple[str, str],
    openings: tuple[str, str] = ("", ""),
    placed: tuple[bool, bool] = (False, False),
) -> SentencePair:
    """Build a question, inverted or with est-ce que; `placed` is gender and number of a preceding object."""
    subject, call_fr, call_en, inverted, both = asked
    if inverted:
        source = french.inverted(subject, pair.french, tense, words[0], placed=placed)
    else:
        source = f"est-ce que {french.clause(subject, pair.french, tense, words[0], placed=placed)}"
    target = english.question(subject, pair.english, tense, words[1])
    return say(
        f"{openings[0]} {source}{call_fr} ?".strip(), f"{openings[1]} {target}{call_en}?".strip(), both
    )


ASKABLE = tuple((deed, moment) for deed, moment in DEEDS_IN_TIME
                if moment.polarity is YES and moment.tense is not Tense.JUST
                and (moment.english in ("", "every day", "yesterday", "tonight", "tomorrow", "on Sundays",
                                        "this morning", "last year")))  # fmt: skip


@frame(7, YOUS, ASKABLE)
def asking_deed(asked: Asked, deed_in_time: tuple[Deed, Moment]) -> SentencePair | None:
    """Sentences like: Avez-vous acheté du pain hier ?"""
    deed, moment = deed_in_time
    if not sensible(asked[0], deed) or (asked[1] and asked[1].removeprefix(", ") in deed.thing.french):
        return None
    return ask(asked, deed.verb, moment.tense, timed(tails(deed, asked[0]), moment))


LIKE, BEING = verb("aimer", "like"), verb("être", "be")


@frame(3, ASKED, LIKED)
def asking_taste(asked: Asked, liked: tuple[str, str]) -> SentencePair:
    """Sentences like: Aimez-vous le café ?"""
    return ask(asked, LIKE, Tense.HABIT, liked)


@frame(2, ASKED, OWNABLE)
def asking_having(asked: Asked, thing: Thing) -> SentencePair | None:
    """Sentences like: Avez-vous un parapluie ?"""
    if any(name in asked[0].french and name in thing.french for name in ("enfants", "amis")):
        return None
    return ask(asked, HAVE, Tense.HABIT, (thing.french, thing.english))


@frame(
    3,
    ASKED,
    MOODS,
    ((Tense.HABIT, "", ""), (Tense.HABIT, "aujourd'hui", "today"), (Tense.ONCE, "hier", "yesterday")),
    ("", "why"),
)
def asking_mood(asked: Asked, mood: Adjective, time: tuple[Tense, str, str], why: str) -> SentencePair | None:
    """Sentences like: Pourquoi est-ce que Marie est triste ?"""
    subject = asked[0]
    tense, when_fr, when_en = time
    feminine = subject.feminine or asked[2] in (", madam", ", Marie", ", Mum")
    form = french.agree(mood, feminine, subject.plural)
    return ask(
        asked,
        BEING,
        tense,
        (f"{form} {when_fr}".strip(), f"{mood.english} {when_en}".strip()),
        ("pourquoi", "why") if why else ("", ""),
    )


QUESTIONS: tuple[tuple[str, str, Verb, Tense, str, str], ...] = (
    ("où", "where", verb("habiter", "live"), Tense.HABIT, "", ""),
    ("où", "where", verb("travailler", "work"), Tense.HABIT, "", ""),
    ("où", "where", verb("aller", "go"), Tense.NOW, "", ""),
    ("où", "where", verb("manger", "eat"), Tense.HABIT, "à midi", "at noon"),
    ("où", "where", verb("dormir", "sleep"), Tense.GOING, "ce soir", "tonight"),
    ("où", "where", verb("apprendre", "learn"), Tense.PAST, "le français", "French"),
    ("quand", "when", verb("partir", "leave"), Tense.GOING, "", ""),
    ("quand", "when", verb("arriver", "arrive"), Tense.GOING, "à Paris", "in Paris"),
    ("quand", "when", verb("finir", "finish"), Tense.HABIT, "le travail", "work"),
    ("quand", "when", verb("acheter", "buy"), Tense.PAST, "cette voiture", "this car"),
    ("quand", "when", verb("voir", "see"), Tense.PAST, "ce film", "this film"),
    ("quand", "when", verb("visiter", "visit"), Tense.GOING, "le musée", "the museum"),
    ("pourquoi", "why", verb("apprendre", "learn"), Tense.NOW, "le français", "French"),
    ("pourquoi", "why", verb("vendre", "sell"), Tense.PAST, "la maison", "the house"),
    ("pourquoi", "why", verb("travailler", "work"), Tense.HABIT, "le dimanche", "on Sundays"),
    ("pourquoi", "why", verb("fermer", "close"), Tense.PAST, "la fenêtre", "the window"),
    ("pourquoi", "why", verb("rester", "stay"), Tense.GOING, "à la maison", "at home"),
    ("comment", "how", verb("aller", "go"), Tense.HABIT, "au travail", "to work"),
    ("comment", "how", verb("apprendre", "learn"), Tense.PAST, "l'anglais", "English"),
    ("comment", "how", verb("trouver", "find"), Tense.PAST, "cet hôtel", "this hotel"),
    ("avec qui", "who", verb("travailler", "work"), Tense.HABIT, "", "with"),
    ("avec qui", "who", verb("parler", "talk"), Tense.PAST, "hier", "to"),
    ("à quelle heure", "what time", verb("se lever", "get"), Tense.HABIT, "", "up"),
    ("à quelle heure", "what time", verb("rentrer", "come"), Tense.GOING, "ce soir", "home tonight"),
    ("à quelle heure", "what time", verb("manger", "eat"), Tense.HABIT, "le soir", "in the evening"),
    ("que", "what", verb("manger", "eat"), Tense.NOW, "", ""),
    ("que", "what", verb("boire", "drink"), Tense.HABIT, "le matin", "in the morning"),
    ("que", "what", verb("lire", "read"), Tense.NOW, "", ""),
    ("que", "what", verb("faire", "do"), Tense.GOING, "demain", "tomorrow"),
    ("que", "what", verb("acheter", "buy"), Tense.PAST, "au marché", "at the market"),
    ("que", "what", verb("faire", "do"), Tense.PAST, "hier soir", "last night"),
    ("que", "what", verb("vouloir", "want"), Tense.HABIT, "", ""),
    ("que", "what", verb("chercher", "look"), Tense.NOW, "", "for"),
    ("combien de livres", "how many books", verb("acheter", "buy"), Tense.PAST, "", ""),
    ("combien de photos", "how many photos", verb("prendre", "take"), Tense.PAST, "", ""),
    ("combien de langues", "how many languages", verb("parler", "speak"), Tense.HABIT, "", ""),
    ("quel film", "which film", verb("regarder", "watch"), Tense.GOING, "ce soir", "tonight"),
    ("quel livre", "which book", verb("lire", "read"), Tense.NOW, "", ""),
    ("quelle chanson", "which song", verb("choisir", "choose"), Tense.PAST, "", ""),
    ("quelle robe", "which dress", verb("préférer", "prefer"), Tense.HABIT, "", ""),
    ("quels légumes", "which vegetables", verb("aimer", "like"), Tense.HABIT, "", ""),
)  # fmt: skip
# Gender and number of the objects that stand before the verb.
PLACED = {"combien de livres": (False, True), "combien de photos": (True, True),
          "combien de langues": (True, True), "quelle chanson": (True, False), "quelle robe": (True, False),
          "quels légumes": (False, True)}  # fmt: skip


@frame(3, YOUS, QUESTIONS)
def asking_details(asked: Asked, question: tuple[str, str, Verb, Tense, str, str]) -> SentencePair | None:
    """Sentences like: Où habitez-vous ? / Qu'est-ce que Marie mange ?"""
    opening_fr, opening_en, pair, tense, words, meaning = question
    *_, inverted, both = asked
    if pair.french.reflexive and inverted and not both:
        return None
    if opening_fr == "avec qui" and tense is Tense.PAST:
        opening_fr, words, meaning = "à qui", "hier", "to yesterday"
    return ask(
        asked, pair, tense, (words, meaning), (opening_fr, opening_en), PLACED.get(opening_fr, (False, False))
    )


STARTS = ((("le train pour Paris", "the train to Paris"), ("partir", "leave")),
          (("le prochain bus", "the next bus"), ("partir", "leave")),
          (("le film", "the film"), ("commencer", "start")),
          (("le concert", "the concert"), ("commencer", "start")),
          (("la leçon", "the lesson"), ("finir", "end")),
          (("le train de Lyon", "the train from Lyon"), ("arriver", "arrive")))  # fmt: skip
TIMETABLE = (*((*start, ("", "")) for start in STARTS),
             *(((french.definite(noun), f"the {noun.english}"), pair, day) for noun in SHOPS
               for pair in (("ouvrir", "open"), ("fermer", "close"))
             for day in (("", ""), ("le samedi", "on Saturdays"), ("le dimanche", "on Sundays")))
)  # fmt: skip


@frame(1, TIMETABLE, (("à quelle heure", "what time"), ("quand", "when")))
def asking_time(
    entry: tuple[tuple[str, str], tuple[str, str], tuple[str, str]], opening: tuple[str, str]
) -> SentencePair:
    """Sentences like: À quelle heure ouvre la banque ?"""
    (source, target), names, day = entry
    pair = verb(*names)
    return say(
        f"{opening[0]} {pair.french.present[2]} {source} {day[0]}".rstrip() + " ?",
        f"{opening[1]} does {target} {pair.english.base} {day[1]}".rstrip() + "?",
    )


SOUGHT = (*((french.definite(noun), f"the {noun.english}", False, False) for noun in LANDMARKS),
          *((french.definite(noun, True), f"the {english.plural_of(noun)}", True, False)
            for noun in (KEY, TICKET)),
          *((french.possessive(0, noun), f"my {noun.english}", False, False) for noun in (*BELONGINGS, CAR)),
          *((french.possessive(4, noun), f"your {noun.english}", False, False)
            for noun in (*BELONGINGS, CAR)),
          *((someone.french, someone.english, someone.person == 5, True) for someone in PEOPLE))  # fmt: skip
SEEKING = (("où", " ?", "where", "?"), ("excusez-moi, où", " ?", "excuse me, where", "?"),
           ("pardon, monsieur, où", " ?", "excuse me, sir, where", "?"),
           ("savez-vous où", " ?", "do you know where", "?"),
           ("je ne sais pas où", ".", "I do not know where", "."),
           ("Paul, sais-tu où", " ?", "Paul, do you know where", "?"),
           ("pouvez-vous me dire où", " ?", "can you tell me where", "?"))  # fmt: skip


@frame(3, SOUGHT, SEEKING)
def seeking(sought: tuple[str, str, bool, bool], how: tuple[str, str, str, str]) -> SentencePair | None:
    """Sentences like: Où est la gare ? / Savez-vous où est la gare ?"""
    source, target, many, someone = sought
    if "sais-tu" in how[0] and ("votre" in source or "Paul" in source):
        return None
    if ("excusez" in how[0] + how[2] and ("votre" in source or "mon " in source or "ma " in source)) or (
        "excuse" in how[2] and someone
    ):
        return None
    direct = how[2].endswith("where") and not how[2].startswith(("do ", "I ", "Paul", "can"))
    verb_fr, verb_en = ("sont", "are") if many else ("est", "is")
    return say(
        f"{how[0]} {verb_fr} {source}{how[1]}",
        f"{how[2]} {verb_en} {target}{how[3]}" if direct else f"{how[2]} {target} {verb_en}{how[3]}",
    )


FRAMES = (
    asking_deed,
    asking_deed.also(5, OTHERS, ASKABLE),
    asking_taste,
    asking_having,
    asking_mood,
    asking_details,
    asking_details.also(2, OTHERS, QUESTIONS),
    asking_time,
    seeking,
)
