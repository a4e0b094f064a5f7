"""Text becomes ids and comes back, whatever it is made of; what cannot be is told."""

import hashlib
import json
import logging
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.text.corpus import CorpusError, Pair
from keras_transformer.text.tokenizer import Tokenizer
from tests.support.texts import CORPUS, HOSTILE, MIXED

STUDENT = "Je suis étudiant."
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def tokenizer(request):
    return Tokenizer.train(MIXED, kind=request.param, source_lang="fr", target_lang="en")


@pytest.fixture(scope="module")
def separate():
    return Tokenizer.train(CORPUS, vocabulary_size=300, joint=False)


def there_and_back(tokenizer, text):
    return tokenizer.decode_source(tokenizer.encode_source([text]))[0]


# Ids


def test_a_golden_tokenizer_can_be_worked_out_by_hand():
    # One word, and room for all that can be merged in it: it becomes one piece. b alone is ▁ and b.
    tokenizer = Tokenizer.train([Pair("aab", "aab")])
    ids = tokenizer.encode_source(["aab", "b", "", "é"])
    assert tokenizer.pieces_source(ids[0]) == ["▁aab", "</s>"]
    assert tokenizer.pieces_source(ids[1]) == ["▁", "b", "</s>"]
    assert ids[2] == [3]
    # é is the bytes C3 A9, and byte b has the id 4 + b
    assert ids[3] == [tokenizer.encode_source(["b"])[0][0], 4 + 0xC3, 4 + 0xA9, 3]


def test_special_ids_are_the_same_in_every_tokenizer(tokenizer, separate):
    for one in (tokenizer, separate):
        assert (one.pad_id, one.bos_id, one.eos_id) == (0, 2, 3)
        assert one.pieces_target([0, 1, 2, 3, 4, 259]) == [
            "<pad>",
            "<unk>",
            "<s>",
            "</s>",
            "<0x00>",
            "<0xFF>",
        ]


def test_every_text_ends_with_the_end_and_starts_with_itself(tokenizer):
    for ids in (*tokenizer.encode_source([STUDENT, ""]), *tokenizer.encode_target([STUDENT, ""])):
        assert ids[-1] == tokenizer.eos_id
        assert not {tokenizer.pad_id, 1, tokenizer.bos_id, tokenizer.eos_id} & set(ids[:-1])


def test_a_limit_cuts_the_text_and_never_the_end(tokenizer):
    (ids,) = tokenizer.encode_source([STUDENT])
    for limit in range(1, len(ids) + 3):
        expected = ids if limit >= len(ids) else [*ids[: limit - 1], 3]
        assert tokenizer.encode_source([STUDENT], max_tokens=limit) == [expected]
    assert tokenizer.encode_target([STUDENT], max_tokens=1) == [[3]]


def test_a_text_has_the_same_ids_alone_and_among_others(tokenizer):
    texts = [text for pair in MIXED for text in pair]
    assert tokenizer.encode_source(texts) == [tokenizer.encode_source([text])[0] for text in texts]
    assert tokenizer.encode_source([]) == tokenizer.decode_source([]) == []


def test_joint_sides_share_their_ids_and_separate_ones_do_not(tokenizer, separate):
    assert tokenizer.joint and tokenizer.source_size == tokenizer.target_size
    assert tokenizer.encode_source([STUDENT]) == tokenizer.encode_target([STUDENT])
    assert not separate.joint
    assert len(separate.encode_source([STUDENT])[0]) < len(separate.encode_target([STUDENT])[0])
    assert separate.decode_target(separate.encode_target([STUDENT])) == [STUDENT]


# Back to text


def normalised(text):
    """The documented normalisation up to canonical equivalence, written a second time and without a table."""
    text = re.sub("[\u0001-\u0008\u000e-\u001f\u007f-\u0084\u0086-\u009f\u00ad\u200b\u2060\ufeff]", "", text)
    text = re.sub("[\t-\r\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000▁ ]+", " ", text)
    return unicodedata.normalize("NFC", text.strip(" "))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_comes_back_up_to_the_documented_normalisation(tokenizer, text):
    assert unicodedata.normalize("NFC", there_and_back(tokenizer, text)) == normalised(text)


