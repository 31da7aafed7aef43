"""Compare the risk shown after protection with the truth, in samples of populations.

    python -m bench.after_truth                  # everything: minutes
    python -m bench.after_truth "long tail"      # populations by name, printed alone
    python -m bench.after_truth --seeds 7 8      # other populations and samples

Each population is known whole. A sample of it is protected, and the true expected
number of re-identifications is the sum of 1/F(i) over the released records, F(i) being
the people of the population whose recoded keys agree with what was released of i, where
a blank agrees with anything. Beside it stands the number that the result shows.
"""

import argparse
import csv
import itertools
import sys
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas

import riskcore
from bench._common import HERE, origin, reached, table
from riskcore import Recoding, simulate

ADULT = HERE.parents[1] / "shared" / "data" / "populations" / "adult.csv"
PAGE = HERE / "results" / "after_truth.md"
RAW = HERE / "results" / "after_truth.csv"
SIZES = (0.05, 0.2, 1.0)
SEEDS = (1, 2, 3)
WITHIN = {0.05: 0.25, 0.2: 0.1, 1.0: 0.1}
COVERAGE = 0.88
FEW = 5.0  # true re-identifications: with fewer a ratio says little
ROUNDING = 1e-9  # of sums, where the interval is one number
COLUMNS = (
    "population", "size", "plan", "keys", "records", "blanks", "truth", "shown",
    "ratio", "low", "high", "covered", "seconds", "seed",
)  # fmt: skip


class Population(NamedTuple):
    """People, their keys, and how they are sampled and recoded."""

    people: dict[str, Any]
    keys: tuple[str, ...]
    recodings: dict[str, Any]  # of the plan with recoding
    unit: str | None = None  # column of the units that are drawn, such as households
    strata: str | None = None  # column of groups that are drawn at unequal rates


# --- populations ------------------------------------------------------------------


def census(rng, people=40_000):
    """Return a simulated census with provinces."""
    columns = simulate.microdata(people, rng, fraction=1.0)
    columns["PROVINCE"] = columns["REGION"] // 100
    del columns["WEIGHT"]
    return columns


def in_bands(*breaks):
    """Return the recoding of ages that the plan with recoding uses."""
    return {"AGE": Recoding.intervals(list(breaks))}


def provinces(rng):
    """Four keys of a census, persons drawn one by one."""
    keys = ("PROVINCE", "SEX", "AGE", "MARSTAT")
    return Population(census(rng), keys, in_bands(15, 30, 45, 65))


def many_keys(rng):
    """Six keys of a census, two of them with long tails."""
    people = census(rng)
    people["AGE"] = people["AGE"] // 5 * 5
    keys = ("PROVINCE", "SEX", "AGE", "MARSTAT", "EDUCATION", "CITIZENSHIP")
    bands = in_bands(10, 25, 40, 60)
    return Population(people, keys, bands)


def unequal(rng):
    """Municipalities, drawn at rates that differ by province."""
    people = census(rng)
    people["AGE"] = people["AGE"] // 5 * 5
    keys = ("REGION", "SEX", "AGE")
    bands = in_bands(15, 30, 45, 65)
    return Population(people, keys, bands, strata="PROVINCE")


def households(rng):
    """A census drawn by whole households; their size is a key."""
    keys = ("PROVINCE", "SEX", "AGE", "HHSIZE")
    people, bands = census(rng), in_bands(15, 30, 45, 65)
    return Population(people, keys, bands, unit="HOUSEHOLD")


def living(rng):
    """A survey of living conditions, drawn by whole households."""
    people = simulate.household_survey(7_000, rng)
    people = {name: people[name] for name in people if not name.startswith("WGT")}
    people["AGE"] = people.pop("AGEYRS").astype(int)
    keys = ("REGION", "URBRUR", "GENDER", "AGE", "MARITAL", "EDUCY")
    return Population(people, keys, in_bands(15, 30, 45, 65), unit="IDH")


def survey(rng):
    """A survey of a tenth of a census, which is taken for the whole population."""
    people = census(rng, 250_000)
    home = people["HOUSEHOLD"]
    asked = (rng.random(home.max() + 1) < 0.1)[home]
    people = {name: column[asked] for name, column in people.items()}
    keys = ("PROVINCE", "SEX", "AGE", "MARSTAT", "EDUCATION")
    return Population(people, keys, in_bands(15, 30, 45, 65))


