"""The worked examples as text."""

import pytest

from keras_transformer.viz.walkthrough.content import ExampleStep, WorkedExample, table
from keras_transformer.viz.walkthrough.terminal import render, spell

SMALL = WorkedExample(
    "Roots",
    "A √ and a −.",
    (ExampleStep("Look.", "y = √x", table([[1, -0.5], [10, 2.25]], ["one", "three"], ["√", "x"], "n")),),
    "y = x ** 0.5",
)


def test_columns_are_aligned_under_their_names() -> None:
    assert render(SMALL, 3).splitlines() == [
        "3. Roots",
        "========",
        "A √ and a −.",
        "",
        "3.1  Look.",
        "     y = √x",
        "",
        "     n          √      x",
        "     one     1.00  -0.50",
        "     three  10.00   2.25",
        "",
        "In Python:",
        "",
        "    y = x ** 0.5",
    ]


def test_ascii_spells_the_signs_out_and_stays_aligned() -> None:
    lines = render(SMALL, 3, "ascii").splitlines()
    assert lines[2] == "A sqrt  and a -."
    assert lines[7:10] == [
        "     n      sqrt       x",
        "     one     1.00  -0.50",
        "     three  10.00   2.25",
    ]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_every_example_can_be_written_and_fits(
    encoding: str, examples: list[tuple[int, WorkedExample]]
) -> None:
    for number, example in examples:
        text = render(example, number, encoding)
        assert text.encode(encoding).decode(encoding) == text
        assert max(map(len, text.splitlines())) <= 100
        assert "\033" not in text


def test_no_sign_is_lost_in_ascii(examples: list[tuple[int, WorkedExample]]) -> None:
    for number, example in examples:
        questions = render(example, number, "ascii").count("?")
        assert questions == render(example, number, "utf-8").count("?")


def test_what_has_no_spelling_becomes_a_question_mark() -> None:
    assert spell("√4 水", "ascii") == "sqrt 4 ?"
    assert spell("√4 水", "utf-8") == "√4 水"


def test_colour_is_added_and_changes_nothing_else() -> None:
    coloured = render(SMALL, 3, colour=True)
    assert "\033[1m3. Roots\033[0m" in coloured
    for code in ("\033[1m", "\033[36m", "\033[0m"):
        coloured = coloured.replace(code, "")
    assert coloured == render(SMALL, 3)


@pytest.mark.parametrize(
    ("number", "row"),
    [
        (1, "sat  0.211942  0.211942  0.576117"),
        (1, "The  0.844638  0.577681  0.844638  0.577681"),
        (2, "softmax([3 2])    0.731059    0.268941"),
        (3, "2    0.909297  -0.416147  0.019999  0.999800"),
        (3, "cat  1.341471  1.140302  0.710000  1.799950"),
        (4, "y  -1.341639  -0.447213  0.447213  1.341639"),
        (4, "a  -1.224744  -1.224736   1.224736   1.224744"),
        (5, "0 (pad)  1  1  1        0"),
        (6, "2        0.55  1.39  2.23       −∞"),
        (6, "3 (pad)  0.333333  0.333333  0.333333  0.000000"),
        (6, "2        0.701133  0.801133  0.901133  1.001133"),
        (7, "attention weights of a block  B, heads, S, S  1 × 8 × 10 × 10"),
        (8, "executes     0.3       0.6      0.1  1.0"),
        (9, "1. I        0.014000  0.103450  0.764401  0.103450  0.014000  0.000697"),
        (9, "5. <eos>         5    <eos>"),
    ],
)
def test_the_numbers_stand_in_the_text(
    number: int, row: str, examples: list[tuple[int, WorkedExample]]
) -> None:
    assert f"     {row}\n" in render(examples[number - 1][1], number)


def test_a_table_says_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match=r"its 1 rows and 2 columns; got rows of \[2, 1\] cells"):
        table([[1, 2], [3]], ["a"], ["x", "y"])


def test_minus_nought_is_nought() -> None:
    assert table([[-1e-9, 0.5]], ["a"], ["x", "y"]).texts() == [["0.0", "0.5"]]
