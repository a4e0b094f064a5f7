"""Networks composed of the layers. The first access to the name of a family registers its layers."""

from importlib import import_module

TYPE_CHECKING = False  # as in keras_transformer/__init__.py
if TYPE_CHECKING:
    from typing import Any

    from keras_transformer.models.families.bert import Bert, DistilBert
    from keras_transformer.models.families.bert_heads import MaskedLanguageModel, TextClassifier
    from keras_transformer.models.families.gpt2 import GPT2
    from keras_transformer.models.families.llama import Llama
    from keras_transformer.models.families.t5 import T5
    from keras_transformer.models.families.vit import ViT
    from keras_transformer.models.recurrent import RecurrentTranslationModel

__all__ = [
    "GPT2",
    "T5",
    "Bert",
    "DistilBert",
    "Llama",
    "MaskedLanguageModel",
    "RecurrentTranslationModel",
    "TextClassifier",
    "ViT",
]
_MODULES = {
    "Bert": "families.bert",
    "DistilBert": "families.bert",
    "GPT2": "families.gpt2",
    "Llama": "families.llama",
    "MaskedLanguageModel": "families.bert_heads",
    "RecurrentTranslationModel": "recurrent",
    "T5": "families.t5",
    "TextClassifier": "families.bert_heads",
    "ViT": "families.vit",
}


def __getattr__(name: str) -> "Any":
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"keras_transformer.models.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
