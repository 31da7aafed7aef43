import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore.data.cells import tabulate
from riskcore.data.files import formats
from riskcore.data.files.reading import Reading
from riskcore.data.wildcard import count_compatible

AS_IT_IS = Reading(weight_scale=1)  # weights, however large
# Of the notes on sdcMicro: f and F measured there, for alpha 1 and 0.
EXAMPLE = {
    "a": [1, 1, 2, None, 1],
    "b": [1, 1, 1, 1, None],
    "w": [10.0, 20.0, 30.0, 40.0, 50.0],
}


def brute_force(rows, weights, alpha, rule="wildcard"):
    """Compare all pairs of records; return f and F of each as fractions."""
    f, F = [], []
    for row in rows:
        factors = [factor(row, other, Fraction(alpha), rule) for other in rows]
        f.append(sum(factors))
        products = zip(factors, map(Fraction, weights), strict=True)
        F.append(sum(x * w for x, w in products))
    return f, F


def factor(row, other, alpha, rule):
    """Return what the other record counts for this one."""
    blank = all(value is None for value in row)
    if row == other or blank:
        return 1
    pairs = zip(row, other, strict=True)
    if any(None not in (x, y) and x != y for x, y in pairs):
        return 0
    if None not in other:
        return 1
    unmatched = rule == "wildcard" and len(row) > 1 and None not in row
    if unmatched and all(value is None for value in other):
        return 0
    return alpha


def per_record(rows, weights=None, **options):
    """Tabulate rows; return f and F of each record."""
    data = dict(enumerate(map(list, zip(*rows, strict=True))))
    keys = list(data)
    if weights is not None:
        data["w"] = weights
    weight = None if weights is None else "w"
    cells = tabulate(data, keys, weight, reading=AS_IT_IS, **options)
    both = cells.sample_frequency, cells.population_frequency
    return tuple(figures[cells.inverse] for figures in both)


def ulps(got, exact):
    return abs(Fraction(float(got)) - exact) / Fraction(float(np.spacing(float(got))))


def assert_brute_force(rows, weights, alpha, rule="wildcard"):
    f, F = per_record(rows, weights, missing=rule, alpha=alpha)
    exact_f, exact_F = brute_force(rows, weights, alpha, rule)
    assert [Fraction(x) for x in f.tolist()] == exact_f
    assert f.dtype == (np.int64 if alpha in (0, 1) or whole(rows) else np.float64)
    assert max(map(ulps, F, exact_F)) <= 2


def whole(rows):
    return not any(None in row for row in rows)


values = st.none() | st.integers(0, 2)
small_files = st.integers(1, 5).flatmap(
    lambda d: st.lists(
        st.tuples(st.tuples(*[values] * d), st.floats(1e-3, 1e9)),
        min_size=1,
        max_size=25,
    )
)
quarters = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])


@given(small_files, quarters)
def test_wildcard_is_the_brute_force(file, alpha):
    assert_brute_force(*zip(*file, strict=True), alpha)


@given(small_files)
def test_argus_is_the_brute_force(file):
    assert_brute_force(*zip(*file, strict=True), 1.0, "argus")


@given(small_files, st.floats(0, 1))
def test_any_alpha(file, alpha):
    rows, weights = zip(*file, strict=True)
    f, F = per_record(rows, weights, missing="wildcard", alpha=alpha)
    exact_f, exact_F = brute_force(rows, weights, alpha)
    assert max(map(ulps, f, exact_f)) <= 1
    assert max(map(ulps, F, exact_F)) <= 2


@given(small_files, st.floats(0, 1))
def test_without_weights_and_with_weights_of_one_F_is_f(file, alpha):
    rows = [row for row, _ in file]
    for weights in (None, [1.0] * len(rows)):
        f, F = per_record(rows, weights, missing="wildcard", alpha=alpha)
        assert f.tolist() == F.tolist()


@given(small_files, st.randoms(use_true_random=False))
def test_argus_and_wildcard_differ_by_blank_records_alone(file, random):
    rows = [row for row, _ in file if any(value is not None for value in row)]
    if rows:
        wildcard, _ = per_record(rows, missing="wildcard")
        argus, _ = per_record(rows, missing="argus")
        assert wildcard.tolist() == argus.tolist()
        order = random.sample(range(len(rows)), len(rows))
        mixed, _ = per_record([rows[i] for i in order], missing="wildcard")
        assert mixed.tolist() == wildcard[order].tolist()


