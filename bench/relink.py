"""Attack released files: how many records find their original again?

    python -m bench.relink ORIGINAL SAFE RECORD ...    three paths for each file
    python -m bench.relink                             the files of the demo

The intruder has the whole original, a stronger case than any real one, and knows the
rules of recoding. He links a released record to the originals that agree in the columns
he knows, where a blank matches anything, and takes the nearest by the numbers, each
over its standard deviation. Of m originals that are equally near each is right with
probability 1/m. Chance is a random pick among those that agree in the categories.

A column that is text or has at most 50 values is a category, any other a number. This
attack is written apart from `riskcore.numeric_risk`, on pandas and SciPy.
"""

import itertools
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas
from scipy.spatial import cKDTree

import riskcore
from bench._common import command, table
from riskcore import cli
from riskcore.data.columns import Records, household_codes
from riskcore.data.files import formats
from riskcore.protection.release.record import read_record
from riskcore.protection.release.secret import random_order

CATEGORIES = 50
# Sets of columns that are tried: each, each pair, each triple, and all.
MOST = 3


def frame_of(path):
    """Return a file as a frame."""
    data = formats.read(path)
    return data.to_pandas() if hasattr(data, "to_pandas") else pandas.DataFrame(data)


def rows_of(original, record):
    """Return the row of the original of each released record."""
    n = len(original)
    if not record.shuffled:
        return np.arange(n)
    household, unit = record.settings.household, None
    if household is not None and household not in record.dropped:
        unit = household_codes(Records.of(original), household)
    return random_order(record.secret, unit, n)


def numbers(column):
    """Return a column as numbers, None if it has other values."""
    found = pandas.to_numeric(column, errors="coerce")
    return None if (found.isna() & column.notna()).any() else found.to_numpy(float)


def coded(before, after):
    """Return the codes of two columns in common categories, -1 for missing."""
    as_text = [column.astype("string") for column in (before, after)]
    labels = pandas.Index(pandas.concat(as_text).dropna().unique())
    return [labels.get_indexer(column) for column in as_text]


def columns_of(before, after):
    """Return the codes of categories and the numbers that both files have, by name."""
    categories, amounts = {}, {}
    for name in after:
        pair = numbers(before[name]), numbers(after[name])
        many = max(before[name].nunique(), after[name].nunique()) > CATEGORIES
        if many and pair[0] is not None and pair[1] is not None:
            spread = np.nanstd(pair[0])
            amounts[name] = [one / (spread or 1.0) for one in pair]
        else:
            categories[name] = coded(before[name], after[name])
    return categories, amounts


def linked(categories, amounts, rows):
    """Return the probability that each link is right, and that of a random pick."""
    n = len(rows)
    right, chance = np.zeros(n), np.zeros(n)
    after = np.array([pair[1] for pair in categories.values()], np.int64).reshape(-1, n)
    before = np.array([pair[0] for pair in categories.values()], np.int64)
    before = before.reshape(-1, n)
    # Records with the same blanks are compared in the same columns.
    blanks, pattern = np.unique(after < 0, axis=1, return_inverse=True)
    for at in range(blanks.shape[1]):
        mine = np.flatnonzero(pattern.reshape(-1) == at)
        known = ~blanks[:, at]
        both = np.concatenate([before[known], after[known][:, mine]], axis=1)
        group = (
            np.unique(both, axis=1, return_inverse=True)[1].reshape(-1)
            if known.any()
            else np.zeros(n + len(mine), np.int64)
        )
        order = np.argsort(group[:n], kind="stable")
        starts = np.searchsorted(group[:n][order], group[n:], "left")
        ends = np.searchsorted(group[:n][order], group[n:], "right")
        for cell in np.unique(group[n:]):
            members = np.flatnonzero(group[n:] == cell)
            candidates = order[starts[members[0]] : ends[members[0]]]
            nearest(candidates, mine[members], amounts, rows, right, chance)
    return right, chance


