"""Local suppression: margins, cheapest plans, the heuristic of mu-Argus, demo files."""

import math
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore.core import published_forms as forms
from riskcore.core.risk.individual import individual_risk_from_frequencies
from riskcore.data.argus_recode_file import read_recoding
from riskcore.data.blank import blank
from riskcore.data.cells import tabulate
from riskcore.data.files import formats
from riskcore.data.recode_table import recode
from riskcore.protection.suppression.cheapest_blanks import (
    Margins,
    entropies,
    losses_of,
    plan,
)
from tests import needs, thin
from tests.fits import fits_of

METHODS = ["exact", "argus"]
INF = math.inf


def population(f, F):
    return 1 / f


def exact(f, F):
    return individual_risk_from_frequencies(f, np.maximum(f, F))


def series7(f, F):
    return forms.series7(f, f / np.maximum(f, F))


def franconi(f, F):
    return forms.franconi(f, f / np.maximum(f, F))


def tabulated(rows, weights=None, missing="refuse", alpha=1.0):
    data = dict(enumerate(map(list, zip(*rows, strict=True))))
    keys = list(data)
    if weights is not None:
        data["w"] = list(weights)
    return tabulate(data, keys, "w" if weights else None, missing, alpha)


def planned(rows, threshold, cost, method="exact", risk=population):
    """Plan every record; return the keys to blank of each."""
    cells = tabulated(rows)
    blank = plan(Margins(cells, risk), cells.inverse, threshold, cost, method)
    return list(map(keys_of, blank))


def keys_of(mask):
    return [i for i in range(64) if int(mask) >> i & 1]


def mask_of(keys):
    return sum(1 << i for i in keys)


def subsets(keys):
    """Return the non-empty subsets by size, then in the order of positions."""
    return [s for k in range(1, len(keys) + 1) for s in combinations(sorted(keys), k)]


# By definition: all pairs of records, all sets of keys


def margin(file, record, kept):
    """Return f and F of a record by the kept keys, comparing it with all records."""
    rows, weights, rule, _ = file
    f, F = margins_of(tuple(rows), tuple(weights), rule, tuple(kept))
    return float(f[record]), float(F[record])


@lru_cache(64)
def margins_of(rows, weights, rule, kept):
    data = dict(enumerate(zip(*rows, strict=True)))
    blanked = {i: [i not in kept] * len(rows) for i in data}
    return fits_of(data, [*data], blanked, weights, rule)[1:]


def risk_of(file, record, kept, risk):
    f, F = margin(file, record, kept)
    return float(risk(np.array([f]), np.array([F]))[0])


def total(cost, keys):
    return float(sum((Fraction(cost[i]) for i in keys), Fraction(0)))


def by_definition(file, record, threshold, cost, risk, names=None):
    """Return the cheapest keys to blank.

    With names of the keys, of equal sets the one whose categories have most records.
    """
    every = range(len(cost))
    loss, names = losses(file, record) if names else [0] * len(cost), names or every
    if risk_of(file, record, every, risk) < threshold:
        return ()
    possible = [
        i for i in every if file[0][record][i] is not None and cost[i] < math.inf
    ]
    order = sorted(
        subsets(possible),
        key=lambda s: (
            total(cost, s), len(s), total(loss, s), sorted(names[i] for i in s)
        ),
    )  # fmt: skip
    for keys in order:
        kept = [i for i in every if i not in keys]
        if risk_of(file, record, kept, risk) < threshold:
            return keys
    return tuple(possible)


