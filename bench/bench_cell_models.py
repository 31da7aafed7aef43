"""Time the latent class model by the number of records.

    python -m bench.bench_cell_models [most records]

Surveys are simulated, with six keys: province (or municipality), sex, age in years,
marital status, education, household size. Each step is timed once: tabulating, fitting
with the choice of the number of classes, the prior of all cells with tau, and the
interval, for which the model is fitted 20 times more. The goal is to fit, choose and
assess a million records in 60 seconds on two cores.
"""

import numpy as np

from bench._common import given, origin, publish, reached, table, timed
from riskcore import tabulate
from riskcore.models import LatentClass
from riskcore.simulate import microdata

FEW = ["PROVINCE", "SEX", "AGE", "MARSTAT", "EDUCATION", "HHSIZE"]
MANY = ["REGION", *FEW[1:]]
MOST = 1_000_000
GOAL = 60.0


def measure(survey, keys):
    """Return the fitted model, the cells, and seconds of each step."""
    data = {name: survey[name] for name in [*keys, "WEIGHT"]}
    cells, tabulated = timed(lambda: tabulate(data, keys, weight="WEIGHT"))
    model, fitted = timed(lambda: LatentClass.fit(cells))
    assert model.converged, model.reason
    tau, assessed = timed(lambda: model.tau(cells))
    ends, interval = timed(lambda: model.tau_interval(cells))
    return model, cells, (tabulated, fitted, assessed, interval), (tau, *ends)


def main():
    (most,) = given(MOST)
    measure(microdata(1000, np.random.default_rng(1), 0.05), MANY)  # compiles
    rows, slowest = [], 0.0
    n = 10_000
    while n <= most:
        survey = microdata(n, np.random.default_rng(2), fraction=0.05)
        survey["PROVINCE"] = survey["REGION"] // 100
        for name, keys in (("province", FEW), ("municipality", MANY)):
            model, cells, seconds, (tau, low, high) = measure(survey, keys)
            rows.append(
                [
                    f"{n:,} records, by {name}",
                    f"{len(cells):,}",
                    str(model.classes),
                    str(model.iterations),
                    *(f"{each:.2f}" for each in seconds),
                    f"{tau:.0f} ({low:.0f} to {high:.0f})",
                ]
            )
            if n == MOST:
                slowest = max(slowest, sum(seconds[:3]))
        n *= 10
    header = [
        "survey", "cells", "classes", "passes of the last fit", "tabulate, s",
        "choose and fit, s", "prior and tau, s", "interval, s", "tau",
    ]  # fmt: skip
    found = "not measured"
    if slowest:
        found = f"{slowest:.0f} seconds for the slower one, {reached(slowest <= GOAL)}"
    publish(
        "cell_models",
        f"{origin('numpy', 'numba')}; two threads, one run each.\n\n"
        f"{table(header, rows)}\n\nGoal, {MOST:,} records tabulated, fitted and "
        f"assessed in {GOAL:.0f} seconds: {found}.",
    )


if __name__ == "__main__":
    main()
