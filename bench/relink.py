"""Attack released files: how many records find their original again?

    python -m bench.relink ORIGINAL SAFE RECORD ...    three paths for each file
    python -m bench.relink                             the files of README and tutorials

The intruder has the whole original, a stronger case than any real one, and knows the
rules of recoding. He links a released record to the originals that agree in the columns
he knows, where a blank matches anything, and takes the nearest by the numbers, each
over its standard deviation. Of m originals that are equally near each is right with
probability 1/m. Chance is a random pick among those that agree in the categories.

A column that is text or has at most 50 values is a category, any other a number. This
attack is written apart from `riskcore.numeric_risk`, on pandas and SciPy.

Where a file shows who lives together, households are attacked as well: by the columns
that members share, and by the keys of all members together.
"""

import contextlib
import itertools
import sys
import tempfile
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.spatial import cKDTree

import riskcore
from bench._common import HERE, origin, replace, table
from riskcore.data.columns import Records, household_codes
from riskcore.data.files import formats
from riskcore.protection.release.record import read_record
from riskcore.protection.release.secret import random_order
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
    "notes/tutorials/case_study_puf.md": [
        (
            "puf.dta",
            *("prepared.dta", "homes.dta", "base.dta", "base-homes.dta", "persons.dta"),
        )
    ],
}
# Inputs that a program of the page made from the output of a pass.
PASSES = {"base.dta": "suf.dta"}


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
        recoded = set()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for record in self.records():
                rules = record.settings.recodings.items()
                rules = {name: rule for name, rule in rules if name in before}
                before = riskcore.recode(before, rules)
                recoded |= set(rules)
        return before, in_words(before, after, self.safe, recoded)

    def known(self):
        """Return the key variables of all passes."""
        names = (record.settings.variables for record in self.records())
        return tuple(dict.fromkeys(itertools.chain.from_iterable(names)))

    def household(self):
        """Return the column of household ids, None without one."""
        found = [record.settings.household for record in self.records()]
        return next((name for name in found if name is not None), None)


def in_words(before, after, path, recoded):
    """Return a safe file with the labels of recoded columns whose categories are words.

    Files of SPSS and Stata have a number and a label for a category such as "< 15".
    """
    labels = labels_of(path)
    shown = {}
    for name in recoded:
        if name not in after or name not in labels or numbers(before[name]) is not None:
            continue
        words = set(as_labels(before[name]).dropna())
        of_code = {code: one for code, one in labels[name].items() if one in words}
        shown[name] = as_labels(after[name]).replace(of_code)
        assert set(shown[name].dropna()) <= words, name
    return after.assign(**shown)


def labels_of(path):
    """Return the labels of codes by column, those of SPSS and Stata files."""
    import pyreadstat

    readers = {".sav": pyreadstat.read_sav, ".dta": pyreadstat.read_dta}
    if Path(path).suffix not in readers:
        return {}
    _, found = readers[Path(path).suffix](str(path), metadataonly=True)
    return {
        name: dict(
            zip(as_labels(pandas.Series([*labels])), labels.values(), strict=True)
        )
        for name, labels in found.variable_value_labels.items()
    }


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


def composition(before, after, original, released, keys):
    """Return right links by the keys of all members, and by the size alone.

    ``original`` and ``released`` are the households of records, and the released
    household h is the original household h. A blank matches anything, and members may
    be matched in any order.
    """
    codes = [coded(before[name], after[name]) for name in keys]
    old = np.array([pair[0] for pair in codes]).T
    new = np.array([pair[1] for pair in codes]).T
    mine = members_of(original), members_of(released)
    sizes = np.array([len(one) for one in mine[0]])
    right, chance = np.zeros(len(sizes)), np.zeros(len(sizes))
    for size in np.unique(sizes):
        homes = np.flatnonzero(sizes == size)
        people = np.array([old[mine[0][home]] for home in homes])
        for at, home in enumerate(homes):
            alike = compatible(people, new[mine[1][home]])
            found = alike.any(1).all(1) & alike.any(2).all(1)
            assert found[at]
            right[home] = 1 / sum(map(matches, alike[found]))
            chance[home] = 1 / len(homes)
    return right, chance


def members_of(household):
    """Return the records of each household."""
    order = np.argsort(household, kind="stable")
    return np.split(order, np.cumsum(np.bincount(household))[:-1])


def compatible(people, released):
    """Return whether members may be the same, shape (households, size, size)."""
    alike = np.ones((len(people), people.shape[1], len(released)), bool)
    for k in range(people.shape[2]):
        known = released[:, k]
        alike &= (people[:, :, k, None] == known) | (known < 0)
    return alike


def matches(alike):
    """Return whether each released member has a member of its own."""
    return bool((maximum_bipartite_matching(csr_matrix(alike)) >= 0).all())


def household_attacks(before, after, rows, keys, household):
    """Yield the attacks on households whose members stand together."""
    original = pandas.factorize(before[household])[0]
    released = original[rows]
    first = np.unique(original, return_index=True)[1]
    mine = np.unique(released, return_index=True)[1]
    rest = after.drop(columns=household)
    shared = [name for name in rest if rest[name].groupby(released).nunique().max() < 2]
    homes = rest[shared].iloc[mine], before[shared].iloc[first]
    theirs = [name for name in keys if name in shared]
    whole = np.arange(len(first))
    for name, *shares in attacks(homes[1], homes[0], whole, theirs):
        yield f"households: {name}", *shares
    right, chance = composition(before, after, original, released, keys)
    yield (
        "households: keys of all members",
        right.mean(),
        chance.mean(),
        (right == 1).mean(),
    )


def rows_of_file(released, label=""):
    """Return a row of the table for each attack on a file."""
    (before, after), rows = released.frames(), released.rows()
    household = released.household()
    keys = [name for name in released.known() if name in after]
    rest = after.drop(columns=[household] if household in after else [])
    found = list(attacks(before, rest, rows, keys))
    if household in after:
        found += household_attacks(before, after, rows, keys, household)
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
    # A program of the page may stand between two passes.
    records = [Path(f"{PASSES.get(name, name)}.private.json") for name in outputs]
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
            link = page.removeprefix("notes/") if "/" in page else None
            for safe, *sources in files:
                label, released = of_page(link, safe, *sources)
                rows += main_rows(rows_of_file(released, label))
    return rows


def main_rows(rows):
    """Return the rows for a page: of single numbers only the worst."""
    single = [row for row in rows if row[1].endswith(" alone")]
    single += [row for row in rows if " keys and " in f" {row[1]}"]
    single = [row for row in single if not row[1].endswith("keys and numbers")]
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
        replace(HERE.parent / "notes" / "attacks.md", "relink", text)
