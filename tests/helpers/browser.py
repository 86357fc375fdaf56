"""The studio in a real browser, for tests and screenshots: a server of its own, and Chromium without a window."""

from __future__ import annotations

import contextlib
import importlib.resources
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
AXE = "axe_core_python"
"""The package that ships axe, which tells what keeps people from using a page."""
PATIENCE = 90
"""Seconds: the machine of a test may be busy with others."""
STANDS_STILL = """
const [element, done] = arguments;
element.scrollIntoView({block: 'center', behavior: 'instant'});
const before = element.getBoundingClientRect();
requestAnimationFrame(() => requestAnimationFrame(() => {
  const after = element.getBoundingClientRect();
  done(element.isConnected && before.top === after.top && before.left === after.left);
}));
"""
"""Tells whether an element is where it was two frames ago: what moves while it is clicked is missed."""


def missing() -> list[str]:
    """Return what is not installed that a test in the browser needs."""
    packages = [name for name in ("nicegui", "selenium", AXE) if importlib.util.find_spec(name) is None]
    programs = [] if _chromium() else ["chromium"]
    return packages + programs + ([] if shutil.which("chromedriver") else ["chromium-driver"])


def _chromium() -> str | None:
    return next((found for name in CHROMIUM if (found := shutil.which(name))), None)


@contextlib.contextmanager
def studio(*arguments: object, temporary: Path | None = None, ending: int = signal.SIGTERM) -> Iterator[str]:
    """Start the studio as a process of its own, and give its address with the token; then end it by a signal.

    ``temporary`` is where it makes its private folder.
    """
    command = [sys.executable, "-m", "indistinct", "studio", "--no-browser", "--json", *map(str, arguments)]
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryDirectory() as folder:
        environment = os.environ | ({} if temporary is None else {"TMPDIR": str(temporary)})
        server = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, cwd=folder, env=environment)
        try:
            yield _address(server, said)
        finally:
            server.send_signal(ending)
            server.wait(PATIENCE)
            left = os.listdir(folder)
            assert not left, f"the studio left {left} behind"


def _address(server: subprocess.Popen[Any], said: Any) -> str:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and server.poll() is None:
        said.seek(0)
        with contextlib.suppress(json.JSONDecodeError):
            return str(json.loads(said.read())["address"])
        time.sleep(0.1)
    said.seek(0)
    raise AssertionError(f"the studio did not start: {said.read()}")


