"""Versions that come, change and go on the disk while they serve: the root is looked at every few seconds."""

import asyncio
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from keras_transformer.memory import give_back
from serving.daemon import in_daemon
from serving.engine.niceness import LOWEST, give_way
from serving.registry.discovery import PIN, Scan, VersionLocation, is_number, look, opened
from serving.registry.registry import Registry
from serving.registry.served_version import EngineSettings, ServedVersion

_logger = logging.getLogger(__name__)

Key = tuple[str, int]


class Reloader:
    """What serves becomes what lies there. In one event loop, which does nothing that takes time."""

    def __init__(
        self, root: Path, settings: EngineSettings, models: Registry, found: Iterable[VersionLocation]
    ) -> None:
        """`found`: what the models were opened from."""
        self._root = root
        self._settings = settings
        self._models = models
        self._known = {_key(place): place for place in found}  # as it was opened, or refused
        self._before = dict(self._known)  # as it was seen last
        self._troubles: set[str] = set()  # that were told
        self._farewells: set[asyncio.Task[None]] = set()

    @contextmanager
    def watched(self, seconds: float) -> Iterator[None]:
        """Meanwhile there is a look every so many seconds; 0 is never."""
        watching = asyncio.create_task(self._watch(seconds)) if seconds else None
        try:
            yield
        finally:
            if watching is not None:
                watching.cancel()

    async def pin(self) -> None:
        """The defaults are those that are wanted."""
        seen = await self._seen()
        if seen is not None:
            self._tell([*seen.troubles, *self._wrong_pins(seen)])

    async def look(self) -> None:
        """Once. What came is open afterwards, what went is not found any more."""
        seen = await self._seen()
        if seen is None:
            return
        now = {_key(place): place for place in seen.places}
        gone = self._known.keys() - now.keys()
        staying = {model.name for model in self._models.serving if _key(model) not in gone}
        self._remove(key for key in gone if key[0] in staying)
        for key, place in now.items():
            if self._due(key, place):
                self._known[key] = place
                await self._open(place)
        self._remove(key for key in gone if key[0] not in staying)  # what came may have taken its place
        self._before = now
        self._tell([*seen.troubles, *self._wrong_pins(seen)])

    async def _watch(self, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await self.look()
            except Exception:
                _logger.exception("the look at %s failed: it is repeated", self._root)

    async def _seen(self) -> Scan | None:
        """With the pins that are there by now; None if it cannot be read, and then nothing is to change."""
        try:
            seen = await in_daemon(look, self._root)
        except OSError as error:
            self._tell([f"{self._root} cannot be read, and what serves goes on: {error}"])
            return None
        former = self._models.pins
        self._models.pin(
            {
                name: int(text) if is_number(text) else former[name]
                for name, text in seen.pins.items()
                if is_number(text) or name in former
            }
        )
        return seen

    def _due(self, key: Key, place: VersionLocation) -> bool:
        """What is new comes at once, what was changed when it does not change any more."""
        if key not in self._known:
            return True
        still = key in self._before and place.stamp == self._before[key].stamp
        return still and place.stamp != self._known[key].stamp

    async def _open(self, place: VersionLocation) -> None:
        model = await in_daemon(self._opened, place)
        if isinstance(model, str):
            self._models.refused[_key(place)] = model
            return
        model.engine.start()  # here: its thread would be as patient as the one that has opened it
        self._see_off(self._models.add(model))
        _logger.info("%s %d serves, the default is %s", *_key(place), self._default(place.name))

    def _opened(self, place: VersionLocation) -> ServedVersion | str:
        """In a thread that gives way."""
        # The threads of a product, if there are any, would be as patient as the one that makes them.
        if self._settings.threads == 1:
            give_way(LOWEST)
        return opened(place, self._settings)

    def _remove(self, keys: Iterable[Key]) -> None:
        for key in sorted(keys):
            del self._known[key]
            self._models.refused.pop(key, None)
            self._see_off(self._models.remove(*key))
            _logger.info("%s %d is gone, the default is %s", *key, self._default(key[0]))

    def _see_off(self, model: ServedVersion | None) -> None:
        if model is not None:
            farewell = asyncio.create_task(self._farewell(model))
            self._farewells.add(farewell)
            farewell.add_done_callback(self._farewells.discard)

    async def _farewell(self, model: ServedVersion) -> None:
        """Its last request is finished, then its engine ends, and its memory is free."""
        await model.users.gone()
        await asyncio.to_thread(model.engine.stop)
        self._models.leaving.remove(model)
        del model
        await asyncio.to_thread(give_back)

    def _wrong_pins(self, seen: Scan) -> Iterator[str]:
        for name, text in seen.pins.items():
            now = self._default(name)
            if not is_number(text):
                yield f"{name}/{PIN} must hold the number of a version; got {text!r}: the default is {now}"
            elif int(text) != now:
                yield f"{name}/{PIN} names version {text}, which does not serve: the default is {now}"

    def _tell(self, troubles: Iterable[str]) -> None:
        """Each once, as long as it lasts."""
        told, self._troubles = self._troubles, set(troubles)
        for trouble in sorted(self._troubles - told):
            _logger.warning(trouble)

    def _default(self, name: str) -> int | None:
        model = self._models.defaults.get(name)
        return None if model is None else model.version


def _key(each: VersionLocation | ServedVersion) -> Key:
    return each.name, each.version
