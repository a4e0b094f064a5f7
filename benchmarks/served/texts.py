"""The texts of a load: golden sentences, drawn so that the lengths of their answers are log-normal."""

import random

from export.artifact.manifest import Version

TEXTS, SEED = 2_000, 1  # of a load, unless another seed is said
SPREAD = 0.5  # of the logarithm of an answer's tokens: one in twenty has less than 0.44 of the median, or 2.3


def drawn(version: Version, count: int, seed: int) -> list[str]:
    """Of golden sentences whose answer came to its end: each draw takes one of those nearest in length."""
    rng, end = random.Random(seed), version.tokenizer.eos_id
    ended = sorted(
        (len(each.target_ids), each.source) for each in version.golden if each.target_ids[-1:] == (end,)
    )
    if not ended:
        raise SystemExit("no golden sentence of this version has an answer that ends.")
    middle = ended[len(ended) // 2][0]
    texts = []
    for _ in range(count):
        wanted = rng.lognormvariate(0.0, SPREAD) * middle
        nearest = min(abs(length - wanted) for length, _ in ended)
        texts.append(rng.choice([text for length, text in ended if abs(length - wanted) <= nearest + 1]))
    return texts
