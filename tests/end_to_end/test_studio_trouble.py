"""What goes wrong is a sentence in the page, and nothing is lost: in a real browser."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip(
    "playwright",
    reason="playwright of the extra dev is not installed: the tests in a browser DID NOT RUN",
)
from playwright.sync_api import expect
from tests.studio.browser import SECONDS, Rooms, studio, write_people

from veladura.plan.draft import draft

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="finds processes by /proc: Linux only")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a table."""
    made = tmp_path / "work"
    made.mkdir()
    write_people(made, rows=120)
    return made


def process(folder: Path, word: bytes) -> int:
    """Wait for a process in a folder with a word in its command; return its number."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for place in Path("/proc").glob("[0-9]*"):
            try:
                words = (place / "cmdline").read_bytes().split(b"\0")
                if word in words and (place / "cwd").resolve() == folder.resolve():
                    return int(place.name)
            except OSError:  # it ended while it was looked at
                continue
        time.sleep(0.02)
    pytest.fail("no such process was started")


def test_a_table_that_cannot_be_read_is_tried_again(page, folder):
    good = (folder / "people.csv").read_bytes()
    (folder / "people.csv").write_bytes(b"\x00\x01\x02")
    with studio(folder, "people.csv") as address:
        rooms = Rooms(page)
        page.goto(address)
        expect(page.locator("h1")).to_have_text("It could not be opened")
        expect(page.locator(".banner.bad")).to_contain_text("Hint:")
        assert not (folder / "plan.toml").exists()
        (folder / "people.csv").write_bytes(good)
        page.click("text=Try again")
        page.wait_for_selector("table.columns")
        rooms.go("risk", "#unique")
        assert (folder / "plan.toml").exists()


def test_a_plan_of_a_newer_version_is_a_sentence(page, folder):
    text = '[source]\npath = "people.csv"\n\n[tomorrow]\nsetting = 1\n'
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    with studio(folder, "plan.toml") as address:
        Rooms(page)
        page.goto(address)
        expect(page.locator("h1")).to_have_text("It could not be opened")
        expect(page.locator(".banner.bad")).to_contain_text("'tomorrow' is not known")
        expect(page.locator(".banner.bad")).to_contain_text("a newer version of veladura")
    assert (folder / "plan.toml").read_text(encoding="utf-8") == text


def test_a_source_that_changes_under_the_page_is_read_again(page, folder):
    with studio(folder, "people.csv") as address:
        rooms = Rooms(page)
        rooms.open(address)
        expect(page.locator(".lead").first).to_contain_text("120 rows")
        with (folder / "people.csv").open("a", encoding="utf-8") as file:
            file.write("f,30,north,no,20000,1.5,1.5\n")
        rooms.go("run", "#try")
        page.click("#try")
        rooms.says("has changed since it was read")
        page.click("text=Read it again")
        rooms.says("were read again")
        rooms.go("columns", "table.columns")
        expect(page.locator(".lead").first).to_contain_text("121 rows")


def test_a_second_studio_on_one_plan_only_looks(page, browser, folder):
    with studio(folder, "people.csv") as address:
        holder = browser.new_page()
        Rooms(holder).open(address)
        before = (folder / "plan.toml").read_bytes()
        with studio(folder, "plan.toml") as second:
            rooms = Rooms(page)
            rooms.open(second)
            expect(page.locator(".banner").first).to_contain_text("Another studio has this plan")
            expect(page.locator("button.confirm").first).to_be_disabled()
            rooms.go("release", "#purpose")
            expect(page.locator("#write")).to_be_disabled()
        assert (folder / "plan.toml").read_bytes() == before
        holder.locator("button.confirm").first.click()
        expect(holder.locator("#say")).to_contain_text("is confirmed")
        holder.close()


@LINUX
def test_a_killed_worker_is_a_sentence_and_the_next_run_goes_on(page, folder):
    with studio(folder, "people.csv") as address:
        rooms = Rooms(page)
        rooms.open(address)
        before = (folder / "plan.toml").read_bytes()
        rooms.go("run", "#try")
        page.click("#try")
        os.kill(process(folder, b"veladura.studio.worker"), signal.SIGKILL)
        expect(page.locator(".banner.bad")).to_contain_text("ended without a word")
        expect(page.locator(".banner.bad")).to_contain_text("No card was made.")
        expect(page.locator("#job")).to_be_hidden()
        assert (folder / "plan.toml").read_bytes() == before
        expect(page.locator("#try")).to_be_enabled()


@LINUX
def test_a_full_disk_is_a_sentence_and_the_old_release_stays(page, folder):
    """No file of the studio and of its worker may grow, as on a disk without room."""
    import resource

    with studio(folder, "people.csv") as address:
        rooms = Rooms(page)
        rooms.open(address)
        rooms.go("release", "#write")
        page.fill("#seed", "7")
        page.click("button:has-text('Keep it')")
        rooms.says("manifest and certificate")
        page.click("#write")
        page.wait_for_selector("#released")
        old = {p: p.read_bytes() for p in (folder / "release").rglob("*") if p.is_file()}
        page.check("input[name=force]")
        own = process(folder, b"studio")
        resource.prlimit(own, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        page.click("#write")
        expect(page.locator(".banner.bad").first).to_contain_text("Nothing was released")
        now = {p: p.read_bytes() for p in (folder / "release").rglob("*") if p.is_file()}
        assert now == old
        page.wait_for_selector("#released")


def test_a_release_folder_that_does_not_verify_says_so(page, folder, veladura):
    plan = folder / "plan.toml"
    plan.write_text(draft(str(folder / "people.csv"), home=folder, seed=7), encoding="utf-8")
    done = veladura("run", "plan.toml", "--quiet", cwd=folder)
    assert done.returncode == 0, done.stderr
    manifest = folder / "release" / "people" / "manifest.json"
    told = json.loads(manifest.read_text(encoding="utf-8"))
    manifest.write_text(json.dumps({**told, "rows": [1]}), encoding="utf-8")
    with studio(folder, "release/people") as address:
        Rooms(page)
        page.goto(address)
        page.click("nav >> text=Analyst")
        expect(page.locator(".banner.bad").first).to_contain_text("does not verify")
