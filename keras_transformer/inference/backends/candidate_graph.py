"""The graph without weights that picks the likeliest tokens of each row, for backends on ONNX Runtime."""

from typing import Any

import numpy as np

from keras_transformer.inference.backend import Candidates, Floats


def likeliest(session: Any, log_probs: Floats, count: int) -> Candidates:
    """Return the candidates of each row: its `count` likeliest tokens, or all if there are fewer.

    Args:
        session: Session of the graph.
        log_probs: Log-probability of every token (B, V).
        count: Number of candidates of a row.
    """
    counts = np.array([min(count, log_probs.shape[1])])
    return Candidates(log_probs, *session.run(None, {"log_probs": log_probs, "count": counts}))
