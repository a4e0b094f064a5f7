"""How long answers take here, so that one that would come too late is refused, and not begun in vain."""

RECENT = 0.05  # what the last answer counts beside those before it
LONG = 2.0  # times the usual: few answers take longer


class Pace:
    """Of a batch with so many rows."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._usual = 0.0  # seconds in the batch; 0 until there was an answer

    def answered(self, seconds: float) -> None:
        """One has been in the batch for so long."""
        self._usual += (seconds - self._usual) * (RECENT if self._usual else 1.0)

    def wait(self, ahead: int) -> float:
        """Seconds until one begins before which so many others do."""
        return self._usual * ahead / self._rows

    def in_time(self, ahead: int, left: float) -> bool:
        """Whether it can be answered within so many seconds; the next one may always try."""
        return not ahead or self.wait(ahead) + LONG * self._usual <= left
