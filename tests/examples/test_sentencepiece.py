"""SentencePiece in JavaScript gives the ids and the text of the library, whatever the text and the model."""

import io
import json
import random
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unicodedata import category

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece import sentencepiece_model_pb2

from keras_transformer.text.corpus import Pair
from keras_transformer.text.tokenizer import Tokenizer
from tests.support.texts import HOSTILE, HOSTILE_BY_KIND, MIXED, SCRIPTS

ALL_HOSTILE = [*HOSTILE, *(text for texts in HOSTILE_BY_KIND.values() for text in texts)]
HALVES = ["a\ud83db", "\ud83d\ude00", "\ude00\ud83d", "\ud83d"]
TIES = [Pair(f"{n} {n}00 t tt", f"{n}0 tt t{n}") for n in range(400)]  # 000 is 0 + 00 and 00 + 0
PARTS = ["000", "ttt", "0", "t", " ", "👍", "É", "é", "1000", "5", "étu", "▁", "e\u0301", "\u200b", "<s>"]

Rows = Sequence[Sequence[int]]


class Javascript:
    """A Node process with the tokenizer, asked over a pipe."""

    def __init__(self, node: str) -> None:
        command = [node, str(Path(__file__).with_name("tokenizer.mjs"))]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def encode(self, model: Path, texts: Sequence[str], most: int | None = None) -> list[list[int]]:
        limit = {} if most is None else {"most": most}
        return self._ask(model=str(model), texts=list(texts), **limit)["ids"]

    def decode(self, model: Path, rows: Rows) -> list[str]:
        return self._ask(model=str(model), rows=[list(row) for row in rows])["texts"]

    def refusal(self, model: Path, **question: Any) -> str:
        return self._ask(model=str(model), **question)["error"]

    def _ask(self, **question: Any) -> dict[str, Any]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(question).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate()


@pytest.fixture(scope="module")
def javascript(node: str) -> Iterator[Javascript]:
    started = Javascript(node)
    yield started
    started.close()


class Ours:
    """A tokenizer as training makes it, beside the same files in JavaScript."""

    def __init__(self, tokenizer: Tokenizer, directory: Path, javascript: Javascript) -> None:
        tokenizer.save(directory)
        self.tokenizer = tokenizer
        self.javascript = javascript
        names = ("shared", "shared") if tokenizer.joint else ("source", "target")
        self.source, self.target = (directory / f"{name}.model" for name in names)

    def assert_same(self, texts: Sequence[str]) -> None:
        source, target = self.tokenizer.encode_source(texts), self.tokenizer.encode_target(texts)
        assert self.javascript.encode(self.source, texts) == source
        assert self.javascript.encode(self.target, texts) == target
        self.assert_decoded(target)

    def assert_decoded(self, rows: Rows) -> None:
        assert self.javascript.decode(self.target, rows) == self.tokenizer.decode_target(rows)


@pytest.fixture(scope="module", params=["bpe joint", "bpe separate", "unigram joint", "unigram separate"])
def ours(
    request: pytest.FixtureRequest, javascript: Javascript, tmp_path_factory: pytest.TempPathFactory
) -> Ours:
    kind, sides = request.param.split()
    tokenizer = Tokenizer.train([*MIXED, *SCRIPTS, *TIES], kind=kind, joint=sides == "joint")
    return Ours(tokenizer, tmp_path_factory.mktemp("tokenizer") / "tokenizer", javascript)


def chance_texts(count: int, most: int) -> list[str]:
    chance = random.Random(0)
    return ["".join(chance.choices(PARTS, k=chance.randrange(most))) for _ in range(count)]


# Our own models


def test_hostile_text_has_the_same_ids_and_comes_back_the_same(ours: Ours) -> None:
    ours.assert_same([*ALL_HOSTILE, *HALVES])


def test_every_character_of_unicode_between_others(ours: Ours) -> None:
    characters = [character for character in map(chr, range(0x110000)) if category(character)[0] != "C"]
    characters += [character for character in map(chr, range(0xFFFF)) if category(character) in {"Cc", "Cf"}]
    ours.assert_same(["".join(characters[at : at + 512]) for at in range(0, len(characters), 512)])
    ours.assert_same([f"a{character}b" for character in characters[:0x3100]])


def test_pieces_that_could_be_cut_in_two_ways_are_cut_the_same(ours: Ours) -> None:
    ours.assert_same([*chance_texts(1000, 60), *chance_texts(2, 6000)])


def test_any_text_has_the_same_ids_and_comes_back_the_same(ours: Ours) -> None:
    @given(st.lists(st.text(), min_size=1, max_size=8))
    def same(texts: list[str]) -> None:
        ours.assert_same(texts)

    same()


