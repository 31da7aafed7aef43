"""Compare plans of suppression by record and restored: blanks, bounds, seconds.

    python -m bench.plans [records of the largest file]

Simulated surveys of 3,000, 45,000 and 1e6 records with six keys are protected for all
six together and for all sets of two or three; so are mu-Argus's demonstration data,
recoded, if present. Each plan runs once; only the seconds depend on the machine.
"""

import warnings
from pathlib import Path

import numpy as np

from bench._common import given, origin, publish, table, timed
from riskcore import protect, simulate

DEMODATA = Path(__file__).parents[2] / "shared" / "data" / "demodata"
KEYS = ["REGION", "SEX", "AGE", "MARSTAT", "EDUCATION", "HHSIZE"]
PLANS = ("record", "restore")


def survey(records):
    """Return a simulated survey with provinces, and its keys."""
    data = simulate.microdata(records, np.random.default_rng(1))
    data["REGION"] = data["REGION"] // 100
    if records < 1_000_000:
        return data, KEYS
    data["AGE"] = data["AGE"] // 5 * 5
    return data, [*KEYS[:5], "CITIZENSHIP"]


def cases(largest):
    """Yield name, data, keys and settings of each file."""
    for records in (3_000, 45_000, largest):
        threshold = 0.01 if records >= 1_000_000 else 0.05
        data, keys = survey(records)
        name = f"made, {records:,} records, {threshold:g}"
        yield name, data, keys, {"weight": "WEIGHT", "threshold": threshold}
    for records, subsets in ((3_000, 3), (45_000, 2)):
        data, keys = survey(records)
        name = f"made, {records:,} records, sets of {subsets}, k = 3"
        yield name, data, keys, {"k": 3, "subsets": subsets}
    if (DEMODATA / "Demodata.asc").exists():
        recodings = {"REGION": DEMODATA / "Region.grc", "AGE": DEMODATA / "Age.grc"}
        keys = ["REGION", "SEX", "AGE", "MARSTAT"]
        path, settings = DEMODATA / "Demodata.asc", {"threshold": 0.00125}
        yield (
            "Demodata, recoded, 0.00125",
            path,
            keys,
            settings | {"recodings": recodings},
        )


def row(name, plan, data, keys, settings):
    result, seconds = timed(
        lambda: protect(data, keys, plan=plan, cost="fewest", **settings)
    )
    one = result.certificate
    bound = "" if one.lower_bound is None else f"{one.lower_bound:,.10g}"
    gap = "" if one.gap is None else f"{100 * one.gap:.2g} %"
    return [
        f"{name}: {plan}", f"{sum(result.suppressed.values()):,}", bound, gap,
        f"{one.leaning:,} of {one.unsafe:,}", f"{seconds:.1f}",
    ]  # fmt: skip


def main():
    warnings.simplefilter("ignore")
    (largest,) = given(1_000_000)
    data, keys = survey(500)
    for plan in PLANS:  # compiles, once
        protect(data, keys, "WEIGHT", threshold=0.05, plan=plan)
        protect(data, keys, k=3, subsets=2, plan=plan)
    rows = [row(case[0], plan, *case[1:]) for case in cases(largest) for plan in PLANS]
    header = ["file, goal: plan", "values", "bound", "gap",
              "count on others", "seconds"]  # fmt: skip
    publish("plans", f"{origin('numpy')}.\n\n{table(header, rows)}")


if __name__ == "__main__":
    main()
