"""The sizes of a network: presets, and every problem at once."""

import json

import pytest

from keras_transformer import TranslationModel
from keras_transformer.models.network import Network


@pytest.mark.parametrize(
    ("preset", "sizes"),
    [
        ("tiny", (4, 4, 128, 256, 4)),
        ("small", (4, 4, 256, 1024, 4)),
        ("base", (6, 6, 512, 2048, 8)),
        ("student", (6, 2, 256, 1536, 8)),
    ],
)
def test_the_presets_are_the_sizes_that_are_promised(preset: str, sizes: tuple[int, ...]) -> None:
    network = Network.from_preset(preset)
    assert sizes == (
        network.encoder_layers, network.decoder_layers, network.width, network.inner_width, network.num_heads,
    )  # fmt: skip


def test_a_preset_with_a_field_said_otherwise() -> None:
    assert Network.from_preset("tiny", dropout=0.0) == Network(4, 4, 128, 256, 4, dropout=0.0)


def test_an_unknown_preset_is_told_with_those_there_are() -> None:
    presets = "tiny, small, base, student"
    with pytest.raises(ValueError, match=rf"^there is no preset 'huge'; there are {presets}\.$"):
        Network.from_preset("huge")


def test_an_unknown_field_is_told_with_those_there_are() -> None:
    with pytest.raises(
        ValueError, match=r"^a network has no heads, widht; it has encoder_layers, decoder_layers"
    ):
        Network.from_preset("tiny", widht=128, heads=4)


def test_every_problem_is_told_at_once() -> None:
    with pytest.raises(ValueError) as told:
        Network(encoder_layers=0, width=2.5, num_heads=-1, dropout=1.0, attention_dropout=float("nan"))
    assert str(told.value).split("; got ") == [
        "encoder_layers must be a whole number of at least 1",
        "0; width must be a whole number of at least 1",
        "2.5; num_heads must be a whole number of at least 1",
        "-1; dropout must be at least 0 and below 1",
        "1.0; attention_dropout must be at least 0 and below 1",
        "nan",
    ]


def test_heads_that_do_not_divide_the_width_are_told_with_both() -> None:
    with pytest.raises(ValueError, match="width must be divisible by num_heads; got 130 and 8"):
        Network(width=130, num_heads=8)


def test_it_goes_through_json() -> None:
    network = Network(1, 2, 12, 5, 3, dropout=0.25, activation="gelu", norm_first=False, max_length=77)
    assert Network.from_dict(json.loads(json.dumps(network.as_dict()))) == network


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [
        ("width", "128", "width must be a whole number of at least 1; got '128'"),
        ("dropout", "0.1", "dropout must be at least 0 and below 1; got '0.1'"),
        ("inner_dropout", None, "inner_dropout must be at least 0 and below 1; got None"),
        ("num_heads", [8], "num_heads must be a whole number of at least 1; got [8]"),
    ],
)
def test_a_value_that_is_no_number_is_told_like_any_other_problem(
    field: str, value: object, rule: str
) -> None:
    with pytest.raises(ValueError) as told:
        Network(**{field: value})
    assert str(told.value) == rule


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("target", [None, 17])
def test_it_knows_how_many_numbers_are_trained(norm_first: bool, target: int | None) -> None:
    network = Network(2, 3, 12, 5, 3, norm_first=norm_first)
    model = TranslationModel(network, 30, target)
    model.build()
    assert network.parameters(30, target) == sum(weight.value.shape.num_elements()
                                                 for weight in model.trainable_variables)  # fmt: skip
