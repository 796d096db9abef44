"""A register of patients, made anonymous in classes of ten, with every minimal way to do it."""

import veladura as vd
from veladura import example

register = vd.open(
    example.path("clinic.csv"),
    columns={
        "name": {"role": "identifier"},
        "social_number": {"role": "identifier"},
        "zip": {"kind": "category"},
    },
)
recipe = vd.KAnonymity(
    quasi_identifiers=["birth", "zip", "sex", "marital"],
    k=10,
    max_suppression=0.05,
    hierarchies={"birth": vd.Hierarchy.dates(["year", "decade"]), "zip": vd.Hierarchy.mask(5)},
    prefer="min-suppression",
)

fitted = recipe.fit(register)
print(f"{len(fitted.minimal)} minimal ways to reach k = {recipe.k}:")
for node in fitted.minimal:
    print("  ", node)

release = fitted.sample()
print()
print(
    release.datasets[0][["birth", "zip", "sex", "marital", "diagnosis"]]
    .head(8)
    .to_string(index=False)
)
