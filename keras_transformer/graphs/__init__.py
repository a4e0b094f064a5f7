"""ONNX graphs of the translation network, written from its weights."""
