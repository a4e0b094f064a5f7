"""The heads: the model's own weights, beside the tokens that look and are looked at."""

import numpy as np
import pytest
from keras import ops

from keras_transformer import TranslationModel
from keras_transformer.models.network import Network
from keras_transformer.models.translate import translate_ids, translate_sentences
from keras_transformer.viz.heads import END, KINDS, START, Choice, heads_of, readable

TEXT = "Je suis étudiant."


def attended(model: TranslationModel, said: list[int]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Logits and weights of the text, as the model gives them to any caller."""
    source = model.tokenizer.encode_source([TEXT])
    logits, attention = model.attend(
        {"source": ops.array(source), "target": ops.array([[model.tokenizer.bos_id, *said]])}
    )
    return np.asarray(logits)[0], [np.stack([layer[0] for layer in layers]) for layers in attention]


def test_the_weights_are_the_models(model: TranslationModel) -> None:
    target = model.tokenizer.encode_target(["I am a student."])[0][:-1]
    _, expected = attended(model, target)
    heads = heads_of(model, TEXT, "I am a student.")
    assert list(heads.kinds) == list(KINDS)
    for kind, weights in zip(heads.kinds.values(), expected, strict=True):
        np.testing.assert_allclose(kind.weights, weights, atol=1e-6)
        assert kind.weights.shape == (kind.layers, kind.heads, len(kind.queries), len(kind.keys))
        np.testing.assert_allclose(kind.weights.sum(-1), 1, atol=1e-5)
        assert kind.weights.std() > 0.05  # there is something to see
    assert [(kind.layers, kind.heads) for kind in heads.kinds.values()] == [(2, 2), (3, 2), (3, 2)]


def test_the_decoder_sees_nothing_that_comes_later(model: TranslationModel) -> None:
    weights = heads_of(model, TEXT).kinds["output-output"].weights
    assert np.all(np.triu(weights, 1) == 0)


def test_tokens_are_those_of_the_text_and_of_the_translation(model: TranslationModel) -> None:
    tokenizer = model.tokenizer
    kinds = heads_of(model, TEXT, "I am a student.").kinds
    pieces = [
        piece.replace("▁", "␣") for piece in tokenizer.pieces_source(tokenizer.encode_source([TEXT])[0])
    ]
    read = [
        piece.replace("▁", "␣")
        for piece in tokenizer.pieces_target(tokenizer.encode_target(["I am a student."])[0][:-1])
    ]
    assert kinds["input-input"].queries == kinds["input-input"].keys == (*pieces[:-1], END)
    assert kinds["input-output"].keys == (*pieces[:-1], END)
    assert kinds["output-output"].queries == kinds["output-output"].keys == (START, *read)
    assert kinds["input-output"].queries == (*read, END)
    assert kinds["input-output"].notes[0] == f"has read {START}, predicts {read[0]}"
    assert kinds["input-output"].notes[-1] == f"has read {read[-1]}, predicts {END}"


def test_a_row_is_the_step_at_which_its_token_was_said(model: TranslationModel) -> None:
    heads = heads_of(model, TEXT)
    assert heads.translation == translate_sentences(model, [TEXT], loop_guard=False)[0]
    tokenizer = model.tokenizer
    rows = tokenizer.encode_source([TEXT])
    said = translate_ids(model, rows, tokenizer.bos_id, tokenizer.eos_id)[0]
    logits, _ = attended(model, said[:-1])
    best = readable(tokenizer.pieces_target(logits.argmax(-1)))
    assert len(best) > 4
    assert best == heads.kinds["input-output"].queries[: len(best)]


def speaking(model: TranslationModel, *ids: int) -> TranslationModel:
    """A copy that says these, one after the other, if each is the nearest to the one before."""
    copy = model.with_policy("float32")
    table = np.zeros((model.source_vocabulary, 16), np.float32)
    table[list(ids), 0] = 1.0
    copy.decoder.norm.gamma.assign(np.zeros(16))
    copy.decoder.norm.beta.assign(np.eye(16)[0])
    copy.target_embedding.embeddings.assign(table)
    return copy


def test_a_translation_that_was_stopped_has_no_end(model: TranslationModel) -> None:
    piece = model.tokenizer.encode_target(["a"])[0][0]
    heads = heads_of(speaking(model, piece), "a")
    length = 2 * len(model.tokenizer.encode_source(["a"])[0]) + 10
    assert heads.kinds["input-output"].queries == readable(model.tokenizer.pieces_target([piece])) * length
    assert heads.kinds["output-output"].queries[0] == START
    assert len(heads.kinds["output-output"].queries) == length


def test_a_translation_of_nothing_is_its_end(model: TranslationModel) -> None:
    heads = heads_of(speaking(model, model.tokenizer.eos_id), TEXT)
    assert heads.translation == ""
    assert heads.kinds["input-output"].queries == (END,)
    assert heads.kinds["output-output"].queries == (START,)


def test_a_given_translation_is_shown_as_it_was_given(model: TranslationModel) -> None:
    assert heads_of(model, TEXT, "  I am — 7 ").translation == "  I am — 7 "
    assert heads_of(model, TEXT, "").kinds["input-output"].queries == (END,)


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["▁Je", "▁", "a▁b", "."], ("␣Je", "␣", "a␣b", ".")),
        (["x", "<0xC3>", "<0xA9>", "y"], ("x", "é 1/2", "é 2/2", "y")),
        (["<0xF0>", "<0x9F>", "<0x98>", "<0x80>"], ("😀 1/4", "😀 2/4", "😀 3/4", "😀 4/4")),
        (["<0xC3>", "<0x41>", "<0xA9>"], ("byte C3", "A", "byte A9")),
        (["<0x0A>", "<0x20>", "<0x00>"], ("byte 0A", "byte 20", "byte 00")),
        (["<0xE2>", "<0x82>"], ("byte E2", "byte 82")),
        (["<0x4>", "<0xC3"], ("<0x4>", "<0xC3")),
        ([], ()),
    ],
)
def test_pieces_are_readable(pieces: list[str], shown: tuple[str, ...]) -> None:
    assert readable(pieces) == shown


def test_the_end_is_not_what_a_text_calls_it(model: TranslationModel) -> None:
    queries = heads_of(model, "</s>").kinds["input-input"].queries
    assert queries[-1] == END
    assert "".join(queries[:-1]).lstrip("␣") == "</s>"


def test_more_tokens_than_the_model_has_positions_are_cut_and_that_is_told(model: TranslationModel) -> None:
    text = "Je suis étudiant. " * 20
    tokens = len(model.tokenizer.encode_source([text])[0])
    heads = heads_of(model, text, "I am. " * 30)
    assert heads.notices[0] == f"The text has {tokens} tokens; the first 40 are shown."
    assert heads.notices[1].startswith("The translation has ")
    assert [kind.weights.shape[2:] for kind in heads.kinds.values()] == [(40, 40)] * 3
    assert heads.kinds["input-input"].queries[-1] == END
    assert END not in heads.kinds["input-output"].queries
    assert heads_of(model, TEXT).notices == ()


def test_no_more_tokens_are_shown_than_can_be_told_apart(model: TranslationModel) -> None:
    network = Network(1, 1, 16, 24, 2, max_length=400)
    long = TranslationModel(network, model.source_vocabulary, tokenizer=model.tokenizer)
    heads = heads_of(long, "e " * 500, "e")
    assert len(heads.kinds["input-input"].queries) == 256
    assert "the first 256 are shown" in heads.notices[0]


@pytest.mark.parametrize("text", ["", " \n", "\u200b"])
def test_a_text_without_a_token_is_refused(model: TranslationModel, text: str) -> None:
    with pytest.raises(ValueError, match=r"has no tokens: it must have at least one word"):
        heads_of(model, text)


def test_a_model_without_a_tokenizer_is_refused() -> None:
    with pytest.raises(ValueError, match="has no tokenizer: create it with tokenizer="):
        heads_of(TranslationModel(Network(1, 1, 16, 24, 2), 10), TEXT)


def test_a_choice_must_be_there_in_each_kind_that_is_shown(model: TranslationModel) -> None:
    heads = heads_of(model, TEXT)
    assert list(Choice("output-output", 3, 2).of(heads)) == ["output-output"]
    assert list(Choice(layer=2).of(heads)) == list(KINDS)
    for choice, message in (
        (Choice(layer=3), "Input–Input has the layers 1 to 2; got layer 3"),
        (Choice("output-output", layer=4), "Output–Output has the layers 1 to 3; got layer 4"),
        (Choice("input-output", head=3), "Input–Output has the heads 1 to 2; got head 3"),
        (Choice(head=0), "Input–Input has the heads 1 to 2; got head 0"),
    ):
        with pytest.raises(ValueError, match=message):
            choice.of(heads)
