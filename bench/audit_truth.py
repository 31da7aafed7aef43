"""Audit synthetic samples of populations of known truth.

    python -m bench.audit_truth                    # what is not in the CSV, and tables
    python -m bench.audit_truth --replicates 20    # more samples of each kind
    python -m bench.audit_truth --tables           # the tables alone

Each replicate draws twice as many people as a sample has, by the design of the kind:
one half is the original, the other the holdout. `_generators.py` says which packages
make records, and where they are; without one, its rows are missing. Each row of
`audit_truth.csv` is one release; delete the file to compute all of them again.
"""

import argparse
import csv
import math
import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed

import numpy as np

from bench import _audit_peers as peers
from bench._cell_kinds import KINDS, missing
from bench._common import HERE, RESULTS, origin, reached, replace, table
from bench._generators import COPIED, NEEDED, OWN, PACKAGES
from riskcore.disclosure.attributes import attribute_guesses
from riskcore.disclosure.audit import audit
from riskcore.disclosure.copies import copies
from riskcore.disclosure.shared_columns import SharedColumn

PAGE = RESULTS / "audit_truth.md"
RAW = HERE / "audit_truth.csv"
SIZES = (0.01, 0.05, 0.2)
REPLICATES = 10
PROCESSES = 2
NAMES = (
    "independent keys",
    "six classes",
    "six classes, b 1/2",
    "chain of keys",
    "census",
    "census, noise",
    "persons of 1994",
    "Austria",
)
GENERATORS = OWN | PACKAGES
COLUMNS = (
    "kind", "size", "replicate", "generator", "claims", "right", "low", "high",
    "truth", "counted", "claims_by_model", "claims_by_holdout", "guesses_by_model",
    "guesses_by_holdout", "claims_none_by_model", "claims_none_by_holdout",
    "guesses_none_by_model", "guesses_none_by_holdout", "auc", "found", "share",
    "share_low", "share_high", "share_there", "copies_none_by_holdout",
)  # fmt: skip
FEW = 10.0  # right claims of all replicates: with fewer, a ratio says little
WITHIN = {0.01: 0.25, 0.05: 0.1, 0.2: 0.1}
COVERAGE = 0.85


# --- one sample ---------------------------------------------------------------------


def draw(name, size, replicate):
    """Return the population, and the rows of an original and a holdout, weights too."""
    kind = KINDS[name]
    seed = [3, *name.encode(), round(1000 * size), replicate]
    rng = np.random.default_rng(seed)
    population = kind.population(rng)
    n = round(size * len(population.cell))
    drawn = kind.sample(population.people, 2 * n, rng)
    mixed = rng.permutation(len(drawn.rows))
    first, second = np.array_split(mixed, 2)
    weights = 2.0 * drawn.weights[first]
    return population, drawn.rows[first], weights, drawn.rows[second], rng


def study(name, size, replicate, known=frozenset()):
    """Return a row for each generator that is not known yet."""
    population, first, weights, second, rng = draw(name, size, replicate)
    original, holdout = (
        [code[population.cell[rows]] for code in population.codes]
        for rows in (first, second)
    )
    levels = [int(code.max()) + 1 for code in population.codes]
    cells = np.ravel_multi_index(population.codes, levels)
    people = np.zeros(math.prod(levels), np.int64)
    people[cells] = population.frequencies
    seen = np.zeros(len(people), bool)
    seen[np.ravel_multi_index(original, levels)] = True
    found = []
    for which, generator in GENERATORS.items():
        if which in known or (which in NEEDED and peers.lacking(NEEDED[which])):
            continue
        own = np.random.default_rng(
            [4, *which.encode(), *rng.bit_generator.seed_seq.entropy]
        )
        try:
            made = generator(original, own)
        except TimeoutError as error:
            print(f"{name}, {size}: {error}", file=sys.stderr)
            continue
        row = {"kind": name, "size": size, "replicate": replicate, "generator": which}
        row |= of_claims(original, weights, made, holdout, levels, people, seen, own)
        shared = [
            SharedColumn(tuple(one.astype(np.uint32) for one in three), size + 1)
            for *three, size in zip(original, made, holdout, levels, strict=True)
        ]
        found.append(row | of_guesses(shared) | of_copies(shared, which))
    return found


