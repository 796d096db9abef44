"""Synthetic incomes: what a mean and a regression say before and after, with honest intervals."""

import pandas as pd

import veladura as vd
from veladura import example

register = pd.read_csv(example.path("clinic.csv"), dtype={"zip": str}, parse_dates=["birth"]).drop(
    columns=["name", "social_number"]
)
release = vd.Cart(columns=["income"], m=5).protect(register, seed=20)


def mean_income(data):
    """Return an estimate and its variance: all that the combining rule asks for."""
    return data["income"].mean(), data["income"].var() / len(data)


combined = release.estimate(mean_income)
print(f"mean income, original:  {register['income'].mean():,.0f}")
print(
    f"mean income, synthetic: {combined.value:,.0f} ({combined.lower:,.0f} to"
    f" {combined.upper:,.0f})"
)
same = (release.datasets[0]["income"] == register["income"]).mean()
print(f"rows whose income stayed what it was: {same:.1%}")
