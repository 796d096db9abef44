"""From a CSV to a verified release in a real browser, for every family of methods."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

pytest.importorskip(
    "playwright",
    reason="playwright of the extra dev is not installed: the tests in a browser DID NOT RUN",
)
from playwright.sync_api import expect
from tests.studio.browser import Rooms, studio, write_people

FEWER = {
    "cart": {"m": "2"},
    "critical-cart": {"m": "2"},
    "geography": {"m": "2", "grid": "[5, 5]", "attributes": "sex"},
}


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def run_elsewhere(veladura, folder: Path, tmp_path: Path) -> dict[str, bytes]:
    """The files that the command line writes from the same plan and table."""
    other = tmp_path / "other"
    other.mkdir()
    for name in ("plan.toml", "people.csv", "region.geojson"):
        shutil.copyfile(folder / name, other / name)
    done = veladura("run", "plan.toml", "--quiet", cwd=other)
    assert done.returncode == 0, done.stderr
    return files_of(other / "release" / "people")


def released(folder: Path, veladura) -> dict[str, bytes]:
    done = veladura("verify", "release/people", "--quiet", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return files_of(folder / "release" / "people")


def test_k_anonymity_with_a_chosen_node(page, tmp_path, veladura):
    folder = tmp_path / "work"
    folder.mkdir()
    write_people(folder)
    with studio(folder, "people.csv") as address:
        rooms = Rooms(page)
        rooms.open(address)
        assert page.url.endswith("#/columns")  # the secret is not in the address any more
        rooms.confirm_columns()
        rooms.go("protect", "#ways")
        page.click("text=Look for the ways")
        page.wait_for_selector("button.choose")
        row = page.locator("#ways tbody tr:has(button.choose:visible)").last
        became = row.locator("td").nth(2).inner_text()
        row.locator("button.choose").click()
        rooms.says("This way is in the plan")
        chosen = page.locator("#ways tbody tr:has(.mark.good)")
        expect(chosen.locator("td").nth(2)).to_have_text(became)
        rooms.try_plan("001")
        expect(page.locator("article.card")).to_contain_text("register finds 0")
        rooms.confirm_plan()
        rooms.write_release(seed="7")
        rooms.go("analyst", "#formula")
        page.click("#analyze")  # the model that the page proposes
        expect(page.locator("#answer table")).to_contain_text("Intercept")
    mine = released(folder, veladura)
    manifest = json.loads(mine["manifest.json"])
    assert (manifest["prepared_by"], manifest["approved_by"]) == ("Ana", "Bo")
    assert mine == run_elsewhere(veladura, folder, tmp_path)


@pytest.mark.parametrize(
    "method",
    [
        "cart",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("critical-cart", "geography")),
    ],
)
def test_synthetic_families(method, page, tmp_path, veladura):
    folder = tmp_path / "work"
    folder.mkdir()
    write_people(folder)
    with studio(folder, "people.csv") as address:
        rooms = Rooms(page)
        rooms.open(address)
        rooms.draft(method, "region.geojson" if method == "geography" else "")
        rooms.set_fields(1, **FEWER[method])
        rooms.confirm_columns()
        rooms.confirm_plan()
        rooms.write_release(seed="7")
        rooms.go("analyst", "#formula")
        page.fill("#formula", "income ~ age")
        page.click("#analyze")
        expect(page.locator("#answer table")).to_contain_text("age")
    mine = released(folder, veladura)
    assert mine == run_elsewhere(veladura, folder, tmp_path)


def test_differential_privacy_with_its_budget(page, tmp_path, veladura):
    folder = tmp_path / "work"
    folder.mkdir()
    write_people(folder)
    with studio(folder, "people.csv") as address:
        rooms = Rooms(page)
        rooms.open(address)
        rooms.draft("dirichlet-multinomial")
        rooms.confirm_columns()
        rooms.go("run", "text=is not tried out")
        assert page.locator("#try").count() == 0
        rooms.confirm_plan()
        expect(page.locator("section:has(#budget) dl")).to_contain_text("epsilon = 1")
        rooms.write_release()
        expect(page.locator("section:has(#budget) dl")).to_contain_text("1 in 1 draw")
        rooms.go("analyst", "#event")
        page.fill("#event", "ill=yes")
        page.fill("#among", "sex=f")
        page.click("#ask")
        expect(page.locator("#answer table")).to_contain_text("ill")
    released(folder, veladura)
    again = veladura("run", "plan.toml", "--force", "--quiet", cwd=folder)
    assert again.returncode == 5  # the draw of the studio is in the ledger of the command line