def losses(file, record):
    """Return 1/n of each value of a record, n being the records that have it."""
    columns = zip(file[0][record], zip(*file[0], strict=True), strict=True)
    return [0 if v is None else 2**50 // column.count(v) for v, column in columns]


def as_argus(file, record, threshold, cost, risk):
    """Do for one record what mu-Argus does, table by table."""
    every = range(len(cost))
    present = [i for i in every if file[0][record][i] is not None]
    if risk_of(file, record, every, risk) < threshold:
        return ()
    tables = [
        set(s) for s in subsets(present) if risk_of(file, record, s, risk) >= threshold
    ]
    blanked = set()
    for table in tables:
        if len(table) == 1 and cost[min(table)] < math.inf:
            blanked |= table
    tables = [table for table in tables if not table & blanked]
    plans = []
    for cover in (cover_by_frequency, cover_by_size):
        plans.append(cover(list(tables), cost))
    first, second = (total(cost, sorted(keys)) for keys in plans)
    blanked |= plans[1] if first - second > 0.1 else plans[0]
    return tuple(sorted(blanked))


def cover_by_frequency(tables, cost):
    chosen = set()
    while True:
        best = None
        for i, price in enumerate(cost):
            times = sum(i in table for table in tables)
            if times and price < math.inf:
                better = best is None or times > best[0]
                if better or (times == best[0] and price < best[1]):
                    best = times, price, i
        if best is None:
            return chosen
        chosen.add(best[2])
        tables = [table for table in tables if best[2] not in table]


def cover_by_size(tables, cost):
    chosen = set()
    for size in range(2, len(cost) + 1):
        for table in tables:
            if len(table) == size and not table & chosen:
                cheapest = None
                for i in sorted(table):
                    if cost[i] < (math.inf if cheapest is None else cost[cheapest]):
                        cheapest = i
                if cheapest is not None:
                    chosen.add(cheapest)
    return chosen


@st.composite
def small_files(draw, rules=("category", "wildcard", "argus")):
    """Draw rows with missing keys, whole weights, a rule, and alpha in quarters."""
    m = draw(st.integers(1, 4))
    values = st.sampled_from([0, 0, 1, 1, 2, None])
    rows = draw(st.lists(st.tuples(*[values] * m), min_size=1, max_size=12))
    weights = draw(st.lists(st.integers(1, 9), min_size=len(rows), max_size=len(rows)))
    rule = draw(st.sampled_from(rules))
    quarters = st.integers(0, 4).map(lambda k: k / 4)
    return rows, weights, rule, draw(quarters) if rule == "wildcard" else 1.0


@st.composite
def tasks(draw):
    """Draw a file, thresholds and costs, one or one per record, and a risk."""
    file = draw(small_files())
    rows = file[0]
    n, m = len(rows), len(rows[0])
    # Not one over a sum of chances, which is not exact.
    levels = st.sampled_from([0.0, 0.06, 0.11, 0.21, 0.26, 0.34, 0.51, 1.0, INF])
    prices = st.lists(
        st.sampled_from([0.0, 0.1, 0.2, 0.3, 1.0, 1.0, 1.05, 2.0, INF]),
        min_size=m,
        max_size=m,
    )
    thresholds = draw(levels | st.lists(levels, min_size=n, max_size=n))
    costs = draw(prices | st.lists(prices, min_size=n, max_size=n))
    return file, thresholds, costs, draw(st.sampled_from([population, exact]))


def both_ways(task, method, definition):
    """Plan a task; return the keys of each record, and those by definition."""
    file, thresholds, costs, risk = task
    cells = tabulated(*file)
    blank = plan(Margins(cells, risk), cells.inverse, thresholds, costs, method)
    got = [tuple(keys_of(mask)) for mask in blank]
    n, m = len(file[0]), len(file[0][0])
    limits = np.broadcast_to(thresholds, n)
    prices = np.broadcast_to(costs, (n, m)).tolist()
    expected = [definition(file, i, limits[i], prices[i], risk) for i in range(n)]
    return got, expected


@pytest.mark.parametrize(
    ("method", "definition"), [("exact", by_definition), ("argus", as_argus)]
)
@thin.examples(100, thorough=300)
@given(task=tasks())
def test_plans_are_those_of_the_definition(method, definition, task):
    got, expected = both_ways(task, method, definition)
    assert got == expected


@given(tasks())
def test_no_part_of_what_is_kept_is_unsafe(task):
    (rows, weights, _, _), thresholds, costs, risk = task
    cells = tabulated(rows, weights, "wildcard")
    margins = Margins(cells, risk)
    blank = plan(margins, cells.inverse, thresholds, costs)
    limits = np.broadcast_to(thresholds, len(rows))
    for i in range(len(rows)):
        kept = [k for k in keys_of(~blank[i]) if k < len(rows[0])]
        if not margins.risk(mask_of(kept), cells.inverse[i : i + 1])[0] < limits[i]:
            continue
        for part in subsets([k for k in kept if rows[i][k] is not None]):
            risk_now = margins.risk(mask_of(part), cells.inverse[i : i + 1])
            assert risk_now[0] < limits[i]


@given(tasks())
def test_argus_is_never_cheaper(task):
    file, thresholds, costs, risk = task
    cells = tabulated(*file[:2], "wildcard")
    if np.max(risk(np.array([1.0 * cells.n]), cells.weight_sum.sum())) < np.min(
        thresholds
    ):
        margins = Margins(cells, risk)
        ours, theirs = (
            plan(margins, cells.inverse, thresholds, costs, method)
            for method in METHODS
        )
        prices = np.broadcast_to(costs, (len(ours), len(file[0][0]))).tolist()
        for one, other, price in zip(ours, theirs, prices, strict=True):
            assert total(price, keys_of(one)) <= total(price, keys_of(other))


# Ties by content


@thin.examples(100, thorough=300)
@given(tasks(), st.data())
def test_equal_costs_go_by_records_of_categories_then_by_name(task, data):
    (rows, weights, rule, alpha), thresholds, _, risk = task
    n, m = len(rows), len(rows[0])
    names = data.draw(st.permutations("abcd"[:m]))
    cost = data.draw(st.lists(st.sampled_from([1.0, 1.0, 2.0]), min_size=m, max_size=m))
    table = {key: [row[i] for row in rows] for i, key in enumerate(names)}
    cells = tabulate({**table, "w": weights}, names, "w", rule, alpha)
    found = plan(
        Margins(cells, risk), cells.inverse, thresholds, cost, losses=losses_of(cells)
    )
    limits = np.broadcast_to(thresholds, n)
    file = (rows, weights, rule, alpha)
    for i in range(n):
        keys = by_definition(file, i, limits[i], cost, risk, names)
        assert tuple(keys_of(found[i])) == keys


@given(tasks(), st.sampled_from(METHODS), st.data())
def test_with_losses_the_order_of_the_keys_does_not_matter(task, method, data):
    (rows, weights, rule, alpha), thresholds, _, risk = task
    names = list("abcd"[: len(rows[0])])
    table = {key: [row[i] for row in rows] for i, key in enumerate(names)}
    blanked = []
    for keys in (names, data.draw(st.permutations(names))):
        cells = tabulate({**table, "w": weights}, keys, "w", rule, alpha)
        found = plan(
            Margins(cells, risk), cells.inverse, thresholds, np.ones(len(keys)), method,
            losses=losses_of(cells),
        )  # fmt: skip
        blanked.append([{keys[i] for i in keys_of(mask)} for mask in found])
    assert blanked[0] == blanked[1]


@pytest.mark.parametrize("method", METHODS)
def test_the_commonest_category_goes_first(method):
    # Alone by keys 0 and 1 together: of the first record key 1 has the commoner value.
    rows = [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 1), (3, 2), (2, 2)]
    cells = tabulated(rows)
    margins = Margins(cells, population)
    found = plan(margins, cells.inverse, 0.7, [1, 1], method, losses=losses_of(cells))
    assert list(map(keys_of, found)) == [[1], [1], [1], [], [], [], [1], []]
    # By position key 0 goes.
    found = plan(margins, cells.inverse, 0.7, [1, 1], method)
    assert list(map(keys_of, found)) == [[0], [0], [0], [], [], [], [0], []]
    # What costs nothing, such as a value that is blanked already, loses nothing.
    found = plan(margins, cells.inverse, 0.7, [0, 0], method, losses=losses_of(cells))
    assert list(map(keys_of, found)) == [[0], [0], [0], [], [], [], [0], []]


