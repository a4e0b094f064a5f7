r"""The pictures of written pages: attention-page.png and walkthrough.png beside this file.

PYTHONPATH=. python docs/pictures/written.py build/demo/run "Où sont mes livres ? Je les cherche."
"""

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from keras_transformer.cli import main as command
from tests.support.browser import NAMES

HERE = Path(__file__).parent


def main(run: str, text: str) -> None:
    """Write both pages, and take a picture of each."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        raise SystemExit("no browser: install Chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        attention = Path(folder, "attention.html")
        command(
            [
                "attention",
                run,
                text,
                "--kind",
                "input-output",
                "--layer",
                "3",
                "--head",
                "1",
                "--output",
                str(attention),
            ]
        )
        command(["walkthrough", "--output", folder])
        browser = playwright.chromium.launch(executable_path=program)
        page = browser.new_page(viewport={"width": 1240, "height": 900})
        page.goto(attention.as_uri())
        page.locator("#map tbody tr").nth(9).locator("td").nth(6).hover()
        page.screenshot(path=HERE / "attention-page.png", full_page=True)
        page = browser.new_page(viewport={"width": 1400, "height": 1148})
        page.goto(Path(folder, "index.html").as_uri())
        page.screenshot(path=HERE / "walkthrough.png")
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
