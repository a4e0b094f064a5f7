"""The programs and commands of the how-to pages run as they are shown."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import keras
import pytest
import yaml

from keras_transformer import Tokenizer, TranslationModel
from keras_transformer.models.network import Network
from keras_transformer.phrasebook import phrasebook

ROOT = Path(__file__).parents[2]


def blocks(page: str, kind: str) -> list[str]:
    text = (ROOT / "docs" / "how-to" / page).read_text("utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def test_a_loaded_model_is_fine_tuned_with_fit_and_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "build" / "demo" / "run").mkdir(parents=True)
    keras.utils.set_random_seed(0)
    tokenizer = Tokenizer.train(phrasebook("fr-en", "train", 200), 400, source_lang="fr", target_lang="en")
    model = TranslationModel(Network(1, 1, 16, 24, 2), tokenizer.source_size, tokenizer=tokenizer)
    model.build()
    model.save("build/demo/run/model.keras")
    (program,) = blocks("fine-tune.md", "python")
    names: dict[str, Any] = {"__name__": "tuning"}

    exec(compile(program, "docs/how-to/fine-tune.md", "exec"), names)

    losses = names["model"].history.history["loss"]
    assert losses[-1] < losses[0]
    tuned = TranslationModel.load("tuned.keras")
    assert tuned.translate(["Merci."]) == names["model"].translate(["Merci."])


def test_a_table_becomes_tsv_that_training_reads(tmp_path: Path) -> None:
    (program,) = blocks("parallel-text.md", "python")
    (tmp_path / "csv_to_tsv.py").write_text(program, "utf-8")
    table = 'en,note,fr\n"A parcel, please.",,Un colis.\n"He said ""yes"".",x,"Il a\ndit oui."\n'
    (tmp_path / "letters.csv").write_text(table, "utf-8")
    (command,) = (line for line in blocks("parallel-text.md", "sh")[0].splitlines() if "csv_to_tsv" in line)

    subprocess.run(
        ["sh", "-ec", command.replace("python", sys.executable, 1)], cwd=tmp_path, check=True, timeout=60
    )

    from keras_transformer.text.corpus import read_pairs

    pairs = [tuple(pair) for pair in read_pairs([tmp_path / "letters.tsv"], "en", "fr")]
    assert pairs == [("A parcel, please.", "Un colis."), ('He said "yes".', "Il a dit oui.")]


def test_docker_run_mounts_and_publishes_what_the_image_has() -> None:
    build, run = (block.split() for block in blocks("docker.md", "sh"))
    dockerfile = (ROOT / build[build.index("--file") + 1]).read_text("utf-8")
    image = build[build.index("--tag") + 1]
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))["services"]
    assert run[-1] == image == services["server-1"]["image"]
    (command,) = re.findall(r"^CMD (\[.*\])$", dockerfile, re.MULTILINE)
    (mounted,) = re.findall(r"target=([^,]+)", " ".join(run))
    assert mounted == json.loads(command)[0]
    (exposed,) = re.findall(r"^EXPOSE (.*)$", dockerfile, re.MULTILINE)
    published = [value.rpartition(":")[2] for value in run if value.startswith("127.0.0.1:")]
    assert published == exposed.split()