def test_losses_are_the_shares_of_categories():
    cells = tabulated([("a", 1), ("a", 2), ("b", None), ("a", 2)], missing="wildcard")
    third, one = 2**50 // 3, 2**50
    first, second = losses_of(cells)
    assert first.tolist() == [third, one, 0]
    assert second.tolist() == [one, one // 2, 0, 0]


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=80), st.randoms())
def test_entropies_are_the_same_bits_in_any_order(values, random):
    n = len(values)
    other = [random.choice("xyz") for _ in values]
    new = dict(zip("abcdefgh", random.sample(range(8), 8), strict=True))
    order = random.sample(range(n), n)
    data = {"k": values, "o": other}
    renamed = {"k": [new[values[i]] for i in order], "o": [other[i] for i in order]}
    first = entropies(tabulate(data, ["k", "o"]))
    then = entropies(tabulate(renamed, ["o", "k"]))
    assert first.tolist() == then[::-1].tolist()


# Margins


@given(small_files())
def test_margins_are_the_brute_force(file):
    cells = tabulated(*file)
    every = range(len(file[0][0]))
    of_f = Margins(cells, lambda f, F: f)
    of_F = Margins(cells, lambda f, F: F)
    for kept in [(), *subsets(every)]:
        expected = [margin(file, i, kept) for i in range(cells.n)]
        f = of_f.risk(mask_of(kept), cells.inverse)
        F = of_F.risk(mask_of(kept), cells.inverse)
        assert np.stack([f, F], axis=1) == pytest.approx(np.array(expected), rel=1e-12)


