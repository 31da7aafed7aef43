"""Attack released files: how many records find their original again?

    python -m bench.relink ORIGINAL SAFE RECORD ...    three paths for each file
    python -m bench.relink                             the files of README and tutorials

The intruder has the whole original, a stronger case than any real one, and knows the
rules of recoding. He links a released record to the originals that agree in the columns
he knows, where a blank matches anything, and takes the nearest by the numbers, each
over its standard deviation. Of m originals that are equally near each is right with
probability 1/m. Chance is a random pick among those that agree in the categories.

A column that is text or has at most 50 values is a category, any other a number. This
attack is written apart from `riskcore.disclosure`, on pandas and SciPy.

Besides the columns he may know (keys, numbers, all), the few columns are shown that
find most: with the nearest number, and with equal values. Households are attacked by
equal values, and by the keys of all members: in a file without household ids, the
members are among the records that agree in whatever members share, blanks included.
"""

import contextlib
import itertools
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.spatial import cKDTree

from bench._common import RESULTS, origin, replace, table
from riskcore.data.columns import Records, household_codes
from riskcore.data.files import formats
from riskcore.protection.release.record import read_record
from riskcore.protection.secret import random_order
from tests.test_docs import Folder, blocks

CATEGORIES = 50
# Sets of columns that are tried: each, each pair, each triple, and all.
MOST = 3
# The safe files of each page, and the inputs of the passes that made them.
FILES = {
    "README.md": [
        ("riskcore-demo-safe.csv", "riskcore-demo.csv"),
        ("survey-safe.csv", "riskcore-demo.csv"),
    ],
    "notes/tutorials/first_protected_file.md": [("survey-safe.csv", "survey.csv")],
    "notes/tutorials/case_study_suf.md": [("suf.dta", "prepared.dta", "homes.dta")],
}


def frame_of(path):
    """Return a file as a frame."""
    data = formats.read(path)
    return data.to_pandas() if hasattr(data, "to_pandas") else pandas.DataFrame(data)


class Released(NamedTuple):
    """A released file and how it was made."""

    original: Path
    safe: Path
    passes: tuple  # input and record of each protection, one after the other

    def records(self):
        """Return the record of each pass."""
        return [read_record(record) for _, record in self.passes]

    def rows(self):
        """Return the row of the original of each released record."""
        rows = None
        for (source, _), record in zip(self.passes, self.records(), strict=True):
            order = order_of(frame_of(source), record)
            rows = order if rows is None else rows[order]
        return rows

    def frames(self):
        """Return the original in the categories of the safe file, and the safe file."""
        before, after = frame_of(self.original), frame_of(self.safe)
        names = {
            name for record in self.records() for name in record.settings.recodings
        }
        return recoded(before, after, self.rows(), names & set(after)), after

    def known(self):
        """Return the key variables of all passes."""
        names = (record.settings.variables for record in self.records())
        return tuple(dict.fromkeys(itertools.chain.from_iterable(names)))

    def household(self):
        """Return the column of household ids, None without one."""
        found = [record.settings.household for record in self.records()]
        return next((name for name in found if name is not None), None)


def recoded(before, after, rows, names):
    """Return the original with the codes of the safe file in some columns.

    A recoding gives equal values the same code, which the released records show.
    """
    before = before.copy()
    for name in names:
        seen = pandas.DataFrame(
            {"old": before[name].iloc[rows].array, "new": after[name]}
        )
        code = seen.dropna().groupby("old")["new"].agg(lambda new: new.mode()[0])
        before[name] = before[name].map(code)
    return before


def order_of(original, record):
    """Return the row of its input of each record of a protection."""
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
    as_text = [as_labels(column) for column in (before, after)]
    labels = pandas.Index(pandas.concat(as_text).dropna().unique())
    return [labels.get_indexer(column) for column in as_text]


def as_labels(column):
    """Return the text of each value; whole numbers have no decimals."""
    if pandas.api.types.is_float_dtype(column):
        column = column.map(lambda x: f"{x:.15g}", na_action="ignore")
    return column.astype("string")


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
    """Yield what an intruder knows, right links, by chance, and certain links."""
    categories, amounts = columns_of(before, after)
    known = {name: categories[name] for name in keys if name in categories}
    numeric_keys = {name: amounts[name] for name in keys if name in amounts}
    cases = {"keys": (known, numeric_keys), "all columns": (categories, amounts)}
    if amounts:
        cases["numbers"] = ({}, amounts)
        cases["keys and numbers"] = (known, amounts)
    for name in amounts:
        cases[f"keys and {name}"] = (known, {name: amounts[name]})
    for name, case in cases.items():
        yield name, *shares(*linked(*case, rows))
    if amounts:
        yield nearest_values(categories, amounts, rows)


