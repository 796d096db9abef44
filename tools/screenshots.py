"""Take the pictures of docs/images anew: ``make images``. Needs a Chromium on the path."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from studio_screenshots import photograph_rooms  # beside this file

from veladura.comparison.making import compare_plans
from veladura.plan.demo import run_demo
from veladura.plan.draft import draft
from veladura.release.certificate import certificate

IMAGES = Path(__file__).parents[1] / "docs" / "images"
WHOLE = "whole"  # the release of the demo that protects the whole register
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main() -> None:
    """Run the demo and the comparison, and photograph their pages."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        sys.exit(
            f"none of {', '.join(BROWSERS)} is on the path: install one (Debian: apt-get install"
            " chromium)."
        )
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        demo = Path(home) / "demo"
        run_demo(demo)
        photograph_all(browser, demo)
    photograph_rooms(browser)


def photograph_all(browser: str, demo: Path) -> None:
    """Photograph the pages of a demo: the verdict, the custodian's page, a certificate, a map."""
    page = demo / "releases" / WHOLE / "report.html"
    photograph(browser, page, IMAGES / "report.png", 1100, 1000)
    custodian = demo / "custodian" / WHOLE / "report-custodian.html"
    photograph(browser, custodian, IMAGES / "report-custodian.png", 1100, 2600)
    sheet = demo / "certificate.html"
    sheet.write_text(certificate(demo / "releases" / WHOLE), encoding="utf-8")
    photograph(browser, sheet, IMAGES / "certificate.png", 820, 1000)
    photograph(browser, comparison(demo), IMAGES / "comparison.png", 1280, 1650)


def comparison(demo: Path) -> Path:
    """Compare the plans that a committee would ask for; return the page."""
    plans = [
        demo / "plans" / f"{name}.toml"
        for name in (WHOLE, "cart", "critical-cart", "microaggregation", "dirichlet-multinomial")
    ]
    for k in (3, 5, 10):
        text = draft(
            str(demo / "clinic.csv"),
            method="k-anonymity",
            home=demo / "plans",
            custodian="../custodian/compare",
            seed=1998,
            settings={"k": k},
        )
        path = demo / "plans" / f"k = {k}.toml"
        path.write_text(text, encoding="utf-8")
        plans.append(path)
    page = demo / "comparison.html"
    page.write_text(compare_plans(plans, fresh=True).to_html(), encoding="utf-8")
    return page


def photograph(browser: str, page: Path, image: Path, width: int, height: int) -> None:
    """Write what a browser shows of a page, without network."""
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--window-size={width},{height}",
        f"--screenshot={image}",
    ]
    subprocess.run([browser, *options, page.resolve().as_uri()], check=True, capture_output=True)
    print(image)


if __name__ == "__main__":
    main()
