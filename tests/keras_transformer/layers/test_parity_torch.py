"""The weights of PyTorch's nn.TransformerEncoder and nn.TransformerDecoder give here what they gave there.

What it gave is recorded in golden/torch.npz by golden/record_torch.py, whose docstring has the command.
"""

from pathlib import Path

import numpy as np
import pytest
from keras import ops

from keras_transformer import TransformerDecoder, TransformerEncoder, causal_mask

RECORDED = dict(np.load(Path(__file__).parent / "golden" / "torch.npz"))
SETTINGS = {"num_layers": 2, "num_heads": 2, "inner_width": 12}
# PyTorch's names for the normalisations of a block, in the order of its sublayers
NORMS = {
    "encoder": ["self_attention_norm", "feed_forward_norm"],
    "decoder": ["self_attention_norm", "cross_attention_norm", "feed_forward_norm"],
}


def kernels_and_biases(kind, weights):
    """PyTorch's state_dict -> {end of our path: value}; its matrices are (out, in), ours (in, out)."""
    width = weights["norm.weight"].shape[0]
    yield "norm/gamma", weights["norm.weight"]
    yield "norm/beta", weights["norm.bias"]
    for index in range(SETTINGS["num_layers"]):
        theirs, ours = f"layers.{index}.", f"block_{index}/"
        attention = theirs + "self_attn."
        dense = {
            "self_attention/query_key_value": (attention + "in_proj_weight", attention + "in_proj_bias", ...),
            "self_attention/output": (attention + "out_proj.weight", attention + "out_proj.bias", ...),
            "feed_forward/inner": (theirs + "linear1.weight", theirs + "linear1.bias", ...),
            "feed_forward/outer": (theirs + "linear2.weight", theirs + "linear2.bias", ...),
        }
        if kind == "decoder":
            cross = theirs + "multihead_attn."
            projections = cross + "in_proj_weight", cross + "in_proj_bias"
            dense |= {
                "cross_attention/query": (*projections, slice(width)),
                "cross_attention/key_value": (*projections, slice(width, None)),
                "cross_attention/output": (cross + "out_proj.weight", cross + "out_proj.bias", ...),
            }
        for name, (kernel, bias, rows) in dense.items():
            yield f"{ours}{name}/kernel", weights[kernel][rows].T
            yield f"{ours}{name}/bias", weights[bias][rows]
        for number, name in enumerate(NORMS[kind], start=1):
            yield f"{ours}{name}/gamma", weights[f"{theirs}norm{number}.weight"]
            yield f"{ours}{name}/beta", weights[f"{theirs}norm{number}.bias"]


def with_the_weights(kind, layer):
    """Every weight of ours is set, and every one of theirs used, but the final norm where there is none."""
    prefix = kind + "/"
    theirs = {name.removeprefix(prefix): value for name, value in RECORDED.items() if name.startswith(prefix)}
    values = dict(kernels_and_biases(kind, theirs))
    for weight in layer.weights:
        weight.assign(values.pop(weight.path.partition("/")[2]))
    assert set(values) == (set() if layer.norm_first else {"norm/gamma", "norm/beta"})
    return layer


@pytest.fixture(scope="module", params=["pre/relu", "pre/gelu", "post/relu", "post/gelu"])
def case(request):
    return request.param


def settings(case):
    norm, activation = case.split("/")
    return {**SETTINGS, "norm_first": norm == "pre", "activation": activation}


@pytest.fixture(scope="module")
def encoder(case):
    layer = TransformerEncoder(**settings(case))
    layer.build(RECORDED["source"].shape)
    return with_the_weights("encoder", layer)


@pytest.fixture(scope="module", params=[True, False], ids=["causal", "not_causal"])
def decoder(case, request):
    layer = TransformerDecoder(causal=request.param, **settings(case))
    layer.build(RECORDED["target"].shape, RECORDED["source"].shape)
    return with_the_weights("decoder", layer)


def assert_same(found, expected, real=True):
    """PyTorch leaves the outputs of padding undefined: only real positions are looked at."""
    difference = np.abs(ops.convert_to_numpy(found) - expected)[np.broadcast_to(real, expected.shape[:2])]
    assert difference.max() <= 1e-5


def test_encoder(case, encoder):
    assert_same(encoder(RECORDED["source"]), RECORDED[f"encoder/{case}/plain"])


def test_encoder_with_padding(case, encoder):
    real = RECORDED["source_real"]

    assert_same(encoder(RECORDED["source"], mask=real), RECORDED[f"encoder/{case}/padded"], real)


def test_encoder_with_padding_and_a_causal_mask(case, encoder):
    source, real = RECORDED["source"], RECORDED["source_real"]

    found = encoder(source, mask=real, attention_mask=causal_mask(source.shape[1]))

    assert_same(found, RECORDED[f"encoder/{case}/padded_causal"], real)


def test_decoder(case, decoder):
    expected = RECORDED[f"decoder/{case}/{'causal' if decoder.causal else 'plain'}"]

    assert_same(decoder(RECORDED["target"], RECORDED["source"]), expected)


def test_decoder_with_padding_in_target_and_memory(case, decoder):
    target, real = RECORDED["target"], RECORDED["target_real"]

    found = decoder(
        target,
        RECORDED["source"],
        attention_mask=None if decoder.causal else causal_mask(target.shape[1]),
        mask=real,
        memory_mask=RECORDED["source_real"],
    )

    assert_same(found, RECORDED[f"decoder/{case}/padded_causal"], real)


def test_masks_and_activations_change_what_was_recorded():
    """Cases that agree with each other would prove nothing."""
    outputs = [
        value for name, value in RECORDED.items() if name.startswith("decoder/p") and "/layers" not in name
    ]
    assert len(outputs) == 12
    for index, one in enumerate(outputs):
        for other in outputs[index + 1 :]:
            assert np.abs(one - other).max() > 1e-3