def of_claims(original, weights, made, holdout, levels, people, seen, rng):
    """Return what an audit says of the claims, beside the truth."""
    keys = [f"key{i}" for i in range(len(levels))]
    file = dict(zip(keys, original, strict=True)) | {"w": weights}
    made_file = dict(zip(keys, made, strict=True))
    found = audit(file, made_file, keys, "w")
    model = found.identity.model
    held = audit(
        file,
        made_file,
        keys,
        "w",
        population="weights" if model is None else model,
        holdout=dict(zip(keys, holdout, strict=True)),
    )
    low, high = found.expected_right_claims_interval()
    cell = np.ravel_multi_index(made, levels)[found.identity.rows]
    chance = 1.0 / people[cell[seen[cell]]]
    return {
        "claims": found.claims,
        "right": found.expected_right_claims,
        "low": low,
        "high": high,
        "truth": math.fsum(chance),
        "counted": int(np.count_nonzero(rng.random(len(chance)) < chance)),
        "claims_by_model": found.identity.excess,
        "claims_none_by_model": none_in(found.identity.excess_interval()),
        "claims_by_holdout": held.identity.excess,
        "claims_none_by_holdout": none_in(held.identity.excess_interval()),
    }


def of_guesses(shared):
    """Return the excess of guesses of the last key from the others."""
    told = {}
    for by, files in (("model", 2), ("holdout", 3)):
        some = [SharedColumn(one.codes[:files], one.levels) for one in shared]
        found = attribute_guesses("target", some[:-1], some[-1])
        told[f"guesses_by_{by}"] = found.excess
        told[f"guesses_none_by_{by}"] = none_in(found.excess_interval())
    return told


def of_copies(shared, which):
    """Return the share of copies, and how well the planted ones are found."""
    found = copies(shared)
    low, high = found.interval()
    told = {"auc": math.nan, "found": math.nan}
    if which == "5 % copied":
        planted = np.arange(len(found.score)) < round(COPIED * len(found.score))
        told["auc"] = area(found.score[planted], found.score[~planted])
        told["found"] = np.mean(found.probability[planted] >= 0.5)
    return told | {
        "share": found.share,
        "share_low": low,
        "share_high": high,
        "share_there": found.share_there,
        "copies_none_by_holdout": none_in(found.excess_interval()),
    }


def none_in(interval):
    """Return whether an interval for an excess does not lie above 0."""
    return int(not interval[0] > 0.0)


def area(above, below):
    """Return the probability that a score of the first is larger; a tie is a half."""
    order = np.sort(below)
    less = np.searchsorted(order, above, side="left")
    upto = np.searchsorted(order, above, side="right")
    return float(np.mean(less + upto)) / (2 * len(below))


# --- all samples --------------------------------------------------------------------


def known_rows():
    """Return the rows of the CSV, numbers as numbers."""
    if not RAW.exists():
        return []
    with RAW.open(newline="") as lines:
        return [
            {
                name: text if name in ("kind", "generator") else float(text)
                for name, text in row.items()
            }
            for row in csv.DictReader(lines)
        ]


def run(replicates):
    """Compute the rows that are not in the CSV, and add them to it."""
    known = {}
    for row in known_rows():
        at = row["kind"], row["size"], int(row["replicate"])
        known.setdefault(at, set()).add(row["generator"])
    here = [name for name in NAMES if name not in missing()]
    asked = [
        (name, size, replicate)
        for replicate in range(replicates)
        for size in SIZES
        for name in here
    ]
    os.nice(10)
    new = not RAW.exists()
    with RAW.open("a", newline="") as lines, ProcessPoolExecutor(PROCESSES) as pool:
        rows = csv.DictWriter(lines, COLUMNS, lineterminator="\n")
        if new:
            rows.writeheader()
        left = [
            pool.submit(study, *one, frozenset(known.get(one, ())))
            for one in asked
            if set(GENERATORS) - known.get(one, set())
        ]
        for done, one in enumerate(as_completed(left), 1):
            rows.writerows(map(shortened, one.result()))
            lines.flush()
            print(f"{done} of {len(left)}", file=sys.stderr)


