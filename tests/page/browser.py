"""Chromium by its DevTools protocol: what it showed, what it complained about, and whom it asked."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import websocket

_DEADLINE_SECONDS = 120.0
_FLAGS = (
    "--headless=new",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--hide-scrollbars",
    "--remote-allow-origins=*",
    "--remote-debugging-port=0",
)


class Browser:
    def __init__(self, address: str) -> None:
        self._socket = websocket.create_connection(address, timeout=_DEADLINE_SECONDS)
        self._number = 0
        self.events: list[dict[str, Any]] = []
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: object) -> Any:
        return self._ask(method, session=self._session, **parameters)

    def _ask(self, method: str, session: str = "", **parameters: object) -> Any:
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": parameters}
        self._socket.send(json.dumps(message | ({"sessionId": session} if session else {})))
        while True:
            answer = json.loads(self._socket.recv())
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def open(self, url: str) -> None:
        self.ask("Page.navigate", url="about:blank")  # ends what the page before still asks for
        self.events.clear()
        self.ask("Page.navigate", url=url)
        deadline = time.monotonic() + _DEADLINE_SECONDS
        while self.run("document.readyState + location.href") != f"complete{url}":
            assert time.monotonic() < deadline, f"{url} did not load"
            time.sleep(0.05)

    def run(self, script: str) -> Any:
        asked = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in asked, asked
        return asked["result"].get("value")

    def press(self, key: str, code: int) -> None:
        for kind in ("keyDown", "keyUp"):
            typed = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
            text = {"text": typed} if typed and kind == "keyDown" else {}
            self.ask(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text
            )

    def size(self, width: int, height: int, scheme: str = "light") -> None:
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))

    def complaints(self) -> list[str]:
        """Whatever stands in the console: errors of scripts, of the policy, of what was not found."""
        kinds = {
            "Runtime.exceptionThrown",
            "Runtime.consoleAPICalled",
            "Log.entryAdded",
            "Page.javascriptDialogOpening",
        }
        return [json.dumps(event["params"]) for event in self.events if event.get("method") in kinds]

    def asked_for(self) -> set[str]:
        return {
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        }

    def close(self) -> None:
        self._ask("Browser.close")
        self._socket.close()


def found() -> str | None:
    return shutil.which("chromium")


@contextmanager
def browser() -> Iterator[Browser]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        command = [str(found()), *_FLAGS, *sandbox, f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603  Debian's
        try:
            port = Path(profile) / "DevToolsActivePort"
            deadline = time.monotonic() + _DEADLINE_SECONDS
            while not (port.exists() and len(port.read_text().splitlines()) > 1):
                assert time.monotonic() < deadline, "chromium did not start"
                time.sleep(0.1)
            number, path = port.read_text().splitlines()[:2]
            opened = Browser(f"ws://127.0.0.1:{number}{path}")
            try:
                yield opened
            finally:
                opened.close()
                process.wait(_DEADLINE_SECONDS)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
