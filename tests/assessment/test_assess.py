"""From a file to its risks: every number, every kind of input, every refusal."""

import datetime
import math
import warnings
from collections import Counter
from fractions import Fraction

import mpmath
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskcore import Reading, assess, individual_risk_from_frequencies, simulate
from riskcore.assessment.cell_risk import RECORD_COLUMNS, PopulationBelowSample
from riskcore.core import published_forms as forms
from riskcore.data.files import formats
from tests import reference

SURVEY = {
    "region": ["b", "a", "b", "a", "b", "c"],
    "age": [30, 30, 30, 40, 30, 30],
    "weight": [10.0, 20.5, 15.25, 40.0, 8.0, 3.5],
    "household": ["x", "y", "x", "z", "y", "z"],
}
ROLES = (["region", "age"], "weight", "household")


# Every number, against counting by hand and the definition in mpmath


def brute_force(data, keys, weight):
    """Return f, F and r of each record by dictionaries and rational sums."""
    cells = list(zip(*(data[key] for key in keys), strict=True))
    f = Counter(cells)
    F = dict.fromkeys(cells, Fraction(0))
    for cell, w in zip(cells, data[weight], strict=True):
        F[cell] += Fraction(float(w))
    risk = {}
    for cell, count in f.items():
        size = mpmath.mpf(F[cell].numerator) / F[cell].denominator
        risk[cell] = reference.individual_risk_from_frequencies(count, max(size, count))
    return [(f[cell], float(F[cell]), float(risk[cell])) for cell in cells]


@pytest.fixture(scope="module")
def survey():
    data = simulate.microdata(400, np.random.default_rng(5))
    order = np.random.default_rng(6).permutation(len(data["AGE"]))
    data = {name: column[order] for name, column in data.items()}
    data["AGE"] = data["AGE"] // 10
    data["REGION"] = data["REGION"] // 100
    return data


@pytest.fixture(scope="module")
def result(survey):
    return assess(survey, KEYS, "WEIGHT", "HOUSEHOLD")


@pytest.fixture(scope="module")
def small():
    """Return the assessment of `SURVEY`."""
    return assess(SURVEY, *ROLES)


KEYS = ["REGION", "SEX", "AGE"]


def test_every_number_of_a_small_survey(survey, result):
    f, F, risk = map(np.array, zip(*brute_force(survey, KEYS, "WEIGHT"), strict=True))
    records = result.records
    assert np.array_equal(records["sample_frequency"], f)
    np.testing.assert_allclose(records["population_frequency"], F, rtol=3e-16)
    np.testing.assert_allclose(records["sampling_fraction"], f / F, rtol=6e-16)
    np.testing.assert_allclose(result.individual_risk, risk, rtol=2e-15)
    assert np.array_equal(records["individual_risk"], result.individual_risk)
    assert len(set(f)) > 3

    expected = math.fsum(risk)
    assert result.expected_reidentifications == pytest.approx(expected, rel=1e-15)
    assert result.reidentification_rate == pytest.approx(expected / len(f), rel=1e-15)
    assert result.max_risk == result.individual_risk.max()

    ids = survey["HOUSEHOLD"]
    safe = {i: math.prod(1 - Fraction(r) for r in risk[ids == i]) for i in set(ids)}
    household = np.array([float(1 - safe[i]) for i in ids])
    np.testing.assert_allclose(result.household_risk, household, rtol=3e-15)
    assert np.array_equal(records["household_risk"], result.household_risk)
    rate = math.fsum(household) / len(ids)
    assert result.household_reidentification_rate == pytest.approx(rate, rel=1e-15)
    for t in (0.01, 0.1, float(np.median(result.household_risk)), 1.0):
        unsafe = result.household_risk >= t
        assert np.array_equal(result.unsafe_households(t), unsafe)
        assert result.unsafe_household_count(t) == len(set(ids[unsafe]))


