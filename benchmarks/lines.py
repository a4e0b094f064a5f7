"""Lines of several sentences: translated as one, sentence by sentence, and as `translate` divides them.

    python benchmarks/lines.py --run RUN --source FILE --reference FILE --json

Lines of 1, 2 and 5 sentences are put together from the first 600 lines of a test set, whose lines should
be single sentences that the run has not seen. Printed are BLEU and the lines that are exactly right.
"""

import argparse
import tempfile
from pathlib import Path

import measure
import smallest

SENTENCES, TOGETHER = measure.Effort(smoke=10, quick=60, whole=600), (1, 2, 5)


def main() -> None:
    """Every way, for every number of sentences."""
    parser = measure.parser(__doc__)
    parser.add_argument("--run", type=Path, help="a trained run")
    parser.add_argument("--source", type=Path, help="a sentence a line")
    parser.add_argument("--reference", type=Path, help="their translations")
    parser.add_argument(
        "--tokenize", default="13a", help="sacreBLEU's, or none for text that is tokenized (13a)"
    )
    options = parser.parse_args()
    if options.smoke:
        with tempfile.TemporaryDirectory() as scratch:
            names = ("model.keras", "test.fr", "test.en")
            options.run, options.source, options.reference = (Path(scratch) / name for name in names)
            smallest.write_model(options.run)
            smallest.write_texts(options.source, options.reference)
            _measure(options)
    elif not (options.run and options.source and options.reference):
        parser.error("--run, --source and --reference are needed")
    else:
        _measure(options)


def _measure(options: argparse.Namespace) -> None:
    from sacrebleu.metrics import BLEU

    from keras_transformer import TranslationModel
    from keras_transformer.models.translate import translate_sentences

    model = TranslationModel.load(options.run)
    by_sentence = model.with_policy("float32")
    by_sentence.lengths = model.lengths._replace(whole=0)
    count = SENTENCES.of(options)
    sources, references = (
        path.read_text(encoding="utf-8").splitlines()[:count] for path in (options.source, options.reference)
    )
    figures = {}
    for together in TOGETHER:
        lines, wanted = (_joined(sentences, together) for sentences in (sources, references))
        found = {
            "as one line": translate_sentences(model, lines),
            "sentence by sentence": by_sentence.translate(lines),
            "translate": model.translate(lines),
        }
        for way, said in found.items():
            figures[f"{together} {way}"] = {
                "BLEU": round(
                    BLEU(tokenize=options.tokenize, force=True).corpus_score(said, [wanted]).score, 1
                ),
                "right": sum(one == other for one, other in zip(said, wanted, strict=True)),
                "lines": len(lines),
            }
            print(f"{together} {way}: {figures[f'{together} {way}']}", flush=True)
    measure.report("lines", ["tensorflow", "sacrebleu"], figures, {}, options.json)


def _joined(sentences: list[str], together: int) -> list[str]:
    return [" ".join(sentences[first : first + together]) for first in range(0, len(sentences), together)]


if __name__ == "__main__":
    main()
