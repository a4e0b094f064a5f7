"""The verbs, French with English, and the rules that conjugate the regular ones."""

from dataclasses import dataclass

from keras_transformer.phrasebook.grammar import english
from keras_transformer.phrasebook.grammar.english import BE, CAN, EnglishVerb
from keras_transformer.phrasebook.grammar.french import ALLER, AVOIR, ETRE, VENIR, FrenchVerb

_TAKES_ETRE = ("partir", "arriver", "rentrer", "rester", "sortir")
_IRREGULAR = {  # present, participle, future stem if it is not the infinitive
    "faire": ("fais fais fait faisons faites font", "fait", "fer"),
    "prendre": ("prends prends prend prenons prenez prennent", "pris", ""),
    "apprendre": ("apprends apprends apprend apprenons apprenez apprennent", "appris", ""),
    "comprendre": ("comprends comprends comprend comprenons comprenez comprennent", "compris", ""),
    "boire": ("bois bois boit buvons buvez boivent", "bu", ""),
    "lire": ("lis lis lit lisons lisez lisent", "lu", ""),
    "écrire": ("écris écris écrit écrivons écrivez écrivent", "écrit", ""),
    "voir": ("vois vois voit voyons voyez voient", "vu", "verr"),
    "vouloir": ("veux veux veut voulons voulez veulent", "voulu", "voudr"),
    "pouvoir": ("peux peux peut pouvons pouvez peuvent", "pu", "pourr"),
    "devoir": ("dois dois doit devons devez doivent", "dû", "devr"),
    "savoir": ("sais sais sait savons savez savent", "su", "saur"),
    "connaître": ("connais connais connaît connaissons connaissez connaissent", "connu", ""),
    "dormir": ("dors dors dort dormons dormez dorment", "dormi", ""),
    "partir": ("pars pars part partons partez partent", "parti", ""),
    "sortir": ("sors sors sort sortons sortez sortent", "sorti", ""),
    "courir": ("cours cours court courons courez courent", "couru", "courr"),
    "mettre": ("mets mets met mettons mettez mettent", "mis", ""),
    "ouvrir": ("ouvre ouvres ouvre ouvrons ouvrez ouvrent", "ouvert", ""),
    "acheter": ("achète achètes achète achetons achetez achètent", "acheté", "achèter"),
    "lever": ("lève lèves lève levons levez lèvent", "levé", "lèver"),
    "promener": ("promène promènes promène promenons promenez promènent", "promené", "promèner"),
    "préférer": ("préfère préfères préfère préférons préférez préfèrent", "préféré", ""),
    "entendre": ("entends entends entend entendons entendez entendent", "entendu", ""),
    "payer": ("paie paies paie payons payez paient", "payé", "paier"),
    "appeler": ("appelle appelles appelle appelons appelez appellent", "appelé", "appeller"),
}
_READY = {"avoir": AVOIR, "être": ETRE, "aller": ALLER, "venir": VENIR}
_ENDINGS = {
    "er": ("e es e ons ez ent", "é"),
    "ir": ("is is it issons issez issent", "i"),
    "re": ("s s  ons ez ent", "u"),
}


@dataclass(frozen=True, slots=True)
class Verb:
    """Verb in both languages."""

    french: FrenchVerb
    english: EnglishVerb


def conjugate(infinitive: str) -> FrenchVerb:
    """Conjugate a verb from its infinitive, 'se lever' included; irregular ones are looked up."""
    plain = infinitive.removeprefix("se ")
    if plain in _READY:
        return _READY[plain]
    if plain in _IRREGULAR:
        forms, participle, future = _IRREGULAR[plain]
        present = tuple(forms.split())
    else:
        stem, (endings, participle) = plain[:-2], _ENDINGS[plain[-2:]]
        present = tuple(stem + ending for ending in endings.split(" "))
        present = tuple(form.replace("gons", "geons") for form in present)
        participle, future = stem + participle, ""
    imperfect = present[3].removesuffix("ons")
    auxiliary = "être" if plain in _TAKES_ETRE else "avoir"
    return FrenchVerb(plain, present, participle, future or plain.removesuffix("e"), imperfect, auxiliary,
                      infinitive.startswith("se "))  # fmt: skip


def verb(infinitive: str, base: str) -> Verb:
    """Create a verb from its French infinitive and its English form, such as 'manger' and 'eat'."""
    return Verb(conjugate(infinitive), {"be": BE, "can": CAN}.get(base) or english.verb(base))
