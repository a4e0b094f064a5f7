"""Addresses of the workers of a training, from the command line or from TF_CONFIG."""

import json
from collections.abc import Mapping

from keras_transformer.training.cluster.workers import Workers


def workers_of(cluster: str | None, rank: int | None, environment: Mapping[str, str]) -> Workers:
    """Return the workers that --cluster and --rank name, those of TF_CONFIG without them, or one alone.

    Args:
        cluster: HOST:PORT of each worker, separated by commas.
        rank: Index of this worker.
        environment: The environment variables.

    Raises:
        ValueError: With every problem of the options, or of TF_CONFIG.
    """
    if (cluster is None) != (rank is None):
        raise ValueError(
            "--cluster and --rank go together: the addresses of all workers, and which one this is"
        )
    if cluster is not None and rank is not None:
        addresses, origin = cluster.split(","), "--cluster"
    elif environment.get("TF_CONFIG"):
        addresses, rank = _from_tf_config(environment["TF_CONFIG"])
        origin = "TF_CONFIG"
    else:
        return Workers()
    problems = [
        f"{origin} needs HOST:PORT of each worker; got {address!r}"
        for address in addresses
        if not _is_address(address)
    ]
    problems += [
        f"{origin} has {address} twice; each worker has an address of its own"
        for address in dict.fromkeys(addresses)
        if addresses.count(address) > 1
    ]
    if not 0 <= rank < len(addresses):
        problems.append(f"the rank is 0 to {len(addresses) - 1} with {len(addresses)} workers; got {rank}")
    if problems:
        raise ValueError("; ".join(problems))
    return Workers(addresses, rank)


def _is_address(text: str) -> bool:
    host, _, port = text.rpartition(":")
    return bool(host) and port.isascii() and port.isdecimal() and 0 < int(port) < 2**16


def _from_tf_config(text: str) -> tuple[list[str], int]:
    """Return the addresses and the rank. A chief is worker 0."""
    try:
        config = json.loads(text)
        chief, workers = (list(config["cluster"].get(job, [])) for job in ("chief", "worker"))
        kind, index = config["task"]["type"], config["task"]["index"]
    except (ValueError, TypeError, KeyError, AttributeError):
        chief, workers, kind, index = [], [], None, None
    addresses = [*chief, *workers]
    if not isinstance(index, int) or not addresses or not all(isinstance(item, str) for item in addresses):
        raise ValueError(
            'TF_CONFIG is JSON like {"cluster": {"worker": ["a:2222", "b:2222"]}, "task": {"type": "worker", '
            f'"index": 0}}}}; got {text!r:.80}'
        )
    if kind not in ("chief", "worker"):
        raise ValueError(f"the task of TF_CONFIG is a chief or a worker; got {kind!r}")
    return addresses, index + (len(chief) if kind == "worker" else 0)
