"""What could be silently wrong is refused with its value, or computed as the user means it."""

import json
from functools import partial

import keras
import numpy as np
import pytest
from keras import ops

import keras_transformer as kt
from tests.support.decoder_steps import BATCH, LENGTH, REAL, SOURCE, WIDTH, make, normal, tensorflow_only
from tests.support.layer_cases import same

X = normal(BATCH, LENGTH, WIDTH)
MEMORY = normal(BATCH, SOURCE, 6)


@pytest.fixture(scope="module")
def decoder():
    return make(with_memory=False)


@pytest.fixture(scope="module")
def with_memory():
    return make()


@pytest.mark.parametrize("label", [5, -1, 1.5, 2**32])
def test_a_label_that_is_no_id_of_the_vocabulary_is_refused(label):
    labels, logits = np.array([[1, label]]), np.zeros((1, 2, 5), "float32")

    with pytest.raises(ValueError, match=rf"labels .* from 0 to 4; got {label}"):
        kt.LabelSmoothedCrossEntropy()(labels, logits)


@pytest.mark.parametrize("label", [5, -1])
def test_in_fit_a_label_outside_the_vocabulary_makes_the_loss_nan_or_is_refused(label):
    model = keras.Sequential([keras.Input((LENGTH, WIDTH)), keras.layers.Dense(5)])
    model.compile("sgd", kt.LabelSmoothedCrossEntropy())
    labels = np.ones((BATCH, LENGTH))
    assert np.isfinite(model.fit(X, labels, verbose=0).history["loss"][0])
    labels[0, 0] = label

    if keras.backend.backend() == "torch":  # runs eagerly, and sees the label
        with pytest.raises(ValueError, match=rf"labels .* from 0 to 4; got {label}"):
            model.fit(X, labels, verbose=0)
    else:
        assert np.isnan(model.fit(X, labels, verbose=0).history["loss"][0])


@pytest.mark.parametrize("shape", [(1, 3), (1, 2, 5)])
def test_labels_of_another_shape_than_the_logits_are_refused(shape):
    with pytest.raises(ValueError, match=r"ids of shape \(batch, time\) = \(1, 2\), .* got \(1, "):
        kt.LabelSmoothedCrossEntropy()(np.ones(shape), np.zeros((1, 2, 5)))


@pytest.mark.parametrize("position", [[0.5, 0, 1], 1.5])
def test_a_step_at_a_fraction_of_a_position_is_refused(decoder, position):
    with pytest.raises(ValueError, match=r"position .* from 0 to 3; got [01]\.5"):
        decoder.step(X[:, :1], np.array(position), decoder.start(BATCH, LENGTH))


@tensorflow_only
def test_a_step_traced_for_positions_of_floats_is_refused(decoder):
    import tensorflow as tf

    with pytest.raises(ValueError, match=r"position must be integers; got .*float32"):
        tf.function(lambda at: decoder.step(X[:, :1], at, decoder.start(BATCH, LENGTH)))(tf.zeros(BATCH))


@pytest.mark.parametrize("lengths", [[-1, 2, 2], [2.5, 2, 2], [5, 2, 2]])
def test_a_prompt_of_more_or_less_than_its_positions_is_refused(decoder, lengths):
    with pytest.raises(ValueError, match=rf"lengths .* from 0 to 4; got {lengths[0]}\."):
        decoder.prefill(X, decoder.start(BATCH, 9), lengths=lengths)


def test_an_empty_prompt_leaves_the_cache_of_its_row(decoder):
    before = decoder.start(BATCH, LENGTH)
    _, after = decoder.prefill(X, before, lengths=[0, 4, 4])

    same([block.key[0] for block in after.blocks], [block.key[0] for block in before.blocks], atol=0)


@pytest.mark.parametrize("values", [[1, 1], [[1], [1], [1]]])
def test_numbers_that_are_not_one_for_each_row_are_refused(decoder, values):
    cache, told = decoder.start(BATCH, LENGTH), rf"\(batch,\) = \(3,\); got \({len(values)},"
    with pytest.raises(ValueError, match=f"position .* {told}"):
        decoder.step(X[:, :1], np.array(values), cache)
    with pytest.raises(ValueError, match=f"lengths .* {told}"):
        decoder.prefill(X, cache, lengths=values)


