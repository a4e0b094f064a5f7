"""Frames that order and request, politely or not, familiarly or not."""

from keras_transformer.phrasebook.grammar.french import Polarity
from keras_transformer.phrasebook.sentence import SentencePair, frame, say

YES, NOT = Polarity.YES, Polarity.NOT
ORDERS: tuple[tuple[str, str, str], ...] = (
    # tu, vous, English
    ("ferme la porte", "fermez la porte", "close the door"),
    ("ouvre la fenêtre", "ouvrez la fenêtre", "open the window"),
    ("prends le bus", "prenez le bus", "take the bus"),
    ("finis cet exercice", "finissez cet exercice", "finish this exercise"),
    ("lis cet article", "lisez cet article", "read this article"),
    ("écoute cette chanson", "écoutez cette chanson", "listen to this song"),
    ("regarde cette photo", "regardez cette photo", "look at this photo"),
    ("prends un taxi", "prenez un taxi", "take a taxi"),
    ("attends ici", "attendez ici", "wait here"),
    ("parle plus lentement", "parlez plus lentement", "speak more slowly"),
    ("achète du pain", "achetez du pain", "buy some bread"),
    ("lave la voiture", "lavez la voiture", "wash the car"),
    ("écris cette lettre", "écrivez cette lettre", "write this letter"),
    ("tourne à gauche", "tournez à gauche", "turn left"),
    ("tourne à droite", "tournez à droite", "turn right"),
    ("continue tout droit", "continuez tout droit", "go straight on"),
    ("viens avec moi", "venez avec moi", "come with me"),
    ("reste à la maison", "restez à la maison", "stay at home"),
    ("prépare le dîner", "préparez le dîner", "make dinner"),
    ("mange plus de légumes", "mangez plus de légumes", "eat more vegetables"),
)  # fmt: skip
CALLED: tuple[tuple[bool, bool, str, str, str, str], ...] = (
    # familiar, both, before and after in French, before and after in English
    (False, True, "", "", "", ""), (False, True, "", ", s'il vous plaît", "", ", please"),
    (False, True, "", ", madame", "", ", madam"), (False, True, "", ", monsieur", "", ", sir"),
    (True, True, "Paul, ", "", "Paul, ", ""), (True, True, "Marie, ", "", "Marie, ", ""),
    (True, True, "Julie, ", ", s'il te plaît", "Julie, ", ", please"),
    (True, True, "Thomas, ", ", s'il te plaît", "Thomas, ", ", please"),
    (True, True, "Thomas, ", "", "Thomas, ", ""), (True, True, "", ", papa", "", ", Dad"),
    (True, True, "", ", Julie", "", ", Julie"),
    (False, True, "", ", mes amis", "", ", my friends"), (True, True, "", ", maman", "", ", Mum"),
    (True, False, "", "", "", ""), (True, False, "", ", s'il te plaît", "", ", please"),
)  # fmt: skip


@frame(3, ORDERS, CALLED, (YES, NOT))
def ordering(
    order: tuple[str, str, str], called: tuple[bool, bool, str, str, str, str], polarity: Polarity
) -> SentencePair | None:
    """Sentences like: Fermez la porte, s'il vous plaît. / N'ouvre pas la fenêtre."""
    familiar, both, before_fr, after_fr, before_en, after_en = called
    source, target = order[0 if familiar else 1], order[2]
    if polarity is NOT:
        if "more" in target or "straight" in target:
            return None
        finite, _, rest = source.partition(" ")
        source, target = (
            f"ne {finite} pas {rest}".replace("pas du ", "pas de ").replace("pas un ", "pas de "),
            f"do not {target}".replace("some bread", "bread"),
        )
    return say(f"{before_fr}{source}{after_fr}.", f"{before_en}{target}{after_en}.", both)


HELPS = (
    ("fermer la porte", "close the door"), ("ouvrir la fenêtre", "open the window"),
    ("parler plus lentement", "speak more slowly"),
    ("attendre ici", "wait here"), ("répéter la question", "repeat the question"),
    ("appeler un taxi", "call a taxi"),
    ("fermer la fenêtre", "close the window"), ("ouvrir la porte", "open the door"),
    ("appeler un médecin", "call a doctor"),
    ("attendre une minute", "wait a minute"), ("prendre une photo", "take a photo"),
    ("payer maintenant", "pay now"),
    ("venir demain", "come tomorrow"), ("envoyer un message", "send a message"),
    ("apporter le menu", "bring the menu"),
)  # fmt: skip
ASKED = (
    ("pouvez-vous", ", s'il vous plaît ?", "can you", ", please?", True),
    ("peux-tu", ", s'il te plaît ?", "can you", ", please?", False),
    ("pouvez-vous", ", madame ?", "can you", ", madam?", True),
    ("pouvez-vous", ", monsieur ?", "can you", ", sir?", True),
    ("peux-tu", ", Paul ?", "can you", ", Paul?", True), ("peux-tu", ", maman ?", "can you", ", Mum?", True),
    ("est-ce que je peux", " ?", "can I", "?", True), ("est-ce que nous pouvons", " ?", "can we", "?", True),
)  # fmt: skip


@frame(2, HELPS, ASKED)
def requesting(help_wanted: tuple[str, str], asked: tuple[str, str, str, str, bool]) -> SentencePair | None:
    """Sentences like: Pouvez-vous fermer la porte, s'il vous plaît ?"""
    before_fr, after_fr, before_en, after_en, both = asked
    if before_en != "can you" and help_wanted[1].split()[0] in ("repeat", "bring", "speak"):
        return None
    return say(f"{before_fr} {help_wanted[0]}{after_fr}", f"{before_en} {help_wanted[1]}{after_en}", both)


FRAMES = (ordering, requesting)