@settings(deadline=None)
@given(st.text())
def test_any_text_comes_back_up_to_the_documented_normalisation(tokenizer, text):
    assert unicodedata.normalize("NFC", there_and_back(tokenizer, text)) == normalised(text)


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("text", ["étudiant", "Tiếng Việt ệ", "Ǖ ǟ", "한국어", "Ἄᾧ", "क़ ग़", "Å", "שּׁ"])
def test_composed_and_decomposed_text_have_the_same_ids(tokenizer, text, form):
    composed = unicodedata.normalize("NFC", text)
    assert tokenizer.encode_source([unicodedata.normalize(form, text)]) == tokenizer.encode_source([composed])
    assert there_and_back(tokenizer, text) == composed


@pytest.mark.parametrize("spelling", ["e\u0323\u0302", "e\u0302\u0323", "\u1eb9\u0302", "\u00ea\u0323"])
def test_marks_may_stand_in_any_order_and_be_composed_in_part(tokenizer, spelling):
    assert tokenizer.encode_source([f"Vi{spelling}t"]) == tokenizer.encode_source(["Việt"])
    assert there_and_back(tokenizer, f"Vi{spelling}t") == "Vi\u1ec7t"


def test_what_the_compatibility_forms_of_unicode_would_destroy_stays(tokenizer):
    for text in ("20 m²", "1½", "ﬁn", "Ⅻ", "ＡＢＣ", "…", "™", "x\u200dy", "ſ"):
        assert there_and_back(tokenizer, text) == text


def test_half_a_character_becomes_the_replacement_character(tokenizer):
    assert there_and_back(tokenizer, "a\ud83db") == "a\ufffdb"
    assert there_and_back(tokenizer, "\ud83d\ude00") == "😀"  # two halves that belong together


def test_padding_start_and_end_say_nothing(tokenizer):
    (ids,) = tokenizer.encode_target([STUDENT])
    assert tokenizer.decode_target([[2, *ids, 0, 0], np.array([2, 3, 0, 0]), []]) == [STUDENT, "", ""]


@settings(deadline=None)
@given(st.lists(st.integers(0, 299)))
def test_any_ids_decode_to_valid_text(separate, ids):
    separate.decode_target([ids])[0].encode("utf-8")


def test_a_prefix_is_text_that_the_vocabulary_has_in_full(tokenizer):
    assert tokenizer.encode_prefix("🙂 Das") == tokenizer.encode_target(["🙂 Das"])[0][:-1]
    names = tokenizer.pieces_target(range(tokenizer.target_size))
    names = [f"none {place}" if name.startswith("<0x") else name for place, name in enumerate(names)]
    imported = Tokenizer([tokenizer.target_model], vocabularies=[names])
    assert imported.encode_prefix("I am") == tokenizer.encode_prefix("I am")
    with pytest.raises(ValueError, match=r"no answer can begin with '🙂 I am': .*lacks"):
        imported.encode_prefix("🙂 I am")


# Training


def test_the_same_pairs_give_the_same_bytes_in_any_process(tokenizer):
    code = (
        "import hashlib; from keras_transformer.text.tokenizer import Tokenizer;"
        "from tests.support.texts import MIXED;"
        "print(*[hashlib.sha256(Tokenizer.train(iter(MIXED), kind=k).source_model).hexdigest()"
        " for k in ('bpe', 'unigram')])"
    )
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert hashlib.sha256(tokenizer.source_model).hexdigest() in run.stdout.split()
    assert run.stderr.count("\n") == 2  # our two warnings, and nothing of SentencePiece's log


def test_of_a_huge_corpus_sentences_are_taken_at_even_distances():
    # Of 1.2 million sentences 1 million are kept: each sixth, from the first on, is left out, and z with it.
    pairs = (Pair("zz", "zz") if number % 6 == 0 else Pair("un", "one") for number in range(600_000))
    tokenizer = Tokenizer.train(pairs)
    (ids,) = tokenizer.encode_source(["un z"])
    assert tokenizer.pieces_source(ids) == ["▁un", "▁", "<0x7A>", "</s>"]


