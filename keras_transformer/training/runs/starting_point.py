"""The trained model that a run goes on from: read without Keras, and copied into the run.

The copy makes the run independent of the other one, which may be trained on, moved or removed meanwhile.
"""

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from keras_transformer.files import replacing
from keras_transformer.models.architectures import Configuration
from keras_transformer.text.corpus import Pair
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.text.tokenizer_training import kind_of
from keras_transformer.training.runs.run_directory import INITIAL_VALID, VALID, Run
from keras_transformer.training.runs.run_summary import FactsError, archived, facts, no_description


@dataclass(frozen=True)
class StartingPoint:
    """A trained model, its tokenizer, and the pairs that its run held out, if they are there.

    Args:
        model: The .keras file.
        valid: The held-out pairs of its run, which may not exist.
        network: Its network.
        tokenizer: Its tokenizer.
    """

    model: Path
    valid: Path
    network: Configuration
    tokenizer: Tokenizer

    @classmethod
    def of(cls, path: Path) -> Self:
        """Read a run directory, or a .keras file.

        Raises:
            FactsError: There is no translation model with a tokenizer, or it is damaged.
        """
        run = Run(path if path.is_dir() else path.parent)
        return cls._read(run.model if path.is_dir() else path, run.path / VALID)

    @classmethod
    def copied_into(cls, run: Run) -> Self:
        """Read the copy that `copy_into` wrote."""
        return cls._read(run.initial, run.path / INITIAL_VALID)

    @classmethod
    def _read(cls, model: Path, valid: Path) -> Self:
        config, _, network_class = archived(model)
        try:
            network, tokenizer = network_class.from_dict(config["network"]), config["tokenizer"]
            if tokenizer is not None:
                tokenizer = Tokenizer.from_config(tokenizer)
        except (KeyError, TypeError, ValueError) as error:
            raise no_description(model, error) from error
        if tokenizer is None:
            raise FactsError(f"{model} has no tokenizer: it translates ids, and cannot learn from text.")
        return cls(model, valid, network, tokenizer)

    def copy_into(self, run: Run) -> None:
        """Copy the held-out pairs and then the model, which stands for both."""
        (run.path / INITIAL_VALID).unlink(missing_ok=True)
        files = {INITIAL_VALID: self.valid, run.initial.name: self.model}
        for name, file in files.items():
            if file.exists():
                with replacing(run.path / name) as temp_path:
                    shutil.copyfile(file, temp_path)

    def tokenizer_for(self, source_lang: str, target_lang: str) -> Tokenizer:
        """Return the tokenizer with the languages of the new text.

        The target of a model of several targets stays as it is: the new text is in one of them.
        """
        several = target_lang in self.tokenizer.target_languages
        return _renamed(self.tokenizer, source_lang, self.tokenizer.target_lang if several else target_lang)

    def with_language(self, pairs: Iterable[Pair], target_lang: str) -> Iterator[Pair]:
        """Put the code of the target language before each source, for a model of several targets.

        Raises:
            TargetLanguageError: The model has several targets, this is none of them, and a source begins
                with no code.
        """
        code = target_lang if target_lang in self.tokenizer.target_languages else None
        for source, target in pairs:
            yield Pair(self.tokenizer.with_language(source, code), target)

    def overrides(self) -> dict[str, Any]:
        """Return the fields of the recipe that are the model's."""
        architecture = self.network.architecture
        return {"architecture": architecture, "preset": None, **of_tokenizer(self.tokenizer)}


def of_tokenizer(tokenizer: Tokenizer) -> dict[str, Any]:
    """Return the fields of the recipe that follow from a tokenizer that is there.

    Raises:
        ValueError: Its SentencePiece models are of a kind that is not supported.
    """
    kind = kind_of(tokenizer.source_model)
    return {"tokenizer": kind, "joint": tokenizer.joint, "vocabulary_size": None}


def existing_tokenizer(directory: Path, source_lang: str = "", target_lang: str = "") -> Tokenizer:
    """Load SentencePiece models that are there: shared.model, or source.model and target.model.

    Raises:
        ValueError: A model is damaged, or its padding has another id than 0.
        FileNotFoundError: The directory has no such files.
    """
    if not directory.is_dir():
        raise ValueError(
            f"--tokenizer is bpe, unigram, or a directory with SentencePiece models; got {str(directory)!r}"
        )
    tokenizer = Tokenizer.load(directory)
    if tokenizer.pad_id != 0:
        raise ValueError(
            f"the padding of {directory} has the id {tokenizer.pad_id}; it must be 0: train the model with "
            "pad_id=0, unk_id=1, bos_id=2, eos_id=3"
        )
    return _renamed(tokenizer, source_lang, target_lang)


def _renamed(tokenizer: Tokenizer, source_lang: str, target_lang: str) -> Tokenizer:
    return Tokenizer.from_config(
        {**tokenizer.get_config(), "source_lang": source_lang, "target_lang": target_lang}
    )


def origin(path: Path) -> dict[str, Any]:
    """Describe a run or a .keras file, as run.json has it under `from`."""
    summary = facts(path)
    scores = summary["scores"] or {}
    return {
        "path": str(path),
        "domain": summary["domain"],
        "step": scores.get("step"),
        "bleu": scores.get("bleu"),
    }
