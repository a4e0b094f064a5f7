"""What nobody says, the phrasebook does not say either."""

import re

import pytest

from keras_transformer.text.phrasebook import english, phrasebook
from keras_transformer.text.phrasebook.clock import MONTHS
from keras_transformer.text.phrasebook.deeds import DEEDS_IN_TIME
from keras_transformer.text.phrasebook.doing import doing
from keras_transformer.text.phrasebook.lexicon import BELONGINGS, FAMILY, GROUPS, SUBJECTS, pronoun


@pytest.fixture(scope="module")
def train():
    return list(phrasebook("fr-en", "train", 70_000))


BELONGING = "|".join(noun.english for noun in BELONGINGS)
SEVERAL = "|".join(("we", "they", *(group.english for group in GROUPS)))
MONTH = "|".join(english_month for _, english_month in MONTHS)
NOBODY_SAYS = {
    "that several people look at one phone": rf"(?:\btheir|^we\b.*\bour) (?:{BELONGING})\b",
    "that several people have one headache": rf"\b(?:{SEVERAL}) (?:have|had) a (?:headache|stomach|sore)",
    "that several people wear one coat": rf"\b(?:{SEVERAL}) (?!think|know)[a-z ]*"
    r"\b(?:wear|wore|wearing|worn) a\b",
    "that he is not eating because he is cold": r"not eating because .* (?:cold|hungry)\.",
    "that he is not working because he is hungry": r"not working today because .* (?:cold|hungry|afraid)\.",
    "that he stays at home because he is hungry": r"staying at home because .* hungry\.",
    "that a holiday lasts years": r"on holiday for .* (?:years|months)\.",
    "that he goes to the dentist every day": r"(?:to the (?:dentist|hospital)|for London|at the airport) "
    r"(?:every day|on S\w+days)\.",
    "that you are no longer right": r"no longer (?:right|wrong)\b",
    "that we have a long film": r"(?:we|Marie|friends) ha(?:ve|s) an? \w+ (?:film|report|story)\.",
    "that he would like an easy exercise": r"would like an? \w+ (?:film|report|exercise|story)\.",
    "that you sleep in the evening": r"\bsleeps?\b.* (?:in the evening|every \w+|on \w+days)\.",
    "that she has to dance": r"\b(?:have|has) to (?:dance|sing|swim|play|watch|look|listen)\b",
    "that he is going to look at his phone": r"\bgoing to look (?:at|for) (?:my|your|his|her|our|their)\b",
    "that an appointment is on Saturdays": r"(?:appointment|my train|the concert) .*\bon \w+days\.",
    "glasses for verres": r"\bwhere .*\bglasses\b",
    "on May 1": rf"\b(?:{MONTH}) \d",
    "sweater for jumper": r"\b(?:sweater|apartment|vacation|movie|subway|mom)s?\b",
}


@pytest.mark.parametrize("nonsense", NOBODY_SAYS)
def test_nobody_says(train, nonsense):
    fault = re.compile(NOBODY_SAYS[nonsense], re.IGNORECASE)
    assert [pair.target for pair in train if fault.search(pair.target)] == []


def test_skirts_and_dresses_are_worn_by_every_woman_and_no_man():
    worn = [(deed, moment) for deed, moment in DEEDS_IN_TIME
            if deed.verb.english.base == "wear" and re.search("dress|skirt", deed.thing.english)]  # fmt: skip
    wearers = {someone.french for someone in SUBJECTS for entry in worn if doing.fill(someone, entry)}
    assert wearers == {someone.french for someone in SUBJECTS if someone.feminine}


def test_what_is_thought_and_asked_of_skirts_and_dresses_is_of_women_too(train):
    women = "|".join(someone.french for someone in SUBJECTS if someone.feminine)
    by_women = re.compile(rf"^(?:{women})\b|-elles?\b", re.IGNORECASE)
    worn = re.compile(r"(?<!la )\bport(?:e|ent|er|é)\b.* (?:jupe|robe)s?\b", re.IGNORECASE)
    clauses = [re.split(r"\bqu(?:e |')", pair.source)[-1] for pair in train if worn.search(pair.source)]
    assert clauses
    assert [clause for clause in clauses if not by_women.search(clause)] == []


def test_one_s_own_family_is_known_and_met_already(train):
    deeds = ("does not know", "met", "did not meet", "is going to meet", "is not going to meet")
    starts = tuple(f"{english.write(relative.english)} {deed} {whom}"
                   for relative in FAMILY for deed in deeds for whom in ("me", "us"))  # fmt: skip
    assert [pair.target for pair in train if pair.target.startswith(starts)] == []


def test_who_has_time_goes_out_himself(train):
    himself = {someone.english: pronoun(someone).english for someone in SUBJECTS}
    said = [pair.target for pair in train if re.match(r"If .+ ha(?:s|ve) time\b", pair.target)]
    plans = [re.fullmatch(r"If (.+) ha(?:s|ve) time .+, (\w+) will (?!stay).+", target) for target in said]
    assert said
    assert all(plan and himself[plan[1]] == plan[2] for plan in plans)
