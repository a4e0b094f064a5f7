"""Reloader that keeps the served versions equal to those on the disk by scanning every few seconds."""

import asyncio
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from keras_transformer.memory import give_back
from serving.daemon import in_daemon
from serving.engine.niceness import LOWEST, give_way
from serving.registry.discovery import (
    PIN,
    Scan,
    TemporaryRefusal,
    VersionLocation,
    is_number,
    open_checked,
    scan,
)
from serving.registry.registry import Key, Registry
from serving.registry.served_version import EngineSettings, ServedVersion

_logger = logging.getLogger(__name__)

FIRST_RETRY, MAX_RETRY = 5.0, 600.0  # seconds to the next trial of a version after its trial was killed


class Reloader:
    """Reloader of versions, which opens new and changed ones and removes deleted ones, in one event loop.

    Args:
        root: Directory of the versions.
        settings: Settings of their engines.
        models: The registry.
        versions: Versions from which the registry was opened.
    """

    def __init__(
        self, root: Path, settings: EngineSettings, models: Registry, versions: Iterable[VersionLocation]
    ) -> None:
        self._root = root
        self._settings = settings
        self._models = models
        self._known = {_key(location): location for location in versions}  # as it was opened, or refused
        self._before = dict(self._known)  # as it was in the scan before
        self._retries: dict[Key, tuple[float, float]] = {}  # pause, and time, of the next trial
        self._problems: set[str] = set()  # that were logged
        self._leaving: set[asyncio.Task[None]] = set()
        for key in self._known:
            self._schedule_retry(key)

    @contextmanager
    def watched(self, seconds: float) -> Iterator[None]:
        """Update every so many seconds inside the context; 0 is never."""
        watching = asyncio.create_task(self._watch(seconds)) if seconds else None
        try:
            yield
        finally:
            if watching is not None:
                watching.cancel()

    async def pin(self) -> None:
        """Read the pins, and set the defaults accordingly."""
        result = await self._scan()
        if result is not None:
            self._log_once([*result.problems, *self._wrong_pins(result)])

    async def update(self) -> None:
        """Scan the root once, open new and changed versions, and remove deleted ones."""
        result = await self._scan()
        if result is None:
            return
        now = {_key(location): location for location in result.versions}
        gone = self._known.keys() - now.keys()
        staying = {model.name for model in self._models.serving if _key(model) not in gone}
        self._remove(key for key in gone if key[0] in staying)
        for key, location in now.items():
            if self._due(key, location):
                self._known[key] = location
                await self._open(location)
        self._remove(key for key in gone if key[0] not in staying)  # a new version may replace it by now
        self._before = now
        self._log_once([*result.problems, *self._wrong_pins(result)])

    async def _watch(self, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await self.update()
            except Exception:
                _logger.exception("the update from %s failed; it is repeated", self._root)

    async def _scan(self) -> Scan | None:
        """Scan the root and set the pins; return None if it cannot be read, in which case nothing changes."""
        try:
            result = await in_daemon(scan, self._root)
        except OSError as error:
            self._log_once([f"{self._root} cannot be read, so the served versions stay: {error}"])
            return None
        former = self._models.pins
        self._models.pin(
            {
                name: int(text) if is_number(text) else former[name]
                for name, text in result.pins.items()
                if is_number(text) or name in former
            }
        )
        return result

    def _due(self, key: Key, location: VersionLocation) -> bool:
        """Return whether to open a version: a new one at once, a changed one when it no longer changes."""
        if key not in self._known:
            return True
        if key in self._retries and monotonic() >= self._retries[key][1]:
            return True
        unchanged = key in self._before and location.stamp == self._before[key].stamp
        return unchanged and location.stamp != self._known[key].stamp

    async def _open(self, location: VersionLocation) -> None:
        key = _key(location)
        model = await in_daemon(self._open_in_thread, location)
        if isinstance(model, str):
            self._models.refused[key] = model
            self._schedule_retry(key)
            return
        self._retries.pop(key, None)
        model.engine.start()  # in this thread: a new thread inherits the niceness of its creator
        self._release(self._models.add(model))
        _logger.info("%s %d serves, the default is %s", *key, self._default(location.name))

    def _open_in_thread(self, location: VersionLocation) -> ServedVersion | str:
        """Open a version in a thread with the lowest priority."""
        # With more threads, those of a matrix product would inherit the niceness of this one.
        if self._settings.threads == 1:
            give_way(LOWEST)
        return open_checked(location, self._settings)

    def _schedule_retry(self, key: Key) -> None:
        """Set the time of the next trial of a version whose trial was killed: after twice the last pause."""
        if isinstance(self._models.refused.get(key), TemporaryRefusal):
            pause = min(2 * self._retries[key][0], MAX_RETRY) if key in self._retries else FIRST_RETRY
            self._retries[key] = pause, monotonic() + pause
        else:
            self._retries.pop(key, None)

    def _remove(self, keys: Iterable[Key]) -> None:
        for key in sorted(keys):
            del self._known[key]
            self._models.refused.pop(key, None)
            self._retries.pop(key, None)
            self._release(self._models.remove(*key))
            _logger.info("%s %d is gone, the default is %s", *key, self._default(key[0]))

    def _release(self, model: ServedVersion | None) -> None:
        if model is not None:
            task = asyncio.create_task(self._stop_unused(model))
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    async def _stop_unused(self, model: ServedVersion) -> None:
        """Wait for the last request of a version, stop its engine, and free its memory."""
        await model.users.gone()
        await asyncio.to_thread(model.engine.stop)
        self._models.leaving.remove(model)
        del model
        await asyncio.to_thread(give_back)

    def _wrong_pins(self, result: Scan) -> Iterator[str]:
        for name, text in result.pins.items():
            default = self._default(name)
            if not is_number(text):
                yield f"{name}/{PIN} must be the number of a version; got {text!r}; the default is {default}"
            elif int(text) != default:
                yield f"{name}/{PIN} names version {text}, which does not serve; the default is {default}"

    def _log_once(self, problems: Iterable[str]) -> None:
        """Log each problem once while it lasts."""
        logged, self._problems = self._problems, set(problems)
        for problem in sorted(self._problems - logged):
            _logger.warning(problem)

    def _default(self, name: str) -> int | None:
        model = self._models.defaults.get(name)
        return None if model is None else model.version


def _key(version: VersionLocation | ServedVersion) -> Key:
    return version.name, version.version
