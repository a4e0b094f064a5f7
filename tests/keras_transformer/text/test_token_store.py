"""A corpus as ids on disk: what goes in comes out, padded as asked, however large it is."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.phrasebook import phrasebook
from keras_transformer.text.corpus import Pair
from keras_transformer.text.token_store import CHUNK, TokenStore
from keras_transformer.text.tokenizer import Tokenizer

END = 3


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    return [*phrasebook("fr-en", "train", 200), Pair("", "Nothing.\u2028 日本"), Pair("☃\0", "")]


@pytest.fixture(scope="module")
def tokenizer(pairs: list[Pair]) -> Tokenizer:
    return Tokenizer.train(pairs[:200], 400)


def test_the_ids_of_every_pair_come_back(tmp_path: Path, pairs: list[Pair], tokenizer: Tokenizer) -> None:
    TokenStore.write(tmp_path / "tokens", pairs, tokenizer)
    store = TokenStore(tmp_path / "tokens")
    encoded = [
        tokenizer.encode_source([pair.source for pair in pairs]),
        tokenizer.encode_target([pair.target for pair in pairs]),
    ]
    assert len(store) == len(pairs) == 202
    assert store.lengths().tolist() == [[len(side[row]) for side in encoded] for row in range(202)]
    for side in (0, 1):
        for row, ids in enumerate(encoded[side]):
            assert store.rows(side, np.array([row]), len(ids)).tolist() == [ids]


def test_rows_come_in_the_order_asked_for_padded_with_zeros(
    tmp_path: Path, pairs: list[Pair], tokenizer: Tokenizer
) -> None:
    store = TokenStore.write(tmp_path, pairs, tokenizer)
    chosen = np.array([201, 0, 7, 0])
    length = int(store.lengths()[chosen].max()) + 2
    rows = store.rows(1, chosen, length)
    assert rows.shape == (4, length)
    assert rows.dtype == np.int32
    for row, number in zip(rows, chosen, strict=True):
        (ids,) = tokenizer.encode_target([pairs[number].target])
        assert row.tolist() == ids + [0] * (length - len(ids))


def test_a_sentence_over_the_limit_is_cut_and_keeps_its_end(
    tmp_path: Path, pairs: list[Pair], tokenizer: Tokenizer
) -> None:
    store = TokenStore.write(tmp_path, pairs, tokenizer, max_tokens=5)
    lengths = store.lengths()
    assert lengths.max() == 5
    assert lengths.min() == 1  # the empty text is its end alone
    for side in (0, 1):
        rows = store.rows(side, np.arange(202), 5)
        assert (rows[np.arange(202), lengths[:, side] - 1] == END).all()


def test_pairs_are_written_as_they_come(tmp_path: Path, tokenizer: Tokenizer) -> None:
    sizes = []

    def numbered() -> Iterator[Pair]:
        for number in range(2 * CHUNK + 3):
            if number == 2 * CHUNK:  # two chunks were asked for: the first is out of our hands
                sizes.append((tmp_path / "source.ids").stat().st_size)
            yield Pair(str(number), "x")

    store = TokenStore.write(tmp_path, numbered(), tokenizer)
    assert sizes[0] > CHUNK * 4
    assert len(store) == 2 * CHUNK + 3
    assert tokenizer.decode_source(store.rows(0, np.array([CHUNK, 2 * CHUNK + 2]), 12)) == ["10000", "20002"]


def test_an_id_takes_four_bytes_so_that_large_vocabularies_fit(
    tmp_path: Path, pairs: list[Pair], tokenizer: Tokenizer
) -> None:
    store = TokenStore.write(tmp_path, pairs, tokenizer)
    for side, name in enumerate(("source", "target")):
        path = tmp_path / f"{name}.ids"
        assert path.stat().st_size == 4 * store.lengths()[:, side].sum()
        ids = np.fromfile(path, "<u4")
        ids[0] = 250_001  # as in a vocabulary of 256,000 pieces
        ids.tofile(path)
    assert TokenStore(tmp_path).rows(0, np.array([0]), 99)[0, 0] == 250_001


def test_what_an_interrupted_write_left_is_replaced(
    tmp_path: Path, pairs: list[Pair], tokenizer: Tokenizer
) -> None:
    (tmp_path / "source.ids").write_bytes(b"\x01" * 99_999)
    assert len(TokenStore.write(tmp_path, pairs[:3], tokenizer)) == 3
    assert (tmp_path / "source.ids").stat().st_size < 1000


def test_a_store_that_is_not_there_is_told_by_its_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"source\.ends\.npy"):
        TokenStore(tmp_path)


@pytest.mark.parametrize("change", [-4, -1, 4])
@pytest.mark.parametrize("side", [0, 1])
def test_ids_that_are_not_as_many_as_are_counted_are_told(
    side: int, change: int, tmp_path: Path, pairs: list[Pair], tokenizer: Tokenizer
) -> None:
    count = int(TokenStore.write(tmp_path, pairs, tokenizer).lengths()[:, side].sum())
    path = tmp_path / ("source.ids", "target.ids")[side]
    os.truncate(path, 4 * count + change)
    with pytest.raises(ValueError) as told:
        TokenStore(tmp_path)
    assert str(told.value) == (
        f"{path} is damaged (it has {count + change // 4:,} ids in {4 * count + change:,} bytes, where "
        f"{count:,} are counted): remove recipe.json of its run, and `train --resume` prepares the run again "
        "from its corpus."
    )


@pytest.mark.parametrize("left", [0, 100, -8])
def test_ends_that_were_cut_are_told_by_their_file(
    left: int, tmp_path: Path, pairs: list[Pair], tokenizer: Tokenizer
) -> None:
    TokenStore.write(tmp_path, pairs, tokenizer)
    path = tmp_path / "target.ends.npy"
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(ValueError, match=rf"^{path} is damaged \(.*\): remove recipe\.json of its run"):
        TokenStore(tmp_path)


def test_a_full_disk_is_told_with_the_file_and_the_reason(
    tmp_path: Path, pairs: list[Pair], tokenizer: Tokenizer, disk_of: Any
) -> None:
    with disk_of(1000), pytest.raises(OSError) as told:
        TokenStore.write(tmp_path, pairs, tokenizer)
    assert told.value.strerror == "File too large"
    assert told.value.filename in {str(tmp_path / name) for name in ("source.ids", "target.ids")}


def test_a_pair_that_comes_again_is_cut_into_other_pieces_and_means_the_same(
    tmp_path: Path, pairs: list[Pair], tokenizer: Tokenizer
) -> None:
    again = [*pairs[:50], *pairs[:50]]
    store = TokenStore.write(tmp_path / "tokens", again, tokenizer, dropout=0.3, seed=5)
    rows = [store.rows(0, np.array([row]), 200)[0].tolist() for row in range(100)]
    assert tokenizer.decode_source(rows) == [pair.source for pair in again]
    assert sum(first != second for first, second in zip(rows[:50], rows[50:], strict=True)) > 40
    usual = tokenizer.encode_source([pair.source for pair in pairs[:50]])
    assert sum(map(np.count_nonzero, rows[:50])) > sum(map(len, usual))
    same = TokenStore.write(tmp_path / "same", again, tokenizer, dropout=0.3, seed=5)
    other = TokenStore.write(tmp_path / "other", again, tokenizer, dropout=0.3, seed=6)
    assert same.lengths().tolist() == store.lengths().tolist() != other.lengths().tolist()
