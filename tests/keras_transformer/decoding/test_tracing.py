"""A model keeps what is made from its weights: not for other weights, and not without a limit."""

from typing import Any

import keras
import pytest

from keras_transformer.decoding.tracing import MAX_DERIVED, Derived


@pytest.fixture
def made() -> list[int]:
    return []


@pytest.fixture
def get(made: list[int]) -> Any:
    """get(setting): made for a layer and this setting, and noted."""
    layer = keras.layers.Dense(1)
    layer.build((None, 1))
    derived = Derived(layer)

    def make(_: Any, setting: int) -> object:
        made.append(setting)
        return object()

    return lambda setting: derived.get(make, setting)


def test_it_is_made_once(get: Any, made: list[int]) -> None:
    assert get(7) is get(7)
    assert made == [7]


def test_of_many_settings_those_used_last_are_kept(get: Any, made: list[int]) -> None:
    kept = get(0)
    for setting in range(1, MAX_DERIVED):
        get(setting)
    assert get(0) is kept
    get(MAX_DERIVED)
    assert get(0) is kept
    get(1)
    assert made == [*range(MAX_DERIVED + 1), 1]
