"""Texts through a model: each gets its own answer, whatever stands beside it."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from keras_transformer import TranslationModel
from keras_transformer.decoding.traced_search import Search, search_traced
from keras_transformer.inference.answer import Answer
from keras_transformer.models.hosted import HostedModel
from keras_transformer.models.network import Network
from keras_transformer.models.translate import search_ids, translate_ids, translate_sentences
from keras_transformer.text.corpus import Pair
from keras_transformer.text.lengths import longest_answer
from keras_transformer.text.padding import padded
from keras_transformer.text.sentences import Lengths, Parts
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training.loss import LabelSmoothedCrossEntropy

START, END = 2, 3


@pytest.fixture(scope="module")
def random(tokenizer: Tokenizer) -> TranslationModel:
    """Random weights, larger than a fresh model's, so that the answers depend on the source."""
    keras.utils.set_random_seed(3)
    model = TranslationModel(Network(1, 1, 16, 24, 2), tokenizer.source_size, tokenizer=tokenizer)
    model.build()
    for weight in model.trainable_variables:
        if len(weight.shape) > 1:
            weight.assign(weight * 2.0)
    return model


@pytest.fixture(scope="module")
def model(random: TranslationModel, rows: list[list[int]]) -> TranslationModel:
    """The same with what it likes to say as the end: some of its answers end early, some late, some never."""
    said = translate_ids(random, rows, START, END)
    ((favourite, _),) = Counter(token for answer in said for token in {*answer[1:]}).most_common(1)
    table = random.target_embedding.embeddings.numpy()
    table[[END, favourite]] = table[[favourite, END]]
    model = random.with_policy("float32")
    model.target_embedding.embeddings.assign(table)
    return model


@pytest.fixture(scope="module")
def rows(tokenizer: Tokenizer, pairs: list[Pair]) -> list[list[int]]:
    return tokenizer.encode_source([pair.source for pair in pairs[:120]])


@pytest.fixture(scope="module")
def alone(model: TranslationModel, rows: list[list[int]]) -> list[list[int]]:
    return [translate_ids(model, [row], START, END)[0] for row in rows]


def ended(row: list[int], answer: list[int]) -> bool:
    return len(answer) < longest_answer(len(row))


def test_the_random_model_is_worth_asking(alone: list[list[int]], rows: list[list[int]]) -> None:
    assert 5 < sum(map(ended, rows, alone)) < 115
    assert len({tuple(answer) for answer in alone}) > 20


def ids_of(found: list[list[Answer]]) -> list[list[list[int]]]:
    return [[answer.ids for answer in answers] for answers in found]


def spoken(answers: list[list[list[int]]]) -> list[list[int]]:
    return [[number for number in best if number != END] for (best,) in answers]


@pytest.mark.parametrize("count", [2, 60, 120])
def test_a_sentence_has_the_same_tokens_alone_and_in_any_batch(
    model: TranslationModel, rows: list[list[int]], alone: list[list[int]], count: int
) -> None:
    places = np.random.default_rng(count).permutation(len(rows))[:count].tolist()
    together = search_ids(model, [rows[place] for place in places], Search(START, END))
    assert spoken(ids_of(together)) == [alone[place] for place in places]


@pytest.mark.parametrize("batch_tokens", [1, 50, 4096])
def test_the_loop_over_the_layers_says_the_same_in_any_batch(
    model: TranslationModel, rows: list[list[int]], alone: list[list[int]], batch_tokens: int
) -> None:
    longest = model.network.max_length
    together = search_traced(model, rows, Search(START, END), longest, batch_tokens=batch_tokens)
    assert spoken(together) == alone


def test_a_sentence_that_does_not_end_is_cut_at_its_own_limit_in_any_batch(
    model: TranslationModel, rows: list[list[int]]
) -> None:
    cut = 0
    for row, (answer,) in zip(rows, search_ids(model, rows, Search(START, END)), strict=True):
        assert len(answer.ids) <= longest_answer(len(row))
        cut += answer.ids[-1] != END
    assert cut > 5