def adult(_):
    """The persons of 1994, if their file is there."""
    if not ADULT.exists():
        return None
    frame = pandas.read_csv(ADULT, sep=";").rename(columns={"age": "AGE"})
    people = {name: frame[name].to_numpy() for name in frame}
    people["AGE"] = people["AGE"] // 5 * 5
    keys = ("sex", "AGE", "race", "marital-status", "education")
    return Population(people, keys, in_bands(25, 35, 50, 65))


def minority(rng):
    """95 % of the people are alike, 5 % are diverse."""
    n = 30_000
    alike = rng.random(n) < 0.95
    people = {"SEX": rng.integers(0, 2, n), "AGE": rng.integers(4, 17, n) * 5}
    for name, few, many in (("AREA", 2, 30), ("JOB", 3, 25), ("BIRTH", 1, 20)):
        people[name] = np.where(
            alike, rng.integers(0, few, n), rng.integers(0, many, n)
        )
    keys = ("AREA", "SEX", "AGE", "JOB", "BIRTH")
    return Population(people, keys, in_bands(30, 45, 60))


def long_tail(rng):
    """A key by Zipf's law, sex and region."""
    F = simulate.zipf_population(60_000, 1_000, 1.35, rng)
    people = {"JOB": np.repeat(np.arange(len(F)), F).astype(str)}
    n = len(people["JOB"])
    people |= {"SEX": rng.integers(0, 2, n), "REGION": rng.integers(0, 8, n)}
    top = Recoding.mapping({str(job): "rare" for job in range(200, 1_000)})
    return Population(people, ("JOB", "SEX", "REGION"), {"JOB": top})


def ties(rng):
    """An industry determines its sector, and both are keys."""
    n = 40_000
    shares = np.arange(1.0, 81.0) ** -0.9
    industry = rng.choice(80, n, p=shares / shares.sum())
    region = (industry * 7 + rng.integers(0, 12, n)) % 24
    people = {
        "INDUSTRY": industry, "SECTOR": industry // 8, "REGION": region,
        "SEX": rng.integers(0, 2, n), "AGE": rng.integers(3, 13, n) * 5,
    }  # fmt: skip
    keys = ("INDUSTRY", "SECTOR", "REGION", "SEX", "AGE")
    return Population(people, keys, in_bands(25, 40, 55))