def test_present_keys():
    cells = tabulated([(1, 2), (None, 2), (None, None)], missing="category")
    margins = Margins(cells, population)
    assert margins.present(cells.inverse).tolist() == [0b11, 0b10, 0]
    assert Margins(tabulated([(1, 2)]), population).present([0]).tolist() == [0b11]


def test_only_what_is_asked_for_is_computed():
    asked = []

    def risk(f, F):
        asked.append(len(f))
        return 1 / f

    rows = [(1, 1, 1)] * 2 + [(i % 7, i % 5, 2) for i in range(35)] * 3
    cells = tabulated(rows)
    margins = Margins(cells, risk)
    unsafe = cells.inverse[:2]
    found = plan(margins, unsafe, 0.4, [1.0, 2.0, 3.0])
    assert list(map(keys_of, found)) == [[2], [2]]
    # One combination, with all keys, with none, and without key 0, 1 and 2 in turn.
    assert asked == [1] * 5


@pytest.mark.parametrize(
    ("risk", "most", "step"),
    [(exact, 60, 1), (series7, 60, 1), (franconi, 60, 1), (exact, 12, 0.25)],
)
def test_the_risks_do_not_rise_when_f_and_F_grow(risk, most, step):
    f = np.arange(1.0, most, step)[:, None]
    F = f + np.concatenate([np.arange(0.0, 300), 2.0 ** np.arange(9, 40)])
    r = risk(f, F)
    assert np.all(np.diff(r, axis=1) <= 0)
    assert np.all(risk(f + step, np.maximum(F, f + step)) <= r)


# Choices


# By keys 0 and 1, and by 0 and 2, the first record is alone.
CORNER = [(1, 1, 1), (2, 1, 1), (1, 2, 2)]


@pytest.mark.parametrize(
    ("cost", "ours", "theirs"),
    [
        ([1, 1, 1], [0], [0]),
        ([10, 1, 1], [1, 2], [1, 2]),
        # By less than 0.1 mu-Argus does not change its plan.
        ([2.05, 1, 1], [1, 2], [0]),
        # Equal costs: fewest keys.
        ([2, 1, 1], [0], [0]),
        ([INF, 1, 1], [1, 2], [1, 2]),
        ([0, 0, 0], [0], [0]),
    ],
)
def test_costs_decide(cost, ours, theirs):
    for method, keys in zip(METHODS, (ours, theirs), strict=True):
        assert planned(CORNER, 1.0, cost, method)[0] == keys


@pytest.mark.parametrize("method", METHODS)
def test_ties_go_to_the_first_keys(method):
    # Alone by all four keys, never by fewer.
    rows = [(1, 1, 1, 1), (2, 1, 1, 1), (1, 2, 1, 1), (1, 1, 2, 1), (1, 1, 1, 2)]
    assert planned(rows, 1.0, [1, 1, 1, 1], method)[0] == [0]
    assert planned(rows, 1.0, [2, 1, 3, 1], method)[0] == [1]
    assert planned(rows, 1.0, [INF, 3, 1, 1], method)[0] == [2]


