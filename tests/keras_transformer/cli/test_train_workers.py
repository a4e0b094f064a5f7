"""`train` with several workers: options that cannot be meant are refused, before TensorFlow is loaded."""

import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from keras_transformer import __version__, libraries
from keras_transformer.cli import main, train
from keras_transformer.cli._training import train_workers
from keras_transformer.training.cluster import ray_launcher
from keras_transformer.training.cluster.ray_launcher import Launch, LaunchError
from keras_transformer.training.cluster.workers import ClusterError, Workers
from keras_transformer.training.data.corpus_options import Corpus
from keras_transformer.training.recipe import Recipe, shared_batches
from keras_transformer.training.runs.run_directory import Run
from tests.support.commands import failed
from tests.support.ports import free_ports

NEW = ["--phrasebook", "fr-en", "--run"]


@pytest.mark.parametrize(
    ("options", "reasons"),
    [
        (["--cluster", "a:1,b:2", "--rank", "2"], ["0 to 1", "got 2"]),
        (["--cluster", "a:1,a:1", "--rank", "0"], ["a:1 twice"]),
        (["--cluster", "a:1,b:2"], ["--cluster and --rank go together"]),
        (
            ["--cluster", "a:1,b:2", "--rank", "0", "--gradient-accumulation-steps", "3"],
            ["--gradient-accumulation-steps", "2 workers", "got 3"],
        ),
        (["--engine", "ray"], ["--engine and --workers go together"]),
        (["--workers", "2"], ["--engine and --workers go together"]),
        (["--engine", "ray", "--workers", "2", "--rank", "0"], ["leave out --cluster, --rank"]),
        (
            ["--engine", "ray", "--workers", "2", "--gradient-accumulation-steps", "3"],
            ["--gradient-accumulation-steps", "2 workers", "got 3"],
        ),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    options: list[str], reasons: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = failed(capsys, "train", *NEW, tmp_path / "run", *options, status=2)
    assert [reason for reason in reasons if reason not in told] == []
    assert list(tmp_path.iterdir()) == []


def test_tf_config_that_is_no_json_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TF_CONFIG", "{cluster")
    assert "TF_CONFIG is JSON" in failed(capsys, "train", *NEW, tmp_path / "run", status=2)


def test_an_engine_that_is_not_installed_is_refused_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(libraries, "installed", lambda library: library != "ray")
    told = failed(capsys, "train", *NEW, tmp_path / "run", "--engine", "ray", "--workers", 2)
    assert "--engine ray needs ray" in told
    assert "`scale`" in told
    assert list(tmp_path.iterdir()) == []


RAY = ["--engine", "ray", "--workers", "2"]


def unprepared(run: Path, phrasebook: str) -> Run:
    """A run that was begun with this request, and never prepared."""
    about = {**Corpus(phrasebook=phrasebook).as_run(), "recipe": {"gradient_accumulation_steps": 2}}
    with Run(run).begin(about):
        pass
    return Run(run)


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[Launch]:
    """What would be started: Ray is not."""
    found: list[Launch] = []

    def launch(launched: Launch) -> None:
        found.append(launched)
        raise LaunchError("not started")

    monkeypatch.setattr(ray_launcher, "launch", launch)
    monkeypatch.setattr(libraries, "installed", lambda _: True)
    return found


def test_ray_is_not_started_for_what_every_worker_would_fail_with(
    tmp_path: Path, launched: list[Launch], capsys: pytest.CaptureFixture[str]
) -> None:
    run, files, missing = tmp_path / "run", tmp_path / "files", tmp_path / "missing.tsv"
    unprepared(run, "fr-en").write("recipe.json", {})
    files.mkdir()
    (files / "notes").write_text("")
    assert "--resume`, or name another" in failed(capsys, "train", *NEW, run, *RAY)
    assert "is not a run" in failed(capsys, "train", *NEW, files, *RAY)
    assert "holds no run" in failed(capsys, "train", "--run", files, "--resume", *RAY)
    languages = ["--source-lang", "fr", "--target-lang", "en", "--run", tmp_path / "new"]
    for corpus in (["--pairs", missing], ["--pairs", f"{missing}=2"], ["--source", missing, "--target", run]):
        assert f"'{missing}'" in failed(capsys, "train", *corpus, *languages, *RAY)
    assert "standard input" in failed(capsys, "train", "--pairs", "-", *languages, *RAY, status=2)
    assert launched == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["files", "run"]


def test_ray_begins_again_with_resume_only_in_the_run_that_it_has_begun(
    tmp_path: Path, launched: list[Launch], capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    unprepared(run, "en-fr")  # another one
    assert "not started" in failed(capsys, "train", *NEW, run, *RAY)
    (launch,) = launched
    assert launch.words(0) == launch.words(1) == launch.options
    assert "--resume" not in launch.options
    unprepared(run, "fr-en")
    assert launch.words(0) == launch.options
    assert launch.words(1) == ["--run", str(run), "--resume"]


def test_a_worker_that_cannot_join_ends_without_loading_tensorflow(tmp_path: Path) -> None:
    code = (
        "import sys; from keras_transformer.cli import main; status = main(sys.argv[1:]); "
        "sys.exit(9 if {'tensorflow', 'keras'} & set(sys.modules) else status)"
    )
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken, (free,) = other.getsockname()[1], free_ports(1)
        for cluster, words in (
            (f"127.0.0.1:{taken},127.0.0.1:{free}", [f"127.0.0.1:{taken}", "cannot listen"]),
            (
                f"127.0.0.1:{free},127.0.0.1:{taken}",
                [f"worker 1 (127.0.0.1:{taken})", "did not come within 1 s"],
            ),
        ):
            options = ["--cluster", cluster, "--rank", "0", "--join-timeout", "1"]
            done = subprocess.run(
                [sys.executable, "-c", code, "train", *NEW, str(tmp_path / "run"), *options],
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 1, done.stderr
            assert [word for word in words if word not in done.stderr] == []
    assert list(tmp_path.iterdir()) == []


def test_a_step_that_the_workers_cannot_share_is_refused_with_the_numbers_that_can() -> None:
    assert [shared_batches(4, workers) for workers in (1, 2, 4)] == [4, 2, 1]
    with pytest.raises(ValueError, match=r"4 batches .* 3 workers .* 1, 2, 4"):
        shared_batches(4, 3)


def test_one_worker_alone_does_not_read_the_files_of_the_run_to_compare_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Run, "digests", lambda _: pytest.fail("it compares"))
    trained: list[Run] = []
    monkeypatch.setattr(train, "_train", lambda directory, *_: trained.append(directory))
    unprepared(tmp_path / "run", "fr-en").write("recipe.json", Recipe().as_dict())
    assert main(["train", "--run", str(tmp_path / "run"), "--resume"]) == 0
    assert [directory.path for directory in trained] == [tmp_path / "run"]


def test_a_run_that_is_not_on_a_shared_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train_workers, "SHARED_SECONDS", 0.3)
    workers = Workers(["a:1", "b:2"], 1)
    with pytest.raises(
        ClusterError, match=r"worker 1 \(b:2\) has not seen it .* disk that all workers share"
    ):
        train_workers.await_run(Run(tmp_path), workers)
    with ThreadPoolExecutor(1) as pool:  # a disk that shows it later
        monkeypatch.setattr(train_workers, "SHARED_SECONDS", 30)
        waiting = pool.submit(train_workers.await_run, Run(tmp_path), workers)
        (tmp_path / "recipe.json").write_text("{}")
        waiting.result(60)


def test_workers_compare_the_program_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given = {"--phrasebook": ["fr-en"], "--source": ["a.fr", "b.fr"]}
    facts = train_workers.facts(given)
    assert facts["--source"] == "a.fr b.fr"
    assert facts["keras_transformer"] == __version__
    (tmp_path / "cli").mkdir()
    another_program = tmp_path / "cli" / "_training" / "any.py"
    monkeypatch.setattr(train_workers, "__file__", str(another_program))
    different = {name for name, fact in train_workers.facts(given).items() if facts[name] != fact}
    assert different == {"source code of keras_transformer"}


def test_one_worker_in_a_cluster_waits_for_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = ["--cluster", "127.0.0.1:1", "--rank", "0"]
    assert "holds no run" in failed(capsys, "train", "--run", tmp_path, "--resume", *one)
