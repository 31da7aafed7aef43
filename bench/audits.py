"""Audits beside the truth of known populations, and membership beside its attack.

    python -m bench.audits

Each replicate draws a population, a sample of it, and releases of as many records: made
from the sample, made from the whole population, or a second sample of it. All chance
comes from fixed seeds. The persons of 1994 are adult.csv (UCI Adult) in the folder that
RISKCORE_POPULATIONS names, and are left out without it.
"""

import csv
import math
import os
import warnings
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.stats import gaussian_kde
from sklearn.tree import DecisionTreeClassifier

from bench._common import RESULTS, origin, replace, table
from bench._populations import PROVINCES, cells_of, census_of
from riskcore.assessment.population import risk_by
from riskcore.disclosure.audit import audit
from riskcore.disclosure.membership import membership
from riskcore.disclosure.shared_columns import SharedColumn
from riskcore.models import LatentClass

PAGE = RESULTS / "audits.md"
N, PROCESSES = 50_000, 2
SIZES = {0.05: 8, 0.01: 1, 0.2: 1}  # replicates of each sampling fraction
REPLICATES = 2  # of membership
CLASSES = (40, 12, 8, 6, 10)
ADULT = Path(os.environ.get("RISKCORE_POPULATIONS", ".")) / "adult.csv"
KEYS = ["sex", "age", "race", "marital-status", "education", "workclass", "occupation"]
PEOPLE = 1_000  # of the original and of the holdout, for membership
WIDTHS = (None, 0.1, 0.03)  # of the kernels: None is by Scott's rule

# --- populations: a column of codes for each key ------------------------------------


def independent(rng):
    sizes = ((2, 0.0), (80, 0.3), (12, 1.0), (6, 0.7), (9, 1.2), (20, 0.9))
    laws = [np.arange(1.0, k + 1.0) ** -s for k, s in sizes]
    return [rng.choice(len(law), N, p=law / law.sum()) for law in laws]


def classes(rng, even=True):
    """Six classes; cells are gamma about their probability if not even."""
    pi = np.zeros(math.prod(CLASSES))
    for share in rng.dirichlet(np.full(6, 3.0)):
        law = np.ones(1)
        for size in CLASSES:
            law = np.multiply.outer(law, rng.dirichlet(np.full(size, 0.4))).ravel()
        pi += share * law
    shape = np.maximum(np.sqrt(N * pi), 1e-9)
    people = rng.poisson(N * pi * (1.0 if even else rng.gamma(shape) / shape))
    cell = np.repeat(np.arange(len(pi)), people)
    return list(np.unravel_index(cell, CLASSES))


def chain(rng):
    """Each key depends strongly on the one before it."""
    columns = [rng.integers(0, 12, N)]
    for before, size in pairwise((12, 10, 8, 8, 6, 5)):
        odds = np.exp(rng.normal(0.0, 1.6, (before, size)))
        upto = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)[:, :-1]
        columns.append((rng.random(N)[:, None] > upto[columns[-1]]).sum(axis=1))
    return columns


def census(rng):
    people = census_of(N, rng)
    return [np.unique(people[key], return_inverse=True)[1] for key in PROVINCES]


def adult(rng):
    with ADULT.open() as lines:
        rows = list(csv.DictReader(lines, delimiter=";"))
    return [np.unique([row[k] for row in rows], return_inverse=True)[1] for k in KEYS]


POPULATIONS = {
    "independent keys": independent,
    "six classes": classes,
    "six classes, uneven": lambda rng: classes(rng, even=False),
    "chain of keys": chain,
    "census": census,
    "persons of 1994": adult,
}

# --- releases: of the original, the people, their number and chance ------------------


def margins(codes, people, n, rng):
    return [rng.choice(column, n) for column in codes]


def trees(codes, people, n, rng, leaf=5):
    """Draw each column from the leaf of a tree on the columns before it."""
    made = [rng.choice(codes[0], n)]
    for i in range(1, len(codes)):
        tree = DecisionTreeClassifier(min_samples_leaf=leaf, random_state=0)
        tree.fit(np.stack(codes[:i], 1), codes[i])
        leaves, asked = (tree.apply(np.stack(x[:i], 1)) for x in (codes, made))
        order = np.argsort(leaves, kind="stable")
        first, last = (
            np.searchsorted(leaves[order], asked, side) for side in ("left", "right")
        )
        made.append(
            codes[i][order[first + (rng.random(n) * (last - first)).astype(int)]]
        )
    return made


