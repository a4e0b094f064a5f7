"""Marian's own model.npz: CTranslate2's Marian converter judges what it means."""

import io
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer import TranslationModel
from keras_transformer.pretrained.directory import PretrainedError
from tests.support import marian_npz
from tests.support.marian_kinds import sentences

#: Options, and a seed under which answers differ from text to text.
KINDS: dict[str, dict[str, Any]] = {
    "post-norm": {"seed": 2},
    "pre-norm": {**marian_npz.PRE_NORM, "seed": 5},
    "relu, deep encoder": {"transformer_ffn_activation": "relu", "enc_depth": 3, "seed": 13},
    "pre-norm, own tables": {**marian_npz.PRE_NORM, "tied_embeddings_all": False, "seed": 0},
    "own tables, tied output": {"tied_embeddings_all": False, "tied_embeddings": True, "seed": 0},
    "one SentencePiece model": {"one_spm": True, "seed": 2},
}
TEXTS = sentences(40, 11)


def made(directory: Path, kind: dict[str, Any]) -> Path:
    marian_npz.make(directory, **{name.replace("-", "_"): value for name, value in kind.items()})
    return directory


@pytest.mark.parametrize("kind", KINDS)
def test_greedy_and_beam_answers_are_those_of_ctranslate2s_converter(kind: str, tmp_path: Path) -> None:
    ctranslate2 = pytest.importorskip("ctranslate2")
    directory = made(tmp_path / "marian", KINDS[kind])
    ours = TranslationModel.from_pretrained(directory)
    names = ours.tokenizer.vocabularies[1]
    vocabulary = directory / "vocab.yml"
    if not vocabulary.exists():  # the converter reads no SentencePiece model
        vocabulary = tmp_path / "vocab.yml"
        processor = ours.tokenizer._source.processor
        pieces = {processor.id_to_piece(number): number for number in range(processor.vocab_size())}
        lines = (f"{json.dumps(piece, ensure_ascii=False)}: {number}\n" for piece, number in pieces.items())
        vocabulary.write_text("".join(lines), encoding="utf-8")
    converter = ctranslate2.converters.MarianConverter(str(directory / "model.npz"), [str(vocabulary)] * 2)
    translator = ctranslate2.Translator(converter.convert(str(tmp_path / "ctranslate2")), intra_threads=1)
    rows = [ours.tokenizer.pieces_source(row[:-1]) for row in ours.tokenizer.encode_source(TEXTS)]
    for beam in (1, 4):
        found = ours.hypotheses(TEXTS, beam=beam, alignment=False, max_tokens=12, loop_guard=False)
        theirs = translator.translate_batch(
            rows, beam_size=beam, num_hypotheses=beam, max_decoding_length=12, disable_unk=True
        )
        own = [[[names[number] for number in answer.tokens] for answer in answers] for answers in found]
        assert own == [result.hypotheses for result in theirs]
        assert len({tuple(answers[0]) for answers in own}) > 20  # answers follow from their sources


def test_all_that_is_unlike_is_told_at_once(tmp_path: Path) -> None:
    options = {"type": "s2s", "transformer_decoder_autoreg": "rnn", "transformer_ffn_activation": "gelu"}
    made(tmp_path / "marian", {**options, "transformer_preprocess": "nd", "transformer_heads": 3})
    with pytest.raises(PretrainedError) as refused:
        TranslationModel.from_pretrained(tmp_path / "marian")
    text = str(refused.value)
    for name, value in (
        ("type", "s2s"), ("transformer-decoder-autoreg", "rnn"), ("transformer-ffn-activation", "gelu"),
        ("transformer-preprocess", "nd"), ("transformer-heads", "3"),
    ):  # fmt: skip
        (problem,) = (line for line in text.splitlines() if f" {name} " in line)
        assert value in problem


def test_missing_surplus_and_misshapen_tensors_are_told_at_once(tmp_path: Path) -> None:
    tensors = marian_npz.make(tmp_path / "marian")
    options = {**marian_npz.OPTIONS, "dim-vocabs": [len(tensors["Wemb"])] * 2}
    del tensors["decoder_l1_context_Wq"]
    tensors["decoder_l1_rnn_W"] = np.zeros((32, 32), np.float32)
    tensors["Wemb"] = tensors["Wemb"][:, :8]
    marian_npz.write_model(tmp_path / "marian", options, tensors)
    with pytest.raises(PretrainedError) as refused:
        TranslationModel.from_pretrained(tmp_path / "marian")
    assert [problem.split()[0:2] for problem in sorted(refused.value.problems)] == [
        ["Wemb", "has"], ["decoder_l1_context_Wq", "is"], ["decoder_l1_rnn_W", "is"],
    ]  # fmt: skip


