"""The heads as a picture: every weight at its place, every token beside its row and column."""

import struct

import numpy as np
import pytest
from matplotlib.figure import Figure

from keras_transformer import TranslationModel
from keras_transformer.viz.attention_picture import attention_figure, attention_png, drawable
from keras_transformer.viz.heads import AttentionKind, Choice, Heads, heads_of


@pytest.fixture(scope="module")
def heads(model: TranslationModel) -> Heads:
    return heads_of(model, "Je suis étudiant.", "I am a student.")


def written(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.texts]


def test_from_above_each_weight_stands_where_layer_head_and_tokens_say(heads: Heads) -> None:
    figure = attention_figure(heads, Choice())
    assert len(figure.axes) == 4  # the last is the legend
    for axes, kind in zip(figure.axes[:-1], heads.kinds.values(), strict=True):
        drawn = axes.collections[0].get_array()
        rows, columns = len(kind.queries) + 1, len(kind.keys) + 1  # a gap of one cell
        assert drawn.shape == (kind.layers * rows - 1, kind.heads * columns - 1)
        for layer, head in np.ndindex(kind.layers, kind.heads):
            block = drawn[layer * rows : (layer + 1) * rows - 1, head * columns : (head + 1) * columns - 1]
            np.testing.assert_array_equal(block, kind.weights[layer, head])
        assert drawn[rows - 1].mask.all()
        assert drawn[:, columns - 1].mask.all()
        assert [label.get_text() for label in axes.get_yticklabels()] == list(kind.queries) * kind.layers
        assert [label.get_text() for label in axes.get_xticklabels()] == list(kind.keys) * kind.heads
        assert axes.get_ylim() == (kind.layers * rows - 1, 0)
        assert list(axes.get_xticks()[:2]) == [0.5, 1.5]
        assert axes.get_yticks()[rows - 1] == rows + 0.5  # the second layer's first token
        assert axes.collections[0].get_clim() == (0, 1)


def test_kinds_layers_and_heads_are_named(heads: Heads) -> None:
    assert written(attention_figure(heads, Choice(layer=2))) == [
        "Input–Input: rows are queries, columns are keys", "head 1", "head 2", "layer 2",
        "Output–Output: rows are queries, columns are keys", "head 1", "head 2", "layer 2",
        "Input–Output: rows are queries, columns are keys", "head 1", "head 2", "layer 2",
    ]  # fmt: skip
    assert written(attention_figure(heads, Choice("output-output", head=2)))[1:] == [
        "head 2", "layer 1", "layer 2", "layer 3",
    ]  # fmt: skip


def test_labels_stand_beside_their_head(heads: Heads) -> None:
    figure = attention_figure(heads, Choice("output-output"))
    box, at = figure.axes[0].get_position(), {text.get_text(): text.get_position() for text in figure.texts}
    assert box.x0 < at["head 1"][0] < box.x0 + box.width / 2 < at["head 2"][0] < box.x1
    assert box.y1 > at["layer 1"][1] > at["layer 2"][1] > at["layer 3"][1] > box.y0
    assert at["layer 2"][1] == pytest.approx((box.y0 + box.y1) / 2)


def test_one_head_has_its_numbers(heads: Heads) -> None:
    axes = attention_figure(heads, Choice("input-output", 3, 2)).axes[0]
    kind = heads.kinds["input-output"]
    assert axes.get_title(loc="left") == "Input–Output, layer 3, head 2"
    assert [text.get_text() for text in axes.texts] == [f"{value:.2f}" for value in kind.weights[2, 1].flat]
    assert [label.get_text() for label in axes.get_yticklabels()] == list(kind.queries)
    assert [label.get_text() for label in axes.get_xticklabels()] == list(kind.keys)


def heads_over(*tokens: str) -> Heads:
    size = len(tokens)
    kind = AttentionKind(
        "Input–Input", np.full((1, 2, size, size), 1 / size, "float32"), tokens, tokens, ("",) * size
    )
    return Heads("text", "translation", {"input-input": kind})


@pytest.mark.parametrize("choice", [Choice(), Choice("input-input", 1, 1)])
def test_any_token_can_be_drawn(choice: Choice) -> None:
    """Warnings are errors here: a sign that the font lacks would warn, a formula would fail."""
    content = attention_png(heads_over("$x^$", "$", "你好", "\U0001f600", r"\frac", "<b>", "שלום"), choice)
    assert content.startswith(b"\x89PNG\r\n")


def test_a_sign_that_the_font_lacks_is_its_code() -> None:
    assert drawable(["␣é", "你a", "⟨end⟩"]) == ["␣é", "U+4F60a", "⟨end⟩"]


def test_many_tokens_keep_the_picture_small_and_lose_their_names() -> None:
    heads = heads_over(*map(str, range(200)))
    assert list(attention_figure(heads, Choice()).axes[0].get_xticks()) == []
    width, height = struct.unpack(">II", attention_png(heads, Choice())[16:24])
    assert 400 < width < 1600
    assert 300 < height < 1600


def test_the_same_heads_give_the_same_file(heads: Heads) -> None:
    assert attention_png(heads, Choice()) == attention_png(heads, Choice())


def test_a_choice_that_is_not_there_is_refused(heads: Heads) -> None:
    with pytest.raises(ValueError, match="Input–Input has the layers 1 to 2; got layer 9"):
        attention_figure(heads, Choice(layer=9))
