"""Learning curves of a run: losses and BLEU at each validation, with the best model marked."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from keras_transformer.files import write_whole
from keras_transformer.training.history import best
from keras_transformer.viz.pictures import INK, PAPER, png

# Distinguishable for colour-blind readers, and by lightness and dashes too.
TRAINING, HELD_OUT, BEST, BEFORE = "#559ec3", "#00507f", "#b3470b", "#6b4fa0"
MANY = 30  # points; if there are more, they are drawn smaller


def write_curves(path: Path, history: Sequence[Mapping[str, float]], warmup_steps: int = 0) -> None:
    """Write the picture of `learning_curves` as a PNG file, atomically."""
    write_whole(path, png(learning_curves(history, warmup_steps), dpi=120))


def learning_curves(history: Sequence[Mapping[str, float]], warmup_steps: int = 0) -> Figure:
    """Draw a trainer's history: losses above, held-out BLEU below, the best model in both.

    The two losses are close but not comparable: training has dropout and label smoothing.

    Args:
        history: step, training_loss, loss and bleu of each validation, and initial_loss and initial_bleu if
            the run started from another one; missing or infinite values are gaps.
        warmup_steps: Number of steps in which the learning rate rises, shaded in both panels; 0 for no
            shading.
    """
    figure = Figure(figsize=(7.2, 5.6), layout="constrained", facecolor=PAPER)
    if not history:
        figure.add_subplot().set_axis_off()
        figure.text(0.5, 0.5, "no validation yet", color=INK, ha="center")
        return figure
    losses, scores = figure.subplots(2, 1, sharex=True)
    steps = _values(history, "step")
    _curve(losses, steps, _values(history, "training_loss"), TRAINING, "--", "training (dropout, smoothing)")
    _curve(losses, steps, _values(history, "loss"), HELD_OUT, "-", "held out")
    _curve(scores, steps, _values(history, "bleu"), HELD_OUT, "-", "held out")
    if _finite(_values(history, "initial_bleu")):
        label = "held out by the run before"
        _curve(losses, steps, _values(history, "initial_loss"), BEFORE, "-.", label)
        _curve(scores, steps, _values(history, "initial_bleu"), BEFORE, "-.", label)
    _mark_best((losses, scores), [validation for validation in history if _is_whole(validation)])
    _mark_warmup((losses, scores), warmup_steps, max(_finite(_values(history, "step")), default=0.0))
    _label(losses, "Loss per token", "")
    _label(scores, "BLEU of held-out sentences", "step")
    losses.legend(
        frameon=False, labelcolor=INK, fontsize=9, ncols=2, loc="lower right", bbox_to_anchor=(1, 1)
    )
    return figure


def _values(history: Sequence[Mapping[str, float]], name: str) -> list[float]:
    values = (float(validation.get(name, math.nan)) for validation in history)
    return [value if math.isfinite(value) else math.nan for value in values]


def _finite(values: Sequence[float]) -> list[float]:
    return [value for value in values if math.isfinite(value)]


def _curve(axes: Axes, steps: list[float], values: list[float], colour: str, dashes: str, label: str) -> None:
    style: dict[str, Any] = {"color": colour, "linestyle": dashes, "linewidth": 2, "label": label}
    axes.plot(steps, values, marker="o", markersize=4 if len(values) <= MANY else 2, **style)


def _mark_warmup(panels: tuple[Axes, Axes], warmup_steps: int, last_step: float) -> None:
    """Shade the steps of the warm-up that are done."""
    end = min(warmup_steps, last_step)
    if end <= 0:
        return
    for axes in panels:
        axes.axvspan(0, end, color=INK, alpha=0.07, linewidth=0, zorder=0)
    style: dict[str, Any] = {"color": INK, "fontsize": 9, "alpha": 0.75}
    panels[0].annotate(
        "warm-up", (0, 0), xycoords="axes fraction", xytext=(6, 6), textcoords="offset points", **style
    )


def _is_whole(validation: Mapping[str, float]) -> bool:
    return all(math.isfinite(validation.get(name, math.nan)) for name in ("step", "loss", "bleu"))


def _mark_best(panels: tuple[Axes, Axes], whole: Sequence[Mapping[str, float]]) -> None:
    """Mark the validation whose model is saved."""
    kept = best(whole)
    if kept is None:
        return
    step, bleu = kept["step"], kept["bleu"]
    for axes in panels:
        axes.axvline(step, color=BEST, linewidth=1, linestyle=":", zorder=1)
    scores = panels[1]
    scores.plot(step, bleu, marker="o", markersize=8, color=BEST, linestyle="none")
    late = step > max(validation["step"] for validation in whole) / 2  # then the label fits on the left
    scores.annotate(
        f"best model: {bleu:.2f} at step {step:,.0f}",
        (step, 0),  # near the bottom, below a rising curve
        xycoords=("data", "axes fraction"),
        xytext=(-8 if late else 8, 8),
        textcoords="offset points",
        ha="right" if late else "left",
        color=BEST,
        fontsize=10,
        fontweight="bold",
    )


def _label(axes: Axes, title: str, across: str) -> None:
    axes.set_title(title, fontsize=12, fontweight="bold", color=INK, pad=10, loc="left")
    axes.update_datalim([(0, 0)])  # both axes begin at 0, so that a small change looks small
    axes.autoscale_view()
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(across, color=INK, fontsize=9, alpha=0.75)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda step, _: f"{step:,.0f}"))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))
    axes.grid(axis="y", color=INK, alpha=0.12, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, labelsize=10, length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
