"""Lines of text in, their translations out, with onnxruntime, sentencepiece and numpy alone:

python translate.py [--json] VERSION_DIR < lines
"""

import argparse
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # before the library is loaded, which reports on its use
import onnxruntime

FORMAT = 1
LINES_AT_ONCE = 16
VOCABULARY = "tokenizer/vocabulary.json"
UNKNOWN, LAST_SPECIAL = 1, 3  # padding, unknown, start and end come first


class NumberedPieces:
    """One side of an imported model: SentencePiece cuts the text, and a vocabulary numbers the pieces."""

    def __init__(self, processor: sentencepiece.SentencePieceProcessor, names: list[str]) -> None:
        self.processor, self.names = processor, names
        self.numbers = {name: number for number, name in enumerate(names)}

    def encode(self, text: str) -> list[int]:
        """The text may begin with the code of a target language, as in ">>fra<< Hello."."""
        code = re.match(">>.*?<<|", text, re.DOTALL)[0]
        language = [code] if code in self.numbers else []
        pieces = self.processor.encode(text[len(code) :] if language else text, out_type=str)
        return [self.numbers.get(piece, UNKNOWN) for piece in [*language, *pieces]]

    def decode(self, rows: list[list[int]]) -> list[str]:
        """Special ids and unknown pieces have no text."""
        names = [[self.names[number] for number in row if number > LAST_SPECIAL] for row in rows]
        return [self.processor.decode_pieces(row).replace("▁", " ").strip() for row in names]


class Translator:
    """An exported version, used as it is: text -> ids -> onnx/translate.onnx -> ids -> text."""

    def __init__(self, directory: Path) -> None:
        manifest = json.loads((directory / "manifest.json").read_bytes())
        if manifest["format"] != FORMAT:
            raise ValueError(
                f"manifest.json has format {manifest['format']}, and this reads {FORMAT}: "
                "use the example that came with what wrote it"
            )
        joint = manifest["vocabulary"]["joint"]
        source, target = ("shared", "shared") if joint else ("source", "target")
        self.source = sentencepiece.SentencePieceProcessor(str(directory / "tokenizer" / f"{source}.model"))
        self.target = sentencepiece.SentencePieceProcessor(str(directory / "tokenizer" / f"{target}.model"))
        if VOCABULARY in manifest["files"]:
            names = json.loads((directory / VOCABULARY).read_bytes())
            self.source = NumberedPieces(self.source, names["source"])
            self.target = NumberedPieces(self.target, names["target"])
        self.session = onnxruntime.InferenceSession(directory / "onnx" / "translate.onnx")
        self.end = manifest["special_ids"]["end"]
        self.most = manifest["limits"]["source_tokens"]

    def translate(self, texts: list[str]) -> list[dict[str, Any]]:
        """Of each text the translation, its ids with the end, and their mean log-probability.

        Each is translated as it would be alone; a text that says nothing has no ids, and the score 0.
        """
        rows = [self._ids(text) for text in texts]
        source = np.zeros((len(rows), max(map(len, rows))), np.int32)
        for row, ids in zip(source, rows, strict=True):
            row[: len(ids)] = ids
        target, scores = self.session.run(["target", "score"], {"source": source})
        said = [np.trim_zeros(row, "b").tolist() for row in target]
        return [
            {"text": text, "ids": ids, "score": score}
            for text, ids, score in zip(self.target.decode(said), said, scores.tolist(), strict=True)
        ]

    def _ids(self, text: str) -> list[int]:
        """Ending with the end; a text that is too long is cut, and never its end."""
        return [*self.source.encode(text)[: self.most - 1], self.end]


def main() -> None:
    """A line out for a line in. Only a line feed ends one."""
    parser = argparse.ArgumentParser(description="Translates lines with an exported version.")
    parser.add_argument("version", type=Path, help="the directory, such as models/fr-en/1")
    parser.add_argument("--json", action="store_true", help="the ids and the score beside the text")
    arguments = parser.parse_args()
    translator = Translator(arguments.version)
    lines = sys.stdin.buffer.read().decode().split("\n")
    if lines[-1] == "":
        lines.pop()
    for first in range(0, len(lines), LINES_AT_ONCE):
        for answer in translator.translate(lines[first : first + LINES_AT_ONCE]):
            said = json.dumps(answer, ensure_ascii=False) if arguments.json else answer["text"]
            sys.stdout.buffer.write(said.encode() + b"\n")


if __name__ == "__main__":
    main()
