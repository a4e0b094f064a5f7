"""Imported models beside transformers and CTranslate2's own converter, live: `make test-parity`.

Random weights of every kind, 500 texts each. Another token is a difference unless the first two logits of
transformers lie less than NEAR_TIE apart at that step; such near-ties are listed.
"""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer import TranslationModel
from tests.support import marian_kinds as kinds

pytestmark = [pytest.mark.parity, pytest.mark.timeout(3600), pytest.mark.filterwarnings("ignore")]

COUNT = int(os.environ.get("PARITY_TEXTS", "500"))
NEAR_TIE = 1e-4
ROWS = 50
ALL = {**kinds.KINDS, **kinds.LARGE_KINDS}


class Both:
    """One directory in transformers and here."""

    def __init__(self, directory: Path, kind: dict[str, Any]) -> None:
        import torch
        from transformers import MarianMTModel, MarianTokenizer

        torch.set_num_threads(1)
        kinds.make(directory, kind, 1, zero_start=True)
        self.directory = directory
        self.texts = kinds.texts_of(kind, COUNT, 7)
        self.tokenizer = MarianTokenizer.from_pretrained(directory)
        self.theirs = MarianMTModel.from_pretrained(directory, dtype=torch.float32).eval()
        self.ours = TranslationModel.from_pretrained(directory)
        name = "target_vocab.json" if kind.get("separate") else "vocab.json"
        source, target = (json.loads((directory / each).read_bytes()) for each in ("vocab.json", name))
        pieces = [
            {piece: number for number, piece in enumerate(side)} for side in self.ours.tokenizer.vocabularies
        ]
        self.source_ids = {number: pieces[0][piece] for piece, number in source.items()}
        self.target_ids = {number: pieces[1][piece] for piece, number in target.items()}

    def batches(self) -> Iterator[tuple[list[str], Any]]:
        for first in range(0, len(self.texts), ROWS):
            texts = self.texts[first : first + ROWS]
            yield texts, self.tokenizer(texts, return_tensors="pt", padding=True)

    def own(self, ids: list[int]) -> list[int]:
        """An answer of transformers in the ids here, without its start and what follows its end."""
        numbers = [self.target_ids[number] for number in ids[1:]]
        return numbers[: numbers.index(3)] if 3 in numbers else numbers

    def margin(self, text: str, answer: list[int], place: int) -> float:
        """How far apart the first two logits of transformers are at a step of an answer."""
        import torch

        batch = self.tokenizer([text], return_tensors="pt")
        with torch.no_grad():
            logits = self.theirs(**batch, decoder_input_ids=torch.tensor([answer[: place + 1]])).logits[0, -1]
        first, second = logits.topk(2).values.tolist()
        return first - second


@pytest.fixture(scope="module", params=ALL)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Both:
    return Both(tmp_path_factory.mktemp("parity") / request.param, ALL[request.param])


def test_logits_are_equal_at_every_position(both: Both) -> None:
    import torch

    columns = [both.target_ids[number] for number in range(len(both.target_ids))]
    worst = 0.0
    for text in both.texts[:20]:
        batch = both.tokenizer([text], return_tensors="pt")
        pad = both.theirs.config.pad_token_id  # inside a target it is masked here, and not there
        given = np.random.default_rng(len(text)).choice(np.delete(np.arange(len(columns)), pad), (1, 12))
        given[0, 0] = both.theirs.config.decoder_start_token_id
        with torch.no_grad():
            theirs = both.theirs(**batch, decoder_input_ids=torch.tensor(given)).logits[0].numpy()
        source = [[both.source_ids[number] for number in batch["input_ids"][0].tolist()]]
        target = [[2, *(both.target_ids[number] for number in given[0, 1:].tolist())]]
        ours = np.asarray(both.ours({"source": np.array(source), "target": np.array(target)}))[0]
        worst = max(worst, float(np.abs(ours[:, columns] - theirs).max()))
    print(f"{both.directory.name}: logits differ by at most {worst:.2g}")
    assert worst < 1e-4


def test_greedy_tokens_and_texts_are_equal(both: Both) -> None:
    near_ties, differences, texts_differ = 0, [], []
    for texts, batch in both.batches():
        answers = both.theirs.generate(**batch, num_beams=1).tolist()
        said = both.tokenizer.batch_decode(answers, skip_special_tokens=True)
        found = both.ours.hypotheses(texts, alignment=False, loop_guard=False)
        for text, answer, expected, (ours,) in zip(texts, answers, said, found, strict=True):
            theirs = both.own(answer)
            if ours.tokens == theirs:
                texts_differ += [text] * (ours.text != expected)
                continue
            pairs = zip(ours.tokens, theirs, strict=False)
            shorter = min(len(ours.tokens), len(theirs))
            place = next((index for index, (one, other) in enumerate(pairs) if one != other), shorter)
            if both.margin(text, answer, place) < NEAR_TIE:
                near_ties += 1
            else:
                differences.append(text)
    print(f"{both.directory.name}: {COUNT} texts, {len(differences)} differences, {near_ties} near-ties")
    assert not differences
    assert not texts_differ


def test_ctranslate2_converts_it_to_the_same_answers(both: Both, tmp_path: Path) -> None:
    """Greedy, and the best of four beams by its own scores."""
    ctranslate2 = pytest.importorskip("ctranslate2")
    config = both.theirs.config
    if config.encoder_attention_heads != config.decoder_attention_heads:
        pytest.skip("its converter gives the decoder the heads of the encoder")
    if not config.tie_word_embeddings or (both.directory / "target_vocab.json").exists():
        pytest.skip("its converter reads one vocabulary and a tied output alone")
    # in float32: of a model in half precision it would write the positions in half precision, too
    shutil.copytree(both.directory, tmp_path / "model")
    (tmp_path / "model" / "pytorch_model.bin").unlink(missing_ok=True)
    both.theirs.save_pretrained(tmp_path / "model")
    converter = ctranslate2.converters.TransformersConverter(str(tmp_path / "model"))
    converter.convert(str(tmp_path / "ctranslate2"))
    translator = ctranslate2.Translator(str(tmp_path / "ctranslate2"), intra_threads=1)
    longest = both.ours.network.answer_tokens
    texts = both.texts[: min(COUNT, 100)]
    pieces = [both.tokenizer.convert_ids_to_tokens(row) for row in both.tokenizer(texts)["input_ids"]]
    names = both.ours.tokenizer.vocabularies[1]
    for beam in (1, 4):
        results = translator.translate_batch(
            pieces, beam_size=beam, num_hypotheses=beam, max_decoding_length=longest, min_decoding_length=0
        )
        found = both.ours.hypotheses(texts, beam=beam, alignment=False, loop_guard=False)
        equal = 0
        for ours, result in zip(found, results, strict=True):
            own = [[names[number] for number in answer.tokens] for answer in ours]
            equal += own == result.hypotheses if beam > 1 else own[0] == result.hypotheses[0]
        print(f"{both.directory.name}: beam {beam}: {equal} of {len(texts)} equal CTranslate2's")
        assert equal == len(texts)