def test_the_order_is_the_callers(model: TranslationModel, pairs: list[Pair]) -> None:
    texts = [pair.source for pair in pairs[:12]]
    said = model.translate(texts)
    assert model.translate(texts[::-1]) == said[::-1]
    assert model.translate([]) == []


def test_changed_weights_change_what_is_said(tokenizer: Tokenizer) -> None:
    model = TranslationModel(Network(1, 1, 8, 8, 2), tokenizer.source_size, tokenizer=tokenizer)
    model.build()
    # the decoder's last normalisation gives one vector, whatever comes: the token nearest to it is said
    norm = model.decoder.norm
    norm.gamma.assign(np.zeros(8))
    norm.beta.assign(np.eye(8)[0])
    table = np.zeros((tokenizer.source_size, 8), np.float32)
    ((piece, *_),) = tokenizer.encode_target(["la"])
    table[piece, 0] = 1.0
    model.target_embedding.embeddings.assign(table)
    first = model.translate(["Oui."])[0]
    assert {*first.split()} == {*tokenizer.decode_target([[piece]])}
    table[END, 0] = 2.0  # now it ends at once
    model.target_embedding.embeddings.assign(table)
    assert model.translate(["Oui."]) == [""]


@pytest.fixture(scope="module")
def trained(model: TranslationModel) -> TranslationModel:
    """A copy for several trainings, whose search is traced once."""
    return model.with_policy("float32")


@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "XLA"])
@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_training_changes_what_is_said_at_once(
    model: TranslationModel,
    trained: TranslationModel,
    rows: list[list[int]],
    jit_compile: bool,
    optimizer: str,
) -> None:
    search, longest = Search(START, END), model.network.max_length
    trained.set_weights(model.get_weights())
    source = padded(rows[:8], max(map(len, rows[:8])))
    trained.compile(optimizer, LabelSmoothedCrossEntropy(), jit_compile=jit_compile)
    trained.optimizer.learning_rate = 0.05
    said = [ids_of(search_ids(trained, rows[:20], search))]
    for _ in range(2):
        trained.fit({"source": source, "target": source[:, ::-1]}, source, verbose=0)
        said.append(ids_of(search_ids(trained, rows[:20], search)))
        assert said[-1] == search_traced(trained, rows[:20], search, longest)
    assert said[0] != said[1] != said[2]


def test_as_long_as_no_weight_changes_the_weights_are_laid_out_once(model: TranslationModel) -> None:
    own = model.with_policy("float32")
    said = own.translate(["Merci.", "Non."])
    assert own.translate(["Non."]) == said[1:]
    own.set_weights(own.get_weights())  # the same numbers
    assert own.translate(["Merci."]) == said[:1]
    assert own.derived.get(HostedModel).graphs_made == 4  # encoder, decoder, scores, candidates
    bias = own.decoder.blocks[0].feed_forward.outer.bias
    bias.assign_add(8.0 * np.arange(bias.shape[0]))
    assert own.translate(["Merci."]) != said[:1]
    bias.assign_sub(8.0 * np.arange(bias.shape[0]))
    assert own.translate(["Merci."]) == said[:1]
    assert own.derived.get(HostedModel).graphs_made == 3 * 4


def step_by_step(model: TranslationModel, row: list[int], most: int) -> list[int]:
    """What the model's own steps say, one after the other, without anything compiled."""
    state = model.encode(np.array([row], np.int32), most)
    said = [START]
    for position in range(most):
        logits, state = model.step(keras.ops.convert_to_tensor(said[-1:]), position, state)
        said.append(int(keras.ops.argmax(logits[0])))
        if said[-1] == END:
            break
    return said[1:]