@pytest.mark.parametrize(
    ("alpha", "f", "F"),
    [
        (1, [4, 4, 2, 5, 4], [120, 120, 70, 150, 120]),
        (0, [2, 2, 1, 4, 3], [30, 30, 30, 100, 80]),
    ],
)
def test_figures_measured_in_sdcmicro(alpha, f, F):
    cells = tabulate(EXAMPLE, ["a", "b"], "w", missing="wildcard", alpha=alpha)
    assert cells.sample_frequency[cells.inverse].tolist() == f
    assert cells.population_frequency[cells.inverse].tolist() == F
    assert cells.records.sum() == cells.n == 5
    assert cells.weight_sum.sum() == 150
    assert (cells.missing, cells.alpha) == ("wildcard", alpha)


def test_one_key():
    f, _ = per_record([(1,), (1,), (2,), (None,)], missing="wildcard", alpha=0.5)
    assert f.tolist() == [2.5, 2.5, 1.5, 4.0]


def test_blank_records():
    rows = [(1, 1), (None, 1), (None, None), (None, None), (2, 2)]
    f, _ = per_record(rows, missing="wildcard")
    assert f.tolist() == [2, 4, 5, 5, 1]
    f, _ = per_record(rows, missing="argus")
    assert f.tolist() == [4, 4, 5, 5, 3]
    f, _ = per_record(rows, missing="wildcard", alpha=0.25)
    assert f.tolist() == [1.25, 2.5, 5.0, 5.0, 1.0]


@pytest.mark.parametrize("keys", [1, 3])
@pytest.mark.parametrize("rule", ["wildcard", "argus"])
def test_all_records_blank(keys, rule):
    f, F = per_record([(None,) * keys] * 3, [1.0, 2.0, 4.0], missing=rule)
    assert (f.tolist(), F.tolist()) == ([3, 3, 3], [7.0, 7.0, 7.0])


def test_without_missing_values_the_rule_does_not_matter():
    rows = [(1, "x"), (2, "y"), (1, "x")]
    f, F = per_record(rows, [0.5, 2.0, 3.0], missing="wildcard", alpha=0.5)
    assert f.dtype == np.int64
    assert (f.tolist(), F.tolist()) == ([2, 1, 2], [3.5, 2.0, 3.5])


def all_pairs(codes, missing, frequency, alpha):
    """Return f of each combination, by matrices of all pairs."""
    present = np.array([c != m for c, m in zip(codes, missing, strict=True)])
    fits = np.ones((len(frequency), len(frequency)), bool)
    for code, known in zip(codes, present, strict=True):
        fits &= (code[:, None] == code) | ~known[:, None] | ~known
    complete, blank = present.all(axis=0), ~present.any(axis=0)
    fits &= ~(complete[:, None] & blank)
    factors = np.where(complete | np.eye(len(fits), dtype=bool), fits, alpha * fits)
    f = factors @ frequency
    f[blank] = frequency.sum()
    return f


@pytest.mark.parametrize(
    ("levels", "dtype"),
    [
        ([2, 3, 40], np.uint8),
        ([5, 300, 3, 9], np.uint16),
        # Three words of 64 bits.
        ([1 << 31, 1 << 31, 1 << 32, 3, 1 << 20, 1 << 31], np.uint32),
    ],
)
def test_thousands_of_combinations(levels, dtype):
    rng = np.random.default_rng(7)
    codes, missing = [], []
    for size in levels:
        # Few of the values of each key, or nothing would be compatible.
        some = rng.integers(0, size - 1, min(size - 1, 8))
        column = rng.choice(some, 3000)
        codes.append(np.where(rng.random(3000) < 0.2, size - 1, column).astype(dtype))
        missing.append(size - 1)
    rows = np.unique(np.array(codes).T, axis=0)
    codes = [np.ascontiguousarray(column) for column in rows.T]
    frequency = rng.integers(1, 100, len(rows))
    weight = frequency * 3.0
    f, F = count_compatible(codes, missing, frequency, weight, alpha=0.5)
    assert f.tolist() == all_pairs(codes, missing, frequency, 0.5).tolist()
    assert F.tolist() == (3 * f).tolist()
    assert len(np.unique(f)) > 20