@pytest.mark.parametrize("wrong", [X[:1], X[:, :, :6], X[[0, 1, 2, 2]]], ids=["row", "width", "rows"])
def test_inputs_of_other_rows_or_another_width_than_the_cache_are_refused(decoder, wrong):
    cache = decoder.start(BATCH, LENGTH)
    for call in (partial(decoder.step, wrong[:, :1], 0), partial(decoder.prefill, wrong)):
        with pytest.raises(ValueError, match=rf"= \(3, None, 8\), .* got \({len(wrong)}, "):
            call(cache)


@pytest.mark.parametrize("shape", [(BATCH, 4), (BATCH, 1), (1, SOURCE)])
def test_a_cache_with_a_memory_mask_of_another_shape_is_refused(with_memory, shape):
    with pytest.raises(ValueError, match=r"memory_mask .* \(3, 5, 6\)"):
        with_memory.start(BATCH, LENGTH, MEMORY, np.ones(shape, bool))


def test_a_cache_of_half_a_row_or_position_is_refused(decoder):
    with pytest.raises(ValueError, match=r"batch must be a whole number; got 2\.5"):
        decoder.start(2.5, LENGTH)
    with pytest.raises(ValueError, match=r"length must be a whole number; got 2\.5"):
        decoder.start(BATCH, 2.5)


@pytest.mark.parametrize("number", [2**32 + 1, 10, -1, 1.5])
def test_an_id_outside_the_vocabulary_is_refused(number):
    with pytest.raises(ValueError, match=rf"ids .* from 0 to 9; got {number}\."):
        kt.TokenEmbedding(10, WIDTH)(np.array([[1, number]]))


@tensorflow_only
def test_a_traced_id_above_32_bits_is_not_cut_to_another_id():
    import tensorflow as tf

    run = tf.function(kt.TokenEmbedding(10, WIDTH))

    with pytest.raises(tf.errors.InvalidArgumentError, match="4294967297 is not in"):
        run(tf.constant([[2**32 + 1]], tf.int64))


@pytest.mark.parametrize("position", [-1, 4, 0.5])
def test_a_position_that_the_encoding_does_not_know_is_refused(position):
    with pytest.raises(ValueError, match=rf"positions .* from 0 to 3; got {position}\. max_length"):
        kt.PositionalEncoding(4)(X[:, :1], positions=np.array([[0], [position], [1]]))


def test_positions_of_other_rows_than_the_input_are_refused():
    with pytest.raises(ValueError, match=r"got \(2, 1\) for an input of shape \(3, 1, 8\)"):
        kt.PositionalEncoding(4)(X[:, :1], positions=[[0], [1]])


@pytest.mark.parametrize("pad_id", [2.5, True, "2"])
def test_a_padding_id_that_is_no_whole_number_is_refused(pad_id):
    for call in (partial(kt.TokenEmbedding, 10, WIDTH), partial(kt.padding_mask, np.ones((1, 2)))):
        with pytest.raises(ValueError, match=f"pad_id must be a whole number; got {pad_id!r}"):
            call(pad_id=pad_id)


@pytest.mark.parametrize(
    ("layer", "flag"),
    [
        (partial(kt.TransformerDecoder, 1), "causal"),
        (partial(kt.TransformerEncoder, 1), "norm_first"),
        (partial(kt.MultiHeadAttention, 2), "use_bias"),
        (partial(kt.TokenEmbedding, 10, WIDTH), "scale"),
        (partial(kt.TokenEmbedding, 10, WIDTH), "use_bias"),
        (partial(kt.MultiHeadAttention(2), X, X), "use_causal_mask"),
        (partial(kt.MultiHeadSelfAttention(2), X), "use_causal_mask"),
    ],
)
def test_a_flag_that_is_a_text_is_refused(layer, flag):
    with pytest.raises(ValueError, match=f"{flag} must be True or False; got 'False'"):
        layer(**{flag: "False"})


def test_flags_of_numpy_are_flags():
    assert kt.TransformerDecoder(1, causal=np.bool_(False)).get_config()["causal"] is False
    same(*(kt.MultiHeadAttention(1, kernel_initializer="ones")(X, X, use_causal_mask=flag)
           for flag in (True, np.bool_(True))))  # fmt: skip


