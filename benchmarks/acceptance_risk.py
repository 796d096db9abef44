"""Risk on real data: adult, francdat, attacks on adult.

Match risk beside the tables of Martins (2019) is in `veladura study 000`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import veladura as vd
from veladura.base.streams import Streams

FRANCDAT = [
    0.01714426,
    0.02204233,
    0.02204233,
    0.17707583,
    0.01165448,
    0.29706308,
    0.40235948,
    0.01714426,
]


def adult(data: Path) -> None:
    """Classes and uniques of nine columns, and attacks on samples of them."""
    frame = pd.read_csv(data / "adult" / "adult.csv", sep=";")
    found = vd.risk.uniqueness(frame, list(frame))
    assert (int(found.classes), int(found.sample_uniques)) == (19_502, 15_512)
    assert float(found.average_prosecutor) == 0.6465751607983555
    print(
        f"adult: {int(found.classes)} classes, {int(found.sample_uniques)} uniques, average"
        f" prosecutor risk {float(found.average_prosecutor)!r}"
    )
    special = vd.risk.suda2(frame, list(frame), max_size=4)
    print(
        f"  SUDA2 up to 4 columns: {float(special.special):.2%} of the rows; by size"
        f" { {k: int(v) for k, v in special.sizes.items()} }"
    )
    mixed = Streams(1)("acceptance", "adult").permutation(len(frame))
    original, control, fresh = (
        frame.iloc[part].reset_index(drop=True) for part in np.array_split(mixed[:9000], 3)
    )
    copying = pd.concat([original.iloc[:300], fresh.iloc[300:]], ignore_index=True)
    attacks = {
        "singling out": vd.risk.singling_out,
        "linkability": vd.risk.linkability,
        "attribute inference": lambda *given, **more: vd.risk.attribute_inference(
            *given, attribute="occupation", **more
        ),
        "membership": vd.risk.membership,
    }
    for name, attack in attacks.items():
        fair, caught = (attack(original, one, control, attempts=3000) for one in (fresh, copying))
        print(
            f"  {name}: independent sample p = {float(fair.p_value):.2g}, risk {fair.risk}; 10 %"
            f" copied p = {float(caught.p_value):.2g}, risk {caught.risk}"
        )
        assert float(fair.p_value) > 1e-5
    nearer = [vd.risk.distance(original, one, control=control).nearer for one in (fresh, copying)]
    print(
        f"  nearer to the original than to the holdout: independent {nearer[0]}, 10 % copied"
        f" {nearer[1]}"
    )


def francdat(data: Path) -> None:
    """Individual risks of sdcMicro's example."""
    frame = pd.read_csv(data / "sdcmicro" / "francdat.csv")
    found = vd.risk.individual(frame, ["Key1", "Key2", "Key3", "Key4"], weight="w")
    assert found.frequency.tolist() == [2, 2, 2, 1, 1, 1, 1, 2]
    assert found.population.tolist() == [110, 84.5, 84.5, 17, 541, 8, 5, 110]
    np.testing.assert_allclose(found.per_record, FRANCDAT, atol=0.5e-8)
    print(f"francdat: individual risks {found.per_record.round(8).tolist()}")


def main(data: Path) -> None:
    francdat(data)
    adult(data)
