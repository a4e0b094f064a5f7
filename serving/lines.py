"""A text of several lines -> the parts that are translated one by one."""

from keras_transformer.text.sentences import Count, Lengths, Parts


def divided(text: str, count: Count, lengths: Lengths) -> Parts:
    """Each line as `keras-transformer translate` divides it; the line ends stay between."""
    texts: list[str] = []
    gaps = [""]
    pieces = 0
    for number, line in enumerate(text.split("\n")):
        parts = Parts.of(line, count, lengths)
        gaps[-1] += "\n" * (number > 0) + parts.gaps[0]
        texts += parts.texts
        gaps += parts.gaps[1:]
        pieces += parts.divided
    return Parts(texts, gaps, pieces)


def begun(whole: Parts, translations: list[str]) -> str:
    """The text so far, from translations of the first parts; that of the last of these may go on."""
    some = len(translations)
    return Parts(whole.texts[:some], [*whole.gaps[:some], ""], 0).joined(translations)
