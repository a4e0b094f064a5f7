r"""The picture of the example in the browser: browser-example.png beside this file.

PYTHONPATH=. python docs/pictures/browser_example.py build/demo/models/fr-en/1
"""

import shutil
import sys
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

from tests.support.browser import NAMES
from tests.support.examples import EXAMPLES

HERE = Path(__file__).parent
TEXT = "Je suis étudiant.\nOù est la gare ?\nCette table est trop vieille.\nMerci."


class _Files(SimpleHTTPRequestHandler):
    """A static server that prints nothing."""

    def log_message(self, *_: object) -> None:
        pass


def main(version: Path) -> None:
    """Translate four lines in the page, and take its picture."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        raise SystemExit("no browser: install Chromium")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "examples").symlink_to(EXAMPLES)
        Path(folder, "model").symlink_to(version.resolve())
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Files, directory=folder))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with sync_playwright() as playwright, playwright.chromium.launch(executable_path=program) as browser:
            page = browser.new_page(viewport={"width": 750, "height": 460}, device_scale_factor=2)
            page.goto(f"http://127.0.0.1:{server.server_port}/examples/browser/?model=/model/")
            page.get_by_label("French").fill(TEXT)
            for _ in range(2):  # the first answer waits for the graphs to be prepared
                page.locator("#status").evaluate("status => { status.textContent = '' }")
                page.get_by_role("button", name="Translate").click()
                expect(page.locator("#status")).to_contain_text("tokens in")
            page.evaluate("document.activeElement.blur()")
            page.screenshot(path=HERE / "browser-example.png", full_page=True)
        server.shutdown()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
