"""The first stage of a distillation: read and clean the corpus once, and write what is to be translated."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from keras_transformer.files import Synced
from keras_transformer.text.cleaning import CleaningReport, CleaningRules, clean, is_new, regular
from keras_transformer.text.corpus import CorpusError, Pair, read_pairs, read_text
from keras_transformer.training.data.corpus_options import Corpus
from keras_transformer.training.data.prepare import HeldOut, check_divided
from keras_transformer.training.distillation import BACK, MONOLINGUAL, ORIGINAL, TEACHER
from keras_transformer.training.distillation.folder import Folder

SPOOL = "corpus.tsv"


def write_texts(
    folder: Folder,
    corpus: Corpus,
    monolingual_source: Sequence[Path],
    monolingual_target: Sequence[Path],
    notify: Callable[[str], None],
) -> None:
    """Write the pairs of the corpus, held-out pairs, and the texts to translate, each of them once.

    Args:
        folder: The folder of the distillation. If the stage is complete there, nothing is done.
        corpus: The parallel corpus.
        monolingual_source: Files of text in the source language, for the teacher.
        monolingual_target: Files of text in the target language, for the backward model.
        notify: Called with each line of progress.

    Raises:
        CorpusError: If a file cannot be read, or nothing is left of one of them.
    """
    if folder.read("texts.json") is not None:
        return
    rules = corpus.rules()
    reports = {ORIGINAL: CleaningReport()}
    training, valid = corpus.read()
    held_out = HeldOut()
    pairs = clean(training, rules, reports[ORIGINAL])
    own = None if valid is None else list(valid)
    spool = folder.path / SPOOL
    spooled = _write_pairs(spool, pairs if own is not None else held_out.chosen_from(pairs))
    notify(str(reports[ORIGINAL]))
    validation = list(held_out.pairs.values()) if own is None else own
    count = spooled - held_out.times.total()
    check_divided(reports[ORIGINAL].kept, count, len(validation))
    _write_valid(folder, validation)
    seen: set[bytes] = set()
    sentences = {TEACHER: _write_corpus(folder, held_out, seen)}
    spool.unlink()
    for pair in validation:
        is_new([regular(pair.source)], seen)  # a held-out sentence is not translated
    answers = {regular(pair.target) for pair in validation}
    for part, files in ((MONOLINGUAL, monolingual_source), (BACK, monolingual_target)):
        if files:
            reports[part] = CleaningReport()
            lines = _sentences(files, rules, reports[part])
            if part == MONOLINGUAL:
                kept = (line for line in lines if is_new([line], seen))
            else:
                kept = (line for line in lines if line not in answers)
            sentences[part] = _write_lines(folder.texts(part), kept)
            _check_any(sentences[part], files)
            notify(f"{_names(files)}: {reports[part].read:,} sentences, {sentences[part]:,} to translate")
    content = {
        "pairs": count,
        "held_out": len(validation),
        "sentences": sentences,
        "cleaning": {part: report.as_dict() for part, report in reports.items()},
    }
    folder.write("texts.json", content)


def _write_corpus(folder: Folder, held_out: HeldOut, seen: set[bytes]) -> int:
    """Write the pairs that are trained on, and each of their sources once; return the number of these."""
    count = 0
    folder.texts(TEACHER).parent.mkdir(exist_ok=True)
    with ExitStack() as files:
        pairs, texts = (
            files.enter_context(Synced(path)) for path in (folder.pairs(ORIGINAL), folder.texts(TEACHER))
        )
        for pair in read_pairs([folder.path / SPOOL], "", ""):
            if pair.source not in held_out.pairs:
                pairs.write("\t".join(pair).encode() + b"\n")
                if is_new([pair.source], seen):
                    texts.write(pair.source.encode() + b"\n")
                    count += 1
    return count


def _write_valid(folder: Folder, pairs: Sequence[Pair]) -> None:
    for path, side in zip(folder.valid, zip(*pairs, strict=True), strict=True):
        _write_lines(path, map(regular, side))


def _write_pairs(path: Path, pairs: Iterable[Pair]) -> int:
    return _write_lines(path, ("\t".join(pair) for pair in pairs))


def _write_lines(path: Path, lines: Iterable[str]) -> int:
    count = 0
    path.parent.mkdir(exist_ok=True)
    with Synced(path) as file:
        for line in lines:
            file.write(line.encode() + b"\n")
            count += 1
    return count


def _sentences(files: Sequence[Path], rules: CleaningRules, report: CleaningReport) -> Iterator[str]:
    """Yield each line that is worth translating once; it is cleaned as a pair of itself."""
    both = (Pair(line, line) for line in read_text(files))
    for pair in clean(both, replace(rules, drop_copies=False, drop_duplicates=True), report):
        yield pair.source


def _check_any(count: int, files: Sequence[Path]) -> None:
    if not count:
        raise CorpusError(
            f"every sentence of {_names(files)} is in the corpus already, or held out: leave it out, or give "
            "other text"
        )


def _names(files: Sequence[Path]) -> str:
    return ", ".join(map(str, files))
