"""When things are done: tense, polarity and the words for the time, by kind of deed."""

from dataclasses import dataclass
from enum import Enum

from keras_transformer.phrasebook.grammar.french import Polarity, Tense


class DeedKind(Enum):
    """Time at which a thing is done: as a habit, now, on some day, in some year."""

    ROUTINE = "routine"
    ONGOING = "ongoing"
    PASSING = "passing"  # done without a plan
    EVENT = "event"
    MAJOR = "major"
    ACCIDENT = "accident"  # nobody plans it


@dataclass(frozen=True, slots=True)
class Moment:
    """Tense, polarity and the words for the time."""

    tense: Tense
    polarity: Polarity
    french: str
    english: str


YES, NOT = Polarity.YES, Polarity.NOT
HABITS = (
    Moment(Tense.HABIT, YES, "tous les jours", "every day"),
    Moment(Tense.HABIT, YES, "chaque matin", "every morning"),
    Moment(Tense.HABIT, YES, "le soir", "in the evening"),
    Moment(Tense.HABIT, YES, "le dimanche", "on Sundays"),
    Moment(Tense.HABIT, YES, "le samedi", "on Saturdays"),
    Moment(Tense.HABIT, NOT, "", ""), Moment(Tense.HABIT, Polarity.NEVER, "", ""),
    Moment(Tense.HABIT, Polarity.NO_LONGER, "", ""),
    Moment(Tense.HABIT, NOT, "le soir", "in the evening"),
    Moment(Tense.HABIT, Polarity.NEVER, "le dimanche", "on Sundays"),
)  # fmt: skip
NOWS = (
    Moment(Tense.NOW, YES, "", ""), Moment(Tense.NOW, YES, "maintenant", "now"),
    Moment(Tense.NOW, YES, "en ce moment", "at the moment"),
)  # fmt: skip
PASTS = (
    *(Moment(Tense.PAST, polarity, *time) for polarity in (YES, NOT)
      for time in (("", ""), ("hier", "yesterday"), ("hier soir", "last night"), ("ce matin", "this morning"),
                   ("samedi dernier", "last Saturday"), ("la semaine dernière", "last week"))),
)  # fmt: skip
GOINGS = (
    *(Moment(Tense.GOING, polarity, *time) for polarity in (YES, NOT)
      for time in (("", ""), ("ce soir", "tonight"), ("demain", "tomorrow"),
                   ("cet après-midi", "this afternoon"),
                   ("demain matin", "tomorrow morning"))),
)  # fmt: skip
MONDAYS = tuple(Moment(Tense.GOING, polarity, "lundi", "on Monday") for polarity in (YES, NOT))
MAJOR_MOMENTS = (
    *(Moment(Tense.PAST, polarity, *time) for polarity in (YES, NOT)
      for time in (("", ""), ("la semaine dernière", "last week"), ("l'année dernière", "last year"))),
    *(Moment(Tense.GOING, polarity, *time) for polarity in (YES, NOT)
      for time in (("", ""), ("cette année", "this year"), ("l'année prochaine", "next year"))),
    Moment(Tense.PAST, Polarity.NEVER, "", ""), Moment(Tense.JUST, YES, "", ""),
)  # fmt: skip
JUST = Moment(Tense.JUST, YES, "", "")
MOMENTS = {
    DeedKind.ROUTINE: (*HABITS, *NOWS, *PASTS, *GOINGS, *MONDAYS, JUST),
    DeedKind.ONGOING: (*NOWS, *PASTS, *GOINGS), DeedKind.PASSING: (*NOWS, *PASTS),
    DeedKind.EVENT: (*PASTS, *GOINGS, *MONDAYS, JUST), DeedKind.MAJOR: MAJOR_MOMENTS,
    DeedKind.ACCIDENT: (*PASTS, JUST),
}  # fmt: skip
