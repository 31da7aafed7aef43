"""Numeric risk: exact matches, record linkage and intervals, by their definitions."""

import json
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import cKDTree

import riskcore
from riskcore.cli import main
from riskcore.disclosure.nearest import Trees
from riskcore.disclosure.record_linkage import robust_scale, standard_scale
from tests.thin import examples

nan = math.nan
MEASURES = {"standardized distance": standard_scale, "robust distance": robust_scale}


# Linkage, by the definition: every original record is a candidate, or it is not


def candidates(i, original, released, columns, keys, released_keys):
    """Return the original records to which a released one may be linked."""
    return [
        j
        for j in range(len(original))
        if all(not math.isnan(original[j][c]) for c in columns)
        and (
            keys is None
            or all(
                theirs in (-1, ours)
                for ours, theirs in zip(keys[j], released_keys[i], strict=True)
            )
        )
    ]


def chances(i, distance, among):
    """Return the probabilities that the own record is nearest, and second nearest."""
    if i not in among:
        return 0, 0
    nearer = sum(distance[j] < distance[i] for j in among)
    equal = sum(distance[j] == distance[i] for j in among)
    first = Fraction(nearer == 0, equal)
    # Of the records that are equally near, each order has the same probability.
    second = Fraction(nearer <= 1 < nearer + equal, equal)
    return first, second


def linked(original, released, keys=None, released_keys=None, scale=None):
    """Return the probabilities of right links and the candidates, by the definition.

    Distances are exact; without a scale, only equal records have the distance 0.
    """
    right, second, number = [], [], []
    for i, row in enumerate(released):
        columns = [c for c, x in enumerate(row) if not math.isnan(x)]
        among = candidates(i, original, released, columns, keys, released_keys)
        gaps = {
            j: [(Fraction(row[c]) - Fraction(original[j][c]), c) for c in columns]
            for j in among
        }
        if scale is None:
            own = i in among and all(gap == 0 for gap, _ in gaps[i])
            equal = sum(all(gap == 0 for gap, _ in gaps[j]) for j in among)
            right.append(Fraction(own, max(equal, 1)))
        else:
            distance = {
                j: sum((gap * Fraction(scale[c])) ** 2 for gap, c in gaps[j])
                for j in among
            }
            first, next_one = chances(i, distance, among)
            right.append(first)
            second.append(next_one)
        number.append(len(among) if i in among else 0)
    return right, second, number


