"""ONNX graphs traced from Keras models: all that touches the internals of tf2onnx."""