@pytest.mark.parametrize("epsilon", [np.inf, np.nan])
def test_an_epsilon_that_is_not_finite_is_refused(epsilon):
    with pytest.raises(ValueError, match=f"epsilon .* got {epsilon}"):
        kt.TransformerEncoder(1, epsilon=epsilon)


def test_each_block_has_its_own_clone_of_an_activation_layer_and_loads_with_its_weights(tmp_path):
    activation = keras.layers.PReLU(shared_axes=[1], alpha_initializer="random_normal")
    encoder = kt.TransformerEncoder(2, num_heads=2, inner_width=4, activation=activation)
    model = keras.Sequential([keras.Input((LENGTH, WIDTH)), encoder])
    slopes = [weight for weight in model.weights if weight.name == "alpha"]

    assert [tuple(slope.shape) for slope in slopes] == [(1, 4), (1, 4)]
    assert np.any(ops.convert_to_numpy(slopes[0]) != ops.convert_to_numpy(slopes[1]))
    model.save(tmp_path / "model.keras")
    same(keras.models.load_model(tmp_path / "model.keras")(X), model(X), atol=1e-6)


@pytest.mark.parametrize(
    "make_layer",
    [
        lambda size: kt.TransformerEncoder(size(1), num_heads=size(2), inner_width=size(4)),
        lambda size: kt.MultiHeadAttention(size(2), key_dim=size(3), value_dim=size(2)),
        lambda size: kt.FeedForward(size(4)),
        lambda size: kt.PositionalEncoding(size(4)),
        lambda size: kt.TokenEmbedding(size(10), size(8), pad_id=size(1)),
    ],
)
def test_sizes_may_be_integers_of_numpy_and_are_saved_as_integers(make_layer):
    layer = make_layer(np.int64)
    layer.build(*[(None, LENGTH, WIDTH)] * (2 if isinstance(layer, kt.MultiHeadAttention) else 1))

    config = {name: value for name, value in layer.get_config().items() if name not in ("name", "dtype")}
    expected = make_layer(int).get_config()
    assert json.dumps(config) == json.dumps({name: expected[name] for name in config})


def test_masks_may_be_lists(with_memory):
    allowed = np.tril(np.ones((BATCH, LENGTH, LENGTH), bool))
    real = allowed[:, 1]
    for call in (
        lambda mask, padding: kt.MultiHeadAttention(1, kernel_initializer="ones")(
            X, X, attention_mask=mask, value_mask=padding
        ),
        lambda mask, padding: kt.MultiHeadSelfAttention(1, kernel_initializer="ones")(
            X, attention_mask=mask, mask=padding
        ),
        lambda mask, padding: with_memory(X, X[..., :6], attention_mask=mask, memory_mask=padding),
        lambda mask, padding: kt.scaled_dot_product_attention(X, X, X, mask),
    ):
        same(call(allowed.tolist(), real.tolist()), call(allowed, real), atol=0)
    caches = [with_memory.start(BATCH, LENGTH, MEMORY, mask) for mask in (REAL.tolist(), REAL)]
    same(caches[0].memory_mask, caches[1].memory_mask)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: kt.scaled_dot_product_attention(X, X[..., :6], X), r"same width.*key \(3, 4, 6\)"),
        (lambda: kt.scaled_dot_product_attention(X, X, X[:, :3]), r"same length.*value \(3, 3, 8\)"),
        (lambda: kt.scaled_dot_product_attention(X, X, X, np.ones((3, 4, 5))), r"got \(3, 4, 5\)"),
        (lambda: kt.MultiHeadAttention(2)(X, X, X[:, :3]), "same length; got 3 and 4"),
    ],
)  # fmt: skip
def test_shapes_that_disagree_are_named(call, told):
    with pytest.raises(ValueError, match=told):
        call()


def test_an_encoding_names_the_width_it_was_built_for():
    layer = kt.PositionalEncoding(4)
    layer(X)

    with pytest.raises(ValueError, match=r"axis -1 .* value 8, .* \(3, 4, 6\)"):
        layer(X[..., :6])
