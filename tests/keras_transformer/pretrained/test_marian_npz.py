"""Marian's own model.npz: CTranslate2's Marian converter judges what it means."""

import io
import json
import pickle
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece

from keras_transformer import TranslationModel
from keras_transformer.pretrained.directory import PretrainedDirectory, PretrainedError
from keras_transformer.pretrained.marian_files import read_marian_vocabularies
from keras_transformer.pretrained.marian_npz import read_npz
from keras_transformer.text.vocabulary import START_ID
from tests.support import marian_npz
from tests.support.marian_kinds import sentences

#: Options, and a seed under which answers differ from text to text.
KINDS: dict[str, dict[str, Any]] = {
    "post-norm, one SentencePiece model": {"vocabularies": "one spm", "seed": 2},
    "pre-norm": {**marian_npz.PRE_NORM, "seed": 5},
    "relu, deep encoder, one table and an output of its own": {
        "transformer_ffn_activation": "relu", "enc_depth": 3,
        "tied_embeddings_all": False, "tied_embeddings_src": True, "seed": 7,
    },
    "pre-norm, own tables": {**marian_npz.PRE_NORM, "tied_embeddings_all": False, "seed": 0},
    "own tables, tied output, one SentencePiece model": {
        "vocabularies": "one spm", "tied_embeddings_all": False, "tied_embeddings": True, "seed": 2,
    },
    "a SentencePiece model for each side": {
        "vocabularies": "two spm", "tied_embeddings_all": False, "seed": 0,
    },
    "an OPUS-MT package with a list for each side": {
        **marian_npz.PRE_NORM, "vocabularies": "two lists", "packed": True,
        "tied_embeddings_all": False, "tied_embeddings": True, "seed": 0,
    },
}  # fmt: skip
TEXTS = sentences(40, 11)


def made(directory: Path, kind: dict[str, Any]) -> Path:
    marian_npz.make(directory, **{name.replace("-", "_"): value for name, value in kind.items()})
    return directory


@pytest.mark.parametrize("kind", KINDS)
def test_answers_and_logits_are_those_of_ctranslate2s_converter(kind: str, tmp_path: Path) -> None:
    ctranslate2 = pytest.importorskip("ctranslate2")
    directory = made(tmp_path / "marian", KINDS[kind])
    ours = TranslationModel.from_pretrained(directory)
    names = ours.tokenizer.vocabularies[1]
    files = marian_npz.VOCABULARIES[KINDS[kind].get("vocabularies", "one yml")]
    vocabularies = [read_pieces(directory / file) for file in files]
    for side, pieces in zip("st", vocabularies, strict=True):
        marian_npz.write_yml(tmp_path / side, pieces)
    (model,) = directory.glob("*.npz")
    converter = ctranslate2.converters.MarianConverter(str(model), [str(tmp_path / side) for side in "st"])
    translator = ctranslate2.Translator(converter.convert(str(tmp_path / "ctranslate2")), intra_threads=1)
    encoded = ours.tokenizer.encode_source(TEXTS)
    model_file = directory / (files[0] if files[0].endswith(".spm") else "source.spm")
    rows = sentencepiece.SentencePieceProcessor(model_file=str(model_file)).encode(TEXTS, out_type=str)
    for beam in (1, 4):
        found = ours.hypotheses(TEXTS, beam=beam, alignment=False, max_tokens=12, loop_guard=False)
        theirs = translator.translate_batch(
            rows, beam_size=beam, num_hypotheses=beam, max_decoding_length=12, disable_unk=True,
            return_logits_vocab=beam == 1,
        )  # fmt: skip
        own = [[[names[number] for number in answer.tokens] for answer in answers] for answers in found]
        assert own == [result.hypotheses for result in theirs]
        assert len({tuple(answers[0]) for answers in own}) > 20  # answers follow from their sources
        if beam == 1:
            pieces = [vocabularies[1].index(name) for name in names[4:]]
            for row, (answer,), result in [*zip(encoded, found, theirs, strict=True)][:10]:
                target = [[START_ID, *answer.tokens[:-1]]]
                logits = np.asarray(ours({"source": np.array([row]), "target": np.array(target)}))[0, :, 4:]
                expected = np.stack([np.array(step) for step in result.logits[0]])[: len(logits), pieces]
                np.testing.assert_allclose(logits, expected, rtol=0, atol=1e-4)


def read_pieces(vocabulary: Path) -> list[str]:
    """The pieces of a vocabulary in the order of their ids, read without the product."""
    if vocabulary.suffix == ".yml":
        lines = [line.rsplit(": ", 1)[0] for line in vocabulary.read_text("utf-8").splitlines()]
        return [json.loads(line) for line in lines]
    if vocabulary.suffix == ".spm":
        processor = sentencepiece.SentencePieceProcessor(model_file=str(vocabulary))
        return [processor.id_to_piece(number) for number in range(processor.vocab_size())]
    return vocabulary.read_text("utf-8").split("\n")[:-1]


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


