"""How long answers take here, so that one that would come too late is refused, and not begun in vain."""

RECENT = 0.05  # what the last answer counts beside those before it
LONG = 1.5  # times the usual: few answers take longer


class LatencyEstimate:
    """Of one batch, from those who leave it."""

    def __init__(self) -> None:
        self._usual = 0.0  # seconds in the batch for each token; 0 until somebody has left it
        self._between = 0.0  # seconds from one who leaves to the next

    def left(self, seconds: float, rows: int, tokens: int, answered: bool = True) -> None:
        """One of so many expected tokens was in it for so long, the last of so many rows.

        Given up, its answer would have taken longer.
        """
        if not answered and seconds <= self._usual * tokens:
            return
        weight = RECENT if self._usual else 1.0
        self._usual += (seconds / tokens - self._usual) * weight
        self._between += (seconds / rows - self._between) * weight

    def wait(self, ahead: int) -> float:
        """Seconds until one begins before which so many others do."""
        return self._between * ahead

    def in_time(self, wait: float, left: float, tokens: int) -> bool:
        """Whether one of so many tokens that begins after so many seconds can be answered in what is left."""
        return wait + LONG * self._usual * tokens <= left