def nearest(candidates, released, amounts, rows, right, chance):
    """Link the released records of a cell to its candidates."""
    own = np.isin(rows[released], candidates)
    if not own.any():
        return
    released = released[own]
    chance[released] = 1 / len(candidates)
    if not amounts:
        right[released] = 1 / len(candidates)
        return
    old = np.nan_to_num(np.stack([pair[0][candidates] for pair in amounts.values()], 1))
    new = np.nan_to_num(np.stack([pair[1][released] for pair in amounts.values()], 1))
    tree = cKDTree(old)
    found, _ = tree.query(new)
    place = np.searchsorted(np.sort(candidates), rows[released])
    truth = old[np.argsort(candidates)][place]
    distance = np.sqrt(((new - truth) ** 2).sum(1))
    hit = distance <= found * (1 + 1e-12)
    if hit.any():
        reach = found[hit] * (1 + 1e-12)
        ties = tree.query_ball_point(new[hit], reach, return_length=True)
        right[released[hit]] = 1 / np.maximum(ties, 1)


def attacks(before, after, rows, keys):
    """Yield what an intruder knows, right links, and certain links, in per cent."""
    categories, amounts = columns_of(before, after)
    known = {name: categories[name] for name in keys if name in categories}
    numeric = {name: amounts[name] for name in amounts}
    numeric_keys = {name: amounts[name] for name in keys if name in amounts}
    cases = {"keys": (known, numeric_keys), "all columns": (categories, numeric)}
    if amounts:
        cases["numbers"] = ({}, numeric)
        cases["keys and numbers"] = (known, numeric)
    for name in numeric:
        cases[f"{name} alone"] = ({}, {name: numeric[name]})
        cases[f"keys and {name}"] = (known, {name: numeric[name]})
    for name, case in cases.items():
        right, chance = linked(*case, rows)
        yield name, right.mean(), chance.mean(), (right == 1).mean()
    yield equal_values(before, after, rows)


def equal_values(before, after, rows):
    """Return the columns by which most records are the only ones with equal values."""
    pairs = {name: coded(before[name], after[name]) for name in after}
    best, certain = "", -1.0
    sizes = [k for k in range(1, MOST + 1) if k <= len(pairs)]
    for names in itertools.chain.from_iterable(
        itertools.combinations(pairs, k) for k in sizes
    ):
        both = np.array([np.concatenate(pairs[name]) for name in names])
        group = np.unique(both, axis=1, return_inverse=True)[1].reshape(-1)
        n = len(rows)
        count = np.bincount(group[:n], minlength=int(group.max()) + 1)
        present = (both[:, n:] >= 0).all(axis=0)
        single = present & (count[group[n:]] == 1)
        share = (single & (group[:n][rows] == group[n:])).mean()
        if share > certain:
            best, certain = " x ".join(map(str, names)), share
    return f"equal {best}", certain, 1 / len(rows), certain


def rows_of_file(original, safe, record):
    """Return a row of the table for each attack on a file."""
    record = read_record(record)
    before = frame_of(original)
    rows = rows_of(before, record)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rules = {k: v for k, v in record.settings.recodings.items() if k in before}
        before = riskcore.recode(before, rules)
    after = frame_of(safe)
    household = record.settings.household
    after = after.drop(columns=[household] if household in after else [])
    keys = [name for name in record.settings.variables if name in after]
    return [
        (Path(safe).name, name, *(f"{100 * share:.3f} %" for share in shares))
        for name, *shares in attacks(before, after, rows, keys)
    ]


def demo():
    """Return the files of the demo, made in a folder of its own."""
    folder = Path(tempfile.mkdtemp())
    file = folder / "survey.csv"
    assert cli.main(["demo", "--file", str(file), "--quiet"]) == 0
    safe = folder / "survey-safe.csv"
    return [file, safe, Path(f"{safe}.private.json")]


if __name__ == "__main__":
    paths = sys.argv[1:] or demo()
    if len(paths) % 3:
        sys.exit("give ORIGINAL SAFE RECORD for each file")
    lines = []
    for start in range(0, len(paths), 3):
        lines += rows_of_file(*paths[start : start + 3])
    head = [
        "file",
        "known to the intruder",
        "right links",
        "by chance",
        "certain links",
    ]
    print(f"`{command()}`\n\n{table(head, lines, 2)}")