TABLES = {"tied_embeddings_all": False}
#: Directories whose files contradict each other, or that name what is not imported.
CONTRADICTORY: dict[str, tuple[dict[str, Any], Callable[[Path], object], list[str]]] = {
    "one table for two vocabularies": (
        {"vocabularies": "two spm"},
        lambda directory: None,
        ["tied-embeddings-all", "source.spm and target.spm differ", "name one vocabulary for both"],
    ),
    "a vocabulary of the other side's size": (
        {"vocabularies": "two yml", "packed": True, **TABLES},
        lambda directory: marian_npz.write_yml(directory / "opus.trg.vocab.yml", ["</s>", "<unk>", "a"]),
        ["opus.trg.vocab.yml: it has 3 pieces"],
    ),
    "no vocabulary": (
        {"vocabularies": "two spm", **TABLES},
        lambda directory: (directory / "target.spm").unlink(),
        ["target.spm is missing"],
    ),
    "a vocabulary that decoder.yml names and the directory lacks": (
        {"vocabularies": "two lists", "packed": True, **TABLES},
        lambda directory: (directory / "opus.src.vocab").unlink(),
        ["opus.src.vocab is missing"],
    ),
    "a SentencePiece model that is none": (
        {"vocabularies": "two spm", **TABLES},
        lambda directory: (directory / "target.spm").write_bytes(b"spm"),
        ["target.spm must be a SentencePiece model"],
    ),
    "a list that is no text": (
        {"vocabularies": "two lists", "packed": True, **TABLES},
        lambda directory: (directory / "opus.trg.vocab").write_bytes(b"\xff\n"),
        ["opus.trg.vocab must be text with a line for each piece"],
    ),
    "an ensemble": (
        {"packed": True},
        lambda directory: marian_npz.write_decoder(directory, {"models": ["a.npz", "b.npz"]}),
        ["decoder.yml: models must be a list of 1 file name (it names 2)"],
    ),
    "a model in the format of marian-conv": (
        {"packed": True},
        lambda directory: marian_npz.write_decoder(directory, {"models": ["model.intgemm8.bin"]}),
        ["'model.intgemm8.bin' is no .npz file; import the one from which"],
    ),
    "a decoder without vocabularies": (
        {"packed": True},
        lambda directory: marian_npz.write_decoder(directory, {"models": [marian_npz.PACKED]}),
        ["decoder.yml: vocabs must be a list of 2 file names"],
    ),
    "a decoder that is a list": (
        {"packed": True},
        lambda directory: marian_npz.write_decoder(directory, ["models"]),
        ["decoder.yml: models must be a list of 1 file name"],
    ),
    "a decoder that leaves the directory": (
        {"packed": True},
        lambda directory: marian_npz.write_decoder(directory, {"models": [".."]}),
        ["'..' is no .npz file"],
    ),
}


@pytest.mark.parametrize("kind", CONTRADICTORY)
def test_a_contradictory_directory_is_refused_with_the_names_of_its_files(kind: str, tmp_path: Path) -> None:
    options, change, reasons = CONTRADICTORY[kind]
    marian_npz.make(tmp_path / "marian", **options)
    change(tmp_path / "marian")
    with pytest.raises(PretrainedError) as refused:
        TranslationModel.from_pretrained(tmp_path / "marian")
    for reason in reasons:
        assert reason in str(refused.value)


def test_a_vocabulary_has_the_same_pieces_in_each_format(tmp_path: Path) -> None:
    read = {}
    for kind in ("two yml", "two lists"):
        marian_npz.make(tmp_path / kind, vocabularies=kind, packed=True, **TABLES)
        read[kind] = read_marian_vocabularies(PretrainedDirectory(tmp_path / kind))
    for yml, listed in zip(*read.values(), strict=True):
        assert yml.pieces == listed.pieces
        assert len(yml.pieces) > 50


def test_equal_vocabularies_of_two_names_may_share_a_table(tmp_path: Path) -> None:
    directory = tmp_path / "marian"
    marian_npz.make(directory, vocabularies="one spm")
    for side in "ab":
        shutil.copy(directory / "vocab.spm", directory / f"{side}.spm")
    marian_npz.write_decoder(directory, {"models": ["model.npz"], "vocabs": ["a.spm", "b.spm"]})
    (directory / "vocab.spm").unlink()
    config, *_ = read_npz(PretrainedDirectory(directory))
    assert config.shares_vocabulary


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
BOMB = "a0: &a0 [1]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 1000)}]\n" for i in range(1, 9))
MERGES = (
    "a0: &a0 {"
    + ", ".join(f"k{i}: 1" for i in range(10))
    + "}\n"
    + "".join(f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 10)}]}}\n" for i in range(1, 12))
)
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
    "options that grow a thousandfold with each line": (
        lambda path: entry(path, OPTIONS, text(BOMB)),
        "option 'a1' must be a value or a list of values",
    ),
    "options that merge tenfold with each line": (
        lambda path: entry(path, OPTIONS, text(MERGES)),
        "could not determine a constructor",
    ),
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
    "vocabulary that nests": (
        lambda path: (path.parent / "vocab.yml").write_text("[" * 30_000),
        "vocab.yml must be YAML with a line `piece: id` for each piece (it is nested too deeply)",
    ),
    "names that nest": (
        lambda path: (path.parent / "decoder.yml").write_text("models: " + "[" * 30_000),
        "nested too deeply",
    ),
    "a name that is too long": (
        lambda path: (path.parent / "decoder.yml").write_text(f"models: [{'m' * 300}.npz]"),
        "a name has more than 255 bytes",
    ),
    "names of what is not there": (
        lambda path: (path.parent / "decoder.yml").write_text("models: [other.npz]"),
        "other.npz is missing, which decoder.yml names: copy it into the directory, or correct decoder.yml",
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