@pytest.mark.parametrize("method", METHODS)
def test_costs_of_each_unit(method):
    rows = [(1, 1), (1, 2), (2, 1), (2, 2)] * 2 + [(3, 3)]
    cells = tabulated(rows)
    cost = np.where(np.arange(9)[:, None] % 2, [1.0, 2.0], [2.0, 1.0])
    threshold = np.where(np.arange(9) < 4, 0.5, 0.4)
    blank = plan(Margins(cells, population), cells.inverse, threshold, cost, method)
    expected = [[1], [0], [1], [0], [1], [0], [1], [0], [0, 1]]
    assert list(map(keys_of, blank)) == expected


def test_costs_are_rounded_once():
    # Equal costs of key 3 and of the others; added one by one the others are 1.
    rows = [(1, 1, 1, 1), (1, 1, 1, 2), (2, 2, 2, 1)]
    cost = [1.0, 2.0**-53, 2.0**-53, 1 + 2.0**-52]
    assert planned(rows, 1.0, cost)[0] == [3]


@pytest.mark.parametrize("method", METHODS)
def test_what_cannot_be_made_safe_loses_all_that_may_be_blanked(method):
    rows = [(1, 1, 1), (2, 2, 2), (2, 2, 2)]
    cost = [1.0, INF, 2.0]
    assert planned(rows, 0.9, cost, method) == [[0, 2], [], []]
    assert planned(rows, 0.9, [INF, INF, INF], method)[0] == []


def test_missing_keys_are_not_blanked_again():
    rows = [(1, None, 5)] * 2 + [(2, 2, 6)] * 4
    cells = tabulated(rows, missing="wildcard")
    blank = plan(Margins(cells, population), cells.inverse, 0.3, [1.0, 0.0, 1.0])
    assert list(map(keys_of, blank)) == [[0, 2]] * 2 + [[]] * 4


@pytest.mark.parametrize("method", METHODS)
def test_nothing_to_do(method):
    lines = []
    cells = tabulated([(1, 1), (2, 2)])
    for units in (cells.inverse, cells.inverse[:0]):
        margins = Margins(cells, population)
        blank = plan(margins, units, INF, [1, 1], method, lines.append)
        assert blank.tolist() == [0] * len(units)
        assert blank.dtype == np.uint64
    assert lines == []


@pytest.mark.parametrize(
    ("method", "steps"),
    [
        ("exact", ["blanking 1 of 2 keys: 2 units"]),
        ("argus", ["combinations of 2 of 2 keys", "combinations of 1 of 2 keys"]),
    ],
)
def test_progress(method, steps):
    cells = tabulated([(1, 1), (2, 2), (1, 1)])
    lines = []
    plan(Margins(cells, exact), cells.inverse, 0.5, [1, 1], method, lines.append)
    assert lines == ["suppression for 3 unsafe units, 2 of them distinct", *steps]


def test_costs_that_overflow_are_refused():
    cells = tabulated([(1, 1), (2, 2)])
    with pytest.raises(ValueError, match="cost: the sum over the keys overflows"):
        plan(Margins(cells, population), cells.inverse, 0.5, [1.7e308, 1.7e308])


def test_a_risk_that_is_no_number_is_refused():
    cells = tabulated([(1, 1), (2, 2), (2, 1)])
    margins = Margins(cells, lambda f, F: np.where(f > 1, np.nan, 1.0))
    with pytest.raises(ValueError, match=r"keys \[1\]: 1 combinations have risk nan"):
        margins.risk(0b10, cells.inverse)


@pytest.mark.parametrize(("method", "most"), [("exact", 16), ("argus", 10)])
def test_too_many_keys(method, most):
    for m in (most, most + 1):
        cells = tabulated([(1,) * m] * 3 + [(2,) + (1,) * (m - 1)])
        margins = Margins(cells, population)
        if m > most:
            with pytest.raises(ValueError, match=f"{m} keys: .* at most {most}$"):
                plan(margins, cells.inverse, 0.5, [1] * m, method)
        else:
            found = plan(margins, cells.inverse, 0.5, [1] * m, method)
            assert list(map(keys_of, found)) == [[]] * 3 + [[0]]


# Entropies


def test_entropies():
    rows = [(1, "a", None), (2, "a", None), (3, "b", None), (4, None, None)]
    cells = tabulated(rows, missing="category")
    expected = [2.0, math.log2(3) - 2 / 3, 0.0]
    assert entropies(cells) == pytest.approx(expected, rel=1e-15)


