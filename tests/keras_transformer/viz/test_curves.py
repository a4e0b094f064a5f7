"""The learning curves: the right numbers, the best model marked, whatever a history holds."""

import math
import struct
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from keras_transformer.viz.curves import BEST, learning_curves, write_curves

HISTORY = [
    {"step": 100, "training_loss": 5.0, "loss": 4.5, "accuracy": 0.2, "bleu": 3.0},
    {"step": 200, "training_loss": 3.0, "loss": 2.5, "accuracy": 0.5, "bleu": 31.25},
    {"step": 300, "training_loss": 2.0, "loss": 2.75, "accuracy": 0.5, "bleu": 31.25},
    {"step": 400, "training_loss": 1.5, "loss": 3.0, "accuracy": 0.5, "bleu": 29.0},
]


def points(line: Line2D) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in zip(*line.get_data(), strict=True)]


def best(figure: Figure) -> list[Line2D]:
    """In each panel the vertical line; in the lower one, last, the point."""
    return [line for axes in figure.axes for line in axes.lines if line.get_color() == BEST]


def test_losses_are_above_and_bleu_below_over_the_same_steps() -> None:
    losses, scores = learning_curves(HISTORY).axes
    training, held_out = losses.lines[:2]
    assert points(training) == [(100, 5.0), (200, 3.0), (300, 2.0), (400, 1.5)]
    assert points(held_out) == [(100, 4.5), (200, 2.5), (300, 2.75), (400, 3.0)]
    assert points(scores.lines[0]) == [(100, 3.0), (200, 31.25), (300, 31.25), (400, 29.0)]
    assert losses.get_xlim() == scores.get_xlim()
    assert losses.get_title(loc="left") == "Loss per token"
    assert scores.get_title(loc="left") == "BLEU of held-out sentences"
    assert scores.get_xlabel() == "step"


def test_each_curve_has_a_name_and_does_not_differ_by_colour_alone() -> None:
    losses = learning_curves(HISTORY).axes[0]
    legend = losses.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["training (dropout, smoothing)", "held out"]
    assert losses.lines[0].get_linestyle() != losses.lines[1].get_linestyle()


def test_the_best_model_is_the_first_of_the_highest_bleu_in_both_panels() -> None:
    figure = learning_curves(HISTORY)
    above, below, point = best(figure)
    assert [x for x, _ in points(above)] == [x for x, _ in points(below)] == [200, 200]
    assert points(point) == [(200, 31.25)]
    assert [text.get_text() for text in figure.axes[1].texts] == ["best model: 31.25 at step 200"]


def test_both_axes_begin_at_zero_and_nothing_is_cut_off() -> None:
    for axes, highest in zip(learning_curves(HISTORY).axes, (5.0, 31.25), strict=True):
        assert axes.get_xlim()[0] == axes.get_ylim()[0] == 0
        assert axes.get_xlim()[1] > 400
        assert axes.get_ylim()[1] > highest


def test_what_is_not_finite_or_missing_is_a_gap() -> None:
    history = [
        {"step": 100, "training_loss": math.nan, "loss": math.inf, "bleu": 1.0},
        {"step": 200, "training_loss": 2.0},
        {"step": 300, "training_loss": 1.0, "loss": 2.0, "bleu": math.nan},
        {"step": 400, "training_loss": 1.0, "loss": 2.0, "bleu": 0.5},
    ]
    figure = learning_curves(history)
    losses, scores = figure.axes
    np.testing.assert_array_equal(losses.lines[0].get_ydata(), [math.nan, 2, 1, 1])
    np.testing.assert_array_equal(losses.lines[1].get_ydata(), [math.nan, math.nan, 2, 2])
    np.testing.assert_array_equal(scores.lines[0].get_ydata(), [1, math.nan, math.nan, 0.5])
    assert points(best(figure)[-1]) == [(400, 0.5)]  # no model is kept whose loss is no number


def test_the_warmup_is_shaded_in_both_panels_as_far_as_training_has_come() -> None:
    def shaded(figure: Figure) -> list[float]:
        return [patch.get_width() for axes in figure.axes for patch in axes.patches]

    figure = learning_curves(HISTORY, warmup_steps=150)
    assert shaded(figure) == [150, 150]
    assert [text.get_text() for text in figure.axes[0].texts] == ["warm-up"]
    assert shaded(learning_curves(HISTORY, warmup_steps=1000)) == [400, 400]
    assert shaded(learning_curves(HISTORY)) == []
    assert shaded(learning_curves([{}], warmup_steps=10)) == []


def test_every_validation_is_a_point_and_many_are_small() -> None:
    many = [{"step": step, "training_loss": 1, "loss": 1, "bleu": step} for step in range(1, 41)]
    few, small = (learning_curves(each).axes[1].lines[0] for each in (HISTORY, many))
    assert few.get_marker() == small.get_marker() == "o"
    assert small.get_markersize() < few.get_markersize()


@pytest.mark.parametrize(
    "history",
    [
        [],
        HISTORY[:1],
        HISTORY,
        [{"step": 1, "training_loss": 0.0, "loss": 0.0, "bleu": 0.0}],
        [{"step": 1, "training_loss": math.nan, "loss": math.nan, "bleu": math.nan}],
        [{"step": 50, "training_loss": 1e30, "loss": 1e-30, "bleu": 100.0}],
        [{}],
        HISTORY * 500,
    ],
    ids=["none", "one", "some", "zeros", "no numbers", "extremes", "nothing known", "two thousand"],
)
def test_every_history_becomes_a_picture(history: list[dict[str, float]], tmp_path: Path) -> None:
    path = tmp_path / "curves.png"
    write_curves(path, history)
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n")
    width, height = struct.unpack(">II", content[16:24])
    assert 700 < width < 1000
    assert 500 < height < 800
    assert [each.name for each in tmp_path.iterdir()] == ["curves.png"]


def test_a_picture_that_cannot_be_written_leaves_the_older_one(tmp_path: Path) -> None:
    (tmp_path / "curves.png").mkdir()
    with pytest.raises(IsADirectoryError):
        write_curves(tmp_path / "curves.png", HISTORY)
    assert [each.name for each in tmp_path.iterdir()] == ["curves.png"]


def test_pyplot_knows_nothing_of_it() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    before = pyplot.get_fignums()
    learning_curves(HISTORY)
    assert pyplot.get_fignums() == before