def adapt(model: TranslationModel) -> None:
    """Give every product a change of low rank, as a fine-tuning with LoRA leaves it."""
    rng = np.random.default_rng(1)
    for layer in model._flatten_layers():
        if isinstance(layer, keras.layers.Dense):
            layer.enable_lora(2)
            layer.lora_kernel_b.assign(rng.normal(0, 1, layer.lora_kernel_b.shape))


def quantize(model: TranslationModel) -> None:
    model.quantize("int8", filters=lambda layer: isinstance(layer, keras.layers.Dense))


@pytest.mark.parametrize("change", [adapt, quantize], ids=["enable_lora", "quantize"])
def test_other_variables_in_the_layers_change_what_is_said(
    model: TranslationModel, rows: list[list[int]], pairs: list[Pair], change: Callable[[Any], None]
) -> None:
    own, search, text = model.with_policy("float32"), Search(START, END), pairs[0].source
    before = ids_of(search_ids(own, rows[:4], search, 8))
    search_traced(own, rows[:2], search, 8)
    scores = own.hypotheses([text], max_tokens=6)[0][0].log_probs
    change(own)
    stepped = [[step_by_step(own, row, 8)] for row in rows[:4]]
    assert ids_of(search_ids(own, rows[:4], search, 8)) == stepped
    assert search_traced(own, rows[:4], search, 8) == stepped
    (answer,) = own.hypotheses([text], max_tokens=6)[0]
    said = [*answer.tokens, END][: len(answer.log_probs)]
    given = np.array([[START, *said[:-1]]], np.int32)
    logits = own({"source": np.array(rows[:1], np.int32), "target": given})
    log_probs = keras.ops.convert_to_numpy(keras.ops.log_softmax(logits))[0]
    np.testing.assert_allclose(answer.log_probs, log_probs[range(len(said)), said], rtol=0, atol=1e-4)
    assert scores != answer.log_probs
    if change is adapt:
        assert stepped != before
        for layer in own._flatten_layers():
            if isinstance(layer, keras.layers.Dense):
                layer.lora_kernel_b.assign(keras.ops.zeros_like(layer.lora_kernel_b))
        assert ids_of(search_ids(own, rows[:4], search, 8)) == before


def test_graphs_of_float_weights_are_not_made_of_quantized_layers(
    model: TranslationModel, tmp_path: Path
) -> None:
    from export.formats.writers.ctranslate2 import write_ctranslate2
    from export.formats.writers.onnx_scheduler import write_scheduler_onnx

    own = model.with_policy("float32")
    quantize(own)
    for write in (write_scheduler_onnx, write_ctranslate2):
        with pytest.raises(ValueError, match=r"feed_forward/\w+ is quantized to int8; .* float weights"):
            write(own, tmp_path / "version")
        assert not (tmp_path / "version").exists()


class Contrary(TranslationModel):
    """It says what TranslationModel finds least likely."""

    def step(self, token: Any, position: Any, state: Any) -> tuple[Any, Any]:
        logits, state = super().step(token, position, state)
        return -logits, state


def test_a_subclass_speaks_by_its_own_step(model: TranslationModel) -> None:
    contrary = Contrary(model.network, model.source_vocabulary, tokenizer=model.tokenizer)
    contrary.build()
    contrary.set_weights(model.get_weights())
    first = model.hypotheses(["Merci."], max_tokens=1)[0][0].log_probs
    assert contrary.hypotheses(["Merci."], max_tokens=1)[0][0].log_probs < first
    assert contrary.translate(["Merci."]) != model.translate(["Merci."])


def test_a_model_of_another_precision_says_what_its_float32_copy_says(model: TranslationModel) -> None:
    texts = ["Merci.", "Où est la gare ?", "Je suis étudiant."]
    assert model.with_policy("mixed_bfloat16").translate(texts) == model.translate(texts)


