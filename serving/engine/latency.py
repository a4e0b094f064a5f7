"""Estimates of latency, with which a request that would miss its deadline is refused at once."""

RECENT = 0.05  # weight of the last answer in the moving averages
LONG = 1.5  # safety factor: few answers take longer than this multiple of the average


class LatencyEstimate:
    """Latency estimate of one batch, from the requests that leave it."""

    def __init__(self) -> None:
        self._seconds_per_token = 0.0  # in the batch; 0 until a request has left it
        self._seconds_between = 0.0  # from one row that becomes free to the next

    def left(self, seconds: float, rows: int, tokens: int, answered: bool = True) -> None:
        """Record a request that leaves the batch.

        Args:
            seconds: Time that it spent in the batch.
            rows: Number of rows of the batch at that time.
            tokens: Expected length of its answer.
            answered: Whether it was answered; otherwise its answer would have taken longer.
        """
        if not answered and seconds <= self._seconds_per_token * tokens:
            return
        weight = RECENT if self._seconds_per_token else 1.0
        self._seconds_per_token += (seconds / tokens - self._seconds_per_token) * weight
        self._seconds_between += (seconds / rows - self._seconds_between) * weight

    def wait(self, ahead: int) -> float:
        """Return the seconds until a request begins that has requests of `ahead` rows before it."""
        return self._seconds_between * ahead

    def in_time(self, wait: float, left: float, tokens: int) -> bool:
        """Return whether a request can be answered before its deadline.

        Args:
            wait: Seconds until it begins.
            left: Seconds until the deadline.
            tokens: Expected length of its answer.
        """
        return wait + LONG * self._seconds_per_token * tokens <= left