def capped_rate(risk, threshold):
    return math.fsum(np.minimum(risk, threshold)) / len(risk)


def test_thresholds_of_a_small_survey(result):
    risk = result.individual_risk
    own = result.reidentification_rate
    for rate in (1e-6, 0.001, own / 2, math.nextafter(own, 0.0)):
        threshold = result.risk_threshold(rate=rate)
        assert capped_rate(risk, threshold) == pytest.approx(rate, rel=1e-13)
        threshold = result.household_threshold(rate=rate)
        found = capped_rate(result.household_risk, threshold)
        assert found == pytest.approx(rate, rel=1e-13)
    assert result.risk_threshold(rate=0.0) == 0.0
    assert result.risk_threshold(rate=own) == math.inf
    assert result.risk_threshold(rate=1.0) == math.inf
    for count in range(len(risk) + 1):
        threshold = result.risk_threshold(unsafe=count)
        unsafe = np.count_nonzero(risk >= threshold)
        lower = risk[risk < threshold]
        assert unsafe <= count
        # One risk lower would be too many.
        assert not lower.size or np.count_nonzero(risk >= lower.max()) > count
    assert result.risk_threshold(unsafe=0) == math.inf
    assert result.risk_threshold(unsafe=len(risk)) == risk.min()


def test_a_record_at_the_threshold_is_unsafe():
    result = assess({"k": [1, 1, 2, 3]}, ["k"])
    assert result.individual_risk.tolist() == [0.5, 0.5, 1.0, 1.0]
    assert result.unsafe(0.5).tolist() == [True] * 4
    above = math.nextafter(0.5, 1)
    assert result.unsafe(above).tolist() == [False, False, True, True]
    assert result.unsafe(0).sum() == 4
    assert result.unsafe(1).sum() == 2
    assert result.unsafe(math.inf).sum() == 0
    # The two records of risk 1 cannot be divided.
    assert result.risk_threshold(unsafe=1) == math.inf
    assert [result.risk_threshold(unsafe=k) for k in (2, 3, 4)] == [1.0, 1.0, 0.5]
    assert [result.unsafe_count(t) for t in (0.0, 0.5, above, 1.0)] == [4, 4, 2, 2]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("ab"),
            st.integers(0, 2),
            st.floats(0.25, 1e6),
            st.booleans(),
        ),
        min_size=1,
        max_size=40,
    ),
    st.randoms(use_true_random=False),
)
def test_records_keep_their_risk_in_any_order(rows, random):
    shuffled = list(enumerate(rows))
    random.shuffle(shuffled)
    order = [i for i, _ in shuffled]

    def of(table):
        a, b, w, h = zip(*table, strict=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PopulationBelowSample)
            return assess({"a": a, "b": b, "w": w, "h": h}, ["a", "b"], "w", "h")

    first, second = of(rows), of([row for _, row in shuffled])
    np.testing.assert_allclose(
        second.individual_risk, first.individual_risk[order], rtol=1e-14
    )
    np.testing.assert_allclose(
        second.household_risk, first.household_risk[order], rtol=1e-14
    )
    a, b, w, _ = zip(*rows, strict=True)
    counted = brute_force({"a": a, "b": b, "w": w}, "ab", "w")
    f, F, risk = zip(*counted, strict=True)
    np.testing.assert_allclose(first.individual_risk, risk, rtol=2e-15)
    assert first.records["sample_frequency"].tolist() == list(f)
    np.testing.assert_allclose(first.records["population_frequency"], F, rtol=3e-16)


def test_without_weights_the_file_is_the_population():
    result = assess({"k": list("aabccc")}, ["k"])
    assert not result.cells.weighted
    np.testing.assert_array_equal(
        result.individual_risk, 1 / np.array([2, 2, 1, 3, 3, 3])
    )
    assert result.expected_reidentifications == 3.0


