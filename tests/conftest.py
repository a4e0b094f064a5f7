"""What every test shares: quiet libraries, a disk that fills up, small versions, and a browser."""

import gc
import os
import random
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from tests.support.browser import NAMES, SECONDS, violations
from tests.support.needed import program
from tests.support.slow import is_slow

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["OMP_NUM_THREADS"] = "1"  # as `make test` has it; tests.support.fork_server needs it
# What XLA compiles here runs a few times: LLVM's optimizations would cost more than they save. The fusion
# emitters, which XLA has by default, take twice as long without them, to compile as well as to run.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true "
    "--xla_cpu_use_fusion_emitters=false",
)
os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # some tests ask ONNX Runtime without any code of ours between
os.environ.pop("TF_ENABLE_ONEDNN_OPTS", None)
hypothesis.settings.register_profile("untimed", deadline=None)  # no timing decides a test
hypothesis.settings.load_profile("untimed")
# In the background a shell has its programs ignore Ctrl-C, and what they start inherits that: not so here.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--screenshots",
        type=Path,
        metavar="DIR",
        help="save a picture of every page that axe-core looks at, wide and narrow, light and dark",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_slow(item):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Let every test draw the same numbers each time: Keras seeds weights and dropout from this module."""
    random.seed(0)


@pytest.fixture(scope="module", autouse=True)
def _exempt_older_objects_from_garbage_collection() -> None:
    """Exempt what imports and earlier modules have made: Keras collects at each attribute it removes.

    To quantize the layers of a small model it does so 60 times, and each takes up to 1 s with all objects.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _runtimes_in_forks() -> Iterator[None]:
    """Fork the processes of the certificate's runtimes; those of commands that tests start are started."""
    from export import isolated
    from tests.support import forked_runtimes

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(isolated, "subprocess", forked_runtimes)
        yield


@pytest.fixture(autouse=True)
def _environment_before_an_export() -> None:
    """Take back the variable that `keras-transformer export` sets for its process: here it comes too late."""
    os.environ.pop("TF_ENABLE_ONEDNN_OPTS", None)


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
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of all the processes of this run, for what is made once (tests/support/once.py)."""
    own = tmp_path_factory.getbasetemp()
    return (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "shared"


@pytest.fixture(scope="session")
def exported(shared: Path) -> Path:
    """models/fr-en/1, float32 and int8."""
    from tests.support.versions.small_model import exported_once

    return exported_once(shared / "int8", "models/fr-en/1", "onnx", quantize="int8")


@pytest.fixture(scope="session")
def everything(shared: Path) -> Path:
    """models/fr-en/1 in every format, with text.onnx and int8."""
    from tests.support.versions.small_model import exported_once

    place, formats = "models/fr-en/1", ("saved_model", "onnx", "ctranslate2")
    return exported_once(shared / "everything", place, *formats, quantize="int8", with_tokenizer=True)


@pytest.fixture(scope="session")
def another(shared: Path) -> Path:
    """The same network with other weights, float32: what it says is not what the other one says."""
    from tests.support.versions.small_model import exported_once

    return exported_once(shared / "another", "fr-en/2", "onnx", seed=5)


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """A headless browser for the tests of a file; until it is closed, their thread cannot run asyncio."""
    from playwright.sync_api import expect, sync_playwright

    found = program(*NAMES)
    expect.set_options(timeout=1000 * SECONDS)
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=found) as started:
        yield started


@pytest.fixture
def page(browser: "Browser") -> Iterator["Page"]:
    """A tab that shares nothing with the tabs of other tests."""
    with browser.new_page(viewport={"width": 1280, "height": 900}) as page:
        page.set_default_timeout(1000 * SECONDS)
        yield page


@pytest.fixture
def violations_in(page: "Page", pytestconfig: pytest.Config) -> Callable[[str], list[str]]:
    """violations_in(state): what axe-core finds wrong with the page in this state, in every look."""
    return lambda state: violations(page, state, pytestconfig.getoption("screenshots"))
