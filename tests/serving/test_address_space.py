"""A server with too little address space ends with an error, instead of crashing in a library."""

from pathlib import Path

import pytest

from tests.support.serving.serve_process import process


@pytest.mark.parametrize("mebibytes", [256, 512, 1000])
def test_a_server_with_too_little_address_space_ends_with_one_line_that_says_so(
    exported: Path, mebibytes: int
) -> None:
    size = mebibytes * 2**20
    limited = (
        "-c",
        f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({size}, {size}))\n"
        "from keras_transformer.cli import command\ncommand()",
    )
    with process(exported, "--port", 0, program=limited) as started:
        _, err = started.communicate(timeout=60)
    assert started.returncode == 1
    (line,) = err.splitlines()
    assert f"limited to {mebibytes:,} MiB" in line
    assert "ulimit -v" in line