@contextlib.contextmanager
def browser(downloads: Path | None = None) -> Iterator[Any]:
    """Return a Chromium without a window, 1280×720, that asks no server for anything but what a page asks for."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = _chromium() or ""
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as profile:
        for flag in (
            "--headless=new",
            "--no-sandbox",  # it does not run as root otherwise, as containers do
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--window-size=1280,720",
            "--hide-scrollbars",
            f"--user-data-dir={profile}",
            "--disable-renderer-backgrounding",  # nobody looks at the window, and it works all the same
            "--disable-backgrounding-occluded-windows",
        ):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        if downloads is not None:
            options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
        driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
        try:
            driver.set_page_load_timeout(PATIENCE)
            page = Page(driver)
            page.resize(1280)
            yield page
        finally:
            driver.quit()


class Page:
    """What a steward does with a page: look, click, write and wait."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, address: str) -> None:
        """Go to an address, and wait until the page is alive."""
        self.driver.get(address)
        self.alive()

    def leave(self) -> None:
        """Go to an empty page, which asks nobody for anything."""
        self.driver.get("about:blank")

    def alive(self) -> None:
        """Wait until the page is connected with the studio."""
        script = "return document.readyState === 'complete' && window.did_handshake === true"
        self.until(lambda: self.driver.execute_script(script), "the page to be connected")

    def go(self, step: str) -> None:
        """Go to a step by its link on the left."""
        self.click(f"//nav[@aria-label='Steps']//a[.//span[normalize-space()='{step}']]")
        self.until(lambda: self.driver.title.startswith(step), f"the page {step}")
        self.alive()

    def find(self, place: str) -> Any:
        """Return an element by its CSS selector or XPath, once it is there."""
        from selenium.webdriver.common.by import By

        by = By.XPATH if place.startswith("//") else By.CSS_SELECTOR
        return self.until(lambda: next(iter(self.driver.find_elements(by, place)), None), place)

    def all(self, selector: str) -> list[Any]:
        """Return all elements of a CSS selector that are there now."""
        from selenium.webdriver.common.by import By

        return list(self.driver.find_elements(By.CSS_SELECTOR, selector))

    def click(self, place: str) -> None:
        """Click an element once it can be clicked and stands still; the page may still be drawing it anew."""
        from selenium.common.exceptions import WebDriverException

        def clicked() -> bool:
            try:
                element = self.find(place)
                if not self.driver.execute_async_script(STANDS_STILL, element):
                    return False
                element.click()
            except WebDriverException:
                return False
            return True

        self.until(clicked, f"a click on {place}")

    def write(self, selector: str, text: str) -> None:
        """Replace the text of a field, as a keyboard does."""
        from selenium.webdriver.common.keys import Keys

        field = self.find(selector)
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(Keys.DELETE)
        field.send_keys(text)

    def choose(self, selector: str, value: str) -> None:
        """Choose an option of a list."""
        from selenium.webdriver.support.ui import Select

        def chosen() -> bool:
            Select(self.find(selector)).select_by_value(value)
            return True

        self.until(chosen, f"the option {value} of {selector}")

    def options(self, selector: str) -> dict[str, str]:
        """Return the options of a list by their texts."""
        from selenium.webdriver.support.ui import Select

        def read() -> dict[str, str]:
            return {option.text: option.get_attribute("value") for option in Select(self.find(selector)).options}

        return dict(self.until(read, f"the options of {selector}"))

    @property
    def text(self) -> str:
        """All that can be read on the page."""
        return str(self.driver.execute_script("return document.body.innerText"))

    def see(self, *texts: str) -> None:
        """Wait until some texts can be read."""
        for text in texts:
            self.until(lambda text=text: text in self.text, f"{text!r} on the page; it says: {{page}}")

    def until(self, condition: Any, what: str) -> Any:
        """Wait until something is so, and give it; meanwhile the page may draw its elements anew."""
        from selenium.common.exceptions import StaleElementReferenceException

        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with contextlib.suppress(StaleElementReferenceException):
                if found := condition():
                    return found
            time.sleep(0.05)
        raise AssertionError(f"waited {PATIENCE} s for {what.format(page=self.text) if '{page}' in what else what}")

    def click_solution(self) -> bool:
        """Click a point of the lattice that is marked as a solution and not released, and wait for its release."""
        from selenium.common.exceptions import WebDriverException
        from selenium.webdriver import ActionChains

        rings = self.all('svg path[stroke="#1d2733"][d^="M1 0A"]')
        before = self.find("tr.chosen").text
        for ring in rings:
            with contextlib.suppress(WebDriverException):
                self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", ring)
                ActionChains(self.driver).move_to_element(ring).click().perform()
            end = time.monotonic() + 2
            while time.monotonic() < end:
                with contextlib.suppress(WebDriverException):
                    if self.all("tr.chosen") and self.find("tr.chosen").text != before:
                        return True
                time.sleep(0.05)
        return False

    def requests(self) -> list[str]:
        """Return the addresses that the browser has asked for since this was last asked."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]

    def resize(self, width: int, height: int = 720) -> None:
        """Return the window another size."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def too_wide(self) -> list[str]:
        """Return what reaches beyond the window, but for what is scrolled in a box of its own."""
        script = """
          const isWide = (box) => box.width && box.right > innerWidth + 1;
          const isHidden = (e) => e.closest('.scroll, pre.code, .visually-hidden, svg, .skip');
          return [...document.querySelectorAll('body *')]
            .filter((e) => isWide(e.getBoundingClientRect()) && !isHidden(e))
            .map((e) => e.outerHTML.slice(0, 120));
        """
        return [str(found) for found in self.driver.execute_script(script)]

    def barriers(self, *widths: int) -> list[str]:
        """Return what axe finds that keeps people from using the page, seriously or altogether, at each width."""
        axe = (importlib.resources.files(AXE) / "axe.min.js").read_text("utf-8")
        script = """
          const done = arguments[arguments.length - 1];
          const isGrave = (found) => ['serious', 'critical'].includes(found.impact);
          axe.run(document, {resultTypes: ['violations']}).then(
            (result) => done(result.violations.filter(isGrave).map(
              (found) => `${found.id}: ${found.help}: ${found.nodes.map((node) => node.html).join(' ')}`)),
            (error) => done([`axe failed: ${error}`]));
        """
        found = []
        for width in widths:
            self.resize(width)
            if not self.driver.execute_script("return typeof axe === 'object'"):  # also after the page came anew
                self.driver.execute_script(axe)
            found += [f"{width} pixels: {barrier}" for barrier in self.driver.execute_async_script(script)]
        return found

    def complaints(self) -> list[str]:
        """Return the errors of the browser's console since this was last asked."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]
