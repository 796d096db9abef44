"""Photograph the rooms of the studio for docs/images; called by ``make images``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from veladura import example

IMAGES = Path(__file__).parents[1] / "docs" / "images"
FILES = ("clinic.csv", "region.geojson")
PATIENCE = 300_000  # milliseconds


def photograph_rooms(browser: str, width: int = 1280, images: Path = IMAGES) -> None:
    """Go through the rooms with the bundled register, and photograph each."""
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        for name in FILES:
            (Path(home) / name).write_bytes(example.path(name).read_bytes())
        process = subprocess.Popen(
            [sys.executable, "-m", "veladura", "studio", "clinic.csv", "--no-browser"],
            cwd=home,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "VELADURA_CUSTODIAN": f"{home}/state"},
        )
        try:
            assert process.stdout is not None  # noqa: S101  # a pipe
            found = re.search(r"http\S+", process.stdout.readline())
            assert found is not None  # noqa: S101  # it prints its address first
            opened = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
            page = opened.new_page(viewport={"width": width, "height": 900})
            page.set_default_timeout(PATIENCE)
            page.goto(found[0])
            _walk(page, images)
            opened.close()
        finally:
            process.terminate()
            process.wait()


def _walk(page: Page, images: Path) -> None:
    page.wait_for_selector("table.columns")
    for number in (1, 2, 3):
        page.click(f"#confirm-{number}")
        page.wait_for_selector(f"#confirm-{number}", state="detached")
    _take(page, images, "columns", 1000)
    _go(page, "risk?intruder=register", "#unique")
    for name in ("lon", "lat", "birth"):
        page.uncheck(f"input[value={name}]")
        page.wait_for_timeout(1500)
    _take(page, images, "risk", 1000)
    _go(page, "hierarchy?column=lon%2C%20lat", "#shown-size")
    page.wait_for_timeout(1000)
    _take(page, images, "hierarchy", 900)
    _go(page, "protect", "#ways")
    page.click("text=Look for the ways")
    page.wait_for_selector("button.choose")
    _take(page, images, "protect", 1700)
    page.fill("#models", "income ~ stay + C(sex)")
    page.click("text=Keep the formulas")
    page.wait_for_selector("#say p:has-text('formulas are in the plan')")
    for _ in range(2):
        _go(page, "run", "#try:not([disabled])")
        cards = page.locator("article.card").count()
        page.click("#try")
        page.wait_for_selector(f"article.card >> nth={cards}")
        _go(page, "protect", "button.choose")
        page.locator("button.choose:visible").last.click()
        page.wait_for_timeout(1500)
    _go(page, "run", "article.card")
    _take(page, images, "run", 1000)
    _go(page, "run?a=001&b=002", "#intervals")
    page.evaluate("document.getElementById('marginals').scrollIntoView()")
    page.wait_for_timeout(1000)
    _take(page, images, "compare", 1300, top=False)
    _go(page, "release", "#purpose")
    page.click("#write")
    page.wait_for_selector("#released")
    _take(page, images, "release", 1300)
    _go(page, "analyst", "#analyze")
    page.click("#analyze")
    page.wait_for_selector("#answer img")
    page.wait_for_timeout(1500)
    _take(page, images, "analyst", 1300)


def _go(page: Page, room: str, selector: str) -> None:
    page.evaluate(f"location.hash = '#/{room}'")
    page.wait_for_selector(selector)


def _take(page: Page, images: Path, name: str, height: int, *, top: bool = True) -> None:
    """Photograph a room once its messages are gone."""
    page.wait_for_selector("#say p", state="detached")
    page.set_viewport_size({"width": page.viewport_size["width"], "height": height})  # type: ignore[index]
    if top:
        page.evaluate("window.scrollTo(0, 0)")
    page.screenshot(path=images / f"studio-{name}.png")
