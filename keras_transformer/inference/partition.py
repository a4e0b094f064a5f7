"""Division of requests among worker threads."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from keras_transformer.inference.request import Request

#: The requests of one worker, longest source first, and an event that is set when it should stop.
Work = Callable[[list[Request], threading.Event], None]


def run_partitioned(work: Work, requests: Sequence[Request], workers: int) -> None:
    """Run `work` on a part of the requests in each worker; a single part runs in the calling thread.

    Args:
        work: Decodes one part.
        requests: Requests, longest source first, so that the last ones to be decoded are short.
        workers: Largest number of parts.

    Raises:
        Exception: The first error of a worker. The other workers stop within one step.
    """
    shares = [[*requests[first::workers]] for first in range(min(workers, len(requests)))]
    stop = threading.Event()
    if len(shares) < 2:
        for share in shares:
            work(share, stop)
        return

    def guarded(share: list[Request]) -> None:
        try:
            work(share, stop)
        except BaseException:
            stop.set()
            raise

    with ThreadPoolExecutor(len(shares)) as pool:
        try:
            for _ in pool.map(guarded, shares):
                pass
        finally:  # also when the caller is interrupted
            stop.set()
