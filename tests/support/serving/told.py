"""Who waits for requests in an engine."""

import threading

from keras_transformer.inference.request import Request


class Told:
    """Waits for the ends of requests, and keeps who ended how often."""

    def __init__(self) -> None:
        self.ended: list[Request] = []
        self._changed = threading.Condition()

    def __call__(self, request: Request) -> None:
        with self._changed:
            self.ended.append(request)
            self._changed.notify()

    def wait_for(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.ended) >= count, timeout=60)
