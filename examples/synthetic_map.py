"""Artificial addresses that keep the map: who lives where, without where anyone lives."""

import veladura as vd
from veladura import example

register = vd.open(
    example.path("clinic.csv"),
    columns={"name": {"role": "identifier"}, "social_number": {"role": "identifier"}},
)
release = vd.Geography(
    x="lon",
    y="lat",
    attributes=["ethnicity"],
    region=str(example.path("region.geojson")),
    exclude=str(example.path("lake.geojson")),
    grid=(8, 8),
    coordinates="degrees",
    m=2,
).protect(register, seed=5)
print(release.datasets[0][["lon", "lat", "ethnicity"]].head())
for claim in release.claims:
    print("-", claim)
