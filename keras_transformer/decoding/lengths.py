"""How long an answer may become. Nothing here needs a framework: every runtime asks it."""


def longest_answer(source_length: int) -> int:
    """The most target tokens that a source of so many tokens is given."""
    return 2 * source_length + 10