def test_methods_are_the_named_forms(survey, result):
    rates = []
    for method in ("series7", "franconi"):
        found = assess(survey, KEYS, "WEIGHT", method=method)
        records = found.records
        form = getattr(forms, method)
        expected = form(records["sample_frequency"], records["sampling_fraction"])
        np.testing.assert_allclose(found.individual_risk, expected, rtol=1e-15)
        rates.append(found.reidentification_rate)
    assert rates[0] < result.reidentification_rate < rates[1]


def test_same_bits_again(survey, result):
    again = assess(survey, KEYS, "WEIGHT", "HOUSEHOLD")
    assert again.individual_risk.tobytes() == result.individual_risk.tobytes()
    assert again.household_risk.tobytes() == result.household_risk.tobytes()


# F < f


@pytest.mark.parametrize("method", ["exact", "series7", "franconi"])
def test_population_below_sample_is_warned_of_and_ruled(method):
    data = {"k": [1, 1, 1, 2, 2, 3], "w": [0.5, 0.5, 0.5, 9.0, 1.0, 1.0]}
    with pytest.warns(PopulationBelowSample, match=r"1 of 3 cells \(3 of 6 records\)"):
        result = assess(data, ["k"], "w", method=method)
    assert result.individual_risk[:3].tolist() == [1 / 3] * 3
    assert result.individual_risk[5] == 1.0
    records = result.records
    assert records["population_frequency"][:3].tolist() == [1.5] * 3
    assert records["sampling_fraction"][:3].tolist() == [2.0] * 3


def test_warning_points_at_the_caller():
    with pytest.warns(PopulationBelowSample) as caught:
        assess({"k": [1], "w": [0.5]}, ["k"], "w")
    assert caught[0].filename == __file__


@pytest.mark.parametrize("weight", [1e300, 1e-300, 1e15])
def test_extreme_weights(weight, exact):
    data = {"k": [1, 2], "w": [weight, weight]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PopulationBelowSample)
        result = assess(data, ["k"], "w", reading=Reading(weight_scale=1))
    expected = exact("individual_risk_from_frequencies", 1, max(weight, 1.0))
    np.testing.assert_allclose(result.individual_risk, float(expected), rtol=1e-15)


# Kinds of data


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([5, 3, 9, 1, 0, 2]),
        pd.Index(list("aabbcc")),
        pd.Index([0] * 6),
        pd.MultiIndex.from_product([[2, 1], ["x", "y", "z"]], names=["i", "j"]),
        pd.date_range("2020-01-01", periods=6)[::-1],
    ],
)
def test_pandas_keeps_its_index(small, index):
    frame = pd.DataFrame(SURVEY).set_axis(index)
    records = assess(frame, *ROLES).records
    assert isinstance(records, pd.DataFrame)
    pd.testing.assert_index_equal(records.index, index)
    pd.testing.assert_frame_equal(records[list(SURVEY)], frame)
    assert records["individual_risk"].tolist() == small.individual_risk.tolist()
    assert records["household_risk"].tolist() == small.household_risk.tolist()
    assert list(frame.columns) == list(SURVEY)


KINDS = {
    "lists": dict,
    "arrays": lambda data: {k: np.array(v) for k, v in data.items()},
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


def names_of(records):
    return (
        list(records) if isinstance(records, dict) else nw.from_native(records).columns
    )


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_records_are_of_the_type_given(small, make):
    data = make(SURVEY)
    records = assess(data, *ROLES).records
    assert type(records) is type(data)
    assert names_of(records) == [*SURVEY, *RECORD_COLUMNS]
    values = np.asarray(records["individual_risk"])
    assert values.tolist() == small.individual_risk.tolist()
    assert np.asarray(records["region"]).tolist() == SURVEY["region"]
    # The column of households is added only with households.
    alone = assess(data, ["region"], "weight").records
    assert names_of(alone) == [*SURVEY, *RECORD_COLUMNS[:-1]]


def test_a_narwhals_frame_gives_its_native_frame():
    frame = nw.from_native(pl.DataFrame(SURVEY))
    assert isinstance(assess(frame, *ROLES).records, pl.DataFrame)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".csv.gz"])
