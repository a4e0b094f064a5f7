"""Where everything lies in a version directory, and what asks which of its files."""

from typing import NamedTuple

MANIFEST = "manifest.json"
GOLDEN = "golden.jsonl"
TOKENIZER = "tokenizer"
ONNX = "onnx"
CTRANSLATE2 = "ctranslate2"

#: The formats that can be asked for, with what each of them must have written, by precision.
FORMATS: dict[str, dict[str, tuple[str, ...]]] = {
    "saved_model": {"float32": ("saved_model.pb", "variables/variables.index")},
    "onnx": {
        "float32": (
            "onnx/translate.onnx",
            "onnx/encoder.onnx",
            "onnx/decoder.onnx",
            "onnx/attention.onnx",
        ),
        "int8": ("onnx/encoder.int8.onnx", "onnx/decoder.int8.onnx"),
    },
    "ctranslate2": {"float32": ("ctranslate2/model.bin", "ctranslate2/config.json")},
}


class RuntimeName(NamedTuple):
    """One way to ask a version."""

    runtime: str
    precision: str
    format: str
    file: str  # what it opens, or one of it
    library: str  # the package that it needs
    takes_ids: bool = True  # else text alone

    def __str__(self) -> str:
        return f"{self.runtime} {self.precision}"


TEXT_ONNX = "onnx/text.onnx"

#: Lightest first: what translates from a version takes the first that is there.
RUNTIMES = (
    RuntimeName("onnx/scheduler", "float32", "onnx", "onnx/encoder.onnx", "onnxruntime"),
    RuntimeName("onnx/scheduler", "int8", "onnx", "onnx/encoder.int8.onnx", "onnxruntime"),
    RuntimeName("onnx/translate", "float32", "onnx", "onnx/translate.onnx", "onnxruntime"),
    RuntimeName("ctranslate2", "float32", "ctranslate2", "ctranslate2/model.bin", "ctranslate2"),
    RuntimeName("saved_model", "float32", "saved_model", "saved_model.pb", "tensorflow_text"),
    RuntimeName("onnx/text", "float32", "onnx", TEXT_ONNX, "onnxruntime_extensions", takes_ids=False),
)

#: The packages that writing a format takes.
WRITTEN_WITH = {
    "saved_model": ("tensorflow_text",),
    "onnx": ("onnx", "tf2onnx", "onnxruntime"),
    "ctranslate2": ("ctranslate2",),
}


def format_of(file: str) -> str:
    """The format that a file of a version belongs to, or "all": the tokenizer and the golden sentences."""
    first = file.partition("/")[0]
    if first in (TOKENIZER, GOLDEN):
        return "all"
    return first if first in (ONNX, CTRANSLATE2) else "saved_model"