@st.composite
def pairs(draw):
    """Return the numbers and keys of both files: small, with ties and gaps."""
    n, d, K = draw(st.integers(1, 14)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
    number = st.one_of(st.integers(0, 4), st.sampled_from([0, 0, 60, nan]))
    rows = st.lists(st.lists(number, min_size=d, max_size=d), min_size=n, max_size=n)
    original = np.array(draw(rows), float)
    change = np.array(draw(rows), float)
    keep = draw(st.booleans())
    released = np.where(np.isnan(change), nan, original + (0 if keep else change - 1))
    code = st.lists(
        st.lists(st.integers(-1, 2), min_size=K, max_size=K), min_size=n, max_size=n
    )
    keys, blank = np.array(draw(code)), np.array(draw(code))
    return original, released, keys, np.where(blank < 0, -1, keys)


def named(values):
    return {f"x{j}": column for j, column in enumerate(values.T)}


def same(found, expected):
    assert found.tolist() == [float(one) for one in expected]


@given(pairs())
@examples(40, 400)
def test_links_by_the_definition(files):
    original, released, keys, released_keys = files
    found = riskcore.numeric_risk(
        named(original), named(released), keys=keys, released_keys=released_keys
    )
    for known, codes in (
        ("numbers", (None, None)),
        ("keys and numbers", (keys, released_keys)),
    ):
        right, _, number = linked(original, released, *codes)
        one = found.linkage("equal values", known=known)
        same(one.right, right)
        assert one.second is None
        assert one.candidates.tolist() == number
        chance = sum(Fraction(1, c) for c in number if c) / len(number)
        assert one.chance_rate == pytest.approx(float(chance), rel=1e-15)
        for measure, scale in MEASURES.items():
            scales = [scale(column) for column in original.T]
            right, second, number = linked(original, released, *codes, scales)
            one = found.linkage(measure, known=known)
            same(one.right, right)
            same(one.second, second)
            assert one.candidates.tolist() == number
            assert one.expected == math.fsum(float(r) for r in right)
            assert one.single == sum(r == 1 for r in right)


def test_links_of_many_records_are_those_of_scipy():
    rng = np.random.default_rng(7)
    n = 30_000
    original = np.exp(rng.normal(size=(n, 3)))
    released = original + rng.normal(size=(n, 3)) * [0.05, 0.1, 0.2]
    found = riskcore.numeric_risk(named(original), named(released))
    for measure, scale in MEASURES.items():
        scales = np.array([scale(column) for column in original.T])
        tree = cKDTree(original * scales)
        nearest = tree.query(released * scales, k=2)[1]
        one = found.linkage(measure)
        own = np.arange(n)
        assert one.right.tolist() == (nearest[:, 0] == own).astype(float).tolist()
        assert one.second.tolist() == (nearest[:, 1] == own).astype(float).tolist()
        assert 0.05 < one.rate < 0.9


def test_links_within_many_cells_are_those_of_scipy():
    rng = np.random.default_rng(8)
    n = 20_000
    original = rng.normal(size=(n, 2))
    released = original + 0.3 * rng.normal(size=(n, 2))
    keys = np.minimum(rng.geometric(0.01, n), 400)
    found = riskcore.numeric_risk(named(original), named(released), keys=keys)
    one = found.linkage("standardized distance", known="keys and numbers")
    scales = [standard_scale(column) for column in original.T]
    sizes = np.bincount(keys)
    for cell in np.unique(keys):
        rows = np.flatnonzero(keys == cell)
        nearest = cKDTree(original[rows] * scales).query(released[rows] * scales)[1]
        own = (nearest == np.arange(len(rows))).astype(float)
        assert one.right[rows].tolist() == own.tolist()
    assert one.candidates.tolist() == sizes[keys].tolist()


def test_ties_that_fill_the_file_do_not_slow_it_down():
    rng = np.random.default_rng(9)
    n = 200_000
    original = np.where(rng.random((n, 3)) < 0.9, 0.0, rng.integers(1, 4, (n, 3)))
    released = original.copy()
    found = riskcore.numeric_risk(named(original), named(released))
    _, inverse, counts = np.unique(
        original, axis=0, return_inverse=True, return_counts=True
    )
    expected = 1 / counts[inverse.ravel()]
    for measure in ("equal values", *MEASURES):
        assert found.linkage(measure).right.tolist() == expected.tolist()
        assert found.linkage(measure).expected == pytest.approx(len(counts), rel=1e-12)


@pytest.mark.parametrize("d", [1, 2, 6])
def test_counts_of_trees_are_those_of_all_pairs(d):
    rng = np.random.default_rng(d)
    sizes = np.array([1, 400, 7, 60, 25_000])
    point = np.concatenate(
        [
            np.unique(rng.integers(0, 10**6, (2 * n, d)), axis=0)[:n].astype(float)
            for n in sizes
        ]
    )
    records = rng.integers(1, 4, len(point))
    group = np.repeat(np.arange(len(sizes)), sizes)
    begin = np.concatenate([[0], np.cumsum(sizes)])
    scale = rng.uniform(0.1, 9, d)
    trees = Trees.of(point, records, sizes, scale)
    asked = rng.permutation(len(point))[:12_000]
    query = point[asked] + rng.normal(size=(len(asked), d)) * 3_000
    nearer, equal = trees.count(query, group[asked], asked, scale)
    for q in range(0, len(asked), 40):
        part = slice(begin[group[asked[q]]], begin[group[asked[q]] + 1])
        total = np.zeros(part.stop - part.start)
        for j in range(d):
            total += ((point[part, j] - query[q, j]) * scale[j]) ** 2
        own = total[asked[q] - part.start]
        expected = records[part][total < own].sum()
        assert min(nearer[q], 2) == min(expected, 2)
        if expected < 2:
            assert equal[q] == records[part][total == own].sum()


# Properties of links


def survey(n=400, seed=1):
    rng = np.random.default_rng(seed)
    original = np.round(np.exp(rng.normal(size=(n, 2))) * 8)
    released = original + rng.integers(-2, 3, (n, 2))
    released[rng.random((n, 2)) < 0.1] = nan
    keys = rng.integers(0, 3, (n, 2))
    blanked = np.where(rng.random((n, 2)) < 0.1, -1, keys)
    return original, released, keys, blanked


def test_the_order_of_the_records_does_not_matter():
    original, released, keys, blanked = survey()
    order = np.random.default_rng(2).permutation(len(original))
    one = riskcore.numeric_risk(
        named(original), named(released), keys=keys, released_keys=blanked
    )
    other = riskcore.numeric_risk(
        named(original[order]),
        named(released[order]),
        keys=keys[order],
        released_keys=blanked[order],
    )
    for a, b in zip(one.linkages, other.linkages, strict=True):
        assert a.right[order].tolist() == b.right.tolist()
        assert a.to_dict() == b.to_dict()
    assert one.to_dict() == other.to_dict()


def test_a_unit_or_a_constant_column_changes_no_link():
    original, released, keys, _ = survey()
    one = riskcore.numeric_risk(named(original), named(released), keys=keys)
    more = np.full((len(original), 1), 7.0)
    wide = riskcore.numeric_risk(
        named(np.hstack([original * [1024, 1], more])),
        named(np.hstack([released * [1024, 1], more + 1])),
        keys=keys,
    )
    for a, b in zip(one.linkages, wide.linkages, strict=True):
        if a.measure != "equal values":
            assert a.right.tolist() == b.right.tolist()
            assert a.second.tolist() == b.second.tolist()
        else:
            assert not b.right[~np.isnan(released).all(axis=1)].any()


def test_threads_change_no_link(monkeypatch):
    original, released, keys, blanked = survey(30_000)
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(
            "riskcore.disclosure.nearest.usual_threads", lambda n=threads: n
        )
        found.append(
            riskcore.numeric_risk(
                named(original), named(released), keys=keys, released_keys=blanked
            )
        )
    for a, b in zip(found[0].linkages, found[1].linkages, strict=True):
        assert a.right.tolist() == b.right.tolist()


def test_an_unchanged_file_links_every_distinct_record():
    original = {"income": [1.0, 2.0, 2.0, 9.0]}
    found = riskcore.numeric_risk(original, original)
    for one in found.linkages:
        assert one.right.tolist() == [1, 0.5, 0.5, 1]
        assert (one.expected, one.single, one.chance_rate) == (3, 2, 0.25)
        assert one.beyond_chance == 0.5
    assert found.linkage("robust distance").second.tolist() == [0, 0.5, 0.5, 0]


def test_records_without_numbers_are_linked_by_chance():
    original = {"income": [1.0, 2.0, 3.0, nan]}
    released = {"income": [nan, 2.0, 3.0, nan]}
    found = riskcore.numeric_risk(original, released, keys=[0, 0, 1, 1])
    alone = found.linkage("standardized distance")
    assert alone.right.tolist() == [0.25, 1, 1, 0.25]
    assert alone.candidates.tolist() == [4, 3, 3, 4]
    within = found.linkage("standardized distance", known="keys and numbers")
    assert within.right.tolist() == [0.5, 1, 1, 0.5]


def test_an_imputed_number_is_linked_to_no_original():
    original = {"income": [1.0, 2.0, nan]}
    released = {"income": [1.0, 2.0, 3.0]}
    found = riskcore.numeric_risk(original, released)
    for one in found.linkages:
        assert one.right.tolist() == [1, 1, 0]
        assert one.candidates.tolist() == [2, 2, 0]


def test_scales():
    values = np.array([1.0, 2.0, 3.0, 4.0, 100.0, nan])
    there = values[:-1]
    assert standard_scale(values) == pytest.approx(1 / there.std(ddof=1), rel=1e-15)
    assert robust_scale(values) == pytest.approx(1 / 1.482602218505602, rel=1e-15)
    zeros = np.array([0.0, 0.0, 0.0, 0.0, 10.0])  # no median absolute deviation
    assert robust_scale(zeros) == pytest.approx(1 / (2 * math.sqrt(math.pi / 2)))
    for scale in MEASURES.values():
        assert scale(np.array([5.0, 5.0, nan])) == 0
        assert scale(np.array([nan])) == scale(np.array([3.0])) == 0
        assert scale(np.array([0.1, 0.1, 0.1])) == 0


def test_the_robust_distance_is_not_moved_by_an_outlier():
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=300), rng.normal(size=300)
    x[0] = 1e6  # by the standard deviation, the first column tells nothing
    original = {"x": x, "y": y}
    released = {"x": x, "y": y + rng.normal(size=300)}
    found = riskcore.numeric_risk(original, released)
    standard = found.linkage("standardized distance").rate
    assert found.linkage("robust distance").rate > 2 * standard


