"""THE golden tests: every number of the worked examples, derived here by hand or from the definition.

`shown("6.5")` is the table of step 6.5 as the walkthrough shows it in the terminal and on the page; its
numbers come from the layers, what is expected of them does not.
"""

from collections.abc import Callable
from math import cos, exp, log, sin, sqrt

import keras
import numpy as np
import pytest

from keras_transformer import (
    MultiHeadSelfAttention,
    PositionalEncoding,
    TokenEmbedding,
    causal_mask,
    padding_mask,
    scaled_dot_product_attention,
)
from keras_transformer.viz.walkthrough.content import Table, WorkedExample
from keras_transformer.viz.walkthrough.examples import worked_example

Shown = Callable[[str], Table]
e = exp(1)


@pytest.fixture
def shown(examples: list[tuple[int, WorkedExample]]) -> Shown:
    def table_of(label: str) -> Table:
        number, step = map(int, label.split("."))
        table = examples[number - 1][1].steps[step - 1].table
        assert table is not None
        return table

    return table_of


def close(table: Table, expected: object, tolerance: float = 1e-6) -> None:
    np.testing.assert_allclose(table.numbers(), expected, rtol=0, atol=tolerance)


# 1. Self-attention over "The cat sat" ----------------------------------------------------------------------

CAT = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]], "float32")


def test_scores_are_the_dot_products_and_are_halved(shown: Shown) -> None:
    # The·The = 1+1 = 2, The·cat = 0, The·sat = 1+1 = 2; sat·sat = 1+1+1+1 = 4; √4 = 2
    close(shown("1.3"), [[2, 0, 2], [0, 2, 2], [2, 2, 4]])
    close(shown("1.4"), [[1, 0, 1], [0, 1, 1], [1, 1, 2]])


def test_weights_of_the_cat_sat(shown: Shown) -> None:
    # softmax([1 0 1]): e / (e + 1 + e) = 2.718282 / 6.436564 = 0.422319, and 1 / 6.436564 = 0.155362
    # softmax([1 1 2]): e / (e + e + e²) = 1 / (2 + e) = 0.211942, and e / (2 + e) = 0.576117
    a, b = e / (2 * e + 1), 1 / (2 * e + 1)
    c, d = 1 / (2 + e), e / (2 + e)
    close(shown("1.5"), [[a, b, a], [b, a, a], [c, c, d]])
    close(
        shown("1.5"),
        [
            [0.422319, 0.155362, 0.422319],
            [0.155362, 0.422319, 0.422319],
            [0.211942, 0.211942, 0.576117],
        ],
    )


def test_outputs_of_the_cat_sat(shown: Shown) -> None:
    # The, dimension 0: 0.422319·1 + 0.155362·0 + 0.422319·1 = 0.844638; dimension 1: 0.155362 + 0.422319
    # sat: dimension 0 is 0.211942 + 0.576117 = 0.788058, and so are the others
    expected = [[0.844638, 0.577681] * 2, [0.577681, 0.844638] * 2, [0.788058] * 4]
    close(shown("1.6"), expected)


def test_the_pure_function_and_the_layer_agree(shown: Shown) -> None:
    output, weights = scaled_dot_product_attention(*map(keras.ops.convert_to_tensor, (CAT, CAT, CAT)))
    np.testing.assert_allclose(weights, shown("1.5").numbers(), rtol=0, atol=1e-6)
    np.testing.assert_allclose(output, shown("1.6").numbers(), rtol=0, atol=1e-6)


def test_two_heads_of_width_two_see_their_own_halves() -> None:
    # Identity weights, 2 heads: each sees [1 0], [0 1], [1 1]. The: scores [1 0 1] / √2,
    # weights e^0.7071 / (2 e^0.7071 + 1) = 0.401121 twice and 0.197757, so [0.802243 0.598879] in each half.
    layer = MultiHeadSelfAttention(num_heads=2)
    layer.build((None, None, 4))
    layer.query_key_value_projection.set_weights([np.tile(np.eye(4), 3), np.zeros(12)])
    layer.output_projection.set_weights([np.eye(4), np.zeros(4)])
    big = exp(1 / sqrt(2))
    a, b = big / (2 * big + 1), 1 / (2 * big + 1)
    np.testing.assert_allclose(layer(CAT[None])[0, 0], [2 * a, a + b] * 2, rtol=0, atol=1e-6)


