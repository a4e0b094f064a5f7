"""The model card: what a model hub reads of it, and what a person does."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from keras_transformer.evaluation.scores import bleu_signature, score
from keras_transformer.training.runs.model_card import model_card

RUN: dict[str, Any] = {
    "kind": "run",
    "languages": {"source": "no", "target": "en"},
    "domain": "a.tsv=3, letters of 1990.tsv=1, after the phrasebook fr-en",
    "pairs": {"read": 1200, "kept": 1100},
    "network": {
        "encoder_layers": 4, "decoder_layers": 4, "width": 128, "inner_width": 256, "num_heads": 4,
        "parameters": 1_760_768, "source_vocabulary": 3400, "target_vocabulary": 3400,
    },
    "scores": {"step": 3, "bleu": 41.25, "loss": 1.0, "accuracy": 0.5},
    "files": {"model.keras": 7_650_311, "tokens": 1},
}  # fmt: skip


def metadata(card: str) -> dict[str, Any]:
    empty, block, _ = card.split("---\n", 2)
    assert empty == ""
    return yaml.safe_load(block)


def test_a_hub_reads_languages_license_data_and_scores_with_their_signatures() -> None:
    found = metadata(model_card(RUN, "apache-2.0"))
    assert found["language"] == ["no", "en"]  # and not false, as YAML reads a bare no
    assert (found["license"], found["pipeline_tag"]) == ("apache-2.0", "translation")
    assert found["datasets"] == ["a.tsv", "letters-of-1990.tsv", "phrasebook-fr-en"]
    assert found["metrics"] == ["bleu"]
    (index,) = found["model-index"]
    (result,) = index["results"]
    assert (index["name"], result["task"]["type"]) == ("no-en", "translation")
    (bleu,) = result["metrics"]
    assert (bleu["type"], bleu["value"], bleu["args"]["signature"]) == ("bleu", 41.25, bleu_signature())


def test_the_signature_is_that_of_the_score() -> None:
    expected = score(["a b"], ["a b"], confidence=False, tokenize="zh")[0].signature
    assert bleu_signature("zh") == expected


def test_a_person_reads_where_it_comes_from_its_size_and_how_to_run_it() -> None:
    card = model_card(RUN)
    assert 'license: "unknown"' in card
    for text in (
        "1,100 pairs",
        "1,760,768",
        "| size of model.keras | 7.7 MB |",
        "keras-transformer translate",
    ):
        assert text in card
    assert "tokens |" not in card


@pytest.mark.parametrize("hostile", ['x"\n---\nlicense: evil', "a: b\n# c", "\x1b[2J", "'\"\\", "=3", ""])
def test_names_cannot_change_the_metadata(hostile: str) -> None:
    languages = {"source": hostile, "target": "en"}
    found = metadata(model_card({**RUN, "domain": hostile, "languages": languages}))
    assert found["license"] == "unknown"
    assert set(found) == set(metadata(model_card(RUN)))
    assert all(found["datasets"])


def test_a_model_without_scores_claims_none_and_one_of_several_targets_names_them() -> None:
    languages = {"source": "en", "target": "roa", "targets": ["fra", "ita"]}
    bare = {**RUN, "scores": None, "pairs": None, "domain": "imported from opus-mt", "languages": languages}
    found = metadata(model_card(bare))
    assert "model-index" not in found and "metrics" not in found
    assert found["language"] == ["en", "fra", "ita"]
    assert found["datasets"] == ["opus-mt"]
    assert "It is imported from opus-mt." in model_card(bare)


def test_an_exported_version_has_its_card_among_the_files_that_are_checked(exported: Path) -> None:
    from export.artifact.manifest import open_version

    version = open_version(exported)
    assert "README.md" in version.manifest.files
    found = metadata((exported / "README.md").read_text("utf-8"))
    assert found["language"] == [version.manifest.languages.source, version.manifest.languages.target]
    scores = {one.name: one.signature for one in version.manifest.quality.scores}
    (index,) = found["model-index"]
    shown = {one["name"]: one["args"]["signature"] for one in index["results"][0]["metrics"]}
    assert shown == scores
