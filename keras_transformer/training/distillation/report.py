"""The report of a distillation: where the pairs come from, how many there are, and what was dropped."""

from collections.abc import Mapping, Sequence
from typing import Any

from keras_transformer import __version__
from keras_transformer.files import write_whole
from keras_transformer.text.cleaning import CleaningReport
from keras_transformer.training.distillation import BACK, MONOLINGUAL, ORIGINAL, TEACHER
from keras_transformer.training.distillation.folder import Folder
from keras_transformer.training.distillation.selection import Selection

MEANINGS = {
    TEACHER: "the sources of the corpus, translated by the teacher",
    MONOLINGUAL: "more text in the source language, translated by the teacher",
    BACK: "text in the target language, translated by the backward model",
}


def write_report(
    folder: Folder,
    teachers: Sequence[Mapping[str, Any]],
    backward: Mapping[str, Any] | None,
    beam: int,
    selections: Mapping[str, Selection],
) -> str:
    """Write report.txt and report.json, which completes the files of pairs.

    Args:
        folder: The folder of the distillation.
        teachers: Where each teacher comes from, as `origin` describes it.
        backward: The same of the backward model, if there is one.
        beam: Width of the search.
        selections: What was kept of each part.

    Returns:
        The text of the report.
    """
    texts = folder.read("texts.json")
    cleaning, sentences = texts["cleaning"], texts["sentences"]
    made_by = [f"teacher: {' + '.join(map(_described, teachers))}", f"beam {beam}, release {__version__}"]
    if backward is not None:
        made_by.insert(1, f"backward model: {_described(backward)}")
    paragraphs = [
        "\n".join(made_by),
        f"{ORIGINAL}: the corpus\n{CleaningReport(**cleaning[ORIGINAL])}\n"
        f"{texts['pairs']:,} to train on, {texts['held_out']:,} held out for scores",
    ]
    parts: dict[str, Any] = {}
    for part, selection in selections.items():
        read = f"{cleaning[part]['read']:,} sentences read, " if part in cleaning else ""
        paragraphs.append(
            f"{part}: {MEANINGS[part]}\n{read}{sentences[part]:,} translated; mean score "
            f"{selection.mean_score:.3f}, the lowest that is kept {selection.lowest_score:.3f}\n"
            f"{selection.report}"
        )
        parts[part] = {"translated": sentences[part], "text": cleaning.get(part), **selection.as_dict()}
    text = "\n\n".join(paragraphs)
    content = {
        "release": __version__,
        "teachers": list(teachers),
        "backward": backward,
        "beam": beam,
        "original": {"pairs": texts["pairs"], "held_out": texts["held_out"], "text": cleaning[ORIGINAL]},
        "parts": parts,
    }
    write_whole(folder.report, f"{text}\n".encode())
    folder.write("report.json", content)
    return text


def _described(model: Mapping[str, Any]) -> str:
    known = f" (step {model['step']:,}, held-out BLEU {model['bleu']:.2f})" if model.get("step") else ""
    return f"{model['path']}{known}"
