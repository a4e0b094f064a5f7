"""Heat maps: right numbers at the right tokens, colours that everyone can tell apart, no pyplot."""

import re
import struct
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from keras_transformer.viz.pictures import WEIGHTS, attention_picture, draw, png, svg
from keras_transformer.viz.walkthrough.content import WorkedExample


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def test_attention_picture_names_the_tokens_and_writes_the_numbers() -> None:
    figure = attention_picture(
        np.array([[0.25, 0.75, 0.0], [1, 0, 0]]), ["Je", "suis"], ["I", "am", "</s>"], "Head 1"
    )
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["Je", "suis"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["I", "am", "</s>"]
    assert texts(figure) == ["0.25", "0.75", "0.00", "1.00", "0.00", "0.00"]
    assert axes.get_title(loc="left") == "Head 1"


def test_each_number_stands_in_the_cell_of_its_colour_and_the_first_one_at_the_top_left() -> None:
    axes = attention_picture(np.array([[0.25, 0.75, 0.0], [1, 0, 0]]), "ab", "xyz").axes[0]
    at = {text.get_position(): text.get_text() for text in axes.texts}
    assert at[0.5, 0.5] == "0.25"
    assert at[1.5, 0.5] == "0.75"
    assert at[0.5, 1.5] == "1.00"
    np.testing.assert_array_equal(axes.collections[0].get_array(), [[0.25, 0.75, 0], [1, 0, 0]])
    left, right, bottom, top = *axes.get_xlim(), *axes.get_ylim()
    assert left < right
    assert top < bottom


def test_many_tokens_become_colours_alone() -> None:
    figure = attention_picture(
        np.full((30, 30), 1 / 30), [str(n) for n in range(30)], [str(n) for n in range(30)]
    )
    assert texts(figure) == []
    assert len(figure.axes[0].get_xticks()) == 30


def test_more_tokens_than_fit_are_named_here_and_there() -> None:
    names = [str(n) for n in range(64)]
    axes = attention_picture(np.zeros((64, 64)), names, names).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "16", "32", "48"]


def test_weights_must_fit_the_tokens() -> None:
    with pytest.raises(ValueError, match=r"its 2 rows and 1 columns; got shape \(2, 3\)"):
        attention_picture(np.zeros((2, 3)), ["a", "b"], ["c"])


def test_more_weight_is_darker_in_even_steps() -> None:
    linear = np.array([WEIGHTS(weight)[:3] for weight in np.linspace(0, 1, 11)])
    linear = np.where(linear > 0.04045, ((linear + 0.055) / 1.055) ** 2.4, linear / 12.92)
    lightness = 116 * np.cbrt(linear @ [0.2126, 0.7152, 0.0722]) - 16  # CIELAB L*
    assert np.all(np.diff(lightness) < 0)
    np.testing.assert_allclose(np.diff(lightness), -7.5, atol=1.5)


def test_numbers_can_be_read_on_their_cells() -> None:
    figure = attention_picture(np.linspace(0, 1, 21)[None], ["q"], [str(n) for n in range(21)])
    for text in figure.axes[0].texts:
        cell = luminance(WEIGHTS(float(text.get_text()))[:3])
        ink = luminance(to_rgb(text.get_color()))
        contrast = (max(cell, ink) + 0.05) / (min(cell, ink) + 0.05)
        assert contrast >= 4.5, text.get_text()  # what WCAG asks of small text


def test_in_a_dark_page_the_scale_is_dark_and_its_numbers_can_be_read() -> None:
    values = np.linspace(0, 1, 21)[None]
    drawing = svg(attention_picture(values, ["q"], [str(n) for n in range(21)]), "dark")
    cells = re.findall(
        r'<path d="[^"]*" clip-path="[^"]*" style="fill: light-dark\(#\w{6}, (#\w{6})\)', drawing
    )
    numbers = re.findall(r'<text style="([^"]*)"[^>]*>\d\.\d\d<', drawing)
    assert len(cells) == len(numbers) == 21
    lightness = [luminance(to_rgb(cell)) for cell in cells]
    assert lightness == sorted(lightness)
    for cell, style in zip(lightness, numbers, strict=True):
        ink = 1.0 if re.search(r"fill: (light-dark\(black, white\)|#ffffff)", style) else 0.0
        assert (max(cell, ink) + 0.05) / (min(cell, ink) + 0.05) >= 4.5


def luminance(colour: object) -> float:
    channels = np.asarray(colour)
    linear = np.where(channels > 0.04045, ((channels + 0.055) / 1.055) ** 2.4, channels / 12.92)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_every_example_picture_is_a_png_of_some_size(examples: list[tuple[int, WorkedExample]]) -> None:
    pictures = [step.picture for _, example in examples for step in example.steps if step.picture]
    assert len({picture.name for picture in pictures}) == len(pictures) == 10
    for picture in pictures:
        content = png(draw(picture))
        assert content.startswith(b"\x89PNG\r\n")
        width, height = struct.unpack(">II", content[16:24])
        assert 300 < width < 1600
        assert 300 < height < 1600


def test_svg_stands_alone_and_takes_the_pages_colours() -> None:
    drawing = svg(attention_picture(np.eye(2), ["a&b", "<eos>"], ["a&b", "<eos>"]), "eyes")
    root = ElementTree.fromstring(drawing.replace("xlink:href", "href"))
    assert root.tag == "svg"
    assert "currentColor" in drawing
    assert "://" not in drawing
    ids = re.findall(r'\bid="([^"]+)"', drawing)
    assert all(name.startswith("eyes-") for name in ids)
    assert set(re.findall(r'(?:url\(|href=")#([^")]+)', drawing)) <= set(ids)


def test_svg_is_the_same_every_time() -> None:
    first, second = (svg(attention_picture(np.eye(2), "ab", "ab"), "eyes") for _ in range(2))
    assert first == second


def test_pyplot_knows_nothing_of_our_figures() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    before = pyplot.get_fignums()
    attention_picture(np.eye(2), "ab", "ab")
    assert pyplot.get_fignums() == before
