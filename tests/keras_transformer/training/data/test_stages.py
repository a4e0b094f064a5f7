"""What is trained on when: both directions first where that was asked for, then one."""

import numpy as np
import pytest

from keras_transformer.text.corpus import Pair
from keras_transformer.text.token_store import TokenStore
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training.data.stages import Joined, Turned, stages
from keras_transformer.training.recipe import Recipe


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, pairs: list[Pair], tokenizer: Tokenizer) -> TokenStore:
    return TokenStore.write(tmp_path_factory.mktemp("store"), pairs, tokenizer)


def test_both_ways_has_every_pair_and_every_pair_turned_round(store: TokenStore) -> None:
    both, count = Joined(store, Turned(store)), len(store)
    lengths, longest = store.lengths(), int(store.lengths().max())
    assert both.lengths().tolist() == [*lengths.tolist(), *lengths[:, ::-1].tolist()]
    mixed = np.array([count + 4, 0, count - 1, count, 2 * count - 1])
    for side in (0, 1):
        expected = [
            store.rows(1 - side if index >= count else side, np.array([index % count]), longest)[0].tolist()
            for index in mixed
        ]
        assert both.rows(side, mixed, longest).tolist() == expected


def test_one_direction_is_one_stage_without_end(store: TokenStore) -> None:
    assert [(stage.store, stage.steps) for stage in stages(store, Recipe())] == [(store, None)]


def test_the_first_steps_see_both_directions_and_the_rest_the_one_asked_for(store: TokenStore) -> None:
    first, last = stages(store, Recipe(steps=3000, both_ways=0.25))
    assert len(first.store) == 2 * len(store)
    assert (first.steps, last.store, last.steps) == (750, store, None)
    seen = {index for _, indices in first.plan.epoch(0) for index in indices.tolist()}
    assert seen == set(range(2 * len(store)))
