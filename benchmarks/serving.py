"""Continuous batches beside static ones and CTranslate2, behind the same gRPC front, under the same load.

    python benchmarks/serving.py --model build/demo/models/fr-en/1 --json

Three servers, pinned to one core: ours as it is; ours with batches that are gathered, decoded until their
last row is done and answered then; and CTranslate2 in int8, which takes all that wait as one batch, at the
best batch size of those tried. One of them works at a time, and they take turns. All callers are one process
on the other core. Texts are golden sentences of the version, drawn so that their answers have log-normal
lengths; without --model it is an untrained model, whose answers are about as long as their texts.

  throughput  answers a second while four times as many requests are under way as there are rows
  p99         of Poisson arrivals at 30 % of our throughput, from when each should have left; the same at
              30 % of the static side's, which is less, is told beside it
  alone       a text at a time through gRPC, less the same from ids to ids in the engine; beside it what
              gRPC adds that has the engine behind it and nothing else
  goodput     the most answers a second within the objective, over loads of 0.5 to 2 times the side's own
              throughput; the objective is twenty times what a text alone takes through ours, and the deadline
              of every call
  overload    ours, at 1 to 10 times its throughput: goodput beside the best so far, refusals, memory, and
              when one more is answered again

With --beam N every request has a beam of that width, and one phase takes the place of these: the
throughput of ours beside CTranslate2's with the same beam, each with its best batch size, and the processor
time of an answer beside that of a greedy one.

*Not* timed: loading. The callers' own lateness is told where there is much to send.
"""

import statistics
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

import measure
import smallest
from served.processes import Callers, Side

CONTINUOUS, STATIC, CTRANSLATE2 = "continuous", "static", "ctranslate2_int8"
PACKAGES = {CONTINUOUS: "onnxruntime", STATIC: "onnxruntime", CTRANSLATE2: "ctranslate2"}
BATCHES = (16, 32, 64)  # of CTranslate2, in sentences
ROWS = 32  # of ours
ROWS_OF_BEAMS = (32, 64, 128)  # of ours, where a sentence has as many rows as its beam is wide
LOADS, OVERLOADS = (0.5, 0.75, 1.0, 1.4, 2.0), (1, 2, 5, 10)
OBJECTIVE = 20  # times what one text takes
LIGHT = 0.3  # of a throughput
UNDER_WAY = 4  # times the rows


class Effort(NamedTuple):
    """How long, and how often."""

    turns: int
    seconds: float  # of a load
    alone: int  # texts


class Load(NamedTuple):
    """Answers a second, and their number with those that come after the seconds of the load."""

    rate: float
    count: int


SMOKE, QUICK, WHOLE = Effort(2, 0.1, 2), Effort(3, 2.5, 100), Effort(7, 6.0, 300)


def main() -> None:
    """All of it, and no process is left."""
    parser = measure.parser(__doc__)
    parser.add_argument("--model", type=Path, help="a version directory with onnx at int8, and ctranslate2")
    parser.add_argument(
        "--preset", choices=("tiny", "small", "base"), default="small", help="of the untrained model (small)"
    )
    parser.add_argument("--precision", choices=("int8", "float32"), default="int8", help="of our engine")
    parser.add_argument("--rows", type=int, help="rows of ours (32); --beam tries several")
    parser.add_argument("--queue", type=int, default=1024, help="requests that may wait (1024)")
    parser.add_argument("--beam", type=int, default=1, metavar="N", help="measure beams of this width (1)")
    options = parser.parse_args()
    if options.beam > 1 and options.rows:
        parser.error(f"--beam tries {ROWS_OF_BEAMS} rows and keeps the best: leave out --rows")
    names = measure.installed(PACKAGES, options)
    if options.smoke:
        options.preset = smallest.PRESET
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        directory = options.model or _untrained(options.preset, names, Path(scratch))

        def side(name: str, rows: int) -> Side:
            arguments = ["--precision", options.precision, "--queue", options.queue, "--beam", options.beam]
            return stack.enter_context(closing(Side(name, directory, rows, *arguments)))

        callers = stack.enter_context(closing(Callers(directory)))
        effort = SMOKE if options.smoke else QUICK if options.quick else WHOLE
        kinds = () if options.beam > 1 else (CONTINUOUS, STATIC)
        bench = Bench(callers, effort, [side(name, options.rows or ROWS) for name in kinds], options.beam)
        if CTRANSLATE2 in names:
            bench.choose([side(CTRANSLATE2, rows) for rows in BATCHES])
        if options.beam > 1:
            bench.choose([side(CONTINUOUS, rows) for rows in ROWS_OF_BEAMS])
            bench.beams()
        else:
            bench.throughput()
            bench.light()
            bench.alone()
            bench.goodput()
            bench.overload()
    measure.report(
        "serving", ["onnxruntime", "ctranslate2", "grpcio"], bench.figures, bench.ratios, options.json
    )


