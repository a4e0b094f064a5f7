"""The configuration of a recurrent translation network, and the presets."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from keras_transformer.settings import Settings
from keras_transformer.text.lengths import AnswerLimit


@dataclass(frozen=True)
class RecurrentNetwork(Settings):
    """Configuration of a recurrent encoder and decoder of gated recurrent units (GRU).

    Args:
        attention: Whether the decoder attends to all states of the encoder (2015), or reads the last ones
            alone (2014).
        encoder_layers: Number of encoder layers, which read the source in both directions.
        decoder_layers: Number of decoder layers.
        width: Width of the embeddings.
        units: Width of the states; half of an encoder's state is of each direction.
        dropout: Dropout rate of embeddings, of what each further layer reads, and of the last vectors.
        max_length: Largest number of tokens of a source or an answer.

    Raises:
        ValueError: With every value that is out of range.
    """

    forbidden: ClassVar[tuple[int, ...]] = ()
    answer_limit: ClassVar[AnswerLimit] = AnswerLimit()

    attention: bool = True
    encoder_layers: int = 2
    decoder_layers: int = 2
    width: int = 128
    units: int = 224
    dropout: float = 0.1
    max_length: int = 1024

    def __post_init__(self) -> None:
        problems = self._not_whole(1, "encoder_layers", "decoder_layers", "width", "units", "max_length")
        problems += self._not_shares("dropout")
        if not isinstance(self.attention, bool):
            problems.append(f"attention must be true or false; got {self.attention!r}")
        if not problems and self.units % 2:
            problems.append(f"units must be even: half are of each direction; got {self.units}")
        if problems:
            raise ValueError("; ".join(problems))

    @classmethod
    def from_preset(cls, name: str, **changes: Any) -> Self:
        """Create the configuration of a preset, of about as many parameters as the Transformer of that name.

        Args:
            name: Name of a preset, such as "tiny".
            **changes: Fields that differ from the preset.

        Returns:
            The configuration.

        Raises:
            ValueError: If there is no such preset, or a field is out of range.
        """
        if name not in RECURRENT_PRESETS:
            raise ValueError(f"there is no preset {name!r}; there are {', '.join(RECURRENT_PRESETS)}.")
        sizes = dict(RECURRENT_PRESETS[name])
        attended, alone = sizes.pop("units")
        units = attended if changes.get("attention", cls.attention) else alone
        return cls.from_dict({**sizes, "units": units, **changes})

    @property
    def architecture(self) -> str:
        """Name of the architecture, as `train --architecture` takes it."""
        return "recurrent-attention" if self.attention else "recurrent"

    @property
    def preset(self) -> str | None:
        """Name of the preset that has these sizes, if one has."""
        own = {"attention": self.attention, "dropout": self.dropout, "max_length": self.max_length}
        return next((name for name in RECURRENT_PRESETS if self.from_preset(name, **own) == self), None)

    @property
    def regularization(self) -> dict[str, float]:
        """The dropout rate by name."""
        return {"dropout": self.dropout}

    def with_regularization(self, dropout: float, **others: float) -> Self:
        """Return the same network with another dropout rate.

        Args:
            dropout: The dropout rate.
            **others: Rates that only the Transformer has, which change nothing.

        Returns:
            The network.
        """
        return replace(self, dropout=dropout)

    def parameters(self, source_vocabulary: int, target_vocabulary: int | None = None) -> int:
        """Return the number of trained values.

        Args:
            source_vocabulary: Number of source ids.
            target_vocabulary: Number of target ids; None where both sides share one embedding.

        Returns:
            The number.
        """
        units, half = self.units, self.units // 2
        inputs = [self.width, *[units] * (self.encoder_layers - 1)]
        encoder = sum(2 * _gru(read, half) for read in inputs)
        inputs = [self.width + (0 if self.attention else units), *[2 * units] * (self.decoder_layers - 1)]
        decoder = sum(_gru(read, units) for read in inputs)
        bridge = self.decoder_layers * (units + 1) * units
        attention = 2 * units * units + 2 * units if self.attention else 0
        output = 2 * units * self.width + self.width
        tables = (source_vocabulary + (target_vocabulary or 0)) * self.width
        return tables + encoder + bridge + decoder + attention + output


def _gru(width: int, units: int) -> int:
    """Return the number of trained values of a layer that reads vectors of a width."""
    return 3 * units * (width + units + 2)


#: Units with attention, and without it.
RECURRENT_PRESETS: dict[str, dict[str, Any]] = {
    "tiny": {"encoder_layers": 2, "decoder_layers": 2, "width": 128, "units": (224, 220)},
    "small": {"encoder_layers": 2, "decoder_layers": 2, "width": 256, "units": (532, 524)},
    "base": {"encoder_layers": 2, "decoder_layers": 2, "width": 512, "units": (1324, 1300)},
}