def test_a_vocabulary_that_was_not_said_shrinks_to_what_the_corpus_supports(caplog):
    with caplog.at_level(logging.WARNING):
        tokenizer = Tokenizer.train(CORPUS)
    size = tokenizer.source_size
    assert 260 < size < 1000
    assert caplog.messages == [
        f"the vocabulary has {size} pieces: this corpus supports no more (the default is 8000)"
    ]


def test_a_vocabulary_that_was_said_is_kept_to():
    assert Tokenizer.train(CORPUS, vocabulary_size=310).source_size == 310


# Kept, and read again


@pytest.mark.parametrize("joint", [True, False])
def test_a_saved_tokenizer_is_the_same_when_loaded(tmp_path, joint):
    tokenizer = Tokenizer.train(CORPUS, joint=joint, source_lang="fr", target_lang="en")
    tokenizer.save(tmp_path / "run" / "tokenizer")
    models = ["shared.model"] if joint else ["source.model", "target.model"]
    assert sorted(path.name for path in (tmp_path / "run" / "tokenizer").iterdir()) == sorted(
        ["about.json", *models]
    )
    assert [path.name for path in (tmp_path / "run").iterdir()] == [
        "tokenizer"
    ]  # nothing of the work is left
    loaded = Tokenizer.load(tmp_path / "run" / "tokenizer")
    through_json = Tokenizer.from_config(json.loads(json.dumps(tokenizer.get_config())))
    for other in (loaded, through_json):
        assert other.get_config() == tokenizer.get_config()
        assert other.encode_target([STUDENT]) == tokenizer.encode_target([STUDENT])
        assert (other.joint, other.source_lang, other.target_lang) == (joint, "fr", "en")


def test_bare_models_from_elsewhere_can_be_loaded(tmp_path, separate):
    (tmp_path / "shared.model").write_bytes(separate.source_model)
    assert Tokenizer.load(tmp_path).encode_source([STUDENT]) == separate.encode_source([STUDENT])


# What is refused, in which words


def foreign_model(path, **options):
    lines = iter([STUDENT] * 10)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=lines,
        model_prefix=str(path),
        vocab_size=20,
        hard_vocab_limit=False,
        minloglevel=3,
        **options,
    )
    return path.with_name(path.name + ".model").read_bytes()


def test_where_a_corpus_has_more_characters_than_pieces_the_rarest_are_written_as_bytes(caplog):
    common, rare = (
        [chr(0x4E00 + number) for number in range(100)],
        [chr(0x5000 + number) for number in range(7800)],
    )
    pairs = [Pair("".join(common) * 10, "".join(common)) for _ in range(4000)] + [
        Pair(each, "a") for each in rare
    ]
    learned = Tokenizer.train(pairs)
    assert caplog.messages == ["more distinct characters than 8000 pieces: the rarest are encoded as bytes"]
    assert learned.decode_source(learned.encode_source([rare[-1], common[0]])) == [rare[-1], common[0]]
    assert set(common) <= set(learned.pieces_source(range(learned.source_size)))


def test_training_that_cannot_be_is_refused_with_the_sizes_that_can():
    refused = [
        (
            (CORPUS, 4000),
            "vocabulary_size=4000 is more than this corpus supports, which is ",
            " or less, or omit it",
        ),
        (
            (CORPUS, 261),
            "vocabulary_size=261 is too small: special ids, bytes and the corpus' characters are ",
            "Set a larger size, or omit it: rare characters are then encoded as bytes",
        ),
        (
            (CORPUS, 7, "word", True, "", "", 2.0),
            "vocabulary_size must be at least 261 (4 special ids, 256 bytes, a piece); got 7; "
            "kind must be 'bpe' or 'unigram'; got 'word'; character_coverage must be from 0.98 to 1; got 2.0",
        ),
        (([],), "there is no text to train a tokenizer from: give at least one pair that is not empty"),
        (([Pair("", "")],), "there is no text to train a tokenizer from"),
        (([Pair("\u3000", "\u200b")],), "SentencePiece cannot learn from this text"),
        (([Pair("un", "")], None, "bpe", False), "there is no text to train a tokenizer from"),
    ]
    for arguments, *words in refused:
        with pytest.raises(ValueError) as error:
            Tokenizer.train(*arguments)
        assert all(word in str(error.value) for word in words), str(error.value)


