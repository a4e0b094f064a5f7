"""Models of a preset learn by compile and fit alone, and generate the same in any batch."""

from pathlib import Path

import keras
import numpy as np
import pytest
from keras import ops
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from keras_transformer.models import GPT2, T5, Llama
from keras_transformer.text.subword_tokenizer import SubwordTokenizer
from tests.support.compiling import JIT

SMALL = {"num_layers": 1, "width": 32, "inner_width": 48, "num_heads": 4}
COUNTING = (np.arange(12) + np.arange(512)[:, None]) % 9 + 2  # each number follows the one before it


def small(kind, **changes):
    keras.utils.set_random_seed(1)
    dropouts = {"attention_dropout": 0.0}
    if kind is GPT2:
        dropouts |= {"dropout": 0.0, "embedding_dropout": 0.0, "max_length": 40}
    return kind.from_preset("tiny", vocabulary_size=12, **SMALL, **dropouts, **changes)


@pytest.fixture(scope="module", params=[GPT2, Llama], ids=lambda kind: kind.__name__)
def trained(request):
    model = small(request.param, end_id=0)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-2), loss, jit_compile=JIT)
    model.fit(COUNTING[:, :-1], COUNTING[:, 1:], batch_size=64, epochs=4, verbose=0)
    return model


def test_it_learns_to_count_and_continues_each_prompt_where_it_stands(trained):
    assert trained.generate([[4], [2, 3, 4, 5], [9, 10]], max_new_tokens=5) == [
        [5, 6, 7, 8, 9],
        [6, 7, 8, 9, 10],
        [2, 3, 4, 5, 6],
    ]


@pytest.mark.parametrize(
    "options",
    [{"temperature": 2.0}, {"temperature": 3.0, "top_k": 5, "top_p": 0.9}, {"repetition_penalty": 4.0}],
)
def test_a_prompt_has_the_same_tokens_in_any_batch(trained, options):
    prompts, seeds = [[4], [2, 3, 4, 5], [9, 10], [4]], [1, 2, 3, 5]
    together = trained.generate(prompts, 8, seed=seeds, **options)
    for prompt, seed, expected in zip(prompts, seeds, together, strict=True):
        assert trained.generate([prompt], 8, seed=seed, **options) == [expected]
    assert trained.generate(prompts, 8, seed=seeds, batch_size=2, **options) == together
    if "temperature" in options:
        assert together[0] != together[3]


def test_greedy_generation_is_the_highest_logit_of_the_whole_text_at_every_step(trained):
    for prompt in ([4], [2, 7, 7, 3]):
        row = list(prompt)
        for token in trained.generate([prompt], 6)[0]:
            logits = ops.convert_to_numpy(trained(np.array([row])))[0, -1]
            assert token == logits.argmax()
            row.append(token)


def test_a_text_ends_with_the_end_id(trained):
    other = small(type(trained), end_id=7)
    other.set_weights(trained.get_weights())
    assert other.generate([[4], [8]], 6) == [[5, 6, 7], [9, 10, 2, 3, 4, 5]]


def test_what_pads_a_row_changes_nothing_before_it(trained):
    ids = np.array([[4, 5, 6, 7]])
    np.testing.assert_allclose(
        ops.convert_to_numpy(trained(ids))[:, :2],
        ops.convert_to_numpy(trained(ids[:, :2])),
        rtol=0,
        atol=1e-5,
    )


def test_a_saved_model_generates_the_same(trained, tmp_path: Path):
    trained.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    options = {"temperature": 2.0, "seed": 3}
    assert loaded.generate([[4, 5]], 9, **options) == trained.generate([[4, 5]], 9, **options)


def test_t5_learns_to_reverse_and_generates():
    keras.utils.set_random_seed(1)
    model = T5.from_preset(
        "tiny", vocabulary_size=12, encoder_layers=1, decoder_layers=1, width=32, inner_width=48, dropout=0.0
    )
    rng = np.random.default_rng(1)
    source = np.concatenate([rng.integers(2, 12, (2048, 4)), np.ones((2048, 1), int)], axis=1)
    labels = np.concatenate([source[:, 3::-1], np.ones((2048, 1), int)], axis=1)
    target = np.concatenate([np.zeros((2048, 1), int), labels[:, :-1]], axis=1)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(5e-3), loss, jit_compile=JIT)
    model.fit({"source": source, "target": target}, labels, batch_size=64, epochs=8, verbose=0)
    prompts = [[5, 6, 7, 8, 1], [9, 3, 2, 4, 1]]
    expected = [[8, 7, 6, 5, 1], [4, 2, 3, 9, 1]]
    assert model.generate(prompts, 9) == expected
    assert [model.generate([prompt], 9)[0] for prompt in prompts] == expected


def test_a_text_and_its_continuation_have_the_spaces_of_the_whole_text():
    """A tokenizer as SentencePiece's has no space before the first word of what it decodes."""
    library = Tokenizer(models.WordLevel({f"▁{word}": index for index, word in enumerate("abcdefghijkl")}))
    library.pre_tokenizer, library.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    model = small(Llama)
    model.tokenizer = tokenizer = SubwordTokenizer(library.to_str())
    prompts = ["a b", "c"]
    rows = tokenizer.encode(prompts)
    wholes = [row + new for row, new in zip(rows, model.generate(rows, 4), strict=True)]
    found = [text + new for text, new in zip(prompts, model.generate(prompts, 4), strict=True)]
    assert found == tokenizer.decode(wholes)
    assert found[0].count(" ") == 5


def test_the_logits_of_a_prompt_are_not_computed():
    lengths = set()

    class Watched(Llama):
        def _logits(self, x):
            lengths.add(x.shape[1])
            return super()._logits(x)

    small(Watched).generate([[2, 3, 4, 5]], 3)
    assert lengths == {1}


@pytest.mark.parametrize(
    ("prompts", "options", "error", "words"),
    [
        ("text", {}, TypeError, "takes a list of texts or of rows of ids; got 'text'"),
        ([[1], "text"], {}, TypeError, "got both"),
        (["text"], {}, ValueError, "has no tokenizer"),
        ([[1], []], {}, ValueError, "prompt 2 is empty"),
        ([[1, 12]], {}, ValueError, "prompt 1 must have ids from 0 to 11; got 1 to 12"),
        ([[1]], {"max_new_tokens": 0}, ValueError, "max_new_tokens must be at least 1"),
        ([[1]], {"top_p": 2}, ValueError, "top_p must be"),
        ([[1]], {"seed": [1, 2]}, ValueError, "one for each of 1 prompts; got 2"),
    ],
)
def test_prompts_and_options_that_cannot_be_are_refused(prompts, options, error, words):
    with pytest.raises(error, match=words):
        small(Llama).generate(prompts, **options)


def test_a_prompt_that_leaves_no_position_is_refused():
    with pytest.raises(ValueError, match="prompt 1 has 30 tokens, and max_new_tokens is 12"):
        small(GPT2).generate([[1] * 30], 12)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"width": 30}, "width must be divisible by num_heads; got 30 and 4"),
        ({"num_key_value_heads": 3}, "num_key_value_heads must divide num_heads, 4; got 3"),
        ({"head_width": 5}, "even width of a head; got 5"),
        ({"num_layers": 0}, "num_layers must be a whole number"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        Llama.from_preset("tiny", vocabulary_size=12, **{**SMALL, **changes})