def test_any_ids_decode_to_the_same_text(ours: Ours) -> None:
    # What a model may say: special ids anywhere, half characters as bytes, spaces first and last.
    chance = random.Random(0)
    size = ours.tokenizer.target_size
    groups = [range(4), range(4, 260), range(260, size), ours.tokenizer.encode_target(["▁ a"])[0]]
    rows = [[chance.choice(chance.choice(groups)) for _ in range(chance.randrange(12))] for _ in range(5000)]
    byte_order_mark = [4 + byte for byte in "\ufeff".encode()]
    ours.assert_decoded([*rows, *([number] for number in range(size)), byte_order_mark])


def test_a_limit_cuts_the_text_and_never_the_end(ours: Ours) -> None:
    text = "Je suis étudiant à l'école. 👍"
    (ids,) = ours.tokenizer.encode_source([text])
    for most in range(1, len(ids) + 2):
        expected = ours.tokenizer.encode_source([text], most)
        assert ours.javascript.encode(ours.source, [text], most) == expected


# Models that others trained


def trained(retyped: slice = slice(0), as_type: int = 0, **options: Any) -> bytes:
    """A model of SentencePiece with these settings; some of its pieces may be of another type afterwards."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(text for pair in [*MIXED, *SCRIPTS, *TIES] for text in pair),
        model_writer=model,
        hard_vocab_limit=False,
        minloglevel=3,
        **{"vocab_size": 500, **options},
    )
    proto = sentencepiece_model_pb2.ModelProto.FromString(model.getvalue())
    for piece in proto.pieces[retyped]:
        piece.type = as_type
    return proto.SerializeToString()


USER_DEFINED, UNUSED = 4, 5
OF_THE_USER = ["étu", "00", "0000", " t", "a  b", "▁x", "t▁", "é", "👍"]
FOREIGN: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "lower-cased": {"normalization_rule_name": "nmt_nfkc_cf", "byte_fallback": True},
    "nothing normalised": {"normalization_rule_name": "identity", "remove_extra_whitespaces": False},
    "no space before": {"add_dummy_prefix": False, "split_by_whitespace": False},
    "all spaces kept": {
        "normalization_rule_name": "identity",
        "add_dummy_prefix": False,
        "remove_extra_whitespaces": False,
    },
    "rare characters unknown": {"character_coverage": 0.98, "unk_surface": "?"},
    "pieces of the user": {"user_defined_symbols": OF_THE_USER, "byte_fallback": True},
    "pieces made the user's": {"retyped": slice(60, None, 3), "as_type": USER_DEFINED},
    "pieces out of use": {"retyped": slice(40, None, 3), "as_type": UNUSED},
    "a character reserved": {"control_symbols": ["é", "0"]},
}


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("name", FOREIGN)
def test_a_model_that_was_trained_otherwise_gives_the_same(
    name: str, kind: str, javascript: Javascript, tmp_path: Path
) -> None:
    path = tmp_path / "foreign.model"
    path.write_bytes(trained(model_type=kind, **FOREIGN[name]))
    library = sentencepiece.SentencePieceProcessor(str(path))
    texts = [*ALL_HOSTILE, "\ufeffa", *chance_texts(1000, 60)]
    ids = library.encode(texts)
    assert javascript.encode(path, texts) == [[*row, 3] for row in ids]
    chance, size = random.Random(1), library.vocab_size()
    rows = [[chance.randrange(size) for _ in range(chance.randrange(8))] for _ in range(3000)]
    rows += [*ids, *([number] for number in range(size))]
    assert javascript.decode(path, rows) == library.decode(rows)


# What is refused


def test_what_cannot_be_read_is_refused_with_the_reason(
    javascript: Javascript, tmp_path: Path, ours: Ours
) -> None:
    whole = ours.source.read_bytes()
    rules = tmp_path / "rules.tsv"
    rules.write_text("65\t66\n")  # e becomes f when decoded
    reasons: list[tuple[bytes, str]] = [
        (b"", "these 0 bytes are not a SentencePiece model: it has no unknown piece"),
        (b"hello", "these 5 bytes are not a SentencePiece model: a field has the wire type 4"),
        (whole[:1000], "these 1000 bytes are not a SentencePiece model: it ends too early"),
        (trained(model_type="char"), "model_type must be 1 (unigram) or 2 (bpe); got 4"),
        (
            trained(treat_whitespace_as_suffix=True),
            "treat_whitespace_as_suffix is not known here: train the model without it",
        ),
        (
            trained(denormalization_rule_tsv=str(rules)),
            "denormalization_rule_tsv is not known here: train the model without it",
        ),
    ]
    for number, (content, reason) in enumerate(reasons):
        path = tmp_path / f"{number}.model"
        path.write_bytes(content)
        assert javascript.refusal(path, texts=["a"]) == reason


def test_an_id_that_the_vocabulary_has_not_is_refused(ours: Ours) -> None:
    size = ours.tokenizer.target_size
    for number in (-1, size, 1.5):
        said = ours.javascript.refusal(ours.target, rows=[[5, number]])
        assert said == f"this vocabulary has the ids 0 to {size - 1}; got {number}"