def latent_classes(codes, people, n, rng):
    model = LatentClass.fit(codes, overdispersion=False)
    share = model.mixture.share
    of = rng.choice(len(share), n, p=share / share.sum())
    upto = [np.cumsum(profile, axis=0).T[of, :-1] for profile in model.profiles]
    return [(rng.random(n)[:, None] > part).sum(axis=1) for part in upto]


def copied(codes, people, n, rng):
    made = latent_classes(codes, people, n, rng)
    for column, original in zip(made, codes, strict=True):
        column[: n // 20] = original[: n // 20]
    return made


def noise(codes, people, n, rng):
    """Exchange a tenth of each column."""
    made = [column.copy() for column in codes]
    for column in made:
        some = np.flatnonzero(rng.random(n) < 0.1)
        column[some] = column[rng.permutation(some)]
    return made


def second(codes, people, n, rng):
    rows = rng.choice(len(people[0]), n, replace=False)
    return [column[rows] for column in people]


def perfect(codes, people, n, rng):
    rows = rng.integers(0, len(people[0]), n)
    return [column[rows] for column in people]


def by_all(generator, **options):
    return lambda codes, people, n, rng: generator(people, people, n, rng, **options)


RELEASES = {
    "margins": margins,
    "trees": trees,
    "latent classes": latent_classes,
    "5 % copied": copied,
    "a tenth exchanged": noise,
    "a second sample": second,
    "drawn from all people": perfect,
    "trees grown on all people": by_all(trees, leaf=20),
    "classes fitted to all people": by_all(latent_classes),
}


def study(name, size, replicate):
    """Return a row for each release: claims, truth, before, now and the interval."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng([11, *name.encode(), round(1000 * size), replicate])
    people = POPULATIONS[name](rng)
    n = round(size * len(people[0]))
    codes, frequencies, levels, cell = cells_of(people)
    people = [code[cell] for code in codes]
    F = np.zeros(math.prod(levels), np.int64)
    F[np.ravel_multi_index(codes, levels)] = frequencies
    rows = rng.permutation(len(cell))
    original, holdout = (
        [x[part] for x in people] for part in (rows[:n], rows[n : 2 * n])
    )
    keys = [f"key{i}" for i in range(len(people))]
    file = dict(zip(keys, original, strict=True)) | {"w": np.full(n, 1.0 / size)}
    model, results = "latent-class", []
    for release, make in RELEASES.items():
        made = make(original, people, n, np.random.default_rng([5, replicate]))
        made_file, held = (dict(zip(keys, x, strict=True)) for x in (made, holdout))
        claims = audit(file, made_file, keys, "w", population=model).identity
        model = claims.model
        by_holdout = audit(
            file, made_file, keys, "w", population=model, holdout=held
        ).identity
        asked = claims.cells.some(claims.found).coded_as(model.sample, any_value=True)
        right = F[np.ravel_multi_index(made, levels)[claims.rows[claims.found]]]
        results.append((
            release, len(claims), math.fsum(1.0 / right),
            math.fsum(claims.chance * risk_by(model.prior(asked))),
            claims.expected_right, *claims.interval(), claims.draws.share,
            claims.excess, claims.excess_interval()[0] > 0.0,
            by_holdout.excess, by_holdout.excess_interval()[0] > 0.0,
        ))  # fmt: skip
    return name, size, results


def claims_of():
    """Return the tables of claims."""
    asked = [
        (name, size, replicate)
        for size in SIZES for name in POPULATIONS for replicate in range(SIZES[size])
        if name != "persons of 1994" or ADULT.exists()
    ]  # fmt: skip
    cases = defaultdict(list)
    with ProcessPoolExecutor(PROCESSES) as pool:
        for name, size, results in pool.map(study, *zip(*asked, strict=True)):
            for release, *figures in results:
                cases[size, release, name].append(figures)
    rows, summary = [], defaultdict(list)
    for (size, release, name), figures in cases.items():
        claims, truth, before, now, low, high, share, *excess = np.array(
            figures, float
        ).T
        hits = np.mean((low <= truth) & (truth <= high))
        ratios = before.sum() / truth.sum(), now.sum() / truth.sum()
        summary[size].append((*ratios, hits))
        model, more, holdout, more_there = (x.mean() for x in excess)
        rows.append([
            f"{100 * size:g} %", release, name, f"{claims.mean():,.0f}",
            f"{truth.mean():.1f}", *(f"{x:.2f}" for x in ratios), f"{share.mean():.2f}",
            f"{hits:.0%}", f"{model:.1f}", f"{more:.0%}", f"{holdout:.1f}",
            f"{more_there:.0%}",
        ])  # fmt: skip
    lines = []
    for size, figures in summary.items():
        ratios = np.abs(np.array(figures)[:, :2] - 1.0)
        for limit in (0.1, 0.25):
            counts = (ratios <= limit).sum(axis=0)
            lines.append([
                f"{100 * size:g} %", f"within {limit:.0%}",
                *(f"{count} of {len(figures)}" for count in counts),
                f"{np.mean([hits for *_, hits in figures]):.1%}",
            ])  # fmt: skip
    header = ["sample", "release", "population", "claims", "right", "as copies / right",
              "expected / right", "drawn", "interval holds", "beyond the model", "more",
              "beyond the holdout", "more"]  # fmt: skip
    head = ["sample", "cases", "as copies", "expected", "interval holds the truth"]
    return table(head, lines, 2), table(header, rows, 3)


# --- membership ---------------------------------------------------------------------


def groups(rng):
    """Numbers of groups, some dense and others wide."""
    group, width = rng.integers(0, 8, 6 * PEOPLE), np.exp(rng.normal(-1.5, 1.2, 8))
    centers, noise = rng.normal(0, 3, (8, 4)), rng.normal(size=(len(group), 4))
    return [], list((centers[group] + noise * width[group][:, None]).T)


def wages(rng):
    group = rng.integers(0, 6, 6 * PEOPLE)
    keys = [np.minimum(rng.poisson(1 + group / 2), k - 1) for k in (3, 5)]
    level = rng.normal(group / 4, 1.2)
    hours = np.clip(rng.normal(40, 12, len(level)).round(), 16, 90)
    bonus = np.exp(3 + level / 2 + rng.normal(0, 1, len(level))).round(1)
    return keys, [np.exp(7 + level).round(2), bonus, hours]


def few_keys(rng):
    people = census(rng)
    rows = rng.choice(len(people[0]), 6 * PEOPLE, replace=False)
    return [column[rows] for column in people], []


def mixed_adult(rng):
    people = adult(rng)
    rows = rng.choice(len(people[0]), 6 * PEOPLE, replace=False)
    keys = [column[rows] for column in people]
    return [*keys[:1], *keys[2:]], [keys[1].astype(float)]


def blurred(keys, numbers, rng, part=0.1):
    """Copy records, draw a part of the keys anew and add noise to the numbers."""
    n = len([*keys, *numbers][0])
    rows = rng.integers(0, n, n)
    mask = [rng.random(n) < part for _ in keys]
    made = [
        np.where(m, rng.choice(x, n), x[rows]) for m, x in zip(mask, keys, strict=True)
    ]
    return made, [x[rows] + rng.normal(0, part * x.std(), n) for x in numbers]


def between(keys, numbers, rng):
    """Mix each record with one of its three neighbors, as SMOTE does."""
    columns = np.stack([*keys, *((x - x.mean()) / x.std() for x in numbers)], 1)
    n, k = len(columns), len(keys)
    rows, other = rng.integers(0, n, n), np.empty(n, int)
    for i, row in enumerate(rows):
        gap = np.abs(columns - columns[row])
        gap[:, :k] = gap[:, :k] > 0
        other[i] = rng.choice(np.argsort(gap.sum(axis=1), kind="stable")[1:4])
    u = rng.random(n)
    made = [np.where(rng.random(n) < 0.5, x[rows], x[other]) for x in keys]
    return made, [x[rows] + u * (x[other] - x[rows]) for x in numbers]


def small_leaves(keys, numbers, rng):
    """Draw from trees of two records a leaf; numbers are their values."""
    values = [np.unique(x, return_inverse=True) for x in numbers]
    codes = [*keys, *(code for _, code in values)]
    made = trees(codes, None, len(codes[0]), rng, leaf=2)
    pairs = zip(values, made[len(keys) :], strict=True)
    return made[: len(keys)], [value[code] for (value, _), code in pairs]


def alone(keys, numbers, rng):
    """Draw each column by itself: nothing of any person is in the release."""
    return tuple([rng.choice(x, len(x)) for x in part] for part in (keys, numbers))


GENERATORS = {
    "blurred copies": blurred,
    "between neighbors": between,
    "small leaves": small_leaves,
    "margins": alone,
}


def area(members, others):
    """Return the probability that a member has the larger score; a tie is a half."""
    rising = np.sort(others)
    ranks = [np.searchsorted(rising, members, side) for side in ("left", "right")]
    return float(np.mean(ranks)) / len(others)


def by_kernels(files, width):
    """Return the area of DOMIAS: the ratio of two densities by Gaussian kernels."""
    whole = np.concatenate(files)
    scaled = [(x - whole.mean(axis=0)) / whole.std(axis=0) for x in files]
    # Codes lie on a grid, where a covariance could be singular.
    rng = np.random.default_rng(0)
    original, released, holdout = (x + rng.normal(0, 1e-3, x.shape) for x in scaled)
    areas = []
    for i in (0, 1):
        law, beside = (gaussian_kde(x.T, width) for x in (released, holdout[i::2]))
        scores = [
            law.logpdf(x.T) - beside.logpdf(x.T)
            for x in (original, holdout[1 - i :: 2])
        ]
        areas.append(area(*map(np.nan_to_num, scores)))
    return np.mean(areas)


def attack(kind, generator, replicate):
    """Return the areas of the closest record, of membership and of the attack."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng([13, *kind.encode(), replicate])
    keys, numbers = KINDS[kind](rng)
    rows = rng.permutation(6 * PEOPLE)[: 2 * PEOPLE]
    original, holdout = (
        ([x[part] for x in keys], [x[part] for x in numbers])
        for part in (rows[:PEOPLE], rows[PEOPLE:])
    )
    released = GENERATORS[generator](*original, rng)
    files = original, released, holdout
    shared = [
        SharedColumn(
            tuple(x.astype(np.uint32) for x in codes), int(max(map(np.max, codes))) + 1
        )
        for codes in zip(*(file[0] for file in files), strict=True)
    ]
    values = list(zip(*(file[1] for file in files), strict=True))
    told = membership(shared, values)
    columns = [np.stack([*a, *b], 1).astype(float) for a, b in files]
    scale = np.ptp(np.concatenate(columns), axis=0)
    scale[: len(shared)] = np.inf  # of keys only equality counts
    gaps = [np.abs(x[:, None] - columns[1]) for x in columns[::2]]
    near = [
        ((gap > 0) * np.isinf(scale) + gap / scale).sum(axis=2).min(axis=1)
        for gap in gaps
    ]
    kernels = [by_kernels(columns, width) for width in WIDTHS]
    return 1.0 - area(*near), told.area, *told.interval(), *kernels


KINDS = {
    "dense and wide groups": groups,
    "keys and wages": wages,
    "census": few_keys,
    "persons of 1994": mixed_adult,
}


def members_of():
    """Return the table of membership."""
    rows = []
    with ProcessPoolExecutor(PROCESSES) as pool:
        for kind in KINDS:
            if kind == "persons of 1994" and not ADULT.exists():
                continue
            for generator in GENERATORS:
                asked = [(kind, generator, r) for r in range(REPLICATES)]
                figures = np.mean(
                    list(pool.map(attack, *zip(*asked, strict=True))), axis=0
                )
                closest, told, low, high, *kernels = figures
                interval = f"{low:.3f} to {high:.3f}"
                figures = [f"{x:.3f}" for x in (*kernels, closest, told)]
                rows.append([kind, generator, *figures, interval])
    header = ["people", "release", "kernels by Scott's rule"]
    header += [f"of width {width:g}" for width in WIDTHS[1:]]
    header += ["closest record", "membership", "interval"]
    return table(header, rows, 2)


if __name__ == "__main__":
    about = origin("numpy", "numba", "scipy", "scikit-learn")
    summary, cases = claims_of()
    for name, text in (
        ("summary", summary),
        ("claims", cases),
        ("membership", members_of()),
    ):
        replace(PAGE, name, f"{about}\n\n{text}")