def test_seventy_keys():
    rng = np.random.default_rng(8)
    table = rng.integers(0, 2, (60, 70)).astype(object)
    table[rng.random((60, 70)) < 0.9] = None
    rows = [tuple(row) for row in table]
    assert_brute_force(rows, rng.uniform(1, 2, 60).tolist(), 0.25)


def test_missing_codes_of_mu_argus_match_alike(tmp_path):
    (tmp_path / "m.rda").write_text("A 1 1 8 9\n <RECODABLE>\nB 2 1 9\n")
    (tmp_path / "m.asc").write_text("11\n81\n91\n 1\n21\n19\n")
    data = formats.read(tmp_path / "m.asc")
    cells = tabulate(data, ["A", "B"], missing="argus")
    assert cells.sample_frequency[cells.inverse].tolist() == [5, 6, 6, 6, 4, 5]
    assert cells.records.tolist() == [1, 1, 1, 3]


@pytest.mark.parametrize("alpha", [-0.1, 1.5, math.nan])
def test_alpha_out_of_range(alpha):
    with pytest.raises(ValueError, match=r"alpha=.*in \[0, 1\]"):
        tabulate(EXAMPLE, ["a"], missing="wildcard", alpha=alpha)
    one = np.ones(1)
    with pytest.raises(ValueError, match=r"alpha=.*in \[0, 1\]"):
        count_compatible([np.zeros(1, np.uint8)], [0], one.astype(int), one, alpha)


@pytest.mark.parametrize("rule", ["refuse", "category", "argus"])
def test_alpha_is_for_wildcards(rule):
    with pytest.raises(ValueError, match=r"alpha=0\.5 needs missing='wildcard'"):
        tabulate(EXAMPLE, ["a"], missing=rule, alpha=0.5)


@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_sums_that_overflow_are_refused(alpha):
    data = {"a": [1, 2, None], "b": [1, None, 1], "w": [1.7e308] * 3}
    with pytest.raises(ValueError, match="weight 'w': the sum overflows"):
        tabulate(data, ["a", "b"], "w", missing="wildcard", alpha=alpha)


def test_real_frequencies_in_the_table():
    cells = tabulate(EXAMPLE, ["a", "b"], "w", missing="wildcard", alpha=0.5)
    table = cells.to_dict()
    assert table["sample_frequency"].tolist() == [3.0, 3.5, 1.5, 4.5]
    assert table["a"].tolist() == [1, 1, 2, None]
    row = cells.row(2)
    assert (row["sample_frequency"], row["population_frequency"]) == (1.5, 50.0)
    assert row["sampling_fraction"] == 1.5 / 50


def test_small_weights_are_not_lost_beside_large_ones():
    # By a alone two groups of complete records, whose sums take more than a double.
    a = [1] * 6 + [2] * 6
    b = list(range(6)) * 2
    u = 2.0**-53
    w = [1.0, u, u, u, u, u, 1.0, u, u, 3 * u, u, u]
    rows = [*zip(a, b, strict=True), (1, None), (2, None)]
    _, F = per_record(rows, [*w, u, u], missing="wildcard", alpha=0)
    assert F[-2:].tolist() == [1.0 + 6 * u, 1.0 + 8 * u]


def test_sums_of_one_group_are_not_those_of_another():
    # By a alone two groups of those with b, one after the other: one has large weights,
    # whose sum takes more than a double. Each is added to more records with c.
    with_b = [(b, a, None) for b in range(3) for a in (1, 2)]
    with_c = [(None, a, c) for c in range(4) for a in (1, 2)]
    w = [2.0**60, 1.0, 100.0, 1.0, 20.0, 0.5, *[8.0, 0.25] * 4]
    f, F = per_record(with_b + with_c, w, missing="wildcard", alpha=1.0)
    assert f.tolist() == [5] * 6 + [4] * 8
    assert F[6:].tolist() == [2.0**60 + 128, 2.75] * 4
    assert F[:6].tolist() == [2.0**60, 2.0, 132.0, 2.0, 52.0, 1.5]