def shortened(row):
    """Return a row for the CSV: numbers to five digits."""
    return {
        name: f"{value:.5g}" if isinstance(value, float) else value
        for name, value in row.items()
    }


# --- tables -------------------------------------------------------------------------


def grouped(rows, *names):
    """Return rows by the values of some columns, in the order of the study."""
    order = {"kind": NAMES, "size": SIZES, "generator": tuple(GENERATORS)}
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    places = {name: {each: i for i, each in enumerate(order[name])} for name in names}
    return dict(
        sorted(
            groups.items(),
            key=lambda one: [places[n][v] for n, v in zip(names, one[0], strict=True)],
        )
    )


def total(rows, name):
    """Return the sum of a column."""
    return math.fsum(row[name] for row in rows)


def mean(rows, name):
    """Return the mean of a column where it is known."""
    known = [row[name] for row in rows if not math.isnan(row[name])]
    return math.fsum(known) / len(known) if known else math.nan


def ratio(rows):
    """Return predicted over true right claims, of all rows together."""
    truth = total(rows, "truth")
    return total(rows, "right") / truth if truth else math.nan


def coverage(rows):
    """Return how often the interval has the truth."""
    held = [row["low"] <= row["truth"] <= row["high"] for row in rows]
    return sum(held) / len(held)


def worst(rows):
    """Return the ratio of the replicate that is farthest from 1."""
    each = [ratio([row]) for row in rows if row["truth"] > 0.0 and row["right"] > 0.0]
    return max(each, key=lambda one: abs(math.log(one)), default=math.nan)


def number(value, digits=3):
    """Return a number for a table, nothing if unknown."""
    if math.isnan(value):
        return ""
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"


def percent(value, digits=3):
    """Return a share as a percentage."""
    return "" if math.isnan(value) else f"{number(100.0 * value, digits)} %"


def of_size(size):
    """Return a sampling fraction in words."""
    return f"{100 * size:.3g} %"


def of_claims_in_all(rows):
    """Return the rows of the table of claims by size and generator, of all kinds."""
    lines = []
    for (size, generator), some in grouped(rows, "size", "generator").items():
        ratios = {
            kind: ratio(each)
            for (kind,), each in grouped(some, "kind").items()
            if total(each, "truth") >= FEW
        }
        far = max(ratios, key=lambda kind: abs(math.log(ratios[kind])), default="")
        within = sum(abs(one - 1.0) <= WITHIN[size] for one in ratios.values())
        drawn = total(some, "counted") / max(total(some, "truth"), 1e-9)
        lines.append(
            [
                of_size(size),
                generator,
                number(mean(some, "claims")),
                number(mean(some, "truth")),
                f"{ratio(some):.3f}",
                f"{drawn:.3f}",
                f"{far} {ratios[far]:.2f}" if far else "",
                f"{within} of {len(ratios)}",
                percent(coverage(some)),
            ]
        )
    return lines


def of_claims_by_kind(rows):
    """Return the rows of the table of claims by kind, size and generator."""
    groups = grouped(rows, "kind", "size", "generator")
    return [
        [
            kind,
            of_size(size),
            generator,
            str(len(some)),
            number(mean(some, "claims")),
            number(mean(some, "truth")),
            f"{ratio(some):.2f}" + "*" * (total(some, "truth") < FEW),
            f"{worst(some):.2f}",
            percent(coverage(some)),
        ]
        for (kind, size, generator), some in groups.items()
    ]


def of_leaks(rows, *names):
    """Return the rows of the table of what is beyond, by some columns."""
    return [
        [
            *(of_size(one) if name == "size" else one for name, one in at),
            number(mean(some, "claims_by_model")),
            percent(mean(some, "claims_none_by_model")),
            number(mean(some, "claims_by_holdout")),
            percent(mean(some, "claims_none_by_holdout")),
            percent(mean(some, "guesses_by_model"), 2),
            percent(mean(some, "guesses_none_by_model")),
            percent(mean(some, "guesses_by_holdout"), 2),
            percent(mean(some, "guesses_none_by_holdout")),
            percent(mean(some, "share"), 2),
            percent(mean(some, "share_there"), 2),
            percent(mean(some, "copies_none_by_holdout")),
            number(mean(some, "auc")),
            percent(mean(some, "found"), 2),
        ]
        for at, some in (
            (zip(names, key, strict=True), some)
            for key, some in grouped(rows, *names).items()
        )
    ]


