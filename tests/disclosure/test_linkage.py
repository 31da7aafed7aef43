"""Linkage against all pairs in plain Python, and against files of known truth."""

import json
import math
from collections import Counter
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore.disclosure import compared_records, patterns
from riskcore.disclosure.compared_records import Compared
from riskcore.disclosure.fellegi_sunter import EQUAL, PRIOR, UNIT
from riskcore.disclosure.linkage import link
from riskcore.disclosure.shared_columns import SharedColumn
from riskcore.disclosure.strangers import right_beyond
from tests.thin import examples


def columns(files, keys):
    """Return keys and numbers of files of rows; None is missing."""
    shared, numbers = [], []
    for j in range(len(files[0][0])):
        values = [[row[j] for row in rows] for rows in files]
        if j < keys:
            most = 1 + max(
                (x for one in values for x in one if x is not None), default=0
            )
            codes = [[most if x is None else x for x in one] for one in values]
            codes = tuple(np.array(one, np.uint32) for one in codes)
            shared.append(SharedColumn(codes, most + 1))
        else:
            numbers.append(tuple(np.array(one, float) for one in values))
    return shared, numbers


# --- the oracle: all pairs, in plain Python ----------------------------------------


def levels_of(files, keys):
    """Return a function of two values of a column: 0 equal, 1 near, 2 different."""
    J = len(files[0][0])
    everything = [
        sorted(row[j] for rows in files for row in rows if row[j] is not None)
        for j in range(J)
    ]

    def middle(j, x):  # twice the mid-rank
        return sum(y < x for y in everything[j]) + sum(y <= x for y in everything[j])

    def level(j, x, y):
        if x is None or y is None:
            return None
        if x == y:
            return 0
        if j < keys:
            return 2
        most = 2 * 0.05 * len(everything[j])
        return 1 if abs(middle(j, x) - middle(j, y)) <= most else 2

    return level


def fellegi_sunter(original, released, level):
    """Return u, m, the share with an original and the mean best chance, by EM."""
    n, J = len(original), len(original[0])
    agree = [
        [tuple(level(j, b[j], a[j]) for j in range(J)) for a in original]
        for b in released
    ]
    count = [Counter(g[j] for row in agree for g in row) for j in range(J)]
    there = [sum(c[v] for v in range(3)) for c in count]
    u = [
        [c[v] / t if t else 0.0 for v in range(3)]
        for c, t in zip(count, there, strict=True)
    ]
    rest = (1 - EQUAL) / 2
    start = []
    for row in u:
        one = [x if y else 0.0 for x, y in zip((EQUAL, rest, rest), row, strict=True)]
        start.append([x / (sum(one) or 1.0) for x in one])
    m, share = start, 0.5

    def chances(row):
        ratio = [
            math.prod(
                m[j][v] / u[j][v] for j, v in enumerate(g) if v is not None and u[j][v]
            )
            for g in row
        ]
        below = 1 - share + share * math.fsum(ratio) / n
        return [share / n * r / below for r in ratio]

    for _ in range(2000):
        linked = [chances(row) for row in agree]
        newly = []
        for j in range(J):
            seen = [0.0, 0.0, 0.0]
            for row, chance in zip(agree, linked, strict=True):
                for g, c in zip(row, chance, strict=True):
                    if g[j] is not None:
                        seen[g[j]] += c
            whole = sum(seen) + PRIOR
            newly.append(
                [
                    (s + PRIOR * p) / whole if x else 0.0
                    for s, p, x in zip(seen, start[j], u[j], strict=True)
                ]
            )
        found = math.fsum(map(math.fsum, linked)) / len(released)
        pairs = zip(chain(*m), chain(*newly), strict=True)
        change = max(abs(found - share), *(abs(x - y) for x, y in pairs))
        m, share = newly, found
        if change <= 1e-5:
            break
    return u, m, share, math.fsum(max(chances(row)) for row in agree) / len(released)


def weights(u, m):
    return [
        [round(UNIT * math.log2(y / x)) if x else 0 for x, y in zip(*two, strict=True)]
        for two in zip(u, m, strict=True)
    ]


