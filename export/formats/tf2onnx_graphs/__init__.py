"""ONNX graphs traced from Keras models; the only package that uses internals of tf2onnx."""
