r"""The pictures of the page, from exported models: page.png, page-dark.png, page-phone.png beside this file.

PYTHONPATH=. python docs/pictures/page.py build/demo/models \
    "Je sais que mon frère ne va pas acheter de viande ce soir." 10
"""

import shutil
import sys
from pathlib import Path

from tests.browser import NAMES, Browser, Page
from tests.support.serving.serve_process import serving_both
from tests.support.serving.web_page import opened, translated, until_told

HERE = Path(__file__).parent


def used(page: Page, address: str, text: str, word: str) -> Page:
    """A text translated, and one word of that chosen, by its number from 1."""
    opened(page, address)
    page.until("document.querySelectorAll('#examples button').length")
    translated(page, text)
    page.click(f".word:nth-of-type({word})")
    until_told(page, "looked at", "#looked")
    page.run("document.activeElement.blur(), scrollTo(0, 0)")
    return page


def main(models: Path, text: str, word: str) -> None:
    """Light with its heads, dark, and on a phone."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        raise SystemExit("no browser: install Chromium")
    with serving_both(models) as (_, _, address), Browser(program) as browser:
        page = used(browser.page(1160), address, text, word)
        page.click("#heads summary")
        page.until("document.querySelectorAll('#map tbody td').length")
        page.click("#birds button:nth-child(5)")
        page.hover(f"#map tbody tr:nth-child({word}) td:nth-of-type({int(word) - 1})")
        height = page.run("document.querySelector('#heads').getBoundingClientRect().bottom + scrollY + 8")
        page.resize(1160, int(height))
        page.run("document.activeElement.blur(), scrollTo(0, 0)")
        page.screenshot(HERE / "page.png")

        page = used(browser.page(1160, 760, dark=True), address, text, word)
        page.screenshot(HERE / "page-dark.png")

        page = browser.page(360, 780)
        page.resize(360, 780, scale=2)
        used(page, address, text, word).screenshot(HERE / "page-phone.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