def _untrained(preset: str, names: Sequence[str], scratch: Path) -> Path:
    from served.untrained import export_untrained

    directory = scratch / "untrained" / "1"
    formats = ("onnx", "ctranslate2") if CTRANSLATE2 in names else ("onnx",)
    export_untrained(preset, directory, formats)
    return directory


class Bench:
    """The phases, in this order; each leaves its figures."""

    def __init__(self, callers: Callers, effort: Effort, sides: Sequence[Side], beam: int) -> None:
        self.figures: dict[str, Any] = {}
        self.ratios: dict[str, dict[str, float]] = {}
        self._callers = callers
        self._effort = effort
        self._sides = {side.name: side for side in sides}
        self._beam = beam
        self._rates: dict[str, float] = {}  # answers a second, each side's own
        self._busy = 0.0  # seconds of the processor that an answer of ours takes
        self._objective = 0.0

    @property
    def _ours(self) -> Side:
        return self._sides[CONTINUOUS]

    def choose(self, candidates: Sequence[Side]) -> None:
        """Keep the server with the best batch size; the others are closed."""
        rates = {each: self._full(each).rate for each in candidates}
        best = max(candidates, key=rates.__getitem__)
        for each in candidates:
            self._tell(f"{each.name} {each.rows} rows", {"answers per second": round(rates[each])})
            if each is not best:
                each.close()
        self._sides[best.name] = best

    def throughput(self) -> None:
        """As much as there is to do."""
        for side in self._sides.values():
            self._full(side)  # every number of rows has been there
        before = self._ours.seconds
        loads = self._turns(lambda side, turn: self._full(side))
        self._busy = (self._ours.seconds - before) / sum(each.count for each in loads[CONTINUOUS])
        rates = {name: [each.rate for each in turns] for name, turns in loads.items()}
        self._rates = {name: statistics.median(each) for name, each in rates.items()}
        for name, each in rates.items():
            self._tell(f"{name} throughput", {"answers per second": [round(rate) for rate in each]})
        self._compare("throughput", {name: [1 / rate for rate in each] for name, each in rates.items()})

    def beams(self) -> None:
        """As much as there is to do, with a beam; ours without one as well."""
        rates = self._turns(lambda side, turn: self._full(side).rate)
        costs: dict[int, list[float]] = {1: [], self._beam: []}
        for _ in range(self._effort.turns):
            for beam, cost in costs.items():
                before = self._ours.seconds
                count = self._full(self._ours, beam).count
                cost.append((self._ours.seconds - before) / count)
        what = f"beam={self._beam} throughput"
        for name, each in rates.items():
            self._tell(f"{name} {what}", {"answers per second": [round(rate) for rate in each]})
        self._compare(what, {name: [1 / rate for rate in each] for name, each in rates.items()})
        greedy, wide = costs.values()
        times = [one / other for one, other in zip(wide, greedy, strict=True)]
        figures = {
            "ms an answer": _ms(wide),
            "greedy": _ms(greedy),
            "times": [round(each, 2) for each in times],
        }
        self._tell(f"processor beam={self._beam}", figures)

    def light(self) -> None:
        """Few come: how long does the slowest wait?"""
        for of, what in ((CONTINUOUS, "p99"), (STATIC, "p99 at static's 30 %")):
            rate = LIGHT * self._rates[of]
            found = self._turns(lambda side, turn, rate=rate: self._arrivals(side, rate, turn))
            p99 = {name: [turn["answered"]["p99"] for turn in turns] for name, turns in found.items()}
            for name, turns in found.items():
                p50 = [turn["answered"]["p50"] for turn in turns]
                self._tell(f"{name} {rate:.0f} per second", {"ms p50": _ms(p50), "ms p99": _ms(p99[name])})
            self._compare(what, p99)

    def alone(self) -> None:
        """What gRPC and text add to an engine; and with it the objective."""
        count, ours = self._effort.alone, self._ours
        alone, bare, direct = [], [], []
        for _ in range(self._effort.turns):
            alone.append(self._callers.do("alone", ours.port, count=count)["answered"])
            bare.append(self._callers.do("alone", ours.bare_port, count=count)["answered"]["p50"])
            direct.append(ours.direct(count))
        grpc = [each["p50"] for each in alone]
        added, least = (
            [one - other for one, other in zip(side, direct, strict=True)] for side in (grpc, bare)
        )
        self._objective = OBJECTIVE * statistics.median(grpc)
        self._tell(
            "alone",
            {
                "ms p50": _ms(grpc),
                "ms p99": _ms([each["p99"] for each in alone]),  # nothing that decodes text can be faster
                "ms added to the engine": _ms(added),
                "by gRPC and nothing else": _ms(least),
            },
        )
        self._tell("objective", {"ms": _ms([self._objective])})

    def goodput(self) -> None:
        """What is answered in time, at the load at which that is most."""
        best = self._turns(self._best)
        for name, turns in best.items():
            self._tell(
                f"{name} goodput",
                {
                    "answers per second": [round(turn["goodput"]) for turn in turns],
                    "of its throughput": [round(turn["offered"] / self._rates[name], 2) for turn in turns],
                },
            )
        self._compare(
            "goodput", {name: [1 / turn["goodput"] for turn in turns] for name, turns in best.items()}
        )

    def overload(self) -> None:
        """Ours alone."""
        peak = 0.0
        for times in OVERLOADS:
            before, size = self._ours.seconds, self._ours.megabytes
            found = self._arrivals(self._ours, times * self._rates[CONTINUOUS], 0, self._objective)
            peak = max(peak, found["goodput"])
            refused = found["refused"]
            spent = self._ours.seconds - before - found["answered"]["count"] * self._busy
            self._tell(
                f"overload {times}",
                {
                    "offered per second": round(found["offered"]),
                    "goodput": round(found["goodput"]),
                    "of the best": round(found["goodput"] / peak, 3),
                    "codes": found["codes"],
                    "refusals, ms p99": _ms([refused["p99"]]) if refused["count"] else None,
                    "processor, ms a refusal": _ms([spent / refused["count"]])
                    if times > 1 and refused["count"]
                    else None,
                    "MB more": round(self._ours.megabytes - size, 1),
                    "recovered after s": round(found["recovered"], 3),
                    "callers late by ms": _ms([found["late"]]),
                },
            )

    def _best(self, side: Side, turn: int) -> Any:
        loads = [load * self._rates[side.name] for load in LOADS]
        found = [self._arrivals(side, rate, turn, self._objective) for rate in loads]
        return max(found, key=lambda each: each["goodput"])

    def _full(self, side: Side, beam: int | None = None) -> Load:
        seconds, rows = self._effort.seconds, UNDER_WAY * side.rows
        beam = beam or self._beam
        found = self._callers.do("full", side.port, under_way=rows, seconds=seconds, beam=beam)
        return Load(max(found["rate"], 1 / seconds), max(found["count"], 1))  # as if one answer came in time

    def _arrivals(self, side: Side, rate: float, seed: int, timeout: float | None = None) -> Any:
        seconds = self._effort.seconds
        found = self._callers.do(
            "arrivals", side.port, rate=rate, seconds=seconds, seed=seed, timeout=timeout
        )
        found["goodput"] = max(found["goodput"], 1 / seconds)  # as if one answer came in time: to divide by
        return found

    def _turns(self, measured: Callable[[Side, int], Any]) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {name: [] for name in self._sides}
        for turn in range(self._effort.turns):
            for name, side in self._sides.items():
                found[name].append(measured(side, turn))
        return found

    def _compare(self, what: str, costs: dict[str, list[float]]) -> None:
        for peer in [name for name in costs if name != CONTINUOUS]:
            self.ratios[f"{CONTINUOUS}/{peer} {what}"] = measure.ratio(costs[CONTINUOUS], costs[peer])

    def _tell(self, name: str, figures: dict[str, Any]) -> None:
        self.figures[name] = figures
        print(f"{name}: {figures}", flush=True)


def _ms(seconds: Sequence[float]) -> list[float]:
    return [round(each * 1e3, 2) for each in seconds]


if __name__ == "__main__":
    main()
