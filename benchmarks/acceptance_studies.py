"""The studies of the source documents, quick forms, with what must come out of them."""

from __future__ import annotations

from pathlib import Path

import veladura as vd
from veladura.studies.study import STUDIES, Study

LEAST_OVERLAP = 0.78


def show(study: Study) -> None:
    print(f"{study.title}: {study.settings}")
    for exhibit in study.exhibits:
        rows = exhibit.result.rows if exhibit.result is not None else ()
        print(f"  {exhibit.number} {exhibit.title}: {exhibit.verdict}")
        for row in rows:
            print(f"    {'  '.join(map(str, row))}")


def main(data: Path) -> None:
    found = {
        number: vd.study(number, data=data / "termlife.csv" if number == "000" else None)
        for number in STUDIES
    }
    for study in found.values():
        show(study)
    for row in found["000"]["Table 3.13"].result.rows:  # its definitions, not its table
        assert abs(row[1].ours - 0.0075) < 0.002
        assert row[2].ours < 0.006
        assert row[3].ours > 0.97
    assert found["001"]["Figure 7"].result.rows[0][1].ours >= LEAST_OVERLAP