# 2. Why scale ----------------------------------------------------------------------------------------------


def test_scaling_keeps_the_softmax_from_its_corners(shown: Shown) -> None:
    close(shown("2.1"), [[6, 4], [3, 2]])
    # softmax([3 2]) = 1 / (1 + e^-1); softmax([6 4]) = 1 / (1 + e^-2); softmax([10 1]) = 1 / (1 + e^-9)
    close(shown("2.2"), [[0.731059, 0.268941], [0.880797, 0.119203], [0.999877, 0.000123]])
    close(shown("2.2"), [[1 / (1 + exp(-gap)), 1 / (1 + exp(gap))] for gap in (1, 2, 9)])
    # p (1 - p): 0.731059 · 0.268941 = 0.196612
    close(shown("2.3"), [[0.196612], [0.104994], [0.000123]])


# 3. Positions ----------------------------------------------------------------------------------------------


def test_sinusoidal_positions(shown: Shown) -> None:
    # d = 4: the exponents are 0 and 2/4, so the angles are pos and pos / 100
    close(shown("3.1"), [[sin(pos), cos(pos), sin(pos / 100), cos(pos / 100)] for pos in range(4)])
    close(
        shown("3.1"),
        [
            [0, 1, 0, 1],
            [0.841471, 0.540302, 0.010000, 0.999950],
            [0.909297, -0.416147, 0.019999, 0.999800],
            [0.141120, -0.989992, 0.029996, 0.999550],
        ],
    )


def test_positions_are_added_to_the_words(shown: Shown) -> None:
    # [0.1 0.2 0.3 0.4] + [0 1 0 1]; 0.5 + 0.841471, 0.6 + 0.540302, 0.7 + 0.010000, 0.8 + 0.999950
    close(shown("3.2"), [[0.1, 1.2, 0.3, 1.4], [1.341471, 1.140302, 0.71, 1.79995]])


def test_the_heat_map_is_the_definition_and_likeness_depends_on_distance_only(
    examples: list[tuple[int, WorkedExample]],
) -> None:
    waves, likeness = (step.picture.table.numbers() for step in examples[2][1].steps[2:] if step.picture)
    # position 5, dimensions 6 and 7 of 128: the angle is 5 / 10000^(6/128)
    angle = 5 / 10_000 ** (6 / 128)
    np.testing.assert_allclose(waves[5, 6:8], [sin(angle), cos(angle)], rtol=0, atol=1e-6)
    # sin a sin b + cos a cos b = cos (a - b); a position and itself: 64 pairs of sin² + cos² = 64.
    # 1e-4: 64 terms, each 1e-6 at the most away from what it is.
    for distance in range(64):
        diagonal = likeness.diagonal(distance)
        np.testing.assert_allclose(diagonal, diagonal[0], rtol=0, atol=1e-4)
    np.testing.assert_allclose(likeness.diagonal(), 64, rtol=0, atol=1e-4)


def test_learned_positions_are_the_other_kind() -> None:
    layer = PositionalEncoding(max_length=3, kind="learned")
    layer.build((None, None, 2))
    layer.set_weights([np.array([[1, 2], [3, 4], [5, 6]])])
    np.testing.assert_allclose(layer(np.ones((1, 3, 2), "float32"))[0], [[2, 3], [4, 5], [6, 7]])


# 4. Layer normalisation, and batch normalisation -----------------------------------------------------------


def test_layer_normalisation_of_2_4_6_8(shown: Shown) -> None:
    # mean 20 / 4 = 5; variance (9 + 1 + 1 + 9) / 4 = 5; (2 - 5) / √5.00001 = -1.341639
    close(shown("4.1"), [[5, 5]])
    close(shown("4.2"), [[-1.341639, -0.447213, 0.447213, 1.341639]])
    close(shown("4.2"), [[deviation / sqrt(5.00001) for deviation in (-3, -1, 1, 3)]], 1e-9)