def by_all_pairs(score, people, original, released, own):
    """Return the expected right links and those to the original."""
    right, to_original = [], []
    for b, person in zip(released, own, strict=True):
        scores = [score(b, a) for a in people]
        best = [i for i, s in enumerate(scores) if s == max(scores)]
        to_original.append(sum(i < original for i in best) / len(best))
        right.append((person in best) / len(best))
    return math.fsum(right), math.fsum(to_original)


def compare(files, keys, own):
    """Compare every figure with the oracle's."""
    original, released, *holdout = files
    people = [*original, *(holdout[0] if holdout else [])]
    shared, numbers = columns(files, keys)
    names = [f"column {j}" for j in range(len(original[0]))]
    weighed = link(shared, numbers, names, np.array(own))
    level = levels_of(files, keys)
    u, m, share, best = fellegi_sunter(original, released, level)
    np.testing.assert_allclose([c.strangers for c in weighed.columns], u, rtol=1e-14)
    np.testing.assert_allclose([c.linked for c in weighed.columns], m, rtol=1e-7)
    assert weighed.share == pytest.approx(share, rel=1e-7)
    assert weighed.by_model == pytest.approx(best * len(released), rel=1e-7)
    weight = weights(u, m)

    def agreement(b, a):
        found = [level(j, b[j], a[j]) for j in range(len(names))]
        return sum(weight[j][v] for j, v in enumerate(found) if v is not None)

    wanted = by_all_pairs(agreement, people, len(original), released, own)
    assert (weighed.right, weighed.to_original) == pytest.approx(wanted, rel=1e-12)
    assert weighed.known
    assert weighed.people == (len(original), len(people) - len(original))
    assert (weighed.released, weighed.attacked) == (len(released), len(released))
    assert weighed.chance == sum(x >= 0 for x in own) / len(people)
    return weighed


@st.composite
def linked_files(draw):
    """Return files as rows, the number of keys, and the person of each record."""
    keys, numbers = draw(st.sampled_from([(1, 1), (2, 0), (3, 1), (0, 2), (2, 2)]))
    key = st.one_of(st.none(), st.integers(0, 3))
    # Sums of quarters are exact: ties are those of the oracle.
    number = st.one_of(st.none(), st.integers(-8, 8).map(lambda x: x / 4))
    row = st.tuples(*[key] * keys, *[number] * numbers)
    files = [
        draw(st.lists(row, min_size=1, max_size=12))
        for _ in range(draw(st.integers(2, 3)))
    ]
    person = st.integers(-1, len(files[0]) - 1)
    size = len(files[1])
    return files, keys, draw(st.lists(person, min_size=size, max_size=size))


@examples(40, 400)
@given(linked_files())
def test_small_files_by_all_pairs(drawn):
    compare(*drawn)


