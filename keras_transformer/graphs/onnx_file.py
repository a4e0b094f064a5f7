"""Serialization of .onnx files weight by weight, which needs no memory of the size of the model.

The format is Protocol Buffers: a message is a sequence of fields, each here a tag, a length and the bytes.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto

#: The fields that are written one by one, from the model down to the weights in nested loops.
_SPLIT_FIELDS: dict[type[Any], tuple[str, ...]] = {
    ModelProto: ("graph",),
    GraphProto: ("node", "initializer"),
    NodeProto: ("attribute",),
    AttributeProto: ("g",),
}


class _Weight:
    """A variable or an array whose values are read when they are written."""

    def __init__(self, values: Any) -> None:
        self.values = values
        self.kind = np.dtype(values.dtype).newbyteorder("<")

    def __len__(self) -> int:
        return self.kind.itemsize * int(np.prod(self.values.shape))

    def __bytes__(self) -> bytes:
        return np.asarray(self.values, self.kind).tobytes()


def onnx_pieces(model: ModelProto, weights: Mapping[str, Any]) -> Iterator[bytes]:
    """Serialize a model piece by piece.

    Args:
        model: The model; constants that are weights have no values in it.
        weights: Their values by name, which are read lazily.

    Returns:
        The pieces of the file, in order.
    """
    return map(bytes, _pieces(model, weights))


def _pieces(message: Any, weights: Mapping[str, Any]) -> Iterator[bytes | _Weight]:
    split_names = _SPLIT_FIELDS.get(type(message), ())
    rest = type(message)()
    rest.CopyFrom(message)
    for name in split_names:
        rest.ClearField(name)
    yield rest.SerializeToString(deterministic=True)
    if isinstance(message, TensorProto) and message.name in weights:
        yield from _field(TensorProto.RAW_DATA_FIELD_NUMBER, [_Weight(weights[message.name])])
    for field, value in message.ListFields():
        if field.name in split_names:
            for item in [value] if isinstance(value, GraphProto) else value:
                yield from _field(field.number, list(_pieces(item, weights)))


def _field(number: int, pieces: list[bytes | _Weight]) -> Iterator[bytes | _Weight]:
    has_length = 2
    yield _varint(number << 3 | has_length) + _varint(sum(map(len, pieces)))
    yield from pieces


def _varint(number: int) -> bytes:
    """Encode seven bits per byte, the lowest first; the eighth bit means that more bytes follow."""
    digits = bytearray()
    while number > 127:
        digits.append(number & 127 | 128)
        number >>= 7
    return bytes([*digits, number])
