"""An .onnx file written weight by weight: nothing that is as large as the model is made on the way.

The format is Protocol Buffers: a message is its fields, each of them here a tag, a length and the bytes.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto

from keras_transformer.files import replacing

#: From a model down to the weights in the loops of its loops: what is written field by field.
_OPENED: dict[type[Any], tuple[str, ...]] = {
    ModelProto: ("graph",),
    GraphProto: ("node", "initializer"),
    NodeProto: ("attribute",),
    AttributeProto: ("g",),
}


class _Weight:
    """A variable or an array, read when it is written."""

    def __init__(self, values: Any) -> None:
        self.values = values
        self.kind = np.dtype(values.dtype).newbyteorder("<")

    def __len__(self) -> int:
        return self.kind.itemsize * int(np.prod(self.values.shape))

    def __bytes__(self) -> bytes:
        return np.asarray(self.values, self.kind).tobytes()


def write_onnx(model: ModelProto, weights: Mapping[str, Any], path: Path) -> None:
    """The model, and in it the values of those constants that are weights, by their names."""
    with replacing(path) as beside, beside.open("wb") as file:
        for piece in _pieces(model, weights):
            file.write(bytes(piece))


def onnx_bytes(model: ModelProto, weights: Mapping[str, Any]) -> bytes:
    """The same, for who opens it at once."""
    return b"".join(map(bytes, _pieces(model, weights)))


def _pieces(message: Any, weights: Mapping[str, Any]) -> Iterator[bytes | _Weight]:
    opened = _OPENED.get(type(message), ())
    closed = type(message)()
    closed.CopyFrom(message)
    for name in opened:
        closed.ClearField(name)
    yield closed.SerializeToString(deterministic=True)
    if isinstance(message, TensorProto) and message.name in weights:
        yield from _field(TensorProto.RAW_DATA_FIELD_NUMBER, [_Weight(weights[message.name])])
    for field, value in message.ListFields():
        if field.name in opened:
            for each in [value] if isinstance(value, GraphProto) else value:
                yield from _field(field.number, list(_pieces(each, weights)))


def _field(number: int, pieces: list[bytes | _Weight]) -> Iterator[bytes | _Weight]:
    has_length = 2
    yield _varint(number << 3 | has_length) + _varint(sum(map(len, pieces)))
    yield from pieces


def _varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first; the eighth says that more come."""
    digits = bytearray()
    while number > 127:
        digits.append(number & 127 | 128)
        number >>= 7
    return bytes([*digits, number])
