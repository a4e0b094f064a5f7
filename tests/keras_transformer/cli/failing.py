"""A command that fails, as its user sees it."""

import pytest

from keras_transformer.cli import main


def failed(capsys: pytest.CaptureFixture[str], *arguments: object, status: int = 1) -> str:
    """What `keras-transformer arguments` says on its last line, having failed."""
    capsys.readouterr()
    try:
        assert main(list(map(str, arguments))) == status
    except SystemExit as end:
        assert end.code == status
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    return err.splitlines()[-1].partition(": ")[2]