def test_a_vocabulary_of_another_size_is_told_with_the_numbers_that_the_files_have(tmp_path: Path) -> None:
    size = len(marian_npz.make(tmp_path / "marian")["Wemb"])
    with (tmp_path / "marian" / "vocab.yml").open("a", encoding="utf-8") as file:
        file.write(f"another: {size + 1}\n")
    with pytest.raises(PretrainedError) as refused:
        TranslationModel.from_pretrained(tmp_path / "marian")
    assert refused.value.problems == [
        f"vocab.yml: it has {size + 1:,} pieces; the configuration has {size:,}",
        f"vocab.yml: the ids must be 0 to {size}; {size} is missing",
    ]


class Executed:
    def __reduce__(self) -> tuple[Any, ...]:
        return (Path("executed").touch, ())


def entry(path: Path, name: str, content: bytes | None, compression: int = zipfile.ZIP_STORED) -> None:
    """Change an entry of model.npz, or remove it."""
    with zipfile.ZipFile(path) as archive:
        entries = {each: archive.read(each) for each in archive.namelist() if each != name}
    with zipfile.ZipFile(path, "w", compression) as archive:
        for each, values in {**entries, **({} if content is None else {name: content})}.items():
            archive.writestr(each, values)


def array(values: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def text(options: str) -> bytes:
    return array(np.frombuffer(options.encode(), np.int8))


HUGE = array(np.zeros((99999999, 0), np.float32)).replace(b", 0)", b", 9)")
OPTIONS = "special:model.yml.npy"
HOSTILE: dict[str, tuple[Callable[[Path], object], str]] = {
    "no archive": (lambda path: path.write_bytes(b"PK" * 99), "damaged"),
    "truncated": (lambda path: path.write_bytes(path.read_bytes()[:9000]), "damaged"),
    "objects": (lambda path: entry(path, "Wemb.npy", array(np.array([Executed()], object))), "objects"),
    "a pickle": (lambda path: entry(path, "Wemb.npy", pickle.dumps(Executed())), "damaged"),
    "no options": (lambda path: entry(path, OPTIONS, None), "lacks special:model.yml"),
    "options that call": (
        lambda path: entry(path, OPTIONS, text("!!python/name:os.system x")),
        "python/name",
    ),
    "options that nest": (lambda path: entry(path, OPTIONS, text("[" * 9999)), "recursion"),
    "options of no names": (lambda path: entry(path, OPTIONS, text("- 1")), "options by name"),
    "a huge tensor": (lambda path: entry(path, "Wemb.npy", HUGE), "Wemb is truncated"),
    "numbers of texts": (lambda path: entry(path, "Wemb.npy", array(np.array(["a"]))), "not of floats"),
    "compressed": (lambda path: entry(path, "x", b"", zipfile.ZIP_DEFLATED), "is compressed"),
    "not finite": (
        lambda path: entry(path, "encoder_l1_self_bq.npy", array(np.full((1, 32), np.nan, np.float32))),
        "not finite",
    ),
    "vocabulary with an id twice": (
        lambda path: (path.parent / "vocab.yml").write_text('"</s>": 0\n"<unk>": 1\na: 0'),
        "the id 0 is given twice",
    ),
    "vocabulary of a list": (lambda path: (path.parent / "vocab.yml").write_text("- 1"), "piece: id"),
    "vocabulary without an end": (
        lambda path: (path.parent / "vocab.yml").write_text('"<unk>": 0'),
        "lacks '</s>'",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_damaged_or_hostile_directory_is_refused_and_nothing_runs(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    marian_npz.make(tmp_path / "marian")
    change, reason = HOSTILE[kind]
    change(tmp_path / "marian" / "model.npz")
    with pytest.raises(PretrainedError) as refused:
        TranslationModel.from_pretrained(tmp_path / "marian")
    assert reason in str(refused.value)
    assert not (tmp_path / "executed").exists()
