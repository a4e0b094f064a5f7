"""Values of a configuration file of another program: each is checked, and all problems are collected."""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from keras_transformer.pretrained.directory import PretrainedDirectory, PretrainedError

CONFIG = "config.json"
MAX_SIZE = 2**20  # of a width or a vocabulary
MAX_LAYERS, MAX_POSITIONS = 256, 2**20  # nothing in the files of weights bounds the layers

#: transformers' names of activations, and the names here.
ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}


class ConfigReader:
    """Reader of the values of one file. A value that is wrong is recorded, and replaced by a harmless one.

    Args:
        values: The content of the file.
        file: Its name, for error messages.
        problems: List that receives the problems; readers of several files may share one.
    """

    def __init__(
        self, values: Mapping[str, Any], file: str = CONFIG, problems: list[str] | None = None
    ) -> None:
        self.values = values
        self.file = file
        self.problems = [] if problems is None else problems

    def check(self, path: Path) -> None:
        """Raise PretrainedError if there are problems."""
        if self.problems:
            raise PretrainedError(path, self.problems)

    def family(self, model_types: Iterable[str]) -> str:
        """Return the model_type, which must be one of these; quantized weights are refused."""
        self.fixed({"quantization_config": None}, ": quantized weights are not supported")
        types = [*model_types]
        found = self.values.get("model_type")
        right = isinstance(found, str) and found in types
        return str(self.checked(right, "model_type", f"must be {' or '.join(types)}", found, types[0]))

    def fixed(self, values: Mapping[str, Any], reason: str) -> None:
        """Refuse options that have another value than these; a missing option has the right one."""
        for name, value in values.items():
            if self.values.get(name, value) != value:
                self.wrong(name, f"must be {value!r}{reason}", self.values[name])

    def size(self, name: str, default: int | None = None, most: int = MAX_SIZE) -> int:
        """Return a whole number of at least 1."""
        value = self.values.get(name, default)
        if value is None:
            self.problems.append(f"{self.file}: {name} is missing")
            return 0
        right = type(value) is int and 1 <= value <= most
        return int(self.checked(right, name, f"must be a whole number of 1 to {most:,}", value, 0))

    def id(self, name: str, vocabulary: int, default: int | None = None) -> int:
        """Return an id of the vocabulary; a list of one id is one."""
        value = self.values.get(name, default)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        right = type(value) is int and 0 <= value < vocabulary
        rule = f"must be an id of the vocabulary, 0 to {vocabulary - 1}"
        return int(self.checked(right, name, rule, value, 0))

    def rate(self, name: str, default: float) -> float:
        """Return a number of at least 0 and below 1."""
        value = self.values.get(name, default)
        right = type(value) in (int, float) and 0 <= value < 1
        return float(self.checked(right, name, "must be at least 0 and below 1", value, 0))

    def positive(self, name: str, default: float) -> float:
        """Return a finite number above 0."""
        value = self.values.get(name, default)
        right = type(value) in (int, float) and 0 < value <= sys.float_info.max
        return float(self.checked(right, name, "must be a finite number above 0", value, 1))

    def flag(self, name: str, default: bool) -> bool:
        """Return true or false."""
        value = self.values.get(name, default)
        return bool(self.checked(type(value) is bool, name, "must be true or false", value, default))

    def text(self, name: str, default: str) -> str:
        """Return a printable text."""
        value = self.values.get(name) or default
        right = isinstance(value, str) and len(value) <= 100 and value.isprintable()
        rule = "must be a printable text of at most 100 characters"
        return str(self.checked(right, name, rule, value, default))

    def choice(self, name: str, choices: Mapping[str, str], default: str) -> str:
        """Return what one of several texts stands for."""
        value = self.values.get(name, default)
        right = isinstance(value, str) and value in choices
        return choices[self.checked(right, name, f"must be one of {', '.join(choices)}", value, default)]

    def labels(self) -> tuple[str, ...]:
        """Return the names of the classes: those of id2label, or without it as many as num_labels says."""
        names = self.values.get("id2label")
        if names is None:
            return tuple(f"LABEL_{index}" for index in range(self.size("num_labels", 2)))
        keys = [str(index) for index in range(len(names))] if isinstance(names, dict) else None
        right = keys is not None and {*names} == {*keys} and all(isinstance(names[key], str) for key in keys)
        names = self.checked(right, "id2label", "must have a name for each number from 0", names, {})
        return tuple(names[key] for key in keys or () if right)

    def divides(self, name: str, divisor: int, whole_name: str, whole: int) -> None:
        """Check that one size divides another."""
        if whole % (divisor or 1):
            self.wrong(name, f"must divide {whole_name}, {whole}", divisor)

    def checked(self, right: bool, name: str, rule: str, value: Any, instead: Any) -> Any:
        """Return the value if it is right; otherwise record a problem and return the other value."""
        if not right:
            self.wrong(name, rule, value)
        return value if right else instead

    def wrong(self, name: str, rule: str, value: Any) -> None:
        """Record a problem of a value."""
        self.problems.append(f"{self.file}: {name} {rule}; got {value!r:.60}")


def read_config(directory: PretrainedDirectory) -> ConfigReader:
    """Return a reader of config.json."""
    return ConfigReader(directory.json(CONFIG))
