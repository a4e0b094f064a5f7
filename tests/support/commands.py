"""A command that fails, as its user sees it."""

import pytest

from keras_transformer.cli import main


def failed(capsys: pytest.CaptureFixture[str], *arguments: object, status: int = 1) -> str:
    """What `keras-transformer VERB ...` says last, having failed; 2 is wrong usage."""
    verb, *_ = words = list(map(str, arguments))
    capsys.readouterr()
    if status == 2:
        with pytest.raises(SystemExit) as stopped:
            main(words)
        assert stopped.value.code == 2
    else:
        assert main(words) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    _, command, told = err.rpartition(f"keras-transformer {verb}: ")
    assert command
    return told.removesuffix("\n")
