"""Time the latent class model by the number of records.

    python -m bench.bench_cell_models [most records]

Surveys are simulated, with six keys: province (or municipality), sex, age in years,
marital status, education, household size. Each step is timed once, in processor
seconds of all threads, so that other programs do not matter: tabulating, fitting with
the choice of the number of classes, the prior of all cells with tau, and the interval,
for which the model is fitted 20 times more. The goals are for two cores: to choose and
fit 100,000 records in a second and a million in five, and all steps in three times
that. The work is shared by two threads, so twice as many processor seconds are counted
as reaching them.
"""

import time

import numpy as np

from bench._common import given, origin, publish, reached, table
from bench._common import timed as timed_by
from riskcore import tabulate
from riskcore.models import LatentClass
from riskcore.simulate import microdata

FEW = ["PROVINCE", "SEX", "AGE", "MARSTAT", "EDUCATION", "HHSIZE"]
MANY = ["REGION", *FEW[1:]]
MOST = 1_000_000
GOALS = {100_000: 1.0, MOST: 5.0}  # to choose and fit
CORES, ALL = 2, 3  # all steps in three times that


def timed(work):
    return timed_by(work, clock=time.process_time)


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
    rows, goals = [], []
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
            if n in GOALS:
                goals.append(goal_of(n, name, seconds))
        n *= 10
    header = [
        "survey", "cells", "classes", "passes of the last fit", "tabulate, s",
        "choose and fit, s", "prior and tau, s", "interval, s", "tau",
    ]  # fmt: skip
    publish(
        "cell_models",
        f"{origin('numpy', 'numba')}; two threads, one run each, processor seconds.\n\n"
        f"{table(header, rows)}\n\n" + "\n".join(goals),
    )


def goal_of(n, name, seconds):
    """Return the goals of a number of records, and whether they were reached."""
    fit, everything = seconds[1], sum(seconds)
    goal = CORES * GOALS[n]
    return (
        f"- {n:,} records, by {name}: choose and fit in {goal:g} processor seconds "
        f"{reached(fit <= goal)} ({fit:.2f}), all in {ALL * goal:g} "
        f"{reached(everything <= ALL * goal)} ({everything:.2f})"
    )


if __name__ == "__main__":
    main()