def test_a_path_reads_the_columns_needed(tmp_path, small, suffix):
    path = formats.write(tmp_path / f"survey{suffix}", {**SURVEY, "other": [1] * 6})
    for given_path in (path, str(path)):
        result = assess(given_path, *ROLES)
        assert result.individual_risk.tobytes() == small.individual_risk.tobytes()
        assert result.household_risk.tobytes() == small.household_risk.tobytes()
        assert result.records.column_names == [*SURVEY, *RECORD_COLUMNS]


def test_a_mu_argus_file_brings_its_weight(tmp_path):
    (tmp_path / "s.rda").write_text("SEX 1 1 9\n <RECODABLE>\nW 2 5\n <WEIGHT>\n")
    (tmp_path / "s.asc").write_text("112.50\n2 8.00\n1 7.50\n")
    result = assess(tmp_path / "s.asc", ["SEX"])
    assert result.records["population_frequency"].tolist() == [20.0, 8.0, 20.0]
    with pytest.raises(ValueError, match="'W' is both a key and the weight"):
        assess(tmp_path / "s.asc", ["W"])


DAYS = datetime.date(2020, 1, 1), datetime.date(1990, 5, 6)
TIMES = datetime.datetime(2020, 1, 1, 12), datetime.datetime(2021, 1, 1)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (True, False),
        (1.5, math.inf),
        DAYS,
        TIMES,
        ("é", "日本"),
        ("\x1b[31m", ""),
        ("x" * 10_000, "x" * 9_999),
    ],
    ids=["bool", "float", "date", "datetime", "unicode", "control", "long"],
)
@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.filterwarnings("ignore:key 'k'. '' .1 record. is taken")
def test_types_of_keys(one, other, make):
    data = {"k": [one, other, one], "w": [2.0, 3.0, 4.0]}
    result = assess(make(data), ["k"], "w")
    assert result.cells.inverse[0] == result.cells.inverse[2] != result.cells.inverse[1]
    F = np.asarray(result.records["population_frequency"])
    assert F.tolist() == [6.0, 3.0, 6.0]


def test_categorical_keys_count_what_occurs():
    column = pd.Categorical(["b", "a", "b"], categories=["b", "a", "never"])
    result = assess(pd.DataFrame({"k": column}), ["k"])
    assert len(result.cells) == 2
    assert result.individual_risk.tolist() == [0.5, 1.0, 0.5]


def test_names_that_look_like_the_fields_letters():
    data = {"f": [1, 1, 2], "F": [2.0, 3.0, 4.0], "p": [1, 1, 1], "risk": [0, 0, 0]}
    result = assess(data, ["f", "p", "risk"], "F")
    assert result.records["population_frequency"].tolist() == [5.0, 5.0, 4.0]
    assert assess(pd.DataFrame(data), ["F"]).records["F"].tolist() == data["F"]


def test_names_that_are_no_text():
    frame = pd.DataFrame({0: [1, 1, 2], ("a", 1): [2.0, 3.0, 4.0]})
    records = assess(frame, [0], ("a", 1)).records
    assert records["population_frequency"].tolist() == [5.0, 5.0, 4.0]
    assert list(records.columns[:2]) == [0, ("a", 1)]


def test_one_record_one_category_many_keys():
    assert assess({"k": ["only"]}, ["k"]).individual_risk.tolist() == [1.0]
    result = assess({"k": [7] * 5, "w": [2.0] * 5}, ["k"], "w")
    expected = float(reference.individual_risk_from_frequencies(5, 10))
    np.testing.assert_allclose(result.individual_risk, expected, rtol=1e-15)
    keys = [f"k{i}" for i in range(30)]
    columns = np.random.default_rng(3).integers(0, 3, (30, 50))
    result = assess(dict(zip(keys, columns, strict=True)), keys)
    assert len(result.cells) == len(np.unique(columns, axis=1).T)