def test_a_sentence_is_translated_as_far_as_the_positions_go(tokenizer: Tokenizer) -> None:
    model = TranslationModel(
        Network(1, 1, 8, 8, 2, max_length=64), tokenizer.source_size, tokenizer=tokenizer
    )
    model.build()
    (source,) = tokenizer.encode_source(["oui " * 500], 64)
    assert len(source) == 64
    (ids,) = translate_ids(model, [source], START, END)
    assert len(ids) <= 64
    text = ("oui " * 500).strip()
    parts = Parts.of(text, tokenizer.count_source, Lengths(0, 64)).texts  # translate leaves nothing out
    assert model.translate([text]) == [" ".join(translate_sentences(model, parts))]


def test_a_paragraph_is_translated_sentence_by_sentence_and_all_white_space_stays(
    model: TranslationModel,
) -> None:
    merci, gare, non = translate_sentences(model, ["Merci.", "Où est la gare ?", "Non."])
    assert model.translate([" Merci.  Où est la gare ? Non.\n\n\tNon.\r\n", "Merci.", "", " \n\t"]) == [
        f" {merci}  {gare} {non}\n\n\t{non}\r\n",
        merci,
        "",
        " \n\t",
    ]


def test_sentences_stay_together_where_the_corpus_has_such_lines(model: TranslationModel) -> None:
    text = "Merci. Où est la gare ?"
    together = model.with_policy("float32")
    together.lengths = Lengths.learned_from([text] * 5 + ["Non."] * 100, model.tokenizer.count_source)
    assert together.translate([text]) == translate_sentences(model, [text]) != model.translate([text])


def test_the_lengths_that_a_model_knows_are_saved_with_it(model: TranslationModel, tmp_path: Path) -> None:
    copy = model.with_policy("float32")
    copy.lengths = Lengths(whole=40, longest=60, least=12)
    copy.save(tmp_path / "model.keras")
    assert TranslationModel.load(tmp_path).lengths == (40, 60, 12)
    assert copy.with_policy("float32").lengths == (40, 60, 12)
    config = {name: value for name, value in copy.get_config().items() if name != "lengths"}
    assert TranslationModel.from_config(config).lengths == (0, 128, 0)  # as if nothing were known
    copy.lengths = Lengths(whole=0, longest=5000)
    assert copy.lengths.longest == copy.network.max_length  # nothing is lost behind the last position
    assert model.lengths == (0, 128, 0)


def test_one_text_in_place_of_a_list_is_told(model: TranslationModel) -> None:
    with pytest.raises(TypeError) as told:
        model.translate("Je suis étudiant.")
    assert str(told.value) == (
        "translate takes a list of texts; got the text 'Je suis étudiant.'. Put it into a list."
    )


@pytest.mark.parametrize(
    ("texts", "shown"),
    [
        ([None], "number 1 is None"),
        (["Oui.", b"Non."], "number 2 is b'Non.'"),
        (None, "got None"),
        (5, "got 5"),
    ],
)
def test_what_is_no_text_is_told_with_its_number(model: TranslationModel, texts: Any, shown: str) -> None:
    for method, name in ((model.translate, "translate"), (model.hypotheses, "hypotheses")):
        with pytest.raises(TypeError) as told:
            method(texts)
        assert str(told.value) == f"{name} takes a list of texts; {shown}."


def test_texts_may_come_as_any_iterable(model: TranslationModel) -> None:
    texts = ["Merci.", "Non."]
    assert (
        model.translate(text for text in texts) == model.translate(np.array(texts)) == model.translate(texts)
    )
    assert model.hypotheses(iter(texts)) == model.hypotheses(texts)


def test_without_a_tokenizer_text_is_refused_with_the_remedy() -> None:
    model = TranslationModel(Network(1, 1, 8, 8, 2), 30)
    model.build()
    with pytest.raises(ValueError) as told:
        model.translate(["Oui."])
    assert str(told.value) == ("this model has no tokenizer: create it with tokenizer=... to translate text.")
    assert translate_ids(model, [[5, 6, 3], [3]], START, END)[0] != []


