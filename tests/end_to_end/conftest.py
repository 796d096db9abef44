"""A real browser for the tests of the studio."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from tests.studio.browser import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for the tests of one file."""
    from playwright.sync_api import sync_playwright

    place = chromium()
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=place, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """An empty page; it may ask nobody but studios of this machine, and run without an error."""
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    asked: list[str] = []
    wrong: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    yield opened
    opened.close()
    hosts = {re.match(r"(\w+:(?://[^/]*)?)", url)[1] for url in asked}
    assert len(hosts) == 1, hosts
    assert next(iter(hosts)).startswith("http://127.0.0.1:")
    assert wrong == []