def test_a_million_records_of_one_cell():
    n = 1_000_000
    result = assess({"k": np.zeros(n, np.int8), "w": np.full(n, 2.5)}, ["k"], "w")
    assert len(result.cells) == 1
    assert result.cells.population_frequency.tolist() == [2.5e6]
    expected = float(reference.individual_risk_from_frequencies(n, 2_500_000))
    assert result.max_risk == pytest.approx(expected, rel=1e-15)
    assert result.expected_reidentifications == pytest.approx(n * expected, rel=1e-15)
    assert result.risk_threshold(unsafe=n - 1) == math.inf


@pytest.mark.parametrize(
    "ids",
    [
        [70, 12, 70, 5, 12, 5],
        ["x", "y", "x", "z", "y", "z"],
        [2.5, -1.0, 2.5, 7.0, -1.0, 7.0],
        [datetime.date(2020, 1, d) for d in (3, 1, 3, 2, 1, 2)],
        [(1, "a"), (1, "b"), (1, "a"), (2, "a"), (1, "b"), (2, "a")],
        np.array([2**63, 0, 2**63, 7, 0, 7], np.uint64),
    ],
    ids=["int", "text", "float", "date", "tuple", "uint64"],
)
def test_household_ids_of_any_type_and_order(small, ids):
    result = assess({**SURVEY, "household": ids}, *ROLES)
    assert result.household_risk.tolist() == small.household_risk.tolist()
    r = result.individual_risk
    assert result.household_risk[0] == result.household_risk[2]
    together = 1 - (1 - r[0]) * (1 - r[2])
    assert result.household_risk[0] == pytest.approx(together, rel=1e-15)


def test_missing_keys_as_a_category():
    data = {"k": ["a", None, "a", None], "w": [2.0, 3.0, 4.0, 5.0]}
    result = assess(data, ["k"], "w", missing="category")
    assert result.records["population_frequency"].tolist() == [6.0, 8.0, 6.0, 8.0]
    assert {row["k"] for row in result.riskiest()} == {"a", None}


# f and F as measured in sdcMicro, for alpha 1 and a half.
HOLES = {
    "a": [1, 1, 2, None, 1],
    "b": [1, 1, 1, 1, None],
    "w": [10.0, 20.0, 30.0, 40.0, 50.0],
    "h": [1, 2, 1, 2, 3],
}


@pytest.mark.parametrize(
    ("alpha", "f", "F"),
    [
        (1.0, [4, 4, 2, 5, 4], [120, 120, 70, 150, 120]),
        (0.5, [3, 3, 1.5, 4.5, 3.5], [75, 75, 50, 125, 100]),
    ],
)
def test_missing_keys_as_wildcards(alpha, f, F):
    roles = ["a", "b"], "w", "h"
    result = assess(HOLES, *roles, missing="wildcard", alpha=alpha)
    records = result.records
    assert records["sample_frequency"].tolist() == f
    assert records["population_frequency"].tolist() == F
    risk = individual_risk_from_frequencies(f, F)
    assert result.individual_risk.tolist() == risk.tolist()
    # Over records, each counted once, whatever its f.
    assert result.expected_reidentifications == math.fsum(risk)
    assert result.reidentification_rate == math.fsum(risk) / 5
    assert result.unsafe_count(0.0) == 5
    assert result.unsafe_count(result.max_risk) == result.unsafe(result.max_risk).sum()
    assert result.household_risk[0] == result.household_risk[2]
    assert result.household_risk[0] == pytest.approx(
        1 - (1 - risk[0]) * (1 - risk[2]), rel=1e-15
    )


def test_wildcards_below_the_sample_count_records_once():
    data = {"a": [1, 1, None], "b": [1, 1, 1], "w": [0.5, 0.5, 0.25]}
    with pytest.warns(
        PopulationBelowSample, match=r"in 2 of 2 cells \(3 of 3 records\)"
    ):
        result = assess(data, ["a", "b"], "w", missing="wildcard")
    assert result.individual_risk.tolist() == [1 / 3] * 3