def test_a_mistake_in_the_corpus_is_told_as_it_is():
    def pairs():
        yield CORPUS[0]
        raise CorpusError("a.tsv, line 2: 1 columns")

    with pytest.raises(CorpusError, match=r"^a\.tsv, line 2: 1 columns$"):
        Tokenizer.train(pairs())


def test_ids_and_limits_that_cannot_be_are_refused(separate):
    with pytest.raises(ValueError, match=r"^row 1 has the id 300, but this vocabulary has the ids 0 to 299$"):
        separate.decode_target([[5], [7, 300]])
    with pytest.raises(ValueError, match=r"row 0 has the id -1, but this vocabulary has the ids 0 to 299"):
        separate.pieces_source([-1])
    with pytest.raises(
        ValueError, match="max_tokens must be at least 1, which is the end of sentence alone; got 0"
    ):
        separate.encode_source([STUDENT], max_tokens=0)
    with pytest.raises(
        TypeError, match=r"a sequence of texts is expected; got the text 'Je suis .*Put it into a list"
    ):
        separate.encode_source(STUDENT)


def test_a_damaged_tokenizer_is_never_used(tmp_path, separate):
    whole = tmp_path / "tokenizer"
    separate.save(whole)
    model = (whole / "source.model").read_bytes()
    flipped = model[:-40_000] + bytes([model[-40_000] ^ 1]) + model[-39_999:]
    for content in (b"", b"hello", model[:-100], flipped):
        (whole / "source.model").write_bytes(content)
        with pytest.raises(
            ValueError, match=r"source\.model is damaged \(its sha256 is not the one in about\.json\)"
        ):
            Tokenizer.load(whole)
    (whole / "about.json").unlink()
    (whole / "source.model").write_bytes(model[:1000])
    with pytest.raises(
        ValueError, match=r"source\.model cannot be used: these 1000 bytes are not a SentencePiece model"
    ):
        Tokenizer.load(whole)
    for content in ("{", "[1]", "7"):
        (whole / "about.json").write_text(content)
        with pytest.raises(
            ValueError, match=r"about\.json is damaged .*copy it again from where it came, or train the"
        ):
            Tokenizer.load(whole)


def test_a_directory_without_the_models_says_which_are_wanted(tmp_path, separate):
    wanted = "must hold either shared.model, or source.model and target.model; found "
    for present, found in (
        ((), "none of them"),
        (("source.model",), "source.model"),
        (
            ("shared.model", "source.model", "target.model"),
            "shared.model and source.model and target.model",
        ),
    ):
        directory = tmp_path / str(len(present))
        directory.mkdir()
        for name in present:
            (directory / name).write_bytes(separate.source_model)
        with pytest.raises(FileNotFoundError) as error:
            Tokenizer.load(directory)
        assert str(error.value) == f"{directory} {wanted}{found}"
    with pytest.raises(FileNotFoundError, match="nowhere must hold either"):
        Tokenizer.load(tmp_path / "nowhere")


def test_a_tokenizer_is_never_overwritten(tmp_path, separate):
    separate.save(tmp_path / "tokenizer")
    with pytest.raises(FileExistsError, match="tokenizer exists: a tokenizer is never overwritten"):
        separate.save(tmp_path / "tokenizer")


def test_models_that_a_translation_cannot_use_are_refused(tmp_path, separate):
    without_padding = foreign_model(tmp_path / "a")
    with pytest.raises(
        ValueError, match=r"has no padding, start or end piece \(their ids are \(-1, 1, 2\), -1 is none"
    ):
        Tokenizer([without_padding])
    (tmp_path / "shared.model").write_bytes(without_padding)
    with pytest.raises(
        ValueError, match=r"shared\.model cannot be used: the model has no padding, start or end"
    ):
        Tokenizer.load(tmp_path)
    other_ids = foreign_model(tmp_path / "b", pad_id=3)
    with pytest.raises(ValueError, match=r"must agree on the ids of .*; got \(0, 2, 3\) and \(3, 1, 2\)"):
        Tokenizer([separate.source_model, other_ids])
