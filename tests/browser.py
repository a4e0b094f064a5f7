"""A real Chromium without a window, driven over its DevTools pipe: no driver, no dependency, no port.

Messages are JSON ended by a NUL byte: commands go in by the browser's descriptor 3, answers and events come
out by 4. https://chromedevtools.github.io/devtools-protocol lists them.
"""

import base64
import fcntl
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Self

NAMES = (  # of Chromium, and of browsers made of it
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
)
PATIENCE = 60.0  # seconds for one answer on a busy machine; nothing waits so long unless it failed

# Gives the browser our two ends of pipes as its 3 and 4, which may be taken in this process.
_LAUNCH = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
_HIGH = 64


class BrowserError(Exception):
    """The browser refused, or did not answer."""


class Browser:
    """A browser process with a profile of its own; use it in a `with`."""

    def __init__(self, program: str) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True)
        commands, self._write = map(_raised, os.pipe())
        self._read, answers = map(_raised, os.pipe())
        self._log = (Path(self._profile.name) / "log").open("w+b")
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCH, str(commands), str(answers), program, *self._options()],
            pass_fds=(commands, answers),
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )
        os.close(commands)
        os.close(answers)
        self._number = 0
        self._received = b""
        self._answers: dict[int, dict[str, Any]] = {}
        self._pages: dict[str, Page] = {}

    def _options(self) -> list[str]:
        return [
            "--headless=new",
            "--remote-debugging-pipe",
            f"--user-data-dir={self._profile.name}/profile",
            "--no-first-run",
            "--no-default-browser-check",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-dev-shm-usage",
            "--disable-gpu",
            "--force-color-profile=srgb",
            "--hide-scrollbars",
            "--lang=en",
            "--no-sandbox",  # root and containers have none; what is opened was written by a test
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.call("Browser.close")
            self._process.wait(PATIENCE)
        except (BrowserError, OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        for descriptor in (self._write, self._read):
            os.close(descriptor)
        self._log.close()
        self._profile.cleanup()

    def page(self, width: int = 1280, height: int = 900, dark: bool = False) -> "Page":
        """A new tab that takes note of all it asks for and of everything that goes wrong in it."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._pages[session] = page = Page(self, session, target)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(f"{domain}.enable")
        page.resize(width, height)
        page.prefer(dark)
        return page

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """A command's answer; what happens meanwhile goes to the page that it happens to."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        content = json.dumps(message).encode() + b"\0"
        while content:
            content = content[os.write(self._write, content) :]
        deadline = time.monotonic() + PATIENCE
        while number not in self._answers:
            self.receive(deadline, method)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def receive(self, deadline: float, waited_for: str) -> None:
        """Take in what the browser says next."""
        if not select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise BrowserError(f"waited {PATIENCE:.0f} s for {waited_for}{self._said()}")
        content = os.read(self._read, 1 << 20)
        if not content:
            raise BrowserError(f"the browser ended before {waited_for}{self._said()}")
        *messages, self._received = (self._received + content).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self._answers[message["id"]] = message
            elif page := self._pages.get(message.get("sessionId", "")):
                page.hear(message["method"], message["params"])

    def _said(self) -> str:
        self._log.seek(0)
        return "; its log ends: " + self._log.read()[-800:].decode(errors="replace")


class Page:
    """A tab: what a user does in it and sees of it."""

    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self._browser = browser
        self._session = session
        self._target = target
        self._loaded = False
        #: The address of everything that was asked for, in order.
        self.requests: list[str] = []
        #: Exceptions, what was written to the console as an error, and what the browser refused.
        self.errors: list[str] = []

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A DevTools command to this tab."""
        return self._browser.call(method, self._session, **parameters)

    def close(self) -> None:
        """Close the tab."""
        self._browser.call("Target.closeTarget", targetId=self._target)

    def hear(self, event: str, of: dict[str, Any]) -> None:
        """What the browser tells of this tab."""
        if event == "Network.requestWillBeSent":
            self.requests.append(of["request"]["url"])
        elif event == "Page.loadEventFired":
            self._loaded = True
        elif event == "Runtime.exceptionThrown":
            details = of["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif event == "Runtime.consoleAPICalled" and of["type"] in ("error", "assert"):
            self.errors.append(" ".join(str(each.get("value", "")) for each in of["args"]))
        elif event == "Log.entryAdded" and of["entry"]["level"] in ("error", "warning"):
            self.errors.append(of["entry"]["text"])

    def open(self, url: str) -> None:
        """Load an address, to the end; requests and errors are counted from here."""
        self._loaded = False
        self.requests.clear()
        self.errors.clear()
        answer = self.call("Page.navigate", url=url)
        if "errorText" in answer:
            raise BrowserError(f"{url}: {answer['errorText']}")
        deadline = time.monotonic() + PATIENCE
        while not self._loaded:
            self._browser.receive(deadline, f"{url} to load")
        self.settle()

    def settle(self) -> None:
        """Let the page do what it has begun, and draw it; then `requests` and `errors` are all there."""
        self.run("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")

    def resize(self, width: int, height: int, scale: float = 1) -> None:
        """The size of the window's inside."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=False,
        )

    def prefer(self, dark: bool) -> None:
        """What the user's system says of light and dark."""
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def run(self, code: str) -> Any:
        """The value of an expression in the page; of a promise, what it gives."""
        answer = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        if details := answer.get("exceptionDetails"):
            raise BrowserError(f"{code}: {details['exception'].get('description', details['text'])}")
        return answer["result"].get("value")

    def until(self, condition: str) -> None:
        """Wait for an expression to become true, looked at whenever the page is drawn."""
        self.run(
            f"new Promise(done => {{ const look = () => ({condition}) ? done() : requestAnimationFrame(look);"
            " look(); })"
        )

    def text(self, selector: str) -> str:
        """What is to be read in the first element that the selector finds; hidden text is not."""
        return self.run(f"document.querySelector({json.dumps(selector)}).innerText")

    def texts(self, selector: str) -> list[str]:
        """The same of every element."""
        return self.run(f"[...document.querySelectorAll({json.dumps(selector)})].map(each => each.innerText)")

    def hover(self, selector: str) -> None:
        """Put the mouse on the middle of an element, scrolled into sight; it must be what is seen there."""
        self._mouse("mouseMoved", *self._middle(selector))

    def click(self, selector: str) -> None:
        """A click on the middle of an element."""
        x, y = self._middle(selector)
        self._mouse("mouseMoved", x, y)
        for event in ("mousePressed", "mouseReleased"):
            self._mouse(event, x, y, button="left", clickCount=1)

    def press(self, key: str, shift: bool = False, ctrl: bool = False) -> None:
        """A key, by its DOM name: ArrowLeft, Tab, Escape, Enter, or a character."""
        codes = {
            "Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "PageDown": 34, "End": 35, "Home": 36,
            "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
        }  # fmt: skip
        code = codes.get(key) or ord(key.upper())
        own = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 8 * shift + 2 * ctrl}
        text = {"text": "\r" if key == "Enter" else key} if key == "Enter" or len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **own, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **own)

    def type(self, text: str) -> None:
        """Text into what has the focus."""
        self.call("Input.insertText", text=text)

    def screenshot(self, path: Path, whole: bool = False) -> None:
        """What is seen, or the whole page, as a PNG file."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))

    def _mouse(self, event: str, x: float, y: float, **more: Any) -> None:
        self.call("Input.dispatchMouseEvent", type=event, x=x, y=y, **more)

    def _middle(self, selector: str) -> tuple[float, float]:
        found = self.run(
            f"""(() => {{
  const element = document.querySelector({json.dumps(selector)});
  if (!element) return "there is none";
  element.scrollIntoView({{block: "center", inline: "center", behavior: "instant"}});
  const box = element.getBoundingClientRect();
  const x = box.left + box.width / 2, y = box.top + box.height / 2, hit = document.elementFromPoint(x, y);
  return element.contains(hit) ? [x, y] : "it lies under " + (hit ? hit.outerHTML.slice(0, 80) : "nothing");
}})()"""
        )
        if isinstance(found, str):
            raise BrowserError(f"cannot point at {selector}: {found}")
        return found[0], found[1]


def _raised(descriptor: int) -> int:
    """The same pipe end under a number that is neither 3 nor 4, kept from other processes."""
    raised = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    os.close(descriptor)
    return raised
