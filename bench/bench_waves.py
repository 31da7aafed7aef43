"""Time the assessment of a panel of a million persons over twelve waves.

    python -m bench.bench_waves [persons] [waves]

The keys are six: two that never change, the age, and three that change now and then.
The goal is 60 s and 8 GB for two and for three known waves.
"""

import resource
import sys

import numpy as np

import riskcore
from bench._common import RESULTS, given, origin, reached, replace, table, timed

PERSONS, WAVES = 1_000_000, 12
KNOWN = (1, 2, 3, 6, None)
GOAL_SECONDS, GOAL_GB = 60, 8
LEVELS = {"REGION": 20, "MARITAL": 5, "WORK": 6, "SCHOOL": 5}
CHANGES = {"REGION": 0.02, "MARITAL": 0.05, "WORK": 0.15, "SCHOOL": 0.03}


def make_panel(persons, waves):
    """Return a panel; one of twenty records is missing."""
    rng = np.random.default_rng(1)
    now = {name: rng.integers(0, levels, persons) for name, levels in LEVELS.items()}
    sex, age = rng.integers(0, 2, persons), rng.integers(16, 80, persons)
    ids, weight = rng.permutation(persons), rng.uniform(10.0, 40.0, persons)
    found = []
    for wave in range(waves):
        for name, chance in CHANGES.items():
            moved = rng.random(persons) < chance
            new = rng.integers(0, LEVELS[name], persons)
            now[name] = np.where(moved, new, now[name])
        columns = {"ID": ids, "YEAR": np.full(persons, 2000 + wave), "SEX": sex}
        columns |= {"AGE": age + wave, **now, "WEIGHT": weight}
        there = rng.random(persons) < 0.95
        found.append({name: values[there] for name, values in columns.items()})
    return {name: np.concatenate([one[name] for one in found]) for name in found[0]}


def main():
    persons, waves = given(PERSONS, WAVES)
    panel = make_panel(persons, waves)
    keys = ["SEX", "AGE", *LEVELS]
    small = {name: values[:1000] for name, values in panel.items()}
    riskcore.assess(small, keys, "WEIGHT", person="ID", wave="YEAR")  # compiles
    rows = []
    for known in KNOWN:
        found, seconds = timed(
            lambda known=known: riskcore.assess(
                panel, keys, "WEIGHT", person="ID", wave="YEAR", known_waves=known
            )
        )
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        good = reached(seconds <= GOAL_SECONDS and memory <= GOAL_GB)
        rows.append(
            [
                "all" if known is None else str(known),
                f"{int(found.risks.choices.max()):,}",
                f"{found.expected_uniques / found.persons:.1%}",
                f"{seconds:.1f}",
                f"{memory:.1f}",
                good,
            ]
        )
    header = ["known waves", "choices", "unique persons", "seconds", "GB at most"]
    header.append(f"{GOAL_SECONDS} s and {GOAL_GB} GB")
    text = f"{origin('numpy')}: {persons:,} persons, {waves} waves.\n\n"
    text += table(header, rows)
    print(text)
    replace(RESULTS / "waves.md", "bench_waves", text)


if __name__ == "__main__":
    sys.exit(main())
