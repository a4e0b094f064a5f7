"""The names of files and folders in a version directory."""

MANIFEST = "manifest.json"
GOLDEN = "golden.jsonl"
CARD = "README.md"
TOKENIZER = "tokenizer"
ONNX = "onnx"
CTRANSLATE2 = "ctranslate2"
