"""A differentially private table of two columns, and what it says of the population."""

import veladura as vd
from veladura import example

recipe = vd.DirichletMultinomial(
    columns=["sex", "marital"],
    domain={"sex": ["female", "male"], "marital": ["single", "married", "divorced", "widowed"]},
    epsilon=1.0,
    size=200,  # fewer rows need less noise: see recipe.expected(5000)
)
register = vd.open(
    example.path("clinic.csv"),
    columns={"name": {"role": "identifier"}, "social_number": {"role": "identifier"}},
)
release = recipe.protect(register, ledger=vd.Ledger(epsilon=1.0))

posterior = vd.posterior(release)
print(posterior.table().to_string(index=False))
widowed = posterior.where(marital="widowed")
print()
print(
    "widowed, women less men:",
    posterior.difference(widowed, posterior.where(sex="female"), posterior.where(sex="male")),
)