def zeros(rng):
    """Combinations that cannot be: children neither marry, nor work, nor study."""
    n = 40_000
    age = rng.integers(0, 18, n) * 5
    married = np.where(age < 20, 0, rng.integers(0, 4, n))
    work = np.where((age < 15) | (age > 70), 0, rng.integers(1, 12, n))
    school = np.minimum(age // 5, rng.integers(0, 7, n))
    people = {
        "AGE": age, "MARRIED": married, "WORK": work, "SCHOOL": school,
        "PREGNANT": ((age >= 15) & (age < 45) & (rng.random(n) < 0.04)).astype(int),
        "AREA": rng.integers(0, 10, n),
    }  # fmt: skip
    keys = ("AGE", "MARRIED", "WORK", "SCHOOL", "PREGNANT", "AREA")
    return Population(people, keys, in_bands(15, 30, 50, 70))


def independent(rng):
    """Independent keys of unequal shares."""
    n, people = 30_000, {}
    for name, values, slope in (
        ("AGE", 60, 0.3), ("AREA", 12, 1.0), ("KIND", 6, 0.7), ("JOB", 20, 0.9),
    ):  # fmt: skip
        shares = np.arange(1.0, values + 1.0) ** -slope
        people[name] = rng.choice(values, n, p=shares / shares.sum())
    return Population(people, tuple(people), in_bands(5, 15, 30))


def empty(rng):
    """Keys without any relation or favorite: a table that is nearly empty."""
    n = 30_000
    sizes = {"AGE": 30, "AREA": 24, "JOB": 15, "SEX": 2}
    people = {name: rng.integers(0, values, n) for name, values in sizes.items()}
    return Population(people, tuple(people), in_bands(10, 20))


def profiles(rng):
    """Many kinds of people, each with few values of each key, and a year of birth."""
    n, kinds = 40_000, 40
    kind = rng.choice(kinds, n, p=rng.dirichlet(np.full(kinds, 0.5)))
    people = {"AGE": (rng.normal(20 + kind, 9, n)).clip(0, 80).astype(int)}
    for name, values in (("AREA", 18), ("JOB", 14), ("KIND", 9), ("TONGUE", 6)):
        shares = rng.dirichlet(np.full(values, 0.15), kinds)
        place = rng.random(n)[:, None] > shares.cumsum(axis=1)[kind]
        people[name] = place.sum(axis=1).clip(0, values - 1)
    return Population(people, tuple(people), in_bands(10, 20, 30, 40, 50, 60))


POPULATIONS = {
    "census": provinces, "census, six keys": many_keys,
    "census, unequal rates": unequal, "census, households": households,
    "living conditions": living, "survey as population": survey,
    "persons of 1994": adult, "small diverse minority": minority,
    "long tail": long_tail, "ties between keys": ties, "structural zeros": zeros,
    "independent keys": independent, "nearly empty table": empty,
    "forty profiles": profiles,
}  # fmt: skip


# --- samples, plans and the truth -------------------------------------------------


def sample_of(population, size, rng):
    """Return a sample of the people, with their weights."""
    people, n = population.people, len(population.people[population.keys[0]])
    if size == 1:
        chosen, weight = np.arange(n), np.ones(n)
    elif population.unit:
        unit = np.unique(people[population.unit], return_inverse=True)[1]
        drawn = rng.permutation(unit.max() + 1)[: round(size * (unit.max() + 1))]
        chosen = np.flatnonzero(np.isin(unit, drawn))
        weight = np.full(len(chosen), (unit.max() + 1) / len(drawn))
    elif population.strata:
        stratum = np.unique(people[population.strata], return_inverse=True)[1]
        rate = np.minimum(size * np.linspace(0.5, 2.0, stratum.max() + 1), 0.9)[stratum]
        chosen = np.flatnonzero(rng.random(n) < rate)
        weight = 1 / rate[chosen]
    else:
        chosen = rng.permutation(n)[: round(size * n)]
        weight = np.full(len(chosen), n / len(chosen))
    data = {name: people[name][chosen] for name in population.keys}
    return {**data, "WEIGHT": weight}


def plans_of(population):
    """Return keys and settings of each plan."""
    keys = list(population.keys)
    two = [keys[:-1], [*keys[:1], *keys[2:]]]
    return {
        "k = 3": (keys, {"k": 3}),
        "k = 5": (keys, {"k": 5}),
        "threshold 0.02": (keys, {"threshold": 0.02}),
        "threshold 0.05, recoded": (
            keys, {"threshold": 0.05, "recodings": population.recodings}
        ),
        "two sets, k = 3": (two, {"k": 3}),
    }  # fmt: skip


def codes_of(people, released, keys):
    """Return codes of people and of released records by key, -1 for a blank."""
    pairs = []
    for key in keys:
        blank = np.ma.getmaskarray(released[key])
        both = [np.asarray(people[key]), np.asarray(np.ma.getdata(released[key]))]
        values = np.concatenate([pandas.Series(part).astype(str) for part in both])
        codes = pandas.factorize(values)[0]
        codes[len(both[0]) :][blank] = -1
        pairs.append(np.split(codes, [len(both[0])]))
    old, new = (np.array(part).T for part in zip(*pairs, strict=True))
    return old, new


def people_who_fit(people, patterns):
    """Return for each pattern the people whose keys agree; -1 agrees with anything."""
    found = np.zeros(len(patterns), int)
    blanks, kind = np.unique(patterns < 0, axis=0, return_inverse=True)
    for number, blank in enumerate(blanks):
        rows = np.flatnonzero(kind.reshape(-1) == number)
        both = np.concatenate([people[:, ~blank], patterns[rows][:, ~blank]])
        if not both.shape[1]:
            found[rows] = len(people)
            continue
        cell = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)
        count = np.bincount(cell[: len(people)], minlength=cell.max() + 1)
        found[rows] = count[cell[len(people) :]]
    return found


def interval_of(stage):
    """Return the interval that a result shows, or none."""
    try:
        return stage.expected_reidentifications_interval()
    except ValueError:
        return float("nan"), float("nan")


def is_between(low, value, high):
    """Return 1 if a value is in an interval, up to the rounding of sums, or else 0."""
    return int(low * (1 - ROUNDING) <= value <= high * (1 + ROUNDING))


def rows_of(name, population, size, seed):
    """Yield a row for each plan and set of keys."""
    number = list(POPULATIONS).index(name)
    rng = np.random.default_rng([seed, number, round(100 * size)])
    data = sample_of(population, size, rng)
    for plan, (keys, settings) in plans_of(population).items():
        start = time.perf_counter()
        result = riskcore.protect(data, keys, "WEIGHT", **settings)
        stages = [(one.keys, one.protected) for one in result.sets]
        figures = [(one.expected_reidentifications, *interval_of(one))
                   for _, one in stages]  # fmt: skip
        seconds = time.perf_counter() - start
        recoded = riskcore.recode(population.people, settings.get("recodings", {}))
        for (names, _), (shown, low, high) in zip(stages, figures, strict=True):
            pair = codes_of(recoded, result.data, names)
            truth = float((1 / people_who_fit(*pair)).sum())
            blanks = int((pair[1] < 0).sum())
            yield [
                name, size, plan, " x ".join(names), len(data["WEIGHT"]), blanks,
                truth, shown, shown / truth, low, high, is_between(low, truth, high),
                seconds, seed,
            ]  # fmt: skip


