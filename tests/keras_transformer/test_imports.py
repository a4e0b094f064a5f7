"""Importing the package is free; asking for a layer is what loads Keras."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import keras_transformer

HEAVY = {"tensorflow", "keras", "numpy", "jax", "torch", "matplotlib", "sentencepiece"}


def loaded_after(code: str) -> set[str]:
    """The modules a fresh process has loaded when the code is done."""
    code += "\nimport json, sys\nprint('\\n' + json.dumps([name.partition('.')[0] for name in sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=120
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_the_package_loads_no_framework():
    assert not HEAVY & loaded_after("import keras_transformer")


def test_its_public_names_can_be_listed_without_loading_one():
    code = "import keras_transformer as k; assert set(k.__all__) <= set(dir(k)); k.__version__"

    assert not HEAVY & loaded_after(code)


def test_asking_for_a_layer_loads_keras():
    assert "keras" in loaded_after("import keras_transformer; keras_transformer.TransformerEncoder")


def test_every_public_name_is_there():
    for name in keras_transformer.__all__:
        assert getattr(keras_transformer, name).__name__ == name


def test_the_public_names_are_those_that_the_documentation_promises():
    promised = {
        "FeedForward",
        "MultiHeadAttention",
        "MultiHeadSelfAttention",
        "PositionalEncoding",
        "TokenEmbedding",
        "TransformerDecoder",
        "TransformerDecoderBlock",
        "TransformerEncoder",
        "TransformerEncoderBlock",
        "causal_mask",
        "padding_mask",
        "scaled_dot_product_attention",
    }

    assert promised <= set(keras_transformer.__all__)
    assert len(set(keras_transformer.__all__)) == len(keras_transformer.__all__)
    assert set(keras_transformer.__all__) <= set(dir(keras_transformer))


def test_a_name_is_the_same_thing_each_time():
    assert keras_transformer.TransformerEncoder is keras_transformer.TransformerEncoder


def test_an_unknown_name_is_an_attribute_error_that_says_which():
    with pytest.raises(AttributeError, match=r"'keras_transformer' has no attribute 'TransformerEncodr'"):
        keras_transformer.TransformerEncodr  # noqa: B018
    with pytest.raises(ImportError, match="TransformerEncodr"):
        from keras_transformer import TransformerEncodr  # noqa: F401


@pytest.mark.parametrize(
    "command",
    [[Path(sys.executable).with_name("keras-transformer")], [sys.executable, "-m", "keras_transformer"]],
    ids=["script", "module"],
)
def test_help_lists_every_verb(command):
    from keras_transformer.cli import VERBS

    done = subprocess.run([*command, "--help"], check=True, capture_output=True, text=True, timeout=120)

    assert "keras-transformer" in done.stdout
    text = " ".join(done.stdout.split())
    for verb, purpose in VERBS.items():
        assert f"{verb} {purpose}" in text


def test_help_loads_no_framework():
    code = """
from keras_transformer.cli import main
try:
    main(["--help"])
except SystemExit as end:
    assert end.code == 0
"""
    assert not HEAVY & loaded_after(code)


@pytest.mark.parametrize(
    "module",
    [
        "export.artifact.manifest",
        "export.formats.registry",
        "export.formats.runtimes.onnx_scheduler_runtime",
        "export.formats.runtimes.onnx_translate_runtime",
        "export.formats.runtimes.ctranslate2_runtime",
        "export.translator",
        "keras_transformer.text.tokenizer",
    ],
)
def test_what_a_server_reads_versions_with_loads_no_framework(module):
    assert not {"tensorflow", "keras", "jax", "torch"} & loaded_after(f"import {module}")
