"""A studio and a real browser for the tests: the page as people use it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

NO_BROWSER = "no Chromium: make servers, or apt-get install chromium"
PLACES = ("chromium", "chromium-browser", "google-chrome")
SECONDS = 300  # a busy machine is no bug, and the first run compiles


def chromium() -> str:
    """Return the path of a Chromium; without one a test is skipped loudly, and fails in CI."""
    found = next((place for name in PLACES if (place := shutil.which(name))), None)
    if found is None and os.environ.get("CI"):
        pytest.fail(NO_BROWSER)
    if found is None:
        pytest.skip(NO_BROWSER)
    return found


def write_people(folder: Path, rows: int = 400) -> Path:
    """Write a table as people have it, with places and a region around them."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], rows),
            "age": rng.integers(18, 90, rows),
            "area": rng.choice(["north", "south", "west"], rows),
            "ill": rng.choice(["no", "yes"], rows, p=[0.8, 0.2]),
            "income": 100 * np.round(np.exp(rng.normal(10, 0.4, rows)) / 100).astype(int),
            "x": np.round(rng.uniform(0.2, 9.8, rows), 3),
            "y": np.round(rng.uniform(0.2, 9.8, rows), 3),
        }
    )
    table.loc[rng.random(rows) < 0.03, "income"] = None
    path = folder / "people.csv"
    table.to_csv(path, index=False)
    corners = [[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]]
    region = {"type": "Polygon", "coordinates": [corners]}
    (folder / "region.geojson").write_text(json.dumps(region), encoding="utf-8")
    return path


@contextmanager
def studio(folder: Path, *arguments: str) -> Iterator[str]:
    """Start ``veladura studio`` in a folder; give the address that it prints."""
    process = subprocess.Popen(
        [sys.executable, "-m", "veladura", "studio", *arguments, "--no-browser"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "VELADURA_CUSTODIAN": str(folder / "home")},
    )
    watch = threading.Timer(SECONDS, process.kill)
    watch.start()
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        watch.cancel()
        found = re.search(r"http://127\.0\.0\.1:\d+/#token=\S+", line)
        assert found, line + (process.stderr.read() if process.stderr else "")
        yield found[0]
    finally:
        watch.cancel()
        process.terminate()
        process.communicate(timeout=SECONDS)


class Rooms:
    """What people do in the rooms."""

    def __init__(self, page: Page) -> None:
        from playwright.sync_api import expect

        self.page, self.expect = page, expect
        page.set_default_timeout(1000 * SECONDS)
        expect.set_options(timeout=1000 * SECONDS)

    def open(self, address: str) -> None:
        self.page.goto(address)
        self.page.wait_for_selector("table.columns")

    def go(self, room: str, selector: str) -> None:
        self.page.evaluate(f"location.hash = '#/{room}'")
        self.page.wait_for_selector(selector)

    def says(self, words: str) -> None:
        self.expect(self.page.locator("#say")).to_contain_text(words)

    def confirm_columns(self) -> None:
        self.go("columns", "table.columns")
        buttons = self.page.locator("button.confirm")
        for left in range(buttons.count(), 0, -1):
            buttons.first.click()
            self.expect(buttons).to_have_count(left - 1)

    def draft(self, method: str, region: str = "") -> None:
        self.go("protect", "#audience")
        self.page.check(f"input[name=method][value='{method}']")
        if region:
            self.page.fill("#region", region)
        self.page.click("text=Draft the steps")
        self.says("drafted again")

    def set_fields(self, step: int, **values: str) -> None:
        """Change settings of a step, counted from 1."""
        self.page.locator(f"#step-{step} > summary").click()
        form = self.page.locator("form.card").nth(step - 1)
        for name, value in values.items():
            field = form.locator(f"[name={name}]")
            if not field.is_visible():
                self.page.locator(f"#rest-{step} > summary").click()
            field.fill(value)
        form.locator("button.main").click()
        self.says("are in the plan")

    def try_plan(self, card: str) -> None:
        """Try the plan; a trial that fails says why at once."""
        self.go("run", "#try:not([disabled])")
        self.page.click("#try")
        made = f"article.card[data-card='{card}']"
        self.page.wait_for_selector(f"{made}, .banner.bad[role=alert]")
        problem = self.page.locator(".banner.bad[role=alert]")
        assert problem.count() == 0, problem.inner_text()

    def confirm_plan(self, reason: str = "nobody outside knows it") -> None:
        """Give reasons, tick the open points, confirm."""
        self.go("release", "#purpose")
        fields = self.page.locator("input[name^='reason:']")
        for number in range(fields.count()):
            fields.nth(number).fill(reason)
        if fields.count():
            self.page.click("text=Keep the reasons")
            self.says("reasons are in the plan")
        points = self.page.locator("input[type=checkbox][name=points]")
        for number in range(points.count()):
            points.nth(number).check()
        self.page.click("#confirm-plan")
        self.says("Confirmed.")

    def write_release(self, seed: str = "") -> None:
        self.page.fill("#purpose", "a test")
        self.page.fill("#prepared_by", "Ana")
        self.page.fill("#approved_by", "Bo")
        if seed:
            self.page.fill("#seed", seed)
        self.page.click("button:has-text('Keep it')")
        self.says("manifest and certificate")
        self.page.click("#write")
        self.page.wait_for_selector("#released .banner.good, .banner.bad[role=alert]")
        problem = self.page.locator(".banner.bad[role=alert]")
        assert problem.count() == 0, problem.inner_text()
