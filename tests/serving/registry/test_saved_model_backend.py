"""TensorFlow behind the engine: the answers of the golden sentences, whoever stands beside a row."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from export.artifact.manifest import Version, open_version
from keras_transformer.inference.backend import Backend
from keras_transformer.inference.backends.saved_model import SavedModelBackend
from keras_transformer.inference.request import End, Request
from serving.engine.engine import Engine
from serving.registry.discovery import find_versions, open_models
from serving.registry.served_version import EngineSettings, ModelError, load_model
from tests.support.serving.serve_process import serving
from tests.support.versions.one_format import only

SETTINGS = EngineSettings(slots=3, runtime="tensorflow")


@pytest.fixture(scope="module")
def version(everything: Path, tmp_path_factory: pytest.TempPathFactory) -> Version:
    """models/fr-en/1, a SavedModel and nothing else."""
    directory = tmp_path_factory.mktemp("tensorflow") / "models" / "fr-en" / "1"
    shutil.copytree(everything, directory)
    only(directory, "saved_model")
    return open_version(directory)


@pytest.fixture
def runtime(version: Version) -> Backend:
    return SavedModelBackend(version.directory, version.tokenizer.bos_id, 3)


def test_golden_sentences_come_and_go_and_each_has_its_answer(version: Version, runtime: Backend) -> None:
    longest = version.manifest.limits.source_tokens
    requests = [
        Request(each.source_ids, min(2 * len(each.source_ids) + 10, longest)) for each in version.golden
    ]
    engine = Engine(runtime, version.tokenizer.eos_id).start()
    engine.submit(*requests)
    assert engine.stop(finish=True, timeout=60)
    for request, golden in zip(requests, version.golden, strict=True):
        assert tuple(request.tokens) == golden.target_ids
        assert request.end in (End.STOP, End.LENGTH)
        assert sum(request.log_probs) / len(request.tokens) == pytest.approx(golden.score, abs=1e-5)


def test_a_row_alone_goes_a_step_on_and_the_others_stand_still(version: Version, runtime: Backend) -> None:
    first, second, third = [each for each in version.golden if len(each.target_ids) > 3][:3]
    for golden in (first, second, third):
        runtime.admit(runtime.encode([golden.source_ids]))
    assert runtime.step().tokens.tolist() == [each.target_ids[0] for each in (first, second, third)]
    assert [int(runtime.step_alone(1).tokens[0]) for _ in range(2)] == list(second.target_ids[1:3])
    runtime.retire(1)
    said = np.array([runtime.step().tokens for _ in range(2)])
    assert said.T.tolist() == [list(each.target_ids[1:3]) for each in (first, third)]


def test_a_version_without_a_saved_model_or_at_int8_is_refused_with_what_to_do(root: Path) -> None:
    with pytest.raises(ModelError) as told:
        open_models(find_versions(root), SETTINGS)
    assert str(told.value).splitlines()[1:] == [
        "  fr-en 1: it has no saved_model; saved_model in float32 is needed. Export it with --format "
        "saved_model, or serve it with another --precision or --runtime"
    ]


def test_a_saved_model_alone_is_served_and_has_no_attention(version: Version) -> None:
    assert load_model("fr-en", 1, version, SETTINGS).attention is None


def test_the_command_serves_it_and_tells_why_it_has_no_attention(version: Version) -> None:
    from serving import Client, TranslationError

    golden = next(each for each in version.golden if " " in each.target)
    with (
        serving(version.directory.parents[1], "--runtime", "tensorflow") as (_, address),
        Client(address) as client,
    ):
        assert client.translate(golden.source, loop_guard=False).text == golden.target
        with pytest.raises(TranslationError, match=r"exported without ONNX"):
            client.attend(golden.source)