# Intervals


def rank_inside(x, y, width):
    """Return whether x is between the numbers whose ranks are near those of y."""
    there = sorted(v for v in y if not math.isnan(v))
    steps = Fraction(str(width)) * len(there)
    found = []
    for a, b in zip(x, y, strict=True):
        ranks = [r for r, v in enumerate(there) if v == b]
        near = [
            there[r]
            for r in range(len(there))
            if ranks and ranks[0] - steps <= r <= ranks[-1] + steps
        ]
        found.append(bool(near) and near[0] <= a <= near[-1])
    return found


@given(pairs(), st.sampled_from([0, 0.05, 0.07, 0.1, 0.29, 0.5, 1]))
@examples(60, 600)
def test_intervals_by_the_definition(files, width):
    original, released, *_ = files
    found = riskcore.numeric_risk(
        named(original), named(released), rank_width=width, spread_width=width
    )
    rank, spread = found.interval("rank"), found.interval("spread")
    for j, (x, y) in enumerate(zip(original.T, released.T, strict=True)):
        assert rank.inside[:, j].tolist() == rank_inside(x, y, width)
        reach = width * (1 / standard_scale(y) if standard_scale(y) else 0)
        inside = [bool(b - reach <= a <= b + reach) for a, b in zip(x, y, strict=True)]
        assert spread.inside[:, j].tolist() == inside
        given_there = [not math.isnan(a) for a in x]
        if any(given_there):
            assert spread.shares[f"x{j}"] == sum(inside) / sum(given_there)
        else:
            assert math.isnan(spread.shares[f"x{j}"])
    for one in (rank, spread):
        for i, row in enumerate(one.inside):
            both = ~np.isnan(original[i]) & ~np.isnan(released[i])
            assert one.disclosed[i] == (both.any() and row[both].all())
            there = ~np.isnan(original[i])
            share = row[there].mean() if there.any() else 0
            assert one.record_share[i] == share


