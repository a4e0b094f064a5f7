"""One HTML page that shows the attention of all heads of a model in the attention viewer.

The page needs no network. It contains every weight, so its size grows with layers x heads x tokens squared:
45 kB for a sentence of the smallest model, 3 MB for 150 tokens.
"""

import base64
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keras_transformer.viz.document import printable, render
from keras_transformer.viz.heads import AttentionKind, Choice, Heads

#: A weight is stored as a multiple of 1/65535, in two bytes.
UNITS = 65535


def attention_page(heads: Heads, choice: Choice) -> str:
    """Render the page.

    Args:
        heads: The weights and their tokens.
        choice: Kind, layer and head that the page shows first; by default the first head of the last layer.

    Raises:
        ValueError: If the choice has a layer or a head that the model lacks.
    """
    kinds = list(heads.kinds)
    name = choice.kind or "input-output"
    layers = replace(choice, kind=name).of(heads)[name].layers
    values = {
        "kinds": [_kind(key, kind) for key, kind in heads.kinds.items()],
        "start": {
            "kind": kinds.index(name),
            "layer": (choice.layer or layers) - 1,
            "head": (choice.head or 1) - 1,
        },
    }
    return render(
        "attention.html",
        ("viewer/viewer.css", "web/attention.css"),
        "web/attention.js",
        heads=heads,
        values=values,
    )


def _kind(key: str, kind: AttentionKind) -> dict[str, Any]:
    return {
        "key": key,
        "shape": kind.weights.shape,
        "queries": [printable(token) for token in kind.queries],
        "keys": [printable(token) for token in kind.keys],
        "notes": [printable(note) for note in kind.notes],
        "weights": _packed(kind.weights),
    }


def _packed(weights: NDArray[np.float32]) -> str:
    """Encode weights (L, H, Q, K) as base64 with two bytes each, the low byte first."""
    return base64.b64encode(np.rint(weights * UNITS).astype("<u2").tobytes()).decode()
