"""Corpora of a few sentences in each format, and how they are read."""

from collections.abc import Sequence
from pathlib import Path

from keras_transformer.text.corpus import Pair, read_pairs, read_parallel

STUDENT = [Pair("Je suis étudiant.", "I am a student."), Pair("Merci.", "Thanks.")]


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def parallel(folder: Path, source: str | bytes, target: str | bytes) -> list[Pair]:
    files = written(folder / "train.fr", source), written(folder / "train.en", target)
    return list(read_parallel([files[0]], [files[1]]))


def pairs_of(path: Path, source_lang: str = "fr", target_lang: str = "en") -> list[Pair]:
    return list(read_pairs([path], source_lang, target_lang))


def tmx(*units: Sequence[tuple[str, str]], head: str = "") -> str:
    """Units as ((language, segment XML), ...)."""
    variants = [
        "".join(f'<tuv xml:lang="{lang}"><seg>{seg}</seg></tuv>' for lang, seg in unit) for unit in units
    ]
    body = "".join(f"<tu>{variant}</tu>" for variant in variants)
    return f'<?xml version="1.0"?>{head}<tmx version="1.4"><header/><body>{body}</body></tmx>'


STUDENT_TMX = tmx(*[(("fr", pair.source), ("en", pair.target)) for pair in STUDENT])
