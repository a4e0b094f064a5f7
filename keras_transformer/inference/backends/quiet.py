"""ONNX Runtime without its telemetry.

The library's wheels tell their maker what they are used for, over the network, and keep a number by which the
machine is known. The variable has to be there before the library is; who wants to be counted sets it to 0.
"""

import os

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime

__all__ = ["onnxruntime"]
