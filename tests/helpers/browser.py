"""Chromium without a window, and what its pages complain of."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def running_browser(program: str) -> Iterator[Any]:
    """The system's own browser, driven by playwright."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=program, headless=True, args=["--no-sandbox"]
        )
        try:
            yield browser
        finally:
            browser.close()


class Window:
    """A page, and all that went wrong on it."""

    def __init__(self, browser: Any, width: int = 1280, height: int = 900, **options: Any) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": height}, **options)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda problem: self.complaints.append(str(problem)))
        self.page.add_init_script(
            "addEventListener('securitypolicyviolation',"
            " (e) => console.error('CSP', e.violatedDirective, e.blockedURI))"
        )

    def _heard(self, said: Any) -> None:
        if said.type in ("error", "warning"):
            self.complaints.append(said.text)

    def wait(self, condition: str, seconds: float = 120.0) -> None:
        """Until a condition in JavaScript holds, asked from outside: pages may not eval."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, f"waited in vain for {condition}; {self.complaints}"
            self.page.wait_for_timeout(50)

    def wide(self) -> int:
        """By how many pixels the page is wider than the window."""
        return int(
            self.page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
        )


@contextmanager
def window(browser: Any, **options: Any) -> Iterator[Window]:
    """A window that is closed at the end."""
    opened = Window(browser, **options)
    try:
        yield opened
    finally:
        opened.context.close()