def test_rank_intervals_end_where_the_width_is_written():
    # 0.29 * 100 is 28.999999999999996 in doubles.
    y = np.arange(100.0)
    x = np.minimum(y + 29, 99)
    found = riskcore.numeric_risk({"x": x}, {"x": y}, rank_width=0.29)
    assert found.interval("rank").mean_share == 1
    x = np.where(y == 0, 30, x)
    found = riskcore.numeric_risk({"x": x}, {"x": y}, rank_width=0.29)
    assert found.interval("rank").mean_share == 0.99


def test_a_suppressed_number_discloses_nothing():
    x = np.arange(20.0)
    y = x.copy()
    y[:5] = nan
    found = riskcore.numeric_risk({"x": x}, {"x": y})
    for measure in ("rank", "spread"):
        one = found.interval(measure)
        assert one.disclosed_rate == one.mean_share == 0.75
        assert one.record_share.tolist() == [0] * 5 + [1] * 15


def test_disclosed_records_are_those_of_dRisk():
    """As sdcMicro defines it: mean(rowSums(x < xm - k sd | x > xm + k sd) == 0)."""
    rng = np.random.default_rng(3)
    x = pd.DataFrame(np.exp(rng.normal(size=(500, 3))), columns=list("abc"))
    y = x + rng.normal(size=x.shape) * x.std().to_numpy() * 0.04
    for k in (0.01, 0.05, 0.1):
        outside = (x < y - k * y.std()) | (x > y + k * y.std())
        expected = (outside.sum(axis=1) == 0).mean()
        found = riskcore.numeric_risk(x, y, spread_width=k)
        assert found.interval("spread").disclosed_rate == expected
        assert 0 < expected < 1


