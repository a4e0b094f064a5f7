"""Names of files and folders in a version directory."""

MANIFEST = "manifest.json"
GOLDEN = "golden.jsonl"
CARD = "README.md"
TOKENIZER = "tokenizer"
ONNX = "onnx"
SCORES = "onnx/scores.onnx"  # versions of earlier releases are without it: their decoder computes scores
CANDIDATES = "onnx/candidates.onnx"  # versions of earlier releases are without it, and decode greedily
CTRANSLATE2 = "ctranslate2"
