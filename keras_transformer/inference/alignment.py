"""Which source token each token of an answer is aligned with: the one rule.

H heads, T target length, S source length.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def aligned(cross: NDArray[Any]) -> list[int]:
    """Return for each target token the source position with the highest mean attention over the heads.

    Args:
        cross: (H, T, S) attention weights of the layer that `alignment_layer` names.
    """
    return [int(position) for position in np.asarray(cross).mean(axis=0).argmax(axis=-1)]


def alignment_layer(num_layers: int) -> int:
    """Return the layer of the decoder whose cross-attention aligns best: the last but one."""
    return max(0, num_layers - 2)
