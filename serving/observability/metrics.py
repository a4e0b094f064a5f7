"""Metrics for Prometheus: requests are counted when they end; engines are read when metrics are requested."""

from collections.abc import Callable, Iterator
from functools import cache, partial
from operator import attrgetter
from typing import Any

from google.rpc.code_pb2 import Code
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from keras_transformer.inference.request import End
from serving.api.context import CallContext
from serving.engine import statistics
from serving.registry.registry import Registry, listed
from serving.registry.served_version import ServedVersion

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)

#: Histograms of each engine, by their names in its counts.
SECONDS_OF_ENGINES = {
    "queue_seconds": "Time that a sentence waited for its row.",
    "first_token_seconds": "Time from the arrival of a sentence to its first token.",
    "step_seconds": "Duration of a step, with the encoding of sentences before it.",
}

Value = Callable[[ServedVersion], float | statistics.Histogram]

_VERSION = ("model", "version")


class Metrics:
    """Metrics of one server.

    Args:
        models: Returns the models of the server.
    """

    def __init__(self, models: Callable[[], Registry]) -> None:
        self._registry = CollectorRegistry()
        requests = Counter(
            "translation_requests",
            "Requests that are over.",
            ("method", "protocol", "code"),
            registry=self._registry,
        )
        seconds = Histogram(
            "translation_request_seconds",
            "Time from the arrival of a request to its answer or refusal.",
            ("method", "protocol"),
            buckets=SECONDS,
            registry=self._registry,
        )
        segments = Counter(
            "translation_segments",
            "Texts of batches that are over.",
            ("protocol", "code"),
            registry=self._registry,
        )
        self._requests_of, self._seconds_of = cache(requests.labels), cache(seconds.labels)
        self._segments_of = cache(segments.labels)
        ProcessCollector(registry=self._registry)
        self._registry.register(_Versions(models))

    def count(self, call: CallContext) -> None:
        """Count a call that is over."""
        self._requests_of(call.method, call.protocol, Code.Name(call.code)).inc()
        self._seconds_of(call.method, call.protocol).observe(call.seconds)
        for code, number in call.segments.items():
            self._segments_of(call.protocol, Code.Name(code)).inc(number)

    def text(self) -> bytes:
        """Return all metrics in CONTENT_TYPE, without a lock that an engine needs."""
        return generate_latest(self._registry)


class _Versions(Collector):
    """Collector of the current state of every version."""

    def __init__(self, models: Callable[[], Registry]) -> None:
        self._models = models

    def collect(self) -> Iterator[Metric]:
        models = self._models()
        serving = sorted(models.serving, key=lambda model: (model.name, model.version))
        gauge = partial(_family, GaugeMetricFamily, serving)
        count = partial(_family, CounterMetricFamily, serving)
        histogram = partial(_family, HistogramMetricFamily, serving)

        def is_default(model: ServedVersion) -> float:
            return float(models.defaults[model.name] is model)

        yield gauge("version_serving", "1: the version answers; 0: its engine has failed.", _alive)
        yield gauge("version_default", "1: the version is the default of its model.", is_default)
        refused = GaugeMetricFamily("translation_version_refused", "1: it is not served.", labels=_VERSION)
        for name, versions in listed(models):
            for number, version in versions:
                if isinstance(version, str):
                    refused.add_metric((name, str(number)), 1)
        yield refused
        yield gauge("queue_depth", "Sentences that wait for a row.", lambda m: m.engine.waiting)
        yield gauge("rows", "Sentences being decoded.", lambda m: m.engine.running)
        yield gauge("slots", "Sentences that can be decoded together.", lambda m: m.engine.slots)
        yield count("steps", "Steps of the decoder.", lambda m: m.engine.counts.steps)
        yield count("tokens", "Decoded tokens.", lambda m: m.engine.counts.tokens)
        yield _ends(serving)
        for name, meaning in SECONDS_OF_ENGINES.items():
            yield histogram(name, meaning, attrgetter(f"engine.counts.{name}"))


def _family(kind: Any, serving: list[ServedVersion], name: str, meaning: str, value: Value) -> Any:
    """Return the metric of this name, with a value for each version."""
    family = kind(f"translation_{name}", meaning, labels=_VERSION)
    for model in serving:
        family.add_metric(_labels(model), **_sample(value(model)))
    return family


def _sample(value: float | statistics.Histogram) -> dict[str, Any]:
    """Return a value as arguments of add_metric."""
    if not isinstance(value, statistics.Histogram):
        return {"value": value}
    bounds = [*(str(bound) for bound in value.bounds), "+Inf"]
    return {"buckets": list(zip(bounds, value.cumulative(), strict=True)), "sum_value": value.sum}


def _ends(serving: list[ServedVersion]) -> CounterMetricFamily:
    family = CounterMetricFamily(
        "translation_sentences", "Sentences that have ended, and how.", labels=(*_VERSION, "end")
    )
    for model in serving:
        for end in End:
            family.add_metric((*_labels(model), end.name.lower()), model.engine.counts.ends[end])
    return family


def _labels(model: ServedVersion) -> tuple[str, str]:
    return model.name, str(model.version)


def _alive(model: ServedVersion) -> float:
    return float(model.engine.alive)
