# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium through chromedriver's own protocol (WebDriver)."""

import base64
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

from running import PATIENCE

DRIVER = shutil.which("chromedriver")
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Down": "\ue015", "Up": "\ue013", "Tab": "\ue004"}
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Browser:
    def __init__(self, width=1100, height=800, scheme="light"):
        self.process = None
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.process is None or self.process.poll() is not None:  # also if another program was faster to take the port
                with socket.socket() as free:
                    free.bind(("127.0.0.1", 0))
                    port = free.getsockname()[1]
                self.process = subprocess.Popen([DRIVER, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                self.base = f"http://127.0.0.1:{port}"
            try:
                self.call("GET", "/status")
                break
            except OSError:
                time.sleep(0.05)
        # Headless, and as a container's root user must: without Chromium's own sandbox and shared memory.
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars"],
                   "prefs": {"net.network_prediction_options": 2}}
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.base += "/session/" + answer["sessionId"]
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.size(width, height)

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as failure:
            raise AssertionError(json.load(failure)["value"]["message"]) from None

    def devtools(self, command, **parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def size(self, width, height):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def scheme(self, name):
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def go(self, url):
        self.call("POST", "/url", {"url": url})

    def script(self, text, *arguments):
        return self.call("POST", "/execute/sync", {"script": text, "args": list(arguments)})

    def until(self, condition, *arguments):
        """Waits until a condition in JavaScript holds, and returns its value."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if value := self.script("return " + condition, *arguments):
                return value
            time.sleep(0.03)
        raise AssertionError("never: " + condition + "; the page says: " + self.script("return document.body.innerText"))

    def click(self, selector):
        found = self.call("POST", "/element", {"using": "css selector", "value": selector})
        self.call("POST", f"/element/{found[ELEMENT]}/click", {})

    def keys(self, *keys):
        actions = [{"type": kind, "value": KEYS.get(key, key)} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def type(self, text):
        self.keys(*text)

    def back(self):
        self.call("POST", "/back", {})

    def log(self):
        return self.call("POST", "/se/log", {"type": "browser"})

    def picture(self, name):
        if folder := os.environ.get("QUERN_SCREENSHOTS"):
            Path(folder, name + ".png").write_bytes(base64.b64decode(self.call("GET", "/screenshot")))

    def quit(self):
        self.call("DELETE", "")
        self.process.terminate()
        self.process.wait()
