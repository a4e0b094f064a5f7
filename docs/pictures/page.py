r"""The pictures of the page, from exported models: page.png, page-dark.png, page-phone.png beside this file.

PYTHONPATH=. python docs/pictures/page.py build/demo/models \
    "Je sais que mon frère ne va pas acheter de viande ce soir." 10
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.support.browser import NAMES
from tests.support.serving.serve_process import serving_both
from tests.support.serving.web_page import explored, opened, options, translated

HERE = Path(__file__).parent


def used(page: Page, address: str, text: str, word: int, offered: bool = False) -> Page:
    """Translate a text, and choose a word by its number from 1; others for it are offered or not."""
    opened(page, address)
    translated(page, text)
    options(page, word - 1)
    if not offered:
        page.keyboard.press("Escape")
        at_rest(page)
    return page


def at_rest(page: Page) -> None:
    """Nothing has the focus, and the top is in sight."""
    page.evaluate("document.activeElement.blur(), scrollTo(0, 0)")


def main(models: Path, text: str, word: int) -> None:
    """Light with its heads, dark with other words for one, and on a phone."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        raise SystemExit("no browser: install Chromium")
    with (
        serving_both(models) as (_, _, address),
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=program) as browser,
    ):
        page = used(browser.new_page(viewport={"width": 1160, "height": 900}), address, text, word)
        explored(page)
        page.locator("#overview button").nth(4).click()
        page.locator("#map tbody tr").nth(word - 1).locator("td").nth(word - 2).hover()
        at_rest(page)
        bottom = page.locator("#heads").evaluate("heads => heads.getBoundingClientRect().bottom")
        page.set_viewport_size({"width": 1160, "height": int(bottom) + 8})
        page.screenshot(path=HERE / "page.png")

        page = browser.new_page(viewport={"width": 1160, "height": 760}, color_scheme="dark")
        used(page, address, text, word, offered=True).screenshot(path=HERE / "page-dark.png")

        page = browser.new_page(viewport={"width": 360, "height": 780}, device_scale_factor=2)
        used(page, address, text, word).screenshot(path=HERE / "page-phone.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
