"""What every test shares: quiet libraries, a disk that fills up, small versions, and a browser."""

import os
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import hypothesis
import pytest

from tests.browser import NAMES, Browser, Page
from tests.support.needed import program

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # some tests ask ONNX Runtime without any code of ours between
hypothesis.settings.register_profile("untimed", deadline=None)  # no timing decides a test
hypothesis.settings.load_profile("untimed")
# In the background a shell has its programs ignore Ctrl-C, and what they start inherits that: not so here.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def disk_of() -> Callable[[int], AbstractContextManager[None]]:
    """disk_of(bytes): no file of this process can grow past so many; what writes more gets an OSError."""

    @contextmanager
    def limited(size: int) -> Iterator[None]:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return limited


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """models/fr-en/1, float32 and int8."""
    from tests.support.versions.small_model import exported, small_model

    directory = tmp_path_factory.mktemp("serving") / "models" / "fr-en" / "1"
    exported(small_model(), directory, "onnx", quantize="int8")
    return directory


@pytest.fixture(scope="session")
def another(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same network with other weights, float32: what it says is not what the other one says."""
    from tests.support.versions.small_model import exported, small_model

    directory = tmp_path_factory.mktemp("another") / "fr-en" / "2"
    exported(small_model(seed=5), directory, "onnx")
    return directory


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One real browser without a window for all tests."""
    with Browser(program(*NAMES)) as started:
        yield started


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A tab of its own for each test."""
    page = browser.page()
    yield page
    page.close()