def perturbed(rng, n=90, missing=0.1, others=0):
    """Return an original, a release with swapped values and noise, and a holdout."""

    def some(n):
        kind = rng.integers(0, 3, n)
        a, b, c = (rng.integers(0, k, n) // (1 + kind) for k in (5, 9, 4))
        income = np.round(4 * rng.lognormal(kind)) / 4
        return [
            [*map(int, row[:3]), float(row[3])]
            for row in zip(a, b, c, income, strict=True)
        ]

    original = some(n)
    released = [[*row] for row in original]
    for row in released:
        for j in range(3):
            if rng.random() < 0.15:
                row[j] = original[rng.integers(n)][j]
            if rng.random() < missing:
                row[j] = None
        if rng.random() < 0.5:
            row[3] += float(rng.integers(-4, 5)) / 4
    return [original, released, *([some(others)] if others else [])]


@pytest.mark.parametrize("others", [0, 70])
def test_perturbed_files_by_all_pairs(others):
    files = perturbed(np.random.default_rng(4), others=others)
    weighed = compare(files, 3, list(range(90)))
    assert weighed.converged
    assert weighed.right > 20 * weighed.chance


# --- files that leave little to link ------------------------------------------------


def test_one_record_each():
    assert compare([[[1, 2.0]], [[1, 2.0]]], 1, [0]).right == 1.0
    shared, numbers = columns([[[1, 2.0]], [[1, 2.0]]], 1)
    one = link(shared, numbers, "ab")  # there is no stranger to compare with
    assert math.isnan(one.right)
    assert one.to_dict()["right"] is None
    json.dumps(one.to_dict(), allow_nan=False)


def test_constant_columns_tell_nothing():
    files = [[[7, x, 5.0] for x in (0, 1, 2)], [[7, x, 5.0] for x in (0, 1, 1)]]
    assert compare(files, 2, [0, 1, 2]).right == 2.0
    only = [[[7, 5.0]] * 4, [[7, 5.0]] * 3]
    assert compare(only, 1, [0, 1, 2]).right == pytest.approx(3 / 4)


def test_no_common_value():
    files = [[[0, 1], [0, 2]], [[1, 3], [2, 4]]]
    assert compare(files, 2, [0, 1]).right == 1.0  # by chance: all are equally far
    shared, numbers = columns(files, 2)
    assert link(shared, numbers, "ab").right == 0.0


def test_all_missing():
    files = [[[None, None]] * 3, [[None, None]] * 2]
    assert compare(files, 1, [0, 1]).right == pytest.approx(2 / 3)


def test_nothing_to_compare_is_refused():
    with pytest.raises(ValueError, match="without keys and numbers"):
        link([], [], [])
    empty = SharedColumn((np.zeros(0, np.uint32), np.zeros(2, np.uint32)), 2)
    with pytest.raises(ValueError, match="the original has no records"):
        link([empty], [], ["a"])


# --- right links that are not known ------------------------------------------------


def estimates(files, keys=3):
    shared, numbers = columns(files, keys)
    names = range(len(files[0][0]))
    return link(shared, numbers, names, np.arange(len(files[1]))), link(
        shared, numbers, names
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_estimates_of_perturbed_files_are_cautious_and_not_far(seed):
    files = perturbed(np.random.default_rng(seed), n=1500, missing=0.0)
    truth, found = estimates(files)
    assert not found.known
    assert 0.65 * truth.right < found.right < 1.05 * truth.right
    low, high = found.interval()
    assert low < found.right < high


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_margins_have_no_right_links(missing):
    rng = np.random.default_rng(3)
    original = perturbed(rng, n=1500, missing=missing)[0]
    drawn = [
        [
            original[i][j] if rng.random() > missing or j == 3 else None
            for i in rng.integers(0, 1500, 1500)
        ]
        for j in range(4)
    ]
    files = [original, [list(row) for row in zip(*drawn, strict=True)]]
    _, found = estimates(files)
    assert found.interval()[0] == 0.0
    assert found.right < 0.03 * 1500


def test_other_people_have_no_right_links():
    rng = np.random.default_rng(8)
    files = [
        perturbed(rng, n=1200)[0],
        perturbed(rng, n=1200)[0],
        perturbed(rng, n=900)[0],
    ]
    for chosen in (files, files[:2], [files[0], files[1][:600]]):
        shared, numbers = columns(chosen, 3)
        one = link(shared, numbers, range(4))
        low, high = one.interval()
        assert low <= 0.02 * one.attacked < high
    # The weights' own model takes strangers for links: it is not what is reported.
    assert one.by_model > 2 * one.right


def test_with_a_holdout_wrong_links_are_shared():
    files = perturbed(np.random.default_rng(5), n=800, missing=0.0, others=400)
    shared, numbers = columns(files, 3)
    truth = link(shared, numbers, range(4), np.arange(800))
    found = link(shared, numbers, range(4))
    wrong = (800 - found.to_original) * 1200 / 400
    assert found.right == pytest.approx(800 - wrong)
    low, high = found.interval()
    assert low < truth.right < high
    assert found.people_share == 2 / 3 < found.original_share_interval()[0]


@pytest.mark.parametrize("seed", range(3))
def test_right_beyond_strangers_of_known_laws(seed):
    """Scores of own originals and of strangers are independent, and tie."""
    rng = np.random.default_rng(seed)
    n = 40_000
    strangers = rng.binomial(12, 0.4, (n, 5))
    own = np.where(rng.random(n) < 0.7, rng.binomial(12, 0.6, n), -1)
    most = strangers.max(axis=1)
    ties = (strangers == most[:, None]).sum(axis=1)
    right = np.where(own > most, 1.0, np.where(own == most, 1.0 / (ties + 1), 0.0))
    other = rng.binomial(12, 0.4, (n, 5))
    largest = other.max(axis=1)
    tied = (other == largest[:, None]).sum(axis=1)
    share, error = right_beyond(np.maximum(own, most) * 1.0, largest * 1.0, tied)
    assert 0.0 < error < 0.01
    assert abs(share - right.mean()) < 4 * error


def test_right_beyond_at_its_ends():
    low, high = np.arange(30.0), np.arange(30.0) + 100
    once = np.ones(30, np.int64)
    assert right_beyond(high, low, once)[0] == 1.0
    assert right_beyond(low, low, once)[0] == pytest.approx(0.0, abs=0.02)
    assert right_beyond(low, high, once)[0] <= 0.0
    assert math.isnan(right_beyond(high[:1], low[:1], once[:1])[1])


# --- selections ---------------------------------------------------------------------


def test_a_selection_is_attacked_if_pairs_are_too_many():
    files = perturbed(np.random.default_rng(7), n=600)
    shared, numbers = columns(files, 3)
    own = np.arange(600)
    for known, number in ((own, 100), (None, 50)):
        one = link(shared, numbers, range(4), known, pairs=60_000)
        again = link(shared, numbers, range(4), known, pairs=60_000)
        assert one.attacked == number
        assert one.to_dict() == again.to_dict()
    some, whole = (
        link(shared, numbers, range(4), own, pairs=60_000),
        link(shared, numbers, range(4), own),
    )
    low, high = some.interval(0.999)
    assert low / 100 < whole.rate < high / 100


def test_few_patterns_are_kept_if_they_are_too_many(monkeypatch):
    monkeypatch.setattr(patterns, "ROWS", 100)
    files = perturbed(np.random.default_rng(7), n=600)
    shared, numbers = columns(files, 3)
    records = Compared.of(shared, numbers)
    found = patterns.patterns_of(
        records, np.arange(600), compared_records.strangers_agree(records)
    )
    rows = np.bincount(found.record)
    assert rows.sum() >= 100 > rows[:-2].sum()  # two records at a time
    assert np.bincount(found.record, found.pairs).tolist() == [600.0] * found.records


def test_patterns_of_strangers_may_be_left_out(monkeypatch):
    rng = np.random.default_rng(9)
    original = rng.integers(0, 4, (300, 9)).tolist()
    released = [[x if rng.random() < 0.85 else 3 for x in row] for row in original]
    shared, _ = columns([original, released], 9)
    whole = link(shared, [], range(9), np.arange(300))
    monkeypatch.setattr(patterns, "MANY", 100)
    some = link(shared, [], range(9), np.arange(300))
    assert some.right == pytest.approx(whole.right, rel=0.01)
    for a, b in zip(some.columns, whole.columns, strict=True):
        assert a.linked == pytest.approx(b.linked, abs=0.03)
        assert a.linked != b.linked


def test_values_that_only_the_release_lacks_are_filled():
    files = perturbed(np.random.default_rng(2), n=400, missing=0.3)
    for row in files[0][:40]:
        row[0] = None
    shared, numbers = columns(files, 3)
    records = Compared.of(shared, numbers)
    found = compared_records._filled(records.released, records.people)
    lacking = (found < 0).sum(axis=1).tolist()
    assert lacking == [40, 0, 0, 0]
    there = records.released >= 0
    assert np.array_equal(found[there], records.released[there])


def test_ranks_tell_numbers_apart_that_no_person_has():
    files = [[[1.0], [9.0]], [[3.0], [4.0], [4.0]]]
    _, numbers = columns(files, 0)
    released = Compared.of([], numbers).released[0]
    assert released[0] != released[1] == released[2]


def test_what_is_said():
    files = perturbed(np.random.default_rng(5), n=300, others=200)
    shared, numbers = columns(files, 3)
    for own in (None, np.arange(300)):
        one = link(shared, numbers, ["a", "b", "c", "income\n"], own)
        json.dumps(one.to_dict(), allow_nan=False)
        (part,) = one._parts()
        text = "\n".join(part.lines())
        assert "of 300 records" in text
        assert ("if each has one" in text) == (own is None)
        assert "links to the original" in text
        assert "income\\n" in text
