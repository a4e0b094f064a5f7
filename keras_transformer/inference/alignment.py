"""The rule that aligns each token of an answer with a source token.

H heads, T target length, S source length.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def aligned(cross: NDArray[Any]) -> list[int]:
    """Return for each target token the source position with the highest attention, averaged over the heads.

    Args:
        cross: Attention weights (H, T, S) of the layer that `alignment_layer` returns.
    """
    return [int(position) for position in np.asarray(cross).mean(axis=0).argmax(axis=-1)]


def alignment_layer(num_layers: int) -> int:
    """Return the index of the decoder layer whose cross-attention aligns best: the last but one."""
    return max(0, num_layers - 2)