def test_layer_normalisation_goes_along_the_rows(shown: Shown) -> None:
    # [1 3 5 7] and [3 5 7 9] have other means and the same deviations; [8 6 4 2] is [2 4 6 8] backwards;
    # [5 5 5 5] has no deviation at all
    row = np.array([-1.341639, -0.447213, 0.447213, 1.341639])
    close(shown("4.4"), [row, row, row])
    close(shown("4.7"), [row, row[::-1], np.zeros(4)])


def test_batch_normalisation_goes_down_the_columns(shown: Shown) -> None:
    # each column: its mean is row a; deviations 0, -1, 1; variance 2/3; 1 / √(2/3 + 0.00001) = 1.224736
    close(shown("4.5"), [[0] * 4, [-1.224736] * 4, [1.224736] * 4])


def test_only_batch_normalisation_notices_the_other_rows(shown: Shown) -> None:
    # columns 2, 8, 5 (mean 5, variance (9+9+0)/3 = 6) and 4, 6, 5 (mean 5, variance 2/3) and so on backwards
    outer, inner = 3 / sqrt(6 + 1e-5), 1 / sqrt(2 / 3 + 1e-5)
    row = np.array([-outer, -inner, inner, outer])
    close(shown("4.8"), [row, -row, np.zeros(4)])
    first, second = shown("4.4").numbers()[0], shown("4.7").numbers()[0]
    np.testing.assert_array_equal(first, second)
    assert np.abs(shown("4.5").numbers()[0] - shown("4.8").numbers()[0]).min() > 1


# 5. Masks --------------------------------------------------------------------------------------------------


def test_padding_mask(shown: Shown) -> None:
    close(shown("5.1"), [[1, 1, 1, 0]])
    close(shown("5.2"), [[1, 1, 1, 0]] * 4)


def test_look_ahead_mask(shown: Shown) -> None:
    close(shown("5.3"), [[1, 0, 0], [1, 1, 0], [1, 1, 1]])


def test_both_masks(shown: Shown) -> None:
    close(shown("5.4"), [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 0]])


def test_a_row_that_may_look_at_nothing_gives_zeros(shown: Shown) -> None:
    close(shown("5.5"), [[1, 0, 0], [1, 1, 0], [0, 0, 0]])
    # row 1 sees itself alone; row 2 has scaled scores 0 and 1: 1 / (1 + e) and e / (1 + e); row 3 is hidden
    low, high = 1 / (1 + e), e / (1 + e)
    close(shown("5.6"), [[1, 0, 0], [low, high, 0], [0, 0, 0]])
    close(shown("5.7"), [[1, 0, 1, 0], [low, high, low, high], [0, 0, 0, 0]])


# 6. Masked self-attention ----------------------------------------------------------------------------------


def test_masked_scores(shown: Shown) -> None:
    # 0·1: .1·.5 + .2·.6 + .3·.7 + .4·.8 = .05 + .12 + .21 + .32 = .70; 1·1: .25 + .36 + .49 + .64 = 1.74
    scores = np.array([[0.30, 0.70, 1.10, 0], [0.70, 1.74, 2.78, 0], [1.10, 2.78, 4.46, 0], [0, 0, 0, 0]])
    close(shown("6.2"), scores)
    close(shown("6.3"), scores / 2)
    hidden = -np.inf
    close(
        shown("6.4"),
        [
            [0.15, hidden, hidden, hidden],
            [0.35, 0.87, hidden, hidden],
            [0.55, 1.39, 2.23, hidden],
            [0, 0, 0, hidden],
        ],
    )


