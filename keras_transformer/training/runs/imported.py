"""A pretrained model as a run directory.

run.json        the languages, and under `imported` the name of the directory that the model comes from
tokenizer/      the SentencePiece models and the vocabulary
model.keras     the model: float32, tokenizer inside
"""

from collections.abc import Callable
from pathlib import Path

from keras_transformer.files import check_new, making
from keras_transformer.models.translation import TranslationModel
from keras_transformer.training.data.corpus_options import CORPUS_FIELDS
from keras_transformer.training.runs.run_directory import Run


def import_run(
    directory: Path,
    path: Path,
    source_lang: str | None = None,
    target_lang: str | None = None,
    notify: Callable[[str], None] = lambda line: None,
) -> TranslationModel:
    """Write a run directory with a pretrained model, atomically.

    Args:
        directory: A MarianMT directory.
        path: The run; it must not exist.
        source_lang: Code of the source language; by default that of the directory's tokenizer.
        target_lang: Code of the target language; by default that of the directory's tokenizer.
        notify: Called with each line of progress.

    Returns:
        The model.

    Raises:
        PretrainedError: With everything that is wrong with the directory.
        FileExistsError: If the run exists.
        ValueError: If the model has no tokenizer, which is a bug.
    """
    check_new(path)
    notify(f"reading {directory} ...")
    model = TranslationModel.from_pretrained(directory)
    tokenizer = model.tokenizer
    if tokenizer is None:
        raise ValueError("an imported model has a tokenizer; report this as a bug.")
    tokenizer.source_lang = source_lang or tokenizer.source_lang
    tokenizer.target_lang = target_lang or tokenizer.target_lang
    notify(f"writing {path} ...")
    with making(path) as complete:
        run = Run(complete)
        run.write_about(
            {
                "source_lang": tokenizer.source_lang,
                "target_lang": tokenizer.target_lang,
                "corpus": {**dict.fromkeys(CORPUS_FIELDS), "keep_duplicates": False},
                "recipe": {},
                "imported": directory.resolve().name,
            }
        )
        tokenizer.save(run.tokenizer)
        model.save(run.model)
    return model
