"""The workers of a training, as --cluster and --rank or TF_CONFIG name them."""

import json

import pytest

from keras_transformer.training.cluster.worker_addresses import workers_of

TWO = ["10.0.0.1:2222", "[::1]:2223"]


def config(cluster: object, kind: str = "worker", index: object = 0) -> dict[str, str]:
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})}


def test_without_options_and_tf_config_a_worker_is_alone() -> None:
    workers = workers_of(None, None, {"TF_CONFIG": ""})
    assert (workers.size, workers.rank) == (1, 0)


def test_the_options_are_taken_before_tf_config() -> None:
    workers = workers_of("10.0.0.1:2222,[::1]:2223", 1, config({"worker": ["elsewhere:1"]}))
    assert (list(workers.addresses), workers.rank) == (TWO, 1)
    assert workers.name(1) == "worker 1 ([::1]:2223)"


@pytest.mark.parametrize(
    ("cluster", "kind", "index", "rank"),
    [
        ({"worker": TWO}, "worker", 1, 1),
        ({"chief": TWO[:1], "worker": TWO[1:]}, "chief", 0, 0),
        ({"chief": TWO[:1], "worker": TWO[1:]}, "worker", 0, 1),
    ],
)
def test_tf_config_as_launchers_set_it_has_the_chief_first(
    cluster: object, kind: str, index: int, rank: int
) -> None:
    workers = workers_of(None, None, config(cluster, kind, index))
    assert (list(workers.addresses), workers.rank) == (TWO, rank)


@pytest.mark.parametrize(
    ("cluster", "rank", "environment", "reasons"),
    [
        ("a:1,b:2", None, {}, ["--cluster", "--rank"]),
        (None, 0, {}, ["--cluster", "--rank"]),
        ("a:1,b:2", 2, {}, ["0 to 1", "got 2"]),
        ("a:1,b:2", -1, {}, ["0 to 1", "got -1"]),
        ("a:1,b:2,a:1", 0, {}, ["a:1 twice"]),
        ("a:1,b,:3,c:0,d:70000,e:²", 0, {}, ["'b'", "':3'", "'c:0'", "'d:70000'", "'e:²'"]),
        ("", 0, {}, ["HOST:PORT", "''"]),
        (None, None, {"TF_CONFIG": "{cluster"}, ["TF_CONFIG", "JSON", "{cluster"]),
        (None, None, {"TF_CONFIG": "[1]"}, ["TF_CONFIG", "[1]"]),
        (None, None, config({}), ["TF_CONFIG"]),
        (None, None, config({"worker": [1, 2]}), ["TF_CONFIG"]),
        (None, None, config({"worker": TWO}, index="0"), ["TF_CONFIG"]),
        (None, None, config({"worker": TWO}, "ps"), ["chief or a worker", "'ps'"]),
        (None, None, config({"worker": TWO}, index=2), ["0 to 1", "got 2"]),
        (None, None, config({"worker": ["a:1", "a:1"]}), ["TF_CONFIG has a:1 twice"]),
    ],
)
def test_wrong_addresses_and_ranks_are_refused_with_every_reason(
    cluster: str | None, rank: int | None, environment: dict[str, str], reasons: list[str]
) -> None:
    with pytest.raises(ValueError) as refused:
        workers_of(cluster, rank, environment)
    assert [reason for reason in reasons if reason not in str(refused.value)] == []
