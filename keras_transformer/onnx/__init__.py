"""The translation network as graphs of ONNX, and greedy decoding over them in ONNX Runtime."""
