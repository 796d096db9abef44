"""Rows below episodes, such as prescriptions below visits, are counted by their patients."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.generators.linked import drugs_of
from tests.table.test_linked import people_and_visits

import veladura as vd
from veladura.table.linked import LinkedTable


def with_a_drug(holders: int):
    """Return linked tables in which a drug is prescribed at twelve visits of so many patients."""
    people, visits = people_and_visits(400)
    drugs = drugs_of(visits)
    more = visits.sample(12, random_state=1).reset_index(drop=True)
    more["visit"] = visits.visit.max() + 1 + np.arange(12)
    more["patient"] = np.resize(people.who.to_numpy()[:holders], 12)
    own = pd.DataFrame({"visit": more.visit, "drug": "Z", "dose": 100})
    return vd.open_linked(
        LinkedTable(name="patients", path=people, key="who", unit="person"),
        LinkedTable(
            name="visits",
            path=pd.concat([visits, more], ignore_index=True),
            parent="patients",
            link="patient",
            key="visit",
        ),
        LinkedTable(name="drugs", path=pd.concat([drugs, own], ignore_index=True), parent="visits"),
    )


@pytest.mark.parametrize(("holders", "comes_out"), [(1, False), (4, False), (12, True)])
def test_a_drug_of_few_patients_does_not_come_out_however_many_visits_they_have(holders, comes_out):
    release = vd.HouseholdCart(m=4).protect(with_a_drug(holders), seed=5)
    drawn = [int(np.count_nonzero(np.asarray(d["drug"]) == "Z")) for d in release.datasets]
    assert (sum(drawn) > 0) == comes_out
    rare = [p.settings["columns"] for p in release.promises if p.name == "rare-levels"]
    assert any("drug" in columns for columns in rare) != comes_out
