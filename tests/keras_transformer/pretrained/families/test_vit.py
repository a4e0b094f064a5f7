"""ViT computes here what it computes in transformers, on every Keras backend (test_bert.py has BERT)."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from keras import ops

from keras_transformer.models import ViT
from keras_transformer.pretrained.directory import PretrainedError
from tests.support.close import assert_close
from tests.support.damage import change, tensors
from tests.support.family_kinds import GOLDEN

CLASSIFIERS = ["vit", "vit_oblong"]


@pytest.fixture(scope="module")
def vit() -> Callable[[str], ViT]:
    made: dict[str, ViT] = {}
    return lambda name: made.get(name) or made.setdefault(name, ViT.from_pretrained(GOLDEN / name))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_logits_are_those_of_transformers(name: str, vit: Any) -> None:
    """Of images as they are in a file: the directory says how pixels are normalized."""
    expected = np.load(GOLDEN / name / "expected.npz")
    model = vit(name)
    assert_close(model(model.pixels(expected["images"])), expected["logits"])
    labels = ["cat", "dog", "cow", "hen", "emu"]
    assert model.classify(expected["images"]) == [labels[best] for best in expected["logits"].argmax(axis=-1)]


def test_a_new_classifier_reads_the_features_of_a_model_without_one() -> None:
    """The identity as classifier shows the hidden state of the class token."""
    expected = np.load(GOLDEN / "vit_headless" / "expected.npz")
    model = ViT.from_pretrained(GOLDEN / "vit_headless", labels=[str(index) for index in range(18)])
    model.classifier.set_weights([np.eye(18), np.zeros(18)])
    assert_close(model(model.pixels(expected["images"])), expected["hidden"][:, 0])
    with pytest.raises(PretrainedError, match=r"labels=\[\.\.\.\]"):
        ViT.from_pretrained(GOLDEN / "vit_headless")


def test_a_saved_model_computes_the_same_bits(tmp_path: Path, vit: Any) -> None:
    model = vit("vit_oblong")
    images = np.load(GOLDEN / "vit_oblong" / "expected.npz")["images"]
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    found, expected = (ops.convert_to_numpy(each(each.pixels(images))) for each in (loaded, model))
    np.testing.assert_array_equal(found, expected)
    assert loaded.classify(images) == model.classify(images)


@pytest.mark.skipif(keras.backend.backend() == "tensorflow", reason="the tutorials train on TensorFlow")
def test_a_preset_learns_in_which_corner_the_light_is() -> None:
    """A position tells the corner: patches alone are the same in all classes."""
    keras.utils.set_random_seed(1)
    model = ViT.from_preset(
        "tiny", labels=["top left", "top right", "bottom left", "bottom right"], image_size=(4, 4),
        patch_size=(2, 2), channels=1, num_layers=1, width=16, num_heads=2, inner_width=32,
    )  # fmt: skip
    rng = np.random.default_rng(1)
    classes = rng.integers(4, size=512)
    images = rng.integers(0, 100, (512, 4, 4, 1))
    images[range(512), 3 * (classes // 2), 3 * (classes % 2)] = 255
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-2), loss, metrics=["accuracy"])
    history = model.fit(model.pixels(images), classes, batch_size=64, epochs=4, verbose=0)
    assert history.history["accuracy"][-1] > 0.95


def test_images_of_another_size_are_refused(vit: Any) -> None:
    with pytest.raises(ValueError, match=r"\(8, 15, 1\); got a batch of shape \(2, 15, 8, 1\)"):
        vit("vit_oblong")(np.zeros((2, 15, 8, 1), "float32"))


def test_values_that_do_not_fit_together_are_all_named() -> None:
    with pytest.raises(ValueError, match=r"labels must be.*patch_size must divide.*mean and deviation must"):
        ViT.from_preset("tiny", labels=[], image_size=(10, 10), patch_size=(3, 5), mean=(1, 2))
    with pytest.raises(ValueError, match="labels must be a list"):
        ViT.from_preset("tiny", labels="cat")


def replace_tokens(values: dict[str, Any]) -> None:
    values["vit.embeddings.cls_token"] = np.zeros((1, 2, 18), "float32")
    values["vit.embeddings.dist_token"] = np.zeros((1, 1, 18), "float32")


DAMAGES: dict[str, tuple[Callable[[Path], None], list[str]]] = {
    "another network": (
        change("config.json", model_type="deit", qkv_bias=False, hidden_act="quick_gelu"),
        ["model_type must be vit", "qkv_bias must be True", "hidden_act must be one of"],
    ),
    "sizes out of range": (
        change("config.json", image_size=[12, 12, 3], patch_size=0, num_channels=-1, encoder_stride="a"),
        ["image_size must be one or two", "patch_size must be one or two", "num_channels", "encoder_stride"],
    ),
    "patches that do not divide": (change("config.json", patch_size=5), ["patch_size must divide"]),
    "another number of patches": (
        change("config.json", image_size=16),
        ["position_embeddings has the shape (1, 10, 18); it must have (1, 17, 18)"],
    ),
    "more patches than any memory holds": (
        change("config.json", image_size=2**14, patch_size=1),
        ["position_embeddings has the shape (1, 10, 18); it must have (1, 268435457, 18)"],
    ),
    "tokens of another network": (
        tensors(replace_tokens),
        ["cls_token has the shape (1, 2, 18)", "vit.embeddings.dist_token is surplus"],
    ),
    "pixels of another kind": (
        change(
            "preprocessor_config.json", do_normalize=False, rescale_factor=1, image_std=[0], image_mean="a"
        ),
        ["do_normalize must be True", "rescale_factor must be", "image_std must", "image_mean must"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_wrong_directory_is_refused_with_every_reason(damage: str, tmp_path: Path) -> None:
    make, reasons = DAMAGES[damage]
    shutil.copytree(GOLDEN / "vit", tmp_path / "model")
    make(tmp_path / "model")
    with pytest.raises(PretrainedError) as refused:
        ViT.from_pretrained(tmp_path / "model")
    for reason in reasons:
        assert reason in str(refused.value)