# Exact matches of one file

FILE = {
    "sex": ["f", "f", "m", "m", "m"],
    "income": [10, 10, 10, 25, 25],
    "debts": [0.0, nan, 0.0, 1.5, 1.5],
    "w": [3.0, 4.0, 5.0, 6.0, 7.0],
}


def as_keys(columns):
    """Return uniques, expected re-identifications and risks by columns as keys."""
    data = {name: [f"is {value}" for value in FILE[name]] for name in columns}
    data["w"] = FILE["w"]
    found = riskcore.assess(data, columns, "w")
    uniques = found.below(2).records
    return uniques, found.expected_reidentifications, found.individual_risk.tolist()


def test_matches_are_those_of_numbers_as_keys():
    found = riskcore.assess(FILE, ["sex"], "w", numeric=["income", "debts"])
    sets = [
        ("income",),
        ("debts",),
        ("income", "debts"),
        ("sex", "income", "debts"),
    ]
    assert [one.columns for one in found.numeric.matches] == sets
    for one in found.numeric.matches:
        uniques, expected, risk = as_keys(list(one.columns))
        assert one.sample_uniques == uniques
        assert one.expected_reidentifications == expected
        assert one.individual_risk.tolist() == risk
        assert one.reidentification_rate == expected / 5
    assert [one.sample_uniques for one in found.numeric.matches] == [0, 1, 1, 3]
    assert found.numeric.linkages == found.numeric.intervals == ()


def test_matches_of_arrays_are_those_of_a_file():
    codes = [0 if sex == "f" else 1 for sex in FILE["sex"]]
    numbers = {name: FILE[name] for name in ("income", "debts")}
    arrays = riskcore.numeric_risk(numbers, keys=codes, weight=FILE["w"])
    file = riskcore.assess(FILE, ["sex"], "w", numeric=["income", "debts"]).numeric
    for one, other in zip(arrays.matches, file.matches, strict=True):
        assert one.individual_risk.tolist() == other.individual_risk.tolist()


def test_matches_of_a_pair_are_those_of_the_released_file():
    original = {"income": [1.0, 2.0, 3.0, 4.0]}
    released = {"income": [1.0, 1.0, 1.0, 4.0]}
    (one,) = riskcore.numeric_risk(original, released).matches
    assert one.sample_uniques == 1


def test_blank_keys_match_any_value():
    numbers = {"income": [5.0, 5.0]}
    found = riskcore.numeric_risk(numbers, keys=[1, -1])
    assert found.matches[-1].sample_uniques == 0
    assert riskcore.numeric_risk(numbers, keys=[1, 0]).matches[-1].sample_uniques == 2


@pytest.mark.parametrize("missing", ["category", "wildcard", "argus"])
def test_missing_keys_follow_their_rule_and_numbers_are_values(missing):
    data = {"sex": ["f", None, "m"], "income": [1.0, 1.0, nan]}
    found = riskcore.assess(data, ["sex"], missing=missing, numeric=["income"])
    both = found.numeric.matches[-1]
    assert both.sample_uniques == (3 if missing == "category" else 1)