def test_masked_weights(shown: Shown) -> None:
    # row 1: e^0.35 / (e^0.35 + e^0.87) = 1 / (1 + e^0.52) = 0.372852
    # row 2: e^0.55 / (e^0.55 + e^1.39 + e^2.23) = 1 / (1 + e^0.84 + e^1.68) = 0.115182
    total = 1 + exp(0.84) + exp(1.68)
    expected = [
        [1, 0, 0, 0],
        [1 / (1 + exp(0.52)), 1 / (1 + exp(-0.52)), 0, 0],
        [1 / total, exp(0.84) / total, exp(1.68) / total, 0],
        [1 / 3, 1 / 3, 1 / 3, 0],
    ]
    close(shown("6.5"), expected)
    np.testing.assert_allclose(expected[1][:2], [0.372852, 0.627148], atol=1e-6)
    np.testing.assert_allclose(expected[2][:3], [0.115182, 0.266803, 0.618015], atol=1e-6)


def test_masked_outputs(shown: Shown) -> None:
    # row 1: 0.372852·[.1 .2 .3 .4] + 0.627148·[.5 .6 .7 .8] = [.1 .2 .3 .4] + 0.627148·0.4
    # row 2: [.1 .2 .3 .4] + 0.4·(0.266803 + 2·0.618015); row 3: the mean of the three
    expected = [
        [0.1, 0.2, 0.3, 0.4],
        [0.350859, 0.450859, 0.550859, 0.650859],
        [0.701133, 0.801133, 0.901133, 1.001133],
        [0.5, 0.6, 0.7, 0.8],
    ]
    close(shown("6.6"), expected)


# 7. Shapes -------------------------------------------------------------------------------------------------


def test_sizes_of_the_papers_model(shown: Shown) -> None:
    # 512 / 8 = 64, 8 · 64 = 512, √64 = 8; 6 + 6 blocks
    assert [row[0] for row in shown("7.1").cells] == [512, 8, 64, 512, 8, 2048, 6, 6]


def test_shapes_on_the_way_through(shown: Shown) -> None:
    assert [row[1] for row in shown("7.2").cells] == [
        "1 × 10",
        "1 × 10 × 512",
        "1 × 8 × 10 × 10",
        "1 × 10 × 512",
        "1 × 7 × 512",
        "1 × 7 × 37000",
    ]
    assert shown("7.3").cells == (("512 × 2048",), ("2048 × 512",))


def test_weights_counted(shown: Shown) -> None:
    # attention 4·(512² + 512) = 1 050 624; feed-forward 2·512·2048 + 2048 + 512 = 2 099 712; a norm 2·512
    attention, feed_forward, norm = 1_050_624, 2_099_712, 1_024
    encoder = 6 * (attention + feed_forward + 2 * norm)
    decoder = 6 * (2 * attention + feed_forward + 3 * norm)
    embedding = 37_000 * 512
    expected = [encoder, decoder, embedding, encoder + decoder + embedding]
    assert [row[0] for row in shown("7.4").cells] == [f"{count:,}" for count in expected]


# 8. Attention as a weighted sum; 9. the last layer ---------------------------------------------------------


def test_attention_is_a_weighted_sum(shown: Shown) -> None:
    weights = np.array([[0.4, 0.4, 0.2], [0.3, 0.6, 0.1], [0.1, 0.1, 0.8]])
    close(shown("8.1"), np.hstack([weights, np.ones((3, 1))]))
    close(shown("8.2"), weights)
    # [1 0], [0 1], [1 1]: Python = [0.4 + 0.2, 0.4 + 0.2]; executes = [0.3 + 0.1, 0.6 + 0.1]
    close(shown("8.3"), [[0.6, 0.6], [0.4, 0.7], [0.9, 0.9]])


def test_vocabulary_and_one_hot(shown: Shown) -> None:
    assert shown("9.1").columns == ("a", "am", "I", "thanks", "student", "<eos>")
    close(shown("9.1"), [[0, 1, 2, 3, 4, 5], [0, 1, 0, 0, 0, 0]])


LOGITS = [[0, 2, 4, 2, 0, -3], [2, 4, 0, 0, 0, -3], [4, 0, 0, 1, 2, -3], [2, 0, 0, 2, 4, -3], [-2] * 5 + [4]]
SENTENCE = [2, 1, 0, 4, 5]  # I am a student <eos>


