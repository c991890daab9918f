"""A real browser without a window, driven through its debugging protocol."""

import base64
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE

CHROMIUM = shutil.which("chromium")
_FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe"]
# A window that nobody looks at would take 80 MB.
_FLAGS += ["--no-startup-window"]


class Page:
    """A page of a browser.

    Args:
        browser: the browser.
        session: what the browser calls our connection to the page.
    """

    def __init__(self, browser: "Browser", session: str) -> None:
        self._browser = browser
        self._session = session
        self.send("Page.enable")
        self.send("Runtime.enable")
        self.send("Log.enable")

    def send(self, method: str, **params: Any) -> Any:
        """Send a command about the page, and return its result."""
        return self._browser.send(method, self._session, **params)

    def open(self, address: str) -> None:
        """Open an address, and forget what the console said of what was shown before."""
        self._browser.events.clear()
        self.send("Page.navigate", url=address)
        self.until(
            f"location.href !== 'about:blank' && document.readyState === 'complete' || {json.dumps(address)} === ''"
        )

    def run(self, script: str) -> Any:
        """Return the value of an expression."""
        result = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def until(self, condition: str) -> Any:
        """Wait until an expression is true, and return its value."""
        deadline = time.monotonic() + PATIENCE
        while True:
            result = self.send("Runtime.evaluate", expression=condition, returnByValue=True)
            value = result["result"].get("value")
            if value and "exceptionDetails" not in result:
                return value
            assert time.monotonic() < deadline, f"not so: {condition}"
            time.sleep(0.01)  # between two polls

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        codes = {"Enter": 13, "Escape": 27, "Tab": 9}
        for key in keys:
            text = "\r" if key == "Enter" else key if len(key) == 1 else ""
            code = codes.get(key, ord(key[0].upper()))
            self.send("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, windowsVirtualKeyCode=code)
            self.send("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def look(self, width: int, height: int = 900, scheme: str = "light") -> None:
        """Set the size of the window, and whether it is light or dark."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path: Path) -> None:
        """Write what is shown as a PNG."""
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot")["data"]))

    @property
    def complaints(self) -> list[str]:
        """What the browser's console has said of this page."""
        return [
            event["params"]["entry"]["text"]
            for event in self._browser.events
            if event["method"] == "Log.entryAdded" and event.get("sessionId") == self._session
        ]


class Browser:
    """A running browser; every command waits for its answer."""

    def __init__(self, reader: int, writer: int) -> None:
        self._reader = reader
        self._writer = writer
        self._number = 0
        self._rest = b""
        self.events: list[dict[str, Any]] = []

    def send(self, method: str, session: str | None = None, /, **params: Any) -> Any:
        """Send a command, and return its result."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": params}
        os.write(self._writer, json.dumps(command | ({"sessionId": session} if session else {})).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            data = os.read(self._reader, 1 << 16)
            assert data, "the browser has ended"
            self._rest += data
        frame, _, self._rest = self._rest.partition(b"\0")
        answer: dict[str, Any] = json.loads(frame)
        return answer

    @contextmanager
    def page(self) -> Iterator[Page]:
        """Open a page in a profile of its own, until the block ends."""
        context = self.send("Target.createBrowserContext")["browserContextId"]
        target = self.send("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        yield Page(self, self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])
        self.send("Target.disposeBrowserContext", browserContextId=context)


@contextmanager
def browsing(directory: Path) -> Iterator[Browser]:
    """Run a browser for the duration of the block."""
    their_reader, writer = os.pipe()
    reader, their_writer = os.pipe()
    # It reads from descriptor 3, and writes to 4.
    script = f'exec "$@" 3<&{their_reader} 4>&{their_writer}'
    command = [str(CHROMIUM), *_FLAGS, f"--user-data-dir={directory}/profile"]
    with subprocess.Popen(
        ["bash", "-c", script, "bash", *command],
        pass_fds=(their_reader, their_writer),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(their_reader)
        os.close(their_writer)
        try:
            yield Browser(reader, writer)
        finally:
            process.kill()
            os.close(reader)
            os.close(writer)