def test_numbers_of_a_csv_file(tmp_path, capsys):
    path = tmp_path / "survey.csv"
    path.write_text("sex;income;w\nf;1,50;9\nf;1,5;8\nm;;7\n")
    ask = [
        "assess",
        str(path),
        "--keys",
        "sex",
        "--decimal",
        ",",
        "--numeric",
        "income",
    ]
    main([*ask, "--weight", "w", "--json"])
    (alone, both) = json.loads(capsys.readouterr().out)["numeric"]["matches"]
    assert alone["sample_uniques"] == 1
    assert alone["cells"] == 2
    assert both["columns"] == ["sex", "income"]
    main(
        ["assess", str(path), "--keys", "sex", "--decimal", ",", "--numeric", "income"]
    )
    assert "Risk if numbers are known" in capsys.readouterr().out


def test_a_column_of_text_is_not_numbers(tmp_path, capsys):
    path = tmp_path / "survey.csv"
    path.write_text("sex,income\nf,low\nm,9\n")
    assert main(["assess", str(path), "--keys", "sex", "--numeric", "income"]) == 2
    assert "income is not a number" in capsys.readouterr().err
    with pytest.raises(TypeError, match=r"'sex'.*not real numbers"):
        riskcore.assess(FILE, ["income"], numeric=["sex"])


def test_the_risk_of_other_results_is_unchanged():
    plain = riskcore.assess(FILE, ["sex"], "w")
    found = riskcore.assess(FILE, ["sex"], "w", numeric=["income"])
    assert plain.numeric is None
    assert found.individual_risk.tolist() == plain.individual_risk.tolist()
    assert found.figures == plain.figures


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"numeric": ["sex"]}, ValueError, "'sex' is a key"),
        ({"numeric": ["w"], "weight": "w"}, ValueError, "'w' is a key, the weight"),
        ({"numeric": ["income", "income"]}, ValueError, "'income' appears twice"),
        ({"numeric": "income"}, TypeError, "numeric is a list"),
        ({"numeric": ["wages"]}, KeyError, "wages"),
        (
            {"numeric": ["income"], "household": "debts", "level": "household"},
            ValueError,
            "leave out level='household'",
        ),
    ],
)
def test_what_assess_refuses(settings, error, message):
    with pytest.raises(error, match=message):
        riskcore.assess(FILE, ["sex"], **settings)


def test_whole_numbers_that_are_not_doubles_are_refused(tmp_path):
    """Neighbors would be equal: 2^53 and 2^53 + 1."""
    ids = [2**53 + i for i in range(3)]
    frame = pl.DataFrame({"sex": ["f", "f", "m"], "id": ids})
    frame.write_csv(tmp_path / "survey.csv")
    for data in (frame, tmp_path / "survey.csv"):
        with pytest.raises(ValueError, match=r"'id': numbers .* would lose digits"):
            riskcore.assess(data, ["sex"], numeric=["id"])
    below = frame.with_columns(id=pl.Series([2**53 - 1, 2**53 - 2, 1]))
    found = riskcore.assess(below, ["sex"], numeric=["id"]).numeric
    assert found.matches[0].sample_uniques == 3


def test_data_on_an_engine_are_refused():
    frame = pl.LazyFrame({"sex": ["f"], "income": [1.0]})
    with pytest.raises(TypeError, match="numeric: single records are needed"):
        riskcore.assess(frame, ["sex"], numeric=["income"])


