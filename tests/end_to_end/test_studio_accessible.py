"""The studio by keyboard and for assistive technology, at three widths, in a real browser.

WCAG 2.1: names of controls (4.1.2), labels (3.3.2), headings (1.3.1), contrast of text (1.4.3),
reflow (1.4.10), focus that can be seen (2.4.7), everything by keyboard (2.1.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip(
    "playwright",
    reason="playwright of the extra dev is not installed: the tests in a browser DID NOT RUN",
)
from playwright.sync_api import Page, Route, expect, sync_playwright
from tests.studio.browser import Rooms, chromium, studio

pytestmark = pytest.mark.xdist_group("studio-accessible")  # one studio for all of them
FAULTS = (Path(__file__).parents[1] / "studio" / "accessible.js").read_text(encoding="utf-8")
ROOMS = {
    "columns": "table.columns",
    "risk": "#unique",
    "protect": "#ways",
    "hierarchy?column=age": "circle.handle",
    "run": "article.card",
    "run?card=001": "iframe",
    "run?a=001&b=002": "#intervals",
    "release": "#purpose",
    "analyst": "#folder",
}
# The element that has the focus, and whether that can be seen.
FOCUS = """() => {
  const e = document.activeElement, s = getComputedStyle(e);
  const ring = s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2;
  const inner = e.querySelector?.(".node, .point, .handle");
  const stroke = inner && parseFloat(getComputedStyle(inner).strokeWidth) >= 3;
  if (e === document.body) return ["the window", true]; // between the last and the first element
  return [e.id || e.className?.baseVal || e.textContent.trim().slice(0, 30), !!(ring || stroke)];
}"""


def households(folder: Path) -> None:
    """Write a small table of people in households."""
    rng = np.random.default_rng(2)
    table = pd.DataFrame(
        {
            "household": np.repeat(np.arange(10_001, 10_151), 2),
            "sex": rng.choice(["f", "m"], 300),
            "age": rng.integers(18, 80, 300),
            "area": rng.choice(["north", "south"], 300),
            "ill": rng.choice(["no", "yes"], 300, p=[0.8, 0.2]),
        }
    )
    table.to_csv(folder / "people.csv", index=False)


@pytest.fixture(scope="module")
def opened(tmp_path_factory) -> Iterator[tuple[Page, Rooms]]:
    """A studio with two cards and the ways of a small lattice."""
    place, folder = chromium(), tmp_path_factory.mktemp("work")
    households(folder)
    with sync_playwright() as playwright, studio(folder, "people.csv") as address:
        browser = playwright.chromium.launch(executable_path=place, args=["--no-sandbox"])
        tabs = browser.new_context(viewport={"width": 1280, "height": 900})
        page = tabs.new_page()
        rooms = Rooms(page)
        rooms.open(address)
        page.select_option("select[aria-label='Role of household']", "household")
        rooms.says("role household")
        rooms.go("protect", "#models")
        page.fill("#models", "age ~ C(sex) + C(ill)")
        page.click("text=Keep the formulas")
        rooms.says("formulas are in the plan")
        for number in ("001", "002"):
            rooms.try_plan(number)
        rooms.go("protect", "#ways")
        page.click("text=Look for the ways")
        page.wait_for_selector("svg.lattice")
        yield page, rooms
        browser.close()


@pytest.mark.parametrize(
    "width", [1280, *(pytest.param(w, marks=pytest.mark.slow) for w in (900, 1920))]
)
def test_every_room_has_names_contrast_and_room(opened, width):
    page, rooms = opened
    page.set_viewport_size({"width": width, "height": 900})
    faults = {}
    for room, selector in ROOMS.items():
        rooms.go(room, selector)
        page.evaluate(
            "document.querySelectorAll('#room details').forEach((d) => { d.open = true; })"
        )
        if found := page.evaluate(FAULTS):
            faults[room] = found
    assert faults == {}


def tab_to(page: Page, name: str, most: int = 60) -> None:
    """Press Tab until an element has the focus; every stop on the way can be seen."""
    for _ in range(most):
        page.keyboard.press("Tab")
        here, visible = page.evaluate(FOCUS)
        assert visible, f"the focus cannot be seen on {here}"
        if here == name:
            return
    pytest.fail(f"{name} cannot be reached by keyboard")


def test_the_rooms_are_reached_and_used_by_keyboard(opened):
    page, rooms = opened
    page.set_viewport_size({"width": 1280, "height": 900})
    rooms.go("columns", "table.columns")
    page.evaluate("document.activeElement.blur()")
    tab_to(page, "Skip to the room")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "room"
    assert page.locator("table.columns").count() == 1  # still the room that it was
    page.evaluate("document.querySelector('nav a').focus()")
    tab_to(page, "Risk")
    page.keyboard.press("Enter")
    page.wait_for_selector("#unique")
    expect(page.locator("#room")).to_be_focused()  # a screen reader begins at the new room
    tab_to(page, "known-1")
    before = page.locator("[data-unique]").inner_text()
    page.keyboard.press("Space")
    expect(page.locator("[data-unique]")).not_to_have_text(before)


def test_a_node_of_the_lattice_is_chosen_by_keyboard(opened):
    page, rooms = opened
    rooms.go("protect", "svg.lattice")
    top = page.locator("svg.lattice g[role=button]").last
    words = top.get_attribute("aria-label")
    top.focus()
    page.keyboard.press("Enter")
    rooms.says("This way is in the plan")
    chosen = page.locator("svg.lattice g:has(.chosen-ring)")
    expect(chosen).to_have_count(1)
    assert chosen.get_attribute("aria-label") == words + ", chosen"
    page.click("#undo")
    rooms.says("Undone")  # before another test begins


def test_unique_people_by_household(opened):
    page, rooms = opened
    rooms.go("risk", "#unique")
    page.click("text=Show them by household")
    expect(page.locator("#risk-people caption")).to_contain_text("households: someone is found")
    assert page.locator("#risk-people thead th").first.inner_text() == "household"


def test_an_intruder_who_knows_a_number_roughly(opened):
    page, rooms = opened
    rooms.go("risk", "#unique")
    if not page.locator("#within-1").is_visible():
        page.click("text=Known only roughly?")
    page.fill("#within-1", "nonsense")
    page.fill("#intruder-name", "colleague")
    page.click("text=Keep the intruder")
    expect(page.locator(".wrong")).to_be_visible()
    expect(page.locator("#within-1")).to_have_attribute("aria-invalid", "true")
    page.fill("#within-1", "3")
    page.click("text=Keep the intruder")
    rooms.says("is in the plan")
    expect(page.locator("#room")).to_contain_text("age within 3")


def test_two_cards_beside_each_other(opened):
    page, rooms = opened
    rooms.go("run", "article.card")
    for box in page.locator("input[name=cards]").all():
        box.check()
    page.click("text=Compare the two that are ticked")
    page.wait_for_selector("h1:has-text('Cards 00')")
    expect(page.locator("#room")).to_contain_text("What differs in the plans")
    for part in ("marginals", "pairs", "formulas", "intervals", "pictures"):
        expect(page.locator(f"#{part}")).to_contain_text("Card 002")
    # the intervals of both cards stand in the row of their coefficient
    assert page.locator("#formulas tbody tr:has(td:nth-child(3) svg)").count() == 2
    assert page.locator("#formulas tbody tr:has(td:nth-child(4) svg)").count() == 2
    for image in page.locator("#pictures img:visible").all():  # each was really loaded
        expect(image).to_have_js_property("complete", True)
        assert image.evaluate("image => image.naturalWidth") > 0


def test_two_tabs_see_one_state(opened):
    page, rooms = opened
    rooms.go("columns", "table.columns")
    other = page.context.new_page()
    other.goto(page.url.partition("#")[0])
    other.evaluate(
        "token => sessionStorage.setItem('token', token)", page.evaluate("sessionStorage.token")
    )
    other.reload()
    other.wait_for_selector("table.columns")
    left = other.locator("button.confirm").count()
    page.locator("button.confirm").first.click()
    expect(other.locator("button.confirm")).to_have_count(left - 1)
    other.close()


def test_news_while_a_room_is_on_its_way_are_not_lost(opened):
    """A room that was made before a change, and arrives after it, is asked for again."""
    page, rooms = opened
    rooms.go("columns", "table.columns")
    other = page.context.new_page()
    other.goto(page.url.partition("#")[0])
    token = page.evaluate("sessionStorage.token")
    other.evaluate("token => sessionStorage.setItem('token', token)", token)
    held = []

    def hold_the_first(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append((route, route.fetch()))

    other.route("**/room/columns", hold_the_first)
    other.reload()
    while not held:
        other.wait_for_timeout(20)
    left = page.locator("button.confirm").count()
    page.locator("button.confirm").first.click()
    expect(page.locator("button.confirm")).to_have_count(left - 1)
    other.wait_for_timeout(300)  # the news is there, the room is not
    route, old = held[0]
    route.fulfill(response=old)
    expect(other.locator("button.confirm")).to_have_count(left - 1)
    other.close()


def test_a_cut_is_dragged_and_moved_by_arrow_keys(opened):
    """The editor of hierarchies: the cut that was dragged is the one in the plan."""
    page, rooms = opened
    rooms.go("hierarchy?column=age", "circle.handle")
    handle = page.locator("circle.handle").first
    before = float(handle.get_attribute("aria-valuenow"))
    box = handle.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 12, y, steps=4)
    page.mouse.up()
    dragged = float(page.locator("circle.handle").first.get_attribute("aria-valuenow"))
    assert dragged > before
    page.locator("circle.handle").first.focus()
    page.keyboard.press("ArrowRight")
    moved = float(page.locator("circle.handle").first.get_attribute("aria-valuenow"))
    assert moved == dragged + 1  # whole numbers
    expect(page.locator("circle.handle").first).to_be_focused()
    page.click("#save-cuts")
    rooms.says("hierarchy")
    rooms.go("protect", "#ways")
    rooms.go("hierarchy?column=age", "circle.handle")
    kept = float(page.locator("circle.handle").first.get_attribute("aria-valuenow"))
    assert kept == moved
    page.click("#undo")
    rooms.says("Undone")  # before another test begins
