"""How long a request would wait, as the engine guesses it."""

from serving.engine.latency import LONG, LatencyEstimate


def test_nobody_is_refused_before_anybody_was_answered() -> None:
    assert LatencyEstimate().in_time(LatencyEstimate().wait(ahead=1_000), left=0.001, tokens=50)


def test_a_full_batch_lets_one_in_whenever_one_leaves() -> None:
    pace = LatencyEstimate()
    for _ in range(4):
        pace.left(seconds=0.8, rows=4, tokens=20)  # four of them in 0.8 s: one each 0.2 s
    assert pace.wait(ahead=10) == 10 * 0.2
    enough = 10 * 0.2 + LONG * 0.8
    assert pace.in_time(pace.wait(10), enough, tokens=20)
    assert not pace.in_time(pace.wait(10), enough - 0.01, tokens=20)


def test_a_short_answer_is_in_time_where_a_long_one_would_not_be() -> None:
    pace = LatencyEstimate()
    pace.left(seconds=1.0, rows=1, tokens=20)
    assert pace.in_time(wait=0.0, left=LONG * 0.55, tokens=10)
    assert not pace.in_time(wait=0.0, left=LONG * 0.55, tokens=12)


def test_the_pace_follows_what_changes() -> None:
    pace = LatencyEstimate()
    pace.left(seconds=10.0, rows=1, tokens=20)
    for _ in range(200):
        pace.left(seconds=0.1, rows=1, tokens=20)
    assert 0.1 < pace.wait(ahead=1) < 0.11


def test_one_that_was_given_up_makes_the_pace_no_faster() -> None:
    pace = LatencyEstimate()
    pace.left(seconds=1.0, rows=1, tokens=20)
    pace.left(seconds=0.1, rows=1, tokens=20, answered=False)
    assert pace.wait(ahead=1) == 1.0
    pace.left(seconds=2.0, rows=1, tokens=20, answered=False)
    assert pace.wait(ahead=1) > 1.0