X = {"x": [1.0, 2.0, 4.0]}


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"original": {}}, ValueError, "original: the data hold no records"),
        ({"original": {"x": ["a", "b"]}}, TypeError, "original: .*not real numbers"),
        ({"original": {"x": [1, math.inf]}}, ValueError, "original: .*infinite in 1"),
        ({"original": {"x": [2**53 + 1, 2**53, 0]}}, ValueError, "lose digits"),
        ({"original": {"x": [1, 0, -(2**53)]}}, ValueError, "lose digits"),
        ({"released": {"y": [1, 2, 3]}}, ValueError, "3 records of 'y'"),
        ({"released": {"x": [1, 2]}}, ValueError, "the original has 3 records of 'x'"),
        ({"keys": [0, 1]}, ValueError, r"keys: shape \(2,\), need \(3,\)"),
        ({"keys": [0.0, 1.0, 2.0]}, TypeError, "keys: need whole numbers"),
        ({"keys": [0, 1, -2]}, ValueError, "keys: 1 of 3 values are not in -1"),
        (
            {"keys": [0, 1, 1], "released_keys": [[0, 0]] * 3},
            ValueError,
            "released_keys: need the shape of keys",
        ),
        ({"released_keys": [0, 1, 1]}, ValueError, "released_keys: need the shape"),
        ({"weight": [1, 2]}, ValueError, "weight: need 3 weights"),
        ({"weight": [1, 2, 0]}, ValueError, "1 zero or negative"),
        ({"rank_width": 1.5}, ValueError, r"rank_width=1.5: need a number in \[0, 1\]"),
        ({"spread_width": -1}, ValueError, "spread_width=-1"),
        (
            {"released": {"x": [1e200, 2, 3]}},
            ValueError,
            r"released: column 'x': numbers of .* \(2\^53\) and more would lose digits",
        ),
        (
            {
                "original": {"x": [1e15, 1e-140, 0, 2e-140, 0]},
                "released": {"x": [0] * 5},
            },
            ValueError,
            r"'x': its values reach 1e\+15, but their spread is only 1\.4",
        ),
        (
            {"original": {"keys": [1, 2, 3]}, "keys": [0, 1, 1]},
            ValueError,
            "a column is called 'keys'",
        ),
    ],
)
def test_what_is_refused(given, error, message):
    arguments = {"original": X} | given
    with pytest.raises(error, match=message):
        riskcore.numeric_risk(arguments.pop("original"), **arguments)


# The result


def test_figures_are_plain_data():
    original, released, keys, blanked = survey(50)
    original[:, 1] = nan
    found = riskcore.numeric_risk(
        named(original), named(released), keys=keys, released_keys=blanked
    )
    figures = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert figures["columns"] == ["x0", "x1"]
    assert figures["records"] == 50
    assert [one["measure"] for one in figures["linkages"]] == 2 * [
        "equal values",
        *MEASURES,
    ]
    assert figures["intervals"][0]["shares"]["x1"] is None


def test_the_summary_shows_all_parts():
    original, released, keys, _ = survey(50)
    found = riskcore.numeric_risk(named(original), named(released), keys=keys)
    text = found.summary()
    for measure, known in product(MEASURES, ("numbers", "keys and numbers")):
        assert f"{found.linkage(measure, known=known).rate * 100:.4g} %" in text
    assert "within 0.05 standard deviations" in text
    assert "within 5 % of the ranks" in text
    assert "records with all inside" in text
    assert "single" in found._repr_html_()


def test_the_summary_of_one_column_says_nothing_twice():
    original, released, keys, _ = survey(50)
    found = riskcore.numeric_risk(
        named(original[:, :1]), named(released[:, :1]), keys=keys
    )
    text = found.summary()
    assert text.count("standardized distance") == 2
    assert found.linkage("robust distance").rate > 0
    assert "robust distance" not in text
    assert "records with all inside" not in text
    lines = [line.split() for line in text.splitlines() if line.strip()]
    assert sum(line[:2] == ["column", "numbers"] for line in lines) == 2


def test_the_report_is_written(tmp_path):
    original, released, *_ = survey(50)
    found = riskcore.numeric_risk(named(original), named(released))
    found.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Released records linked to their originals" in page


def test_what_there_is_not():
    single = riskcore.numeric_risk(X)
    with pytest.raises(ValueError, match="no such linkage: a single file has none"):
        single.linkage("robust distance")
    pair = riskcore.numeric_risk(X, X)
    with pytest.raises(ValueError, match="no such interval: they are 'rank', 'spread'"):
        pair.interval("range")
    with pytest.raises(ValueError, match="'robust distance' of numbers"):
        pair.linkage("robust distance", known="keys and numbers")