CLAIMS = ["claims", "right", "predicted / right"]
IN_ALL = [
    "sample", "generator", *CLAIMS, "drawn / right", "worst population",
    "populations within", "coverage",
]  # fmt: skip
BY_KIND = [
    "population", "sample", "generator", "replicates", *CLAIMS, "worst replicate",
    "coverage",
]  # fmt: skip
LEAKS = [
    "sample", "generator", "claims beyond model", "none", "beyond holdout", "none",
    "guesses beyond model", "none", "beyond holdout", "none", "copied", "of holdout",
    "none", "AUC", "copies found",
]  # fmt: skip


def goals(rows):
    """Return the goals and whether they were reached, as rows."""
    groups = grouped(rows, "kind", "size", "generator")
    lines = []
    for size in SIZES:
        known = [
            ratio(some)
            for (_, of, _), some in groups.items()
            if of == size and total(some, "truth") >= FEW
        ]
        good = sum(abs(one - 1.0) <= WITHIN[size] for one in known)
        lines.append(
            [
                f"predicted within {of_size(WITHIN[size])} of the truth, samples of "
                f"{of_size(size)}",
                f"{good} of {len(known)} rows",
                reached(good == len(known)),
            ]
        )
        some = [row for row in rows if row["size"] == size]
        covered = coverage(some)
        lines.append(
            [
                f"coverage at least {of_size(COVERAGE)}, samples of {of_size(size)}",
                percent(covered),
                reached(covered >= COVERAGE),
            ]
        )
    planted = [some for (_, _, one), some in groups.items() if one == "5 % copied"]
    areas = [mean(some, "auc") for some in planted]
    lines.append(
        [
            "planted copies found with an AUC of at least 0.9",
            f"{sum(one >= 0.9 for one in areas)} of {len(areas)} rows, least "
            f"{min(areas):.3f}",
            reached(min(areas) >= 0.9),
        ]
    )
    planted = [row for row in rows if row["generator"] == "5 % copied"]
    only = [row for row in rows if row["generator"] == "margins"]
    for what, some, share in (
        ("the planted 5 % of copies", planted, COPIED),
        ("no copies, for margins", only, 0.0),
    ):
        within = [row["share_low"] <= share <= row["share_high"] for row in some]
        found = sum(within) / len(within)
        lines.append(
            [
                f"interval of the share holds {what}",
                percent(found),
                reached(found >= 0.9),
            ]
        )
    for what in ("claims", "guesses", "copies"):
        none = mean(only, f"{what}_none_by_holdout")
        said = f"margins have no risk beyond the holdout, by {what}"
        lines.append([said, percent(none), reached(none >= 0.95)])
    return lines


def publish(rows):
    """Write the tables into the page."""
    about = origin("numpy", "numba").replace(" --tables", "")
    head = f"{about}; {len(rows):,} releases.\n\n"
    for name, header, lines, texts in (
        ("truth_goals", ["goal", "found", ""], goals(rows), 3),
        ("truth_claims", IN_ALL, of_claims_in_all(rows), 2),
        ("truth_leaks", LEAKS, of_leaks(rows, "size", "generator"), 2),
        ("truth_claims_by_kind", BY_KIND, of_claims_by_kind(rows), 3),
        (
            "truth_leaks_by_kind",
            ["population", *LEAKS],
            of_leaks(rows, "kind", "size", "generator"),
            3,
        ),
    ):
        replace(PAGE, name, head + table(header, lines, texts))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=REPLICATES)
    parser.add_argument("--tables", action="store_true")
    asked = parser.parse_args()
    if not asked.tables:
        run(asked.replicates)
    publish(known_rows())
