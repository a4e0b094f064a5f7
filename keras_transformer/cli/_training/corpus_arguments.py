"""The options of a corpus, of `train` and `distill`."""

import argparse
from dataclasses import fields
from pathlib import Path
from typing import Any


def configure_corpus(parser: argparse.ArgumentParser, languages: str) -> None:
    """Add the options of the corpus; `languages` says what the languages are by default."""
    corpus = parser.add_argument_group("corpus")
    corpus.add_argument(
        "--source", type=Path, nargs="+", metavar="F", help="source text, one sentence per line; may be .gz"
    )
    corpus.add_argument(
        "--target", type=Path, nargs="+", metavar="F", help="translation of the source text, line by line"
    )
    corpus.add_argument(
        "--pairs",
        nargs="+",
        metavar="F[=W]",
        help="files with both sides: .tsv, .jsonl or .tmx; a.tsv=3 b.tsv=1 draws three sentences of a for "
        "one of b, however large they are",
    )
    corpus.add_argument("--phrasebook", metavar="L-L", help="train from the embedded corpus: fr-en or en-fr")
    corpus.add_argument(
        "--source-lang", metavar="L", help=f"language of the source, for example fr ({languages})"
    )
    corpus.add_argument(
        "--target-lang", metavar="L", help=f"language of the target, for example en ({languages})"
    )
    corpus.add_argument(
        "--valid-source",
        type=Path,
        nargs="+",
        metavar="F",
        help="held-out source text for the scores (some of the corpus)",
    )
    corpus.add_argument(
        "--valid-target", type=Path, nargs="+", metavar="F", help="its translation, line by line"
    )
    corpus.add_argument(
        "--max-words", type=int, metavar="N", help="drop pairs with more words on a side (150)"
    )
    corpus.add_argument(
        "--max-ratio", type=float, metavar="X", help="drop pairs whose lengths differ by a larger factor (4)"
    )
    corpus.add_argument("--keep-duplicates", action="store_true", help="keep repeated pairs")


def corpus_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of the corpus, as `Corpus` takes them."""
    from keras_transformer.training.data.corpus_options import Corpus

    given = {field.name: getattr(arguments, field.name) for field in fields(Corpus)}
    return {
        name: [str(path) for path in value] if isinstance(value, list) else value
        for name, value in given.items()
    }