def shares(right, chance):
    """Return the shares of right links, of links by chance, and of certain links."""
    return right.mean(), chance.mean(), (right == 1).mean()


def sets_of(names):
    """Return each set of at most three columns."""
    sizes = range(1, MOST + 1)
    return itertools.chain.from_iterable(
        itertools.combinations(names, size) for size in sizes
    )


def nearest_values(categories, amounts, rows):
    """Return the few columns, numbers among them, that find most beyond chance."""
    best, found = "", (-1.0, 0.0, 0.0)
    for names in sets_of([*categories, *amounts]):
        numeric = {name: amounts[name] for name in names if name in amounts}
        if not numeric:
            continue
        equal = {name: categories[name] for name in names if name in categories}
        tried = shares(*linked(equal, numeric, rows))
        if tried[0] - tried[1] > found[0] - found[1]:
            best, found = " x ".join(map(str, names)), tried
    return f"nearest {best}", *found


def equal_values(before, after, rows, unit=None):
    """Return the columns by which most records are the only ones with equal values.

    With units, such as households, the records of one unit count as one.
    """
    n = len(rows)
    unit = np.arange(n) if unit is None else unit
    pairs = {name: coded(before[name], after[name]) for name in after}
    best, certain = "", -1.0
    for names in sets_of(pairs):
        both = np.array([np.concatenate(pairs[name]) for name in names])
        group = np.unique(both, axis=1, return_inverse=True)[1].reshape(-1)
        cell = np.unique(np.stack([group[:n], unit]), axis=1)[0]
        count = np.bincount(cell, minlength=int(group.max()) + 1)
        present = (both[:, n:] >= 0).all(axis=0)
        single = present & (count[group[n:]] == 1)
        share = (single & (group[:n][rows] == group[n:])).mean()
        if share > certain:
            best, certain = " x ".join(map(str, names)), share
    return f"equal {best}", certain, 1 / len(np.unique(unit)), certain


def facts_of_households(before, after, home, rows):
    """Return codes of what the members of each household share in the released file.

    These are the values of a column, or where it has blanks, if not the values.
    """
    codes = {}
    for name in after:
        if spread(before[name], home):
            continue
        for said in (after[name], after[name].isna()):
            if not spread(said, home[rows]):
                codes[name] = pandas.factorize(said, use_na_sentinel=False)[0]
                break
    return {name: code for name, code in codes.items() if code.any()}


def spread(column, home):
    """Return whether the members of a household differ in a column."""
    codes = pandas.factorize(column, use_na_sentinel=False)[0]
    return pandas.Series(codes).groupby(home).nunique().max() > 1


def together(before, after, rows, keys, home, groups):
    """Return right links by the keys of all members, and by the keys of one.

    The members of a household are in one group of released records, which agree in what
    members share. A record can be a person only if each member of that person's
    household can be another record of the group. A blank matches anything.
    """
    codes = [coded(before[name], after[name]) for name in keys]
    old, new = (np.array(pair).T for pair in zip(*codes, strict=True))
    right, chance = np.zeros(len(rows)), np.zeros(len(rows))
    members = members_of(home)
    for group in members_of(groups):
        alike = compatible(old, new[group])
        absent = np.bincount(home[~alike.any(1)], minlength=len(members))
        homes = np.flatnonzero(absent == 0)
        homes = [at for at in homes if each_has_one(alike[members[at]])]
        possible = np.isin(home, homes)
        own = alike[rows[group], np.arange(len(group))]
        chance[group] = own / np.maximum(alike.sum(0), 1)
        own &= possible[rows[group]]
        right[group] = own / np.maximum(alike[possible].sum(0), 1)
    return right, chance


def members_of(household):
    """Return the records of each household."""
    order = np.argsort(household, kind="stable")
    return np.split(order, np.cumsum(np.bincount(household))[:-1])