def test_logits_become_probabilities(shown: Shown) -> None:
    # step 1, [0 1 2 0]: a [2 0 0 0] gives 0, am [0 2 0 0] 2, I [0 0 2 0] 4, thanks [0 0 1 1] 2
    close(shown("9.4"), LOGITS)
    # I in step 1: e^4 / (1 + e^2 + e^4 + e^2 + 1 + e^-3) = 54.59815 / 71.42605 = 0.764401
    close(shown("9.5"), [[exp(logit) / sum(map(exp, row)) for logit in row] for row in LOGITS])
    assert shown("9.5").numbers()[0, 2] == pytest.approx(0.764401, abs=1e-6)
    np.testing.assert_allclose(shown("9.5").numbers().sum(1), 1, rtol=0, atol=1e-6)


def test_argmax_names_the_sentence(shown: Shown) -> None:
    words = ["I", "am", "a", "student", "<eos>"]
    assert shown("9.6").cells == tuple(zip(SENTENCE, words, strict=True))


def test_loss_is_minus_log_of_the_right_probability(shown: Shown) -> None:
    # step 1: -log 0.764401 = log 71.42605 - 4 = 0.268663
    right = [exp(row[word]) / sum(map(exp, row)) for row, word in zip(LOGITS, SENTENCE, strict=True)]
    close(shown("9.7"), [[p, -log(p)] for p in right])


def test_reverse_embedding_is_the_linear_layer_without_bias() -> None:
    embedding = TokenEmbedding(3, 2)
    embedding.build((None, None))
    embedding.set_weights([np.array([[1, 0], [0, 1], [1, 1]])])
    # [2 3] · [1 0], · [0 1], · [1 1]
    np.testing.assert_allclose(embedding(np.array([[2, 3]], "float32"), reverse=True), [[2, 3, 5]])


# What the walkthrough says beside the tables ---------------------------------------------------------------


def test_a_common_mistake_is_told_with_its_number(examples: list[tuple[int, WorkedExample]]) -> None:
    # softmax of the unscaled [2 0 2]: e² / (2 e² + 1) = 0.468311, 1 / (2 e² + 1) = 0.063379
    assert "[0.468311 0.063379 0.468311]" in examples[0][1].steps[4].remark


@pytest.mark.parametrize(
    ("number", "name", "label"),
    [
        (1, "weights", "1.5"),
        (1, "output", "1.6"),
        (3, "output", "3.2"),
        (4, "output", "4.2"),
        (5, "mask", "5.4"),
        (6, "weights", "6.5"),
        (6, "output", "6.6"),
        (8, "output", "8.3"),
    ],
)
def test_the_python_below_an_example_gives_its_numbers(
    number: int, name: str, label: str, examples: list[tuple[int, WorkedExample]], shown: Shown
) -> None:
    result = np.array(run(examples[number - 1][1].code)[name], "float64")
    np.testing.assert_allclose(np.squeeze(result), np.squeeze(shown(label).numbers()), rtol=0, atol=1e-5)


def test_the_python_below_the_other_examples_runs(examples: list[tuple[int, WorkedExample]]) -> None:
    scaled = np.array(run(examples[1][1].code)["weights"])
    np.testing.assert_allclose(scaled, [[0.731059, 0.268941]], rtol=0, atol=1e-6)
    assert tuple(run(examples[6][1].code)["weights"].shape) == (1, 8, 10, 10)
    assert tuple(run(examples[8][1].code)["logits"].shape) == (1, 5, 6)


def run(code: str) -> dict[str, object]:
    names: dict[str, object] = {}
    exec(code, names)
    return names


def test_masks_combine_in_batches() -> None:
    # two rows of one batch: the second has two tokens of padding
    mask = padding_mask(np.array([[1, 2, 3], [1, 0, 0]])) & causal_mask(3)
    np.testing.assert_array_equal(mask[0], [[1, 0, 0], [1, 1, 0], [1, 1, 1]])
    np.testing.assert_array_equal(mask[1], [[1, 0, 0], [1, 0, 0], [1, 0, 0]])


@pytest.mark.parametrize("number", [0, 10])
def test_no_such_example(number: int) -> None:
    with pytest.raises(ValueError, match=f"numbered 1 to 9; got {number}"):
        worked_example(number)