def test_hypotheses_are_what_translate_says_with_the_probability_of_each_token(
    model: TranslationModel, pairs: list[Pair]
) -> None:
    texts = [*(pair.source for pair in pairs[:6]), ""]
    found = model.hypotheses(texts)
    assert [answers[0].text for answers in found[:6]] == translate_sentences(model, texts)[:6]
    assert found[6] == []  # nothing to translate
    for text, (answer,) in zip(texts[:6], found[:6], strict=True):
        (source,) = model.tokenizer.encode_source([text])
        said = [*answer.tokens, END][: len(answer.log_probs)]
        given = np.array([[START, *said[:-1]]], np.int32)
        logits = model({"source": np.array([source]), "target": given}).numpy()[0]
        expected = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        np.testing.assert_allclose(answer.log_probs, expected[range(len(said)), said], rtol=0, atol=1e-4)
        np.testing.assert_allclose(answer.score, np.mean(answer.log_probs), rtol=1e-5)
        assert len(answer.alignment) == len(said)
        assert max(answer.alignment) < len(source)


def test_the_best_of_a_beam_is_at_least_as_likely_as_what_greedy_says(
    model: TranslationModel, pairs: list[Pair]
) -> None:
    texts = [pair.source for pair in pairs[:8]]
    greedy, beam = (
        model.hypotheses(texts, beam=beam, length_penalty=0.0, max_tokens=12, loop_guard=False)
        for beam in (1, 4)
    )
    for (one,), several in zip(greedy, beam, strict=True):
        assert len(several) == 4
        scores = [answer.score for answer in several]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(answer.tokens) for answer in several}) == 4
        assert scores[0] >= one.score - 1e-4
    best = [answers[0].text for answers in model.hypotheses(texts, beam=4)]
    assert translate_sentences(model, texts, beam=4) == best


def test_an_answer_begins_as_it_is_told_and_ends_at_max_tokens(
    model: TranslationModel, pairs: list[Pair]
) -> None:
    texts = [pair.source for pair in pairs[:4]]
    prefixes = ["The", "", "I am", "Where is the"]
    begins = [ids[:-1] for ids in model.tokenizer.encode_target(prefixes)]
    for beam in (1, 2):
        found = model.hypotheses(texts, beam=beam, max_tokens=9, prefixes=prefixes)
        for begin, answers in zip(begins, found, strict=True):
            for answer in answers:
                assert answer.tokens[: len(begin)] == begin
                assert len(answer.log_probs) <= 9
    with pytest.raises(ValueError) as told:
        model.hypotheses(texts, prefixes=["The"])
    assert str(told.value) == "a prefix for each text is needed; got 1 for 4 texts."


def test_a_prefix_that_no_answer_can_have_is_refused_with_what_it_is(tokenizer: Tokenizer) -> None:
    never = tokenizer.encode_target(["The"])[0][0]
    model = TranslationModel(
        Network(1, 1, 16, 24, 2, forbidden=(never,)), tokenizer.source_size, tokenizer=tokenizer
    )
    with pytest.raises(ValueError, match=r"no answer can begin with 'The tea': .*Leave them out\."):
        model.hypotheses(["Bonjour."], prefixes=["The tea"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam": 0}, "beam must be at least 1; got 0."),
        ({"beam": "4"}, "beam must be a whole number of at least 1; got '4'."),
        ({"beam": 2.0}, "beam must be a whole number of at least 1; got 2.0. Try beam=2."),
        ({"max_tokens": 0}, "max_tokens must be at least 1; got 0."),
        ({"max_tokens": "9"}, "max_tokens must be a whole number of at least 1; got '9'."),
        ({"length_penalty": "1"}, "length_penalty must be a finite number; got '1'."),
        ({"length_penalty": float("nan")}, "length_penalty must be a finite number; got nan."),
    ],
)
def test_options_out_of_range_are_told(
    model: TranslationModel, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError) as told:
        model.hypotheses(["Oui."], **options)
    assert str(told.value) == message