def compatible(people, released):
    """Return whether people may be released records, shape (people, records)."""
    alike = np.ones((len(people), len(released)), bool)
    for k in range(people.shape[1]):
        known = released[:, k]
        alike &= (people[:, k, None] == known) | (known < 0)
    return alike


def each_has_one(alike):
    """Return whether each member can have a record of its own."""
    matched = maximum_bipartite_matching(csr_matrix(alike), perm_type="column")
    return bool((matched >= 0).all())


def household_attacks(before, after, rows, keys, household):
    """Yield the attacks that use who lives together."""
    home = pandas.factorize(before[household])[0]
    rest = after.drop(columns=[household], errors="ignore")
    name, *found = equal_values(before, rest, rows, home)
    yield f"household by {name}", *found
    if household in after:
        facts = {household: pandas.factorize(after[household])[0]}
    else:
        facts = facts_of_households(before, rest, home, rows)
    groups = np.unique([*facts.values()], axis=1, return_inverse=True)[1].reshape(-1)
    true = [name for name in keys if kept(before[name], after[name], rows)]
    found = together(before, after, rows, true, home, groups)
    yield f"keys of all members, together by {' x '.join(facts)}", *shares(*found)
    size = np.bincount(home)
    chance = (size * (size - 1)).sum() / (len(rows) * (len(rows) - 1))
    beside = home[rows][1:] == home[rows][:-1]
    yield "order: the next record is of the household", beside.mean(), chance, 0.0


def kept(before, after, rows):
    """Return whether a column has no other values than the original, but for blanks."""
    old, new = coded(before, after)
    return bool(((new < 0) | (old[rows] == new)).all())


def rows_of_file(released, label=""):
    """Return a row of the table for each attack on a file."""
    (before, after), rows = released.frames(), released.rows()
    household = released.household()
    keys = [name for name in released.known() if name in after]
    rest = after.drop(columns=[household] if household in after else [])
    found = [*attacks(before, rest, rows, keys), equal_values(before, rest, rows)]
    if household is not None:
        found += household_attacks(before, after, rows, keys, household)
    same = (rows == np.arange(len(rows))).mean()
    found.append(("order: the same place", same, 1 / len(rows), same))
    return [
        (
            label or released.safe.name,
            name,
            *(f"{100 * share:.2f} %" for share in (right, chance)),
            f"{100 * (right - chance):.2f} %",
            f"{100 * certain:.2f} %",
        )
        for name, right, chance, certain in found
    ]


def of_page(page, safe, *sources):
    """Return a file of a page, whose blocks were run here; each source is an input."""
    outputs = [*sources[1:], safe]
    records = [Path(f"{name}.private.json") for name in outputs]
    passes = tuple(zip(map(Path, sources), records, strict=True))
    label = f"[{safe}]({page})" if page else f"{safe} of the README"
    return label, Released(Path(sources[0]), Path(safe), passes)


def files_of_pages():
    """Return rows for each file that README and the tutorials write."""
    rows = []
    for page, files in FILES.items():
        folder = Folder(page)
        with contextlib.chdir(tempfile.mkdtemp()):
            for block in blocks(page):
                folder.run(block)
            folder.finish()
            link = f"../../{page}" if "/" in page else None
            for safe, *sources in files:
                label, released = of_page(link, safe, *sources)
                rows += main_rows(rows_of_file(released, label))
    return rows


def main_rows(rows):
    """Return the rows for a page: of single numbers only the worst."""
    single = [row for row in rows if row[1].startswith("keys and ")]
    single = [row for row in single if row[1] != "keys and numbers"]
    worst = max(single, key=lambda row: float(row[4].split()[0]), default=None)
    return [row for row in rows if row not in single or row is worst]


if __name__ == "__main__":
    paths = [Path(path).resolve() for path in sys.argv[1:]]
    if len(paths) % 3:
        sys.exit("give ORIGINAL SAFE RECORD for each file")
    head = ["file", "known to the intruder", "right", "by chance", "beyond", "certain"]
    if paths:
        lines = []
        for start in range(0, len(paths), 3):
            original, safe, record = paths[start : start + 3]
            lines += rows_of_file(Released(original, safe, ((original, record),)))
        print(table(head, lines, 2))
    else:
        text = f"{origin('numpy', 'scipy')}\n\n{table(head, files_of_pages(), 2)}"
        print(text)
        replace(RESULTS / "attacks.md", "relink", text)
