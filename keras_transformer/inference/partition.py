"""Requests divided among workers."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from keras_transformer.inference.request import Request

#: The requests of one worker, longest source first, and an event that is set when it should stop.
Work = Callable[[list[Request], threading.Event], None]


def run_partitioned(work: Work, requests: Sequence[Request], workers: int) -> None:
    """Run `work` on a share of the requests in each worker; a single share runs in the calling thread.

    Args:
        work: decodes one share.
        requests: longest source first, so that short ones end the work.
        workers: the maximum of shares.

    Raises:
        Exception: what a worker raised. The others stop within a step.
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
