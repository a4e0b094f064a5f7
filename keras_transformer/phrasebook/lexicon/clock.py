"""Numbers in words, hours, dates, ages, prices and the weather."""

from keras_transformer.phrasebook.grammar import english
from keras_transformer.phrasebook.grammar.french import AVOIR, ETRE, Subject, Tense, clause
from keras_transformer.phrasebook.lexicon.nouns import CITIES, PEOPLE, PRONOUNS, SUBJECTS
from keras_transformer.phrasebook.sentence import SentencePair, frame, say

_FRENCH = ["zéro", "un", "deux", "trois", "quatre", "cinq", "six", "sept", "huit", "neuf", "dix", "onze",
           "douze", "treize", "quatorze", "quinze", "seize", "dix-sept", "dix-huit", "dix-neuf"]  # fmt: skip
_FRENCH_TENS = [
    "-",
    "dix",
    "vingt",
    "trente",
    "quarante",
    "cinquante",
    "soixante",
    "soixante",
    "quatre-vingt",
    "quatre-vingt",
]
_ENGLISH = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
            "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"
]  # fmt: skip
_ENGLISH_TENS = ["-", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def number_in_french(value: int) -> str:
    """Return a number in French: 21 -> vingt et un, 71 -> soixante et onze, 80 -> quatre-vingts."""
    if value < 20:
        return _FRENCH[value]
    tens, ones = divmod(value, 10)
    if tens in (7, 9):
        ones += 10
    if ones == 0:
        return _FRENCH_TENS[tens] + ("s" if value == 80 else "")
    link = " et " if ones in (1, 11) and tens < 8 else "-"
    return _FRENCH_TENS[tens] + link + _FRENCH[ones]


def number_in_english(value: int) -> str:
    """Return a number in English: 21 -> twenty-one."""
    if value < 20:
        return _ENGLISH[value]
    tens, ones = divmod(value, 10)
    return _ENGLISH_TENS[tens] + (f"-{_ENGLISH[ones]}" if ones else "")


def hour(value: int) -> tuple[str, str]:
    """Return an hour in both languages: 8 -> huit heures, eight o'clock."""
    if value in (0, 12):
        return ("midi", "noon") if value else ("minuit", "midnight")
    if value == 1:
        return "une heure", "one o'clock"
    return f"{number_in_french(value)} heures", f"{number_in_english(value)} o'clock"


def minutes(value: int, name: str) -> tuple[str, str]:
    """Return a time in both languages, such as huit heures et quart, a quarter past eight."""
    source = hour(value)[0]
    target = number_in_english(value)
    match name:
        case "half":
            return f"{source} et demi{'e' if 'heure' in source else ''}", f"half past {target}"
        case "quarter past":
            return f"{source} et quart", f"a quarter past {target}"
        case "quarter to":
            return f"{source} moins le quart", f"a quarter to {target}"
        case "ten past":
            return f"{source} dix", f"ten past {target}"
        case "twenty past":
            return f"{source} vingt", f"twenty past {target}"
        case _:
            return f"{source} moins dix", f"ten to {target}"


MINUTES = ("half", "quarter past", "quarter to", "ten past", "twenty past", "ten to")
HOURS = tuple(hour(value) for value in range(13))
TIMES = (*HOURS, *(minutes(value, name) for value in range(1, 13) for name in MINUTES))
MORNINGS = (
    hour(6),
    hour(7),
    hour(8),
    minutes(6, "half"),
    minutes(7, "half"),
    minutes(7, "quarter to"),
    hour(9),
)
EVENINGS = (hour(9), hour(10), hour(11), hour(0), minutes(9, "half"), minutes(10, "half"))
MONTHS = tuple(zip(["janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre",
                    "octobre", "novembre", "décembre"],
                   ["January", "February", "March", "April", "May", "June", "July", "August", "September",
                    "October", "November", "December"], strict=True))  # fmt: skip
WEEKDAYS = tuple(zip(["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"],
                     ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
                     strict=True))  # fmt: skip
CLOCK = (("il est", ".", "it is", "."), ("il est déjà", ".", "it is already", "."),
         ("il est presque", ".", "it is almost", "."),
         ("est-ce qu'il est", " ?", "is it", "?"), ("je pense qu'il est", ".", "I think that it is", ".")
)  # fmt: skip


@frame(3, TIMES, CLOCK)
def telling_time(time: tuple[str, str], told: tuple[str, str, str, str]) -> SentencePair:
    """Sentences like: Il est huit heures et demie."""
    return say(f"{told[0]} {time[0]}{told[1]}", f"{told[2]} {time[1]}{told[3]}")


WEEKLY = (("le train arrive", "the train arrives"), ("le bus part", "the bus leaves"),
          ("la leçon finit", "the lesson ends"), ("la banque ouvre", "the bank opens"),
          ("le musée ferme", "the museum closes"), ("nous dînons", "we have dinner"),
          ("la boulangerie ferme", "the bakery closes"), ("le magasin ouvre", "the shop opens"))  # fmt: skip
APPOINTED = (("le film commence", "the film starts"), ("j'ai un rendez-vous", "I have an appointment"),
             ("mon train part", "my train leaves"),
             ("le concert commence", "the concert starts"))  # fmt: skip
EVERY_WEEK = (("", ""), *((f"le {source}", f"on {target}s") for source, target in WEEKDAYS))
THIS_WEEK = (("", ""), *((source, f"on {target}") for source, target in WEEKDAYS))
DAYTIMES = tuple(
    time for value in range(7, 13) for time in (hour(value), *(minutes(value, name) for name in MINUTES[:3]))
)


@frame(2, WEEKLY, DAYTIMES, EVERY_WEEK)
def scheduled(event: tuple[str, str], time: tuple[str, str], day: tuple[str, str]) -> SentencePair:
    """Sentences like: La banque ouvre à neuf heures le lundi."""
    return say(
        f"{event[0]} à {time[0]} {day[0]}".rstrip() + ".", f"{event[1]} at {time[1]} {day[1]}".rstrip() + "."
    )


DATED = (("mon anniversaire est", "my birthday is on"), ("nous partons", "we are leaving on"),
         ("la fête est", "the party is on"),
         ("le concert est", "the concert is on"), ("Marie arrive", "Marie is arriving on"),
         ("l'examen est", "the exam is on"),
         ("l'anniversaire de Paul est", "Paul's birthday is on"), ("nous sommes arrivés", "we arrived on"),
         ("le cours commence", "the course starts on"))  # fmt: skip


@frame(4, DATED, range(1, 32), MONTHS)
def dated(event: tuple[str, str], day: int, month: tuple[str, str]) -> SentencePair | None:
    """Sentences like: Mon anniversaire est le 3 mai."""
    if (day > 29 and month[0] == "février") or (
        day == 31 and month[0] in ("avril", "juin", "septembre", "novembre")
    ):
        return None
    return say(f"{event[0]} le {'1er' if day == 1 else day} {month[0]}.", f"{event[1]} {day} {month[1]}.")


def plausible(subject: Subject, age: int) -> bool:
    """Return whether a person can have an age: grandparents are old, children are not."""
    match subject.french:
        case "ma grand-mère" | "mon grand-père":
            return age >= 60
        case "mon fils" | "ma fille" | "les enfants":
            return age <= 18
        case "mon père" | "ma mère" | "mes parents" | "mon oncle" | "ma tante" | "le professeur":
            return 30 <= age <= 75
        case _:
            return 8 <= age <= 70


AGES, PRONOUN_AGES = (
    tuple((subject, age) for subject in subjects for age in range(2, 100) if plausible(subject, age))
    for subjects in (PEOPLE, PRONOUNS)
)


BIRTHDAYS = (
    (Tense.HABIT, "", ""),
    (Tense.FUTURE, "demain", "tomorrow"),
    (Tense.GOING, "la semaine prochaine", "next week"),
)


@frame(2, AGES, BIRTHDAYS)
def aged(who: tuple[Subject, int], time: tuple[Tense, str, str]) -> SentencePair:
    """Sentences like: J'ai vingt ans. -> I am twenty years old."""
    (subject, age), (tense, when_fr, when_en) = who, time
    years = (
        f"{number_in_french(age)} ans {when_fr}".rstrip(),
        f"{number_in_english(age)} years old {when_en}".rstrip(),
    )
    return say(
        f"{clause(subject, AVOIR, tense, years[0])}.",
        f"{english.clause(subject, english.BE, tense, years[1])}.",
        subject.both,
    )


def spans(*units: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    """Return two to ten of each unit: deux ans, two years."""
    return tuple((f"{number_in_french(count)} {source}", f"{number_in_english(count)} {target}")
                 for source, target in units for count in range(2, 11))  # fmt: skip


SHORT_SPANS = spans(("semaines", "weeks"), ("jours", "days"))
SPANS = (*spans(("ans", "years"), ("mois", "months")), *SHORT_SPANS)
LASTING = ((("habite", "habites", "habite", "habitons", "habitez", "habitent"), "ici", "lived here"),
           (("habite", "habites", "habite", "habitons", "habitez", "habitent"), "à Lyon", "lived in Lyon"),
           (("travaille", "travailles", "travaille", "travaillons", "travaillez", "travaillent"), "ici",
            "worked here"),
           (ETRE.present, "à Paris", "been in Paris"))  # fmt: skip
RESTING = ((ETRE.present, "en vacances", "been on holiday"),)


@frame(3, SUBJECTS, LASTING, SPANS)
def lasting(subject: Subject, state: tuple[tuple[str, ...], str, str], span: tuple[str, str]) -> SentencePair:
    """Sentences like: J'habite ici depuis trois ans. -> I have lived here for three years."""
    forms, where, done = state
    has = "has" if subject.person == 2 else "have"
    return say(
        f"{subject.french} {forms[subject.person]} {where} depuis {span[0]}.",
        f"{subject.english} {has} {done} for {span[1]}.",
        subject.both,
    )


WEATHER = (
    ("il fait", "il ne fait pas", "it is", "it is not",
     (("froid", "cold"), ("chaud", "hot"), ("beau", "nice"), ("gris", "cloudy"))),
    ("il fait très", "", "it is very", "", (("froid", "cold"), ("chaud", "hot"), ("beau", "nice"))),
    ("il", "il ne", "it is", "it is not", (("pleut", "raining"), ("neige", "snowing"))),
    ("il faisait", "il ne faisait pas", "it was", "it was not",
     (("froid", "cold"), ("chaud", "hot"), ("beau", "nice"))),
    ("il va", "il ne va pas", "it is going to", "it is not going to",
     (("pleuvoir", "rain"), ("neiger", "snow"), ("faire froid", "be cold"), ("faire chaud", "be hot"))),
    ("il fera", "il ne fera pas", "it will be", "it will not be",
     (("froid", "cold"), ("chaud", "hot"), ("beau", "nice"))),
)  # fmt: skip
_DAYS = {"it is": (("", ""), ("aujourd'hui", "today"), ("ce matin", "this morning")),
         "it was": (("hier", "yesterday"), ("ce matin", "this morning")),
         "it is going to": (("demain", "tomorrow"), ("ce soir", "tonight"),
                            ("cet après-midi", "this afternoon")),
         "it will be": (("demain", "tomorrow"), ("la semaine prochaine", "next week"),
                        ("lundi", "on Monday"))}  # fmt: skip


def _skies() -> tuple[tuple[str, str], ...]:
    found = []
    for opened, denied, meaning, denied_meaning, words in WEATHER:
        for when_fr, when_en in _DAYS[meaning.replace(" very", "")]:
            for word_fr, word_en in words:
                found.append((f"{opened} {word_fr}", f"{meaning} {word_en}", when_fr, when_en))
                if denied:
                    pas = "" if denied.endswith("pas") else " pas"
                    found.append(
                        (f"{denied} {word_fr}{pas}", f"{denied_meaning} {word_en}", when_fr, when_en)
                    )
    return tuple((f"{fr} {{}} {day_fr}", f"{en} {{}} {day_en}") for fr, en, day_fr, day_en in found)


@frame(
    3,
    _skies(),
    (
        ("", ""),
        *((f"à {source}", f"in {target}") for source, target in CITIES),
        ("ici", "here"),
        ("à la montagne", "in the mountains"),
    ),
)
def weather(sky: tuple[str, str], place: tuple[str, str]) -> SentencePair:
    """Sentences like: Il fait froid à Paris ce matin."""
    source, target = (" ".join(side.format(where).split()) for side, where in zip(sky, place, strict=True))
    return say(f"{source}.", f"{target}.")


FRAMES = (
    telling_time,
    scheduled,
    scheduled.also(1, APPOINTED, DAYTIMES, THIS_WEEK),
    dated,
    aged,
    aged.also(2, PRONOUN_AGES, BIRTHDAYS),
    lasting,
    lasting.also(0.5, SUBJECTS, RESTING, SHORT_SPANS),
    weather,
)