@given(st.lists(st.integers(0, 5), min_size=1))
def test_entropies_are_those_of_the_frequencies(codes):
    n = len(codes)
    sizes = [codes.count(c) for c in set(codes)]
    H = math.log2(n) - sum(k * math.log2(k) for k in sizes) / n
    bits = entropies(tabulated([(c,) for c in codes]))
    assert bits[0] == pytest.approx(H, abs=1e-13)


# Households


def test_blanking_in_the_whole_household_may_cost_more_than_two_other_keys():
    cells = tabulated(CORNER)
    cost = [[3, 2, 2], [6, 2, 2], [3, 2, 2]]
    units = cells.inverse[[0, 0, 0]]
    blank = plan(Margins(cells, population), units, 1.0, cost)
    assert list(map(keys_of, blank)) == [[0], [1, 2], [0]]


# The demo file of mu-Argus

KEYS = ["REGION", "SEX", "AGE", "MARSTAT"]
THRESHOLD = 0.00125


@pytest.fixture(scope="module")
def demo():
    """Return the demo file as it is, and recoded as in 2004."""
    data = formats.read(needs.DEMODATA / "Demodata.asc")
    grc = {"REGION": "Region.grc", "AGE": "Age.grc"}
    rules = {name: read_recoding(needs.DEMODATA / file) for name, file in grc.items()}
    return {"raw": data, "recoded": recode(data, rules)}


def suppressed(data, risk, method, equal):
    """Return the plan for every record, as masks by key."""
    cells = tabulate(data, KEYS, "WEIGHT")
    cost = np.full(4, 50.0) if equal else entropies(cells)
    blank = plan(Margins(cells, risk), cells.inverse, THRESHOLD, cost, method)
    return {key: blank >> np.uint64(i) & 1 == 1 for i, key in enumerate(KEYS)}


@needs.demodata
@pytest.mark.parametrize(
    ("file", "risk", "method", "equal", "numbers"),
    [
        # As printed in CASC (2004) 1.2-D3, section 7.
        ("recoded", series7, "exact", True, [375, 0, 11, 7]),
        ("recoded", series7, "argus", True, [375, 0, 11, 7]),
        ("recoded", exact, "exact", True, [379, 0, 11, 7]),
        ("recoded", series7, "exact", False, [0, 146, 0, 247]),
        ("recoded", series7, "argus", False, [0, 146, 0, 247]),
        ("raw", series7, "exact", True, [3840, 88, 231, 2]),
        ("raw", series7, "argus", True, [3840, 88, 230, 3]),
        ("raw", series7, "exact", False, [950, 290, 2756, 278]),
        ("raw", series7, "argus", False, [950, 290, 2756, 278]),
    ],
)
def test_suppressions_of_demodata(demo, file, risk, method, equal, numbers):
    masks = suppressed(demo[file], risk, method, equal)
    assert [mask.sum() for mask in masks.values()] == numbers


@needs.demodata
def test_entropies_of_demodata(demo):
    bits = entropies(tabulate(demo["recoded"], KEYS))
    assert bits.round(4).tolist() == [4.0654, 0.9997, 2.5202, 1.3106]


@needs.demodata
@pytest.mark.parametrize(
    ("equal", "missing", "rate", "most", "unsafe"),
    [
        (True, "wildcard", "0.00027218", "0.0012359", 0),
        (True, "category", "0.00042311", "0.0422984", 26),
        (False, "wildcard", "0.00031531", "0.0012230", 0),
        (False, "category", "0.00090950", "0.0422984", 250),
    ],
)
def test_demodata_after_suppression(demo, equal, missing, rate, most, unsafe):
    data = demo["recoded"]
    masks = suppressed(data, series7, "exact", equal)
    after = tabulate(blank(data, masks), KEYS, "WEIGHT", missing)
    risk = series7(after.sample_frequency, after.population_frequency)
    assert f"{(risk * after.records).sum() / after.n:.8f}" == rate
    assert f"{risk.max():.7f}" == most
    assert after.records[risk >= THRESHOLD].sum() == unsafe