@pytest.mark.parametrize("method", ["exact", "series7"])
def test_real_frequencies_lie_between(method):
    def risk(alpha):
        options = {"missing": "wildcard", "alpha": alpha, "method": method}
        return assess(HOLES, ["a", "b"], "w", **options).individual_risk

    assert (risk(1.0) < risk(0.5)).all()
    assert (risk(0.5) < risk(0.0)).all()


def test_franconi_has_no_quiet_zero_between_its_branches():
    options = {"missing": "wildcard", "alpha": 0.5, "method": "franconi"}
    with pytest.raises(ValueError, match=r"1 < f < 2.*alpha=0\.5 gives 1 of 5 records"):
        assess(HOLES, ["a", "b"], "w", **options)
    whole = assess(HOLES, ["a", "b"], "w", missing="wildcard", method="franconi")
    assert (whole.individual_risk > 0).all()


def test_progress_names_the_steps(tmp_path):
    said = []
    assess(SURVEY, *ROLES, progress=said.append)
    assert said == [
        "finding households",
        "counting cells",
        "computing the risk of 4 cells",
        "computing household risks",
    ]
    path = formats.write(tmp_path / "survey.csv", SURVEY)
    said.clear()
    assess(path, *ROLES, progress=said.append)
    assert said[0] == f"reading {path}"


def test_riskiest_cells(small):
    rows = small.riskiest(2)
    assert [row["region"] for row in rows] == ["c", "a"]
    assert rows[0]["individual_risk"] == small.max_risk
    assert rows[0]["population_frequency"] == 3.5
    assert len(small.riskiest(100)) == len(small.cells)
    assert small.riskiest(0) == []
    assert "6 records in 4 cells" in repr(small)


# Refusals

WITH = {"k": ["a", "b", "a"], "w": [1.0, 2.0, 3.0], "h": [1, 1, 2]}
nan, inf = math.nan, math.inf


@pytest.mark.parametrize(
    ("change", "roles", "error", "message"),
    [
        ({}, {"keys": ["kk"]}, KeyError, "no column 'kk'; did you mean 'k'"),
        ({}, {"keys": "k"}, TypeError, r"write \['k'\]"),
        ({}, {"keys": ["k", "w"]}, ValueError, "'w' is both a key and the weight"),
        ({"w": ["1", "2", "3"]}, {}, TypeError, "weight 'w'"),
        ({"w": [1.0, -2.0, -3.0]}, {}, ValueError, "'w': 2 negative in 3"),
        ({"w": [1.0, nan, 3.0]}, {}, ValueError, "'w': 1 missing in 3 records"),
        (
            {"k": ["a", None, "b"]},
            {"missing": "refuse"},
            ValueError,
            "'k' in 1 of 3 records",
        ),
        ({"h": [1, None, 2]}, {}, ValueError, "household 'h': missing in 1 of 3"),
        ({"h": [nan, None, 2.0]}, {}, ValueError, "household 'h': missing in 2 of 3"),
        ({"k": [["list"]] * 3}, {}, TypeError, "key 'k'"),
        ({"k": ["a"]}, {}, ValueError, "differ in length"),
        (
            {"individual_risk": [1] * 3},
            {"keys": ["individual_risk"]},
            ValueError,
            "name of a result",
        ),
        (
            {"Household_Risk": [1] * 3},
            {"keys": ["Household_Risk"]},
            ValueError,
            "result of",
        ),
    ],
)
def test_refused(change, roles, error, message):
    roles = {"keys": ["k"], "weight": "w", "household": "h", **roles}
    with pytest.raises(error, match=message):
        assess({**WITH, **change}, **roles)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_missing_household_ids_of_frames(make):
    data = make({**WITH, "h": ["x", None, "y"]})
    with pytest.raises(ValueError, match="household 'h': missing in 1 of 3 records"):
        assess(data, ["k"], "w", "h")


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (None, TypeError, "not NoneType"),
        (pd.DataFrame([[1, 2]], columns=["k", "k"]), ValueError, "share a name"),
        ("no/such/file.csv", FileNotFoundError, "no such file"),
    ],
)
def test_data_refused(data, error, message):
    with pytest.raises(error, match=message):
        assess(data, ["k"])


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("name", ["individual_risk", "Individual_Risk"])
def test_records_never_overwrite_a_column(make, name):
    result = assess(make({**WITH, name: [0.5] * 3}), ["k"], "w")
    assert result.max_risk > 0
    with pytest.raises(ValueError, match=f"column '{name}'"):
        _ = result.records


