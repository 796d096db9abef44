"""Only the highest incomes are replaced, with the wealth that goes with them.

Everything else stays true.
"""

import numpy as np
import pandas as pd

import veladura as vd

rng = np.random.default_rng(3)
age = rng.integers(20, 80, 3000)
scores = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 3000)
people = pd.DataFrame(
    {
        "age": age,
        "income": np.exp(10 + 0.01 * age + 0.7 * scores[:, 0]).round(),
        "wealth": np.exp(11 + 0.02 * age + scores[:, 1]).round(),
    }
)
limit = float(people["income"].quantile(0.95))
release = vd.CriticalCart(
    critical={"income": f"income > {limit}", "wealth": "wealth > 1_000_000"},
    groups=[["income", "wealth"]],
    m=2,
).protect(people, seed=7)

rich = people["income"] > limit
for name, frame in (("original", people), ("released", release.datasets[0])):
    tie = frame.loc[rich, ["income", "wealth"]].corr("spearman").iloc[0, 1]
    print(f"{name}: correlation of income and wealth among the rich {tie:.2f}")
changed = (release.datasets[0] != people).to_numpy().mean()
print(f"cells that changed: {changed:.1%}")
