"""What the tests of exported versions share: a small model, and versions of it."""

from pathlib import Path
from typing import Any

import keras

from export.artifact.manifest import LearnedLengths, Version
from export.artifact.quality_card import Pairs
from export.export_request import ExportRequest, Origin
from export.exporter import export_version
from export.golden_sentences import Chosen, SourceSentence
from keras_transformer import Tokenizer, TranslationModel
from keras_transformer.models.network import Network
from keras_transformer.phrasebook import phrasebook
from tests.support.once import made_once
from tests.support.versions.random_weights import enliven

PAIRS = list(phrasebook("fr-en", "train", 200))
SENTENCES = [SourceSentence(pair.source, pair.target) for pair in PAIRS[:24]]
OFTEN_SAID = 598  # an id that this model says; the end is a little likelier
BYTES = slice(4, 260)
ORIGIN = Origin("the phrasebook fr-en", Pairs(210, 200), LearnedLengths(30, 40, 10))


def small_model(joint: bool = True, seed: int = 4, **network: object) -> TranslationModel:
    """It has learned nothing, but its answers depend on the source, have words, and some of them end."""
    tokenizer = Tokenizer.train(PAIRS, 800, joint=joint, source_lang="fr", target_lang="en")
    keras.utils.set_random_seed(seed)
    target = None if joint else tokenizer.target_size
    model = TranslationModel(Network(2, 2, 16, 24, 2, **network), tokenizer.source_size, target, tokenizer)
    model.build()
    enliven(model)
    embeddings = model.target_embedding.embeddings.numpy()
    embeddings[BYTES] *= 0.1  # never the likeliest
    embeddings[tokenizer.eos_id] = 1.05 * embeddings[OFTEN_SAID]
    model.target_embedding.embeddings.assign(embeddings)
    return model


def exported(model: TranslationModel, output: Path, *formats: str, **options: Any) -> Version:
    """A version with the sentences of this module; the options are the request's."""
    request, sentences = ExportRequest(formats, **options), Chosen(SENTENCES, SENTENCES)
    return export_version(model, output, request, sentences, ORIGIN, notify=lambda line: None)


def exported_once(
    folder: Path,
    place: str,
    *formats: str,
    quantize: str | None = None,
    with_tokenizer: bool = False,
    **settings: Any,
) -> Path:
    """Return a version at `place` in `folder`, exported once in a run of the tests.

    The settings are those of the small model.
    """
    options = {"quantize": quantize, "with_tokenizer": with_tokenizer}

    def make(new: Path) -> None:
        exported(small_model(**settings), new / place, *formats, **options)

    return made_once(folder, make) / place
