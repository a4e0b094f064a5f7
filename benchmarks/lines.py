"""Lines of several sentences: translated as one, sentence by sentence, and as `translate` divides them.

    python benchmarks/lines.py --run RUN --source FILE --reference FILE --json

Lines of 1, 2 and 5 sentences are put together from the first 600 lines of a test set, whose lines should
be single sentences that the run has not seen. Printed are BLEU and the lines that are exactly right.
"""

from pathlib import Path

import measure

SENTENCES, TOGETHER = 600, (1, 2, 5)


def main() -> None:
    """Every way, for every number of sentences."""
    parser = measure.parser(__doc__)
    parser.add_argument("--run", type=Path, required=True, help="a trained run")
    parser.add_argument("--source", type=Path, required=True, help="a sentence a line")
    parser.add_argument("--reference", type=Path, required=True, help="their translations")
    parser.add_argument(
        "--tokenize", default="13a", help="sacreBLEU's, or none for text that is tokenised (13a)"
    )
    options = parser.parse_args()

    from sacrebleu.metrics import BLEU

    from keras_transformer import TranslationModel
    from keras_transformer.models.translate import translate_sentences

    model = TranslationModel.load(options.run)
    by_sentence = model.with_policy("float32")
    by_sentence.lengths = model.lengths._replace(whole=0)
    most = SENTENCES // 10 if options.quick else SENTENCES
    sources, references = (
        path.read_text(encoding="utf-8").splitlines()[:most] for path in (options.source, options.reference)
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
