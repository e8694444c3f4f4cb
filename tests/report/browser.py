"""A headless Chromium driven over the W3C WebDriver protocol, with nothing but the standard library."""

import base64
import json
import re
import shutil
import subprocess
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--window-size=1100,1400",
)


def available() -> bool:
    return shutil.which("chromium") is not None and shutil.which("chromedriver") is not None


class Browser:
    """One browser with a profile of its own; use as a context manager."""

    def __init__(self, profile: Path) -> None:
        self.profile = profile
        self.session = ""

    def __enter__(self) -> "Browser":
        command = ["chromedriver", "--port=0"]
        self.driver = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.driver.stdout is not None
        for line in self.driver.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                self.root = f"http://127.0.0.1:{found[1]}"
                break
        options = {"binary": shutil.which("chromium"), "args": [*FLAGS, f"--user-data-dir={self.profile}"]}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        self.session = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.session:
            self._call("DELETE", f"/session/{self.session}")
        self.driver.terminate()
        self.driver.wait(timeout=20)
        assert self.driver.stdout is not None
        self.driver.stdout.close()

    def open(self, page: Path) -> None:
        self._call("POST", f"/session/{self.session}/url", {"url": page.resolve().as_uri()})

    def run(self, script: str) -> Any:
        return self._call("POST", f"/session/{self.session}/execute/sync", {"script": script, "args": []})

    def console(self) -> list[dict[str, Any]]:
        return self._call("POST", f"/session/{self.session}/se/log", {"type": "browser"})

    def drag(self, selector: str, begin: int, end: int) -> None:
        """Drag with the mouse over an element, x counted from its middle."""
        find = {"using": "css selector", "value": selector}
        element = self._call("POST", f"/session/{self.session}/element", find)
        steps = [
            {"type": "pointerMove", "origin": element, "x": begin, "y": 0},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerMove", "origin": element, "x": end, "y": 0},
            {"type": "pointerUp", "button": 0},
        ]
        mouse = {"type": "pointer", "id": "mouse", "actions": steps}
        self._call("POST", f"/session/{self.session}/actions", {"actions": [mouse]})

    def pdf(self) -> bytes:
        return base64.b64decode(self._call("POST", f"/session/{self.session}/print", {"background": True}))

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.root + path, data=data, method=method)
        request.add_header("Content-Type", "application/json")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=60) as answer:
            return json.loads(answer.read())["value"]
