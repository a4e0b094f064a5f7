"""How closely the families compute what transformers computes."""

from typing import Any

import numpy as np
from keras import ops


def assert_close(found: Any, expected: np.ndarray) -> None:
    """Within 1e-4 of the largest magnitude, at every position, those of padding too."""
    assert np.abs(expected).max() > 1
    tolerance = 1e-4 * np.abs(expected).max()
    np.testing.assert_allclose(ops.convert_to_numpy(found), expected, rtol=0, atol=tolerance)
