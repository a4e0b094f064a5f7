"""tensorflow-text in a SavedModel gives the ids and the text of the sentencepiece library, whatever the text.

Nothing is done to the text in the graph but SentencepieceTokenizer(model=..., add_eos=True).
"""

import random
from itertools import accumulate, chain, pairwise
from unicodedata import category

import pytest
import tensorflow as tf
import tensorflow_text as tf_text
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.text.corpus import Pair
from keras_transformer.text.tokenizer import Tokenizer
from tests.support.texts import HOSTILE_BY_KIND, SCRIPTS


class InGraph(tf.Module):
    """What an export holds of the tokenizer."""

    def __init__(self, tokenizer):
        super().__init__()
        self.source = tf_text.SentencepieceTokenizer(model=tokenizer.source_model, add_eos=True)
        self.target = tf_text.SentencepieceTokenizer(model=tokenizer.target_model, add_eos=True)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def encode(self, texts):
        ids = self.source.tokenize(texts)
        return ids.flat_values, ids.row_splits

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int32), tf.TensorSpec([None], tf.int64)])
    def decode(self, values, splits):
        return self.target.detokenize(tf.RaggedTensor.from_row_splits(values, splits))


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def tokenizer(request):
    return Tokenizer.train(SCRIPTS, kind=request.param)


@pytest.fixture(scope="module")
def graph(tokenizer, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("exported"))
    tf.saved_model.save(InGraph(tokenizer), path)
    return tf.saved_model.load(path)


def encoded(graph, texts):
    values, splits = (
        tensor.numpy().tolist() for tensor in graph.encode(tf.constant([t.encode() for t in texts]))
    )
    return [values[start:end] for start, end in pairwise(splits)]


def decoded(graph, rows):
    values = tf.constant(list(chain.from_iterable(rows)), tf.int32)
    splits = tf.constant(list(accumulate(map(len, rows), initial=0)), tf.int64)
    return [text.decode() for text in graph.decode(values, splits).numpy()]


def assert_same(tokenizer, graph, texts):
    ids = tokenizer.encode_source(texts)
    assert encoded(graph, texts) == ids
    assert decoded(graph, ids) == tokenizer.decode_target(ids)


@pytest.mark.parametrize("kind", HOSTILE_BY_KIND)
def test_hostile_text_has_the_same_ids_and_comes_back_the_same(tokenizer, graph, kind):
    assert_same(tokenizer, graph, HOSTILE_BY_KIND[kind])


def test_every_character_of_unicode_between_others(tokenizer, graph):
    characters = [character for character in map(chr, range(0x110000)) if category(character)[0] != "C"]
    characters += [character for character in map(chr, range(0xFFFF)) if category(character) in {"Cc", "Cf"}]
    assert_same(
        tokenizer, graph, ["".join(characters[start : start + 64]) for start in range(0, len(characters), 64)]
    )
    assert_same(tokenizer, graph, [f"a{character}b" for character in characters[:0x3100]])


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_pieces_that_could_be_cut_in_two_ways_are_cut_the_same(kind):
    # 000 as 0 + 00 or 00 + 0: with the scores that SentencePiece trains, 3,300 of 4,000 such texts differed.
    tokenizer = Tokenizer.train([Pair(f"{n} {n}00 t tt", f"{n}0 tt t{n}") for n in range(400)], kind=kind)
    chance = random.Random(0)
    parts = ["000", "ttt", "0", "t", " ", "👍", "É", "é", "1000", "5"]
    texts = ["".join(chance.choices(parts, k=chance.randrange(100))) for _ in range(4000)]
    texts += ["".join(chance.choices(parts, k=5500)) for _ in range(5)]
    assert len(texts[-1]) > 9000
    assert_same(tokenizer, InGraph(tokenizer), texts)


@settings(deadline=None)
@given(st.lists(st.text(), min_size=1, max_size=8))
def test_any_text_has_the_same_ids_and_comes_back_the_same(tokenizer, graph, texts):
    assert_same(tokenizer, graph, texts)


def test_any_ids_decode_to_the_same_text(tokenizer, graph):
    # What a model may say: special ids anywhere, half characters as bytes, spaces first and last.
    chance = random.Random(0)
    size = tokenizer.target_size
    groups = [range(4), range(4, 260), range(260, size), tokenizer.encode_target(["▁ a"])[0]]
    rows = [[chance.choice(chance.choice(groups)) for _ in range(chance.randrange(12))] for _ in range(5000)]
    rows += [[number] for number in range(size)]
    assert decoded(graph, rows) == tokenizer.decode_target(rows)


def test_half_a_character_is_the_replacement_character_before_it_can_reach_a_graph(tokenizer, graph):
    assert tokenizer.encode_source(["a\ud83db"]) == encoded(graph, ["a\ufffdb"])


def test_a_limit_is_a_slice_in_the_graph(tokenizer, graph):
    text = "Je suis étudiant à l'école."
    (ids,) = encoded(graph, [text])
    assert tokenizer.encode_source([text], max_tokens=5) == [[*ids[:4], tokenizer.eos_id]]
