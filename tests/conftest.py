"""What every test shares: TensorFlow quiet, and its rounding that of the plain kernels."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