# --- tables -----------------------------------------------------------------------


def judged(rows, of=()):
    """Return the rows of a summary: the goals for each size."""
    lines = []
    for size in SIZES:
        mine = [row for row in rows if row[1] == size and row[6] >= FEW]
        if not mine:
            continue
        ratios = np.array([row[8] for row in mine])
        good = np.mean(np.abs(ratios - 1) <= WITHIN[size])
        covered = np.mean([row[11] for row in mine])
        lines.append([
            *of, f"{100 * size:.0f} %", f"{len(mine)}", f"{ratios.min():.2f}",
            f"{np.median(ratios):.2f}", f"{ratios.max():.2f}",
            f"{100 * WITHIN[size]:.0f} %", f"{100 * good:.0f} %",
            f"{100 * covered:.0f} %", reached(good == 1 and covered >= COVERAGE),
        ])  # fmt: skip
    return lines


def line_of(row):
    """Return a row that misses its goal, as text."""
    name, size, plan, keys, records, blanks, truth, shown, ratio, low, high = row[:11]
    return [
        name, plan, keys, f"{100 * size:.0f} %", f"{records:,}", f"{blanks:,}",
        f"{truth:,.1f}", f"{shown:,.1f}", f"{ratio:.2f}", f"{low:,.1f} to {high:,.1f}",
    ]  # fmt: skip


def by_population(rows):
    """Return the rows of the summary for each population."""
    names = dict.fromkeys(row[0] for row in rows)
    return [
        line
        for name in names
        for line in judged([row for row in rows if row[0] == name], (name,))
    ]


def page_of(rows):
    """Return the text of the page."""
    head = ["sample", "cases", "least ratio", "median", "largest", "goal", "within",
            "covered", ""]  # fmt: skip
    full = ["population", "plan", "keys", "sample", "records", "blanks", "truth",
            "shown", "ratio", "interval"]  # fmt: skip
    taken = sum({(*row[:3], row[13]): row[12] for row in rows}.values())
    missed = [r for r in rows if abs(r[8] - 1) > WITHIN[r[1]] and r[6] >= FEW]
    seeds = len({row[13] for row in rows})
    return "\n".join([
        "# The risk after protection, beside the truth", "",
        f"{origin('numpy', 'scipy')}; {taken:.0f} s of protection.", "",
        *__doc__.rpartition("\n\n")[2].splitlines(),
        f"Each population and sample is drawn with {seeds} seeds. Cases of fewer than "
        f"{FEW:.0f} true re-identifications are not judged. The goal of coverage is "
        f"{100 * COVERAGE:.0f} %. All cases: `after_truth.csv`.", "",
        table(head, judged(rows)), "",
        table(["population", *head], by_population(rows)), "",
        "The cases whose ratio misses its goal:", "",
        table(full, [line_of(row) for row in missed], 3), "",
    ])  # fmt: skip


def main():
    """Run the study, and write page and rows if it is complete."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="POPULATION")
    parser.add_argument("--seeds", type=int, nargs="+", default=[*SEEDS])
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in POPULATIONS]
    if unknown:
        parser.error(f"no population {unknown[0]!r}; known: {', '.join(POPULATIONS)}")
    warnings.simplefilter("ignore")
    rows = []
    for seed, name in itertools.product(options.seeds, options.names or POPULATIONS):
        number = list(POPULATIONS).index(name)
        population = POPULATIONS[name](np.random.default_rng([seed, number]))
        if population is None:
            print(f"{name}: its file is not there", file=sys.stderr)
            continue
        for size in SIZES:
            mine = list(rows_of(name, population, size, seed))
            ratios = " ".join(f"{row[8]:.2f}" for row in mine)
            print(f"{seed}: {name}, {size:.0%}: {ratios}", file=sys.stderr, flush=True)
            rows += mine
    text = page_of(rows)
    print(text)
    if not options.names and options.seeds == [*SEEDS]:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(text)
        with RAW.open("w", newline="") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow(COLUMNS)
            lines.writerows(
                [f"{x:.6g}" if isinstance(x, float) else x for x in row] for row in rows
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