def test_questions_refused():
    result = assess({"k": [1, 2]}, ["k"])
    for threshold in (nan, -1.0):
        with pytest.raises(ValueError, match="threshold"):
            result.unsafe(threshold)
        with pytest.raises(ValueError, match="threshold"):
            result.unsafe_count(threshold)
    for targets in ({}, {"rate": 0.1, "unsafe": 1}):
        with pytest.raises(TypeError, match="either"):
            result.risk_threshold(**targets)
    for rate in (-0.1, 1.1, nan):
        with pytest.raises(ValueError, match="rate"):
            result.risk_threshold(rate=rate)
    for unsafe in (-1, 3):
        with pytest.raises(ValueError, match=f"unsafe={unsafe}: need 0 to 2 records"):
            result.risk_threshold(unsafe=unsafe)
    with pytest.raises(TypeError):
        result.risk_threshold(unsafe=0.5)
    with pytest.raises(ValueError, match="count"):
        result.riskiest(-1)
    for question in (
        lambda: result.household_risk,
        lambda: result.household_reidentification_rate,
        lambda: result.household_threshold(rate=0.1),
        lambda: result.unsafe_households(0.1),
        lambda: result.unsafe_household_count(0.1),
    ):
        with pytest.raises(ValueError, match="household=column"):
            question()


def test_missing_keys_match_any_value_by_default_and_it_is_said():
    data = {"a": [1, 1, None, 2], "b": [1, 1, 1, None], "w": [9.0] * 4}
    found = assess(data, ["a", "b"], "w")
    same = assess(data, ["a", "b"], "w", missing="wildcard")
    np.testing.assert_array_equal(found.individual_risk, same.individual_risk)
    assert "2 records with missing keys>" in repr(found)
    assert "with missing keys" in repr(found.cells)
    assert "in 2 records; they match any value, as in sdcMicro" in found.summary()
    assert found.figures["incomplete_records"] == 2
    for whole in (
        assess({"a": [1, 2]}, ["a"]),
        assess(data, ["a"], "w", missing="category"),
    ):
        assert "missing keys" not in repr(whole)
    assert "missing keys" not in assess({"a": [1, 2]}, ["a"]).summary()


@pytest.mark.parametrize("missing", [None, 1])
def test_an_engine_keeps_cells_unless_keys_are_missing(missing):
    data = {"a": [1, 1, missing, 2], "w": [3.0, 4.0, 5.0, 6.0]}
    there = assess(pl.DataFrame(data).lazy(), ["a"], "w")
    here = assess(data, ["a"], "w")
    assert type(there).__name__ == (
        "Assessment" if missing is None else "HeldAssessment"
    )
    assert there.max_risk == here.max_risk
    assert there.reidentification_rate == here.reidentification_rate
    records = there.records.collect().sort("w")
    np.testing.assert_array_equal(records["individual_risk"], here.individual_risk)
    # What a record counts for others must be known where cells are collected.
    half = assess(pl.DataFrame(data).lazy(), ["a"], "w", alpha=0.5)
    assert half.cells.alpha == 0.5
