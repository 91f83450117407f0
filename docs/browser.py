"""A headless Chromium for screenshots and tests of pages: Debian's own, driven by selenium.

It has a new profile each time and is told not to talk to anybody of its own accord, so that a
request that it makes is a request of the page.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
)


@contextmanager
def chromium(width: int = 1280, height: int = 900) -> Iterator[Chrome]:
    """Start a browser that keeps what the console says and what the network is asked for."""
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        raise FileNotFoundError("chromium and chromedriver are not installed; run make test-page")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = ChromeOptions()
        options.binary_location = program
        for flag in (*_FLAGS, f"--window-size={width},{height}", f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        browser = Chrome(options=options, service=Service(driver))
        try:
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", _screen(width, height))
            yield browser
        finally:
            browser.quit()


def _screen(width: int, height: int) -> dict[str, Any]:
    return {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}


def prefer(
    browser: Chrome, *, scheme: str = "light", media: str = "screen", still: bool = False
) -> None:
    """Let the page think that its reader prefers a colour scheme, prints, or wants no motion."""
    features = [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"},
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})


def console(browser: Chrome) -> list[str]:
    """What the console said since it was last asked: errors, warnings and all else."""
    return [entry["message"] for entry in browser.get_log("browser")]


def requests(browser: Chrome) -> list[str]:
    """The addresses that were asked for since this was last asked, by whatever means."""
    found = []
    for entry in browser.get_log("performance"):
        event = json.loads(entry["message"])["message"]
        if event["method"] == "Network.requestWillBeSent":
            found.append(event["params"]["request"]["url"])
        elif event["method"] == "Network.webSocketCreated":
            found.append(event["params"]["url"])
    return found
