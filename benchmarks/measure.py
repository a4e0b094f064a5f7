"""What every benchmark shares: taking turns with the peer, median and spread, and how a result is printed."""

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple


class Effort(NamedTuple):
    """How often a benchmark measures. Quartiles need three values at least."""

    smoke: int
    quick: int
    whole: int

    def of(self, options: argparse.Namespace) -> int:
        """Return the number for the options of `parser`."""
        return self.smoke if options.smoke else self.quick if options.quick else self.whole


def parser(description: str) -> argparse.ArgumentParser:
    """Return a parser with the options that every benchmark has."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--json", action="store_true", help="one JSON object as the last line")
    made.add_argument("--quick", action="store_true", help="the same with fewer repeats")
    made.add_argument(
        "--smoke",
        action="store_true",
        help="run all of the code on the smallest sizes, in seconds, without peers that are not installed; "
        "the figures mean nothing",
    )
    return made


def installed(packages: Mapping[str, str], options: argparse.Namespace) -> list[str]:
    """Return the sides that can be measured.

    Args:
        packages: The distribution that each side needs.
        options: The options of `parser`. With --smoke a side whose distribution is missing is left out, by
            name on standard output.

    Raises:
        SystemExit: A distribution is missing, and this is not a smoke test.
    """
    missing = {side: package for side, package in packages.items() if _version(package) is None}
    if missing and not options.smoke:
        raise SystemExit(f"{', '.join(missing.values())} not installed; `make bench-env` adds the peers.")
    for side, package in missing.items():
        print(f"left out: {side} ({package} is not installed)")
    return [side for side in packages if side not in missing]


def take_turns(
    sides: Mapping[str, Callable[[], Any]], repeats: int, warm_up: int = 3
) -> dict[str, list[float]]:
    """Seconds of each call. The sides alternate, so that a noisy moment of the machine meets them all."""
    for call in sides.values():
        for _ in range(warm_up):
            call()
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(repeats):
        for name, call in sides.items():
            start = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - start)
    return seconds


def summary(seconds: list[float], per_call: float = 1e3) -> dict[str, float]:
    """Median and quartiles, in milliseconds unless told otherwise."""
    low, middle, high = statistics.quantiles(seconds, n=4)
    return {
        "median": round(middle * per_call, 4),
        "low": round(low * per_call, 4),
        "high": round(high * per_call, 4),
    }


def ratio(ours: list[float], peer: list[float]) -> dict[str, float]:
    """How many times faster ours is: the median of the turns' own ratios, and their quartiles."""
    return summary([theirs / own for own, theirs in zip(ours, peer, strict=True)], per_call=1)


def report(
    name: str, packages: Iterable[str], figures: Mapping[str, Any], ratios: Mapping[str, Any], json_line: bool
) -> None:
    """Print the ratios, above 1 where ours is better; then, if asked for, all as one line of JSON."""
    machine = _machine()
    versions = {package: found for package in packages if (found := _version(package)) is not None}
    print(f"\n{name} on {machine['cpu']}, {machine['cores']} cores; {versions}")
    for label, spread in ratios.items():
        print(
            f"  {label:<52} {spread['median']:6.2f}   (quartiles {spread['low']:.2f} to {spread['high']:.2f})"
        )
    if json_line:
        outcome = {
            "benchmark": name,
            "machine": machine,
            "versions": versions,
            "figures": figures,
            "ratios": {label: spread["median"] for label, spread in ratios.items()},
            "spread": {label: [spread["low"], spread["high"]] for label, spread in ratios.items()},
        }
        print(json.dumps(outcome))


def _machine() -> dict[str, Any]:
    names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    cpu = names[0].partition(":")[2].strip() if names else platform.processor()
    return {"cpu": cpu, "cores": os.cpu_count(), "python": platform.python_version()}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
