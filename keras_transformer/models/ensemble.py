"""An ensemble: translation models of one vocabulary that translate together."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from keras_transformer.decoding.traced_search import Search
from keras_transformer.inference.backends.ensemble import EnsembleBackend
from keras_transformer.inference.hosted_decoder import Decoder
from keras_transformer.models.architectures import Configuration
from keras_transformer.models.encoder_decoder import EncoderDecoder
from keras_transformer.models.hosted import HostedModel, decoder_of, refusal
from keras_transformer.models.one_vocabulary import check_one_vocabulary
from keras_transformer.text.sentences import Lengths
from keras_transformer.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from keras_transformer.models.translate import Hypothesis


class TranslationEnsemble:
    """Several translation models, whose probabilities are averaged at each step of a search.

    It takes as long as its models one after the other. One model twice translates as the model alone.

    Args:
        models: The models, which have the same tokenizer.
        names: The name of each model for messages; by default those of Keras.

    Raises:
        ValueError: If there is no model, or a model has no tokenizer, no ONNX graphs, or another vocabulary
            than the first.

    Attributes:
        models: The models.
        tokenizer: Their tokenizer.
        lengths: Lengths of the lines in the training corpus of the first model.
        network: Network of the first model, with the smallest max_length of all.

    Example:
        ```python
        ensemble = TranslationEnsemble.load(["build/one", "build/two"])
        ensemble.translate(["Je suis étudiant."], beam=4)
        ```
    """

    models: Sequence[EncoderDecoder]
    tokenizer: Tokenizer
    lengths: Lengths
    network: Configuration

    def __init__(self, models: Sequence[EncoderDecoder], names: Sequence[str] | None = None) -> None:
        if not models:
            raise ValueError("an ensemble needs at least one model; got none.")
        tokenizers: dict[str, Tokenizer] = {}
        for name, model in zip(names or [model.name for model in models], models, strict=True):
            if model.tokenizer is None:
                raise ValueError(f"{name} has no tokenizer: it translates ids, not text.")
            if reason := refusal(model):
                raise ValueError(f"{name} has no ONNX graphs, with which an ensemble decodes: {reason}")
            tokenizers[name] = model.tokenizer
        check_one_vocabulary(tokenizers)
        longest = min(model.network.max_length for model in models)
        self.models = models
        self.tokenizer = next(iter(tokenizers.values()))
        self.lengths = models[0].lengths.within(longest)
        self.network = replace(models[0].network, max_length=longest)

    @classmethod
    def load(cls, paths: Sequence[str | Path]) -> Self:
        """Load models from run directories or .keras files.

        Args:
            paths: The directories and files.

        Raises:
            FileNotFoundError: If there is no model at one of the paths.
            TypeError: If a file holds a model of another class.
            ValueError: If the models make no ensemble.
        """
        return cls([EncoderDecoder.load(path) for path in paths], [str(path) for path in paths])

    def translate(
        self,
        texts: Sequence[str],
        beam: int = 1,
        length_penalty: float = 1.0,
        target_language: str | None = None,
        loop_guard: bool = True,
    ) -> list[str]:
        """Translate texts as TranslationModel.translate does.

        Args:
            texts: Texts of any length.
            beam: Width of the search; 1 is greedy decoding.
            length_penalty: Exponent of the length by which scores are divided.
            target_language: One of the tokenizer's target_languages, for models that have several.
            loop_guard: Whether an answer that repeats itself gives way to the next one of the beam, or is
                cut after the first occurrence of what it repeats.

        Returns:
            The best translation of each text, in order.
        """
        from keras_transformer.models.translate import translate  # noqa: PLC0415  (it imports this module)

        found = translate(self, texts, beam, length_penalty, target_language, loop_guard)
        return [translation.text for translation in found]

    def hypotheses(self, texts: Sequence[str], **options: Any) -> "list[list[Hypothesis]]":
        """Return several answers to each sentence as TranslationModel.hypotheses does.

        Args:
            texts: Sentences; they are not divided.
            **options: `beam`, `length_penalty`, `max_tokens`, `prefixes`, `alignment`, `target_language` and
                `loop_guard` of keras_transformer.models.translate.hypotheses. Alignments are those of the
                first model.

        Returns:
            For each sentence a list of Hypothesis, best first.
        """
        from keras_transformer.models.translate import hypotheses  # noqa: PLC0415

        return hypotheses(self, texts, **options)


def ensemble_decoder(ensemble: TranslationEnsemble, search: Search, max_length: int, scores: bool) -> Decoder:
    """Return a decoder of rows with the current weights of all models."""
    hosts = [model.derived.get(HostedModel) for model in ensemble.models]
    members = [host.backends(search.start_id) for host in hosts]
    candidates = hosts[0].candidates()

    def make_backend(*sizes: int) -> EnsembleBackend:
        return EnsembleBackend([make(*sizes) for make in members], candidates)

    return decoder_of(make_backend, ensemble.network, search.end_id, max_length, scores)
