"""Every engine gives the same results as the same data in memory."""

import datetime as dt
import warnings
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import riskcore
from riskcore.assessment.cell_risk import RECORD_COLUMNS

ZONE = pa.timestamp("us", tz="America/New_York")
N = 60
NAN = float("nan")


def cases():
    """Yield (name, table, keys, weight, missing)."""
    rng = np.random.default_rng(5)
    id = pa.array(range(N))
    sex = pa.array(rng.choice(["m", "f"], N))
    age = pa.array(rng.integers(0, 5, N))
    whole = pa.array(rng.integers(1, 90, N))
    tenths = pa.array(rng.integers(1, 900, N) / 10)
    spread = pa.array(10.0 ** rng.uniform(-40, 40, N))

    def with_null(values, type=None):
        return pa.array(
            [None if i % 7 == 2 else v for i, v in enumerate(values.to_pylist())], type
        )

    base = {"id": id, "sex": sex, "age": age, "w": tenths}
    keys = ["sex", "age"]
    yield "plain", base, keys, "w", "refuse"
    yield "no weight", base, keys, None, "refuse"
    yield "one key", base, ["sex"], "w", "refuse"
    yield "whole weights", {**base, "w": whole}, keys, "w", "refuse"
    decimals = [Decimal(v) + Decimal("0.25") for v in whole.to_pylist()]
    yield "decimal weights", {**base, "w": pa.array(decimals)}, keys, "w", "refuse"
    yield "spread weights", {**base, "w": spread}, keys, "w", "refuse"
    nulls = {**base, "sex": with_null(sex), "age": with_null(age)}
    for rule in ("category", "wildcard", "argus"):
        yield f"null keys, {rule}", nulls, keys, "w", rule
    real = [NAN if i % 5 == 1 else float(v) for i, v in enumerate(age.to_pylist())]
    mixed = with_null(pa.array(real))
    yield "nan and null keys", {**base, "age": mixed}, keys, "w", "category"
    zeros = pa.array([-0.0, 0.0, 1.5] * (N // 3))
    yield "zeros of both signs", {**base, "age": zeros}, keys, "w", "refuse"
    labels = pa.DictionaryArray.from_arrays(
        pa.array(rng.integers(0, 2, N), pa.int32()), ["n", "s", "unused"]
    )
    yield "unused level", {**base, "sex": labels}, keys, "w", "refuse"
    flags = pa.array(rng.random(N) < 0.5)
    yield "booleans", {**base, "sex": flags}, keys, "w", "refuse"
    days = pa.array([dt.date(2000, 1, 1 + d) for d in age.to_pylist()])
    yield "dates", {**base, "age": days}, keys, "w", "refuse"
    # The hour of the clock that comes twice.
    start = dt.datetime(2024, 11, 3, 4, 30, tzinfo=dt.UTC)
    hours = [start + dt.timedelta(hours=h) for h in age.to_pylist()]
    yield "times in a zone", {**base, "age": pa.array(hours, ZONE)}, keys, "w", "refuse"
    texts = pa.array(["x" * 100_000 + str(a % 3) for a in age.to_pylist()])
    yield "long texts", {**base, "age": texts}, keys, "w", "refuse"
    odd = {"id": id, 'a "b" c': sex, "x.y": age, "`t`": age, "select": sex, "w": tenths}
    yield "odd names", odd, ['a "b" c', "x.y", "`t`", "select"], "w", "refuse"
    for n in (24, 300):
        wide = {f"c{i}": age if i % 2 else sex for i in range(n)}
        wide |= {"id": id, "w": tenths}
        yield f"{n} columns", wide, ["c7", "c8"], "w", "refuse"


CASES = {name: rest for name, *rest in cases()}


def plain(values):
    """Return values with times as dates, which pandas does not have."""
    return [one.date() if isinstance(one, dt.datetime) else one for one in values]


@pytest.mark.parametrize("name", CASES)
def test_the_same_as_in_memory(engine, name, in_order):
    columns, keys, weight, missing = CASES[name]
    table = pa.table(columns)
    how = {"missing": missing, "reading": riskcore.Reading(weight_scale=1)}
    want = riskcore.assess(table, keys, weight, **how)
    data = engine.hold(table)
    got = riskcore.assess(data, keys, weight, **how)
    exact = np.testing.assert_array_equal
    if name == "spread weights":  # beyond whole numbers: the engine's own sums

        def exact(a, b):
            np.testing.assert_allclose(a, b, rtol=1e-12)

    assert len(got.cells) == len(want.cells)
    assert got.cells.n == want.cells.n == N
    exact(got.cells.records, want.cells.records)
    exact(got.cells.sample_frequency, want.cells.sample_frequency)
    exact(got.cells.population_frequency, want.cells.population_frequency)
    exact(got.cell_risk, want.cell_risk)
    assert got.cells.missing_values == want.cells.missing_values
    if name != "times in a zone":
        for key in keys:
            values = [each.cells.to_dict()[key].tolist() for each in (got, want)]
            assert plain(values[0]) == plain(values[1])
    if name != "spread weights":
        assert got.figures == want.figures
        assert repr(got) == repr(want)
    assert got.unsafe_count(0.01) == want.unsafe_count(0.01)
    assert got.risk_threshold(unsafe=3) == pytest.approx(want.risk_threshold(unsafe=3))
    riskiest = [[row["individual_risk"] for row in each.riskiest(4)]
                for each in (got, want)]  # fmt: skip
    exact(*riskiest)

    records = got.records
    assert isinstance(records, engine.kind)
    back = engine.collect(records)
    assert back.column_names == [*columns, *RECORD_COLUMNS[:4]]
    if engine.in_order:
        assert back["id"].to_pylist() == list(range(N))
    else:
        back = in_order(back)
    for column in RECORD_COLUMNS[:4]:
        exact(back[column].to_numpy(), want.records[column].to_numpy())
    # What was there is as it was.
    for other in ("id", *keys[:1]):
        assert repr(back[other].to_pylist()) == repr(table[other].to_pylist())


def test_the_same_cells_by_tabulate(engine):
    columns, keys, weight, _ = CASES["plain"]
    table = pa.table(columns)
    want = riskcore.tabulate(table, keys, weight)
    got = riskcore.tabulate(engine.hold(table), keys, weight)
    assert repr(got) == repr(want)
    assert got.row(0) == want.row(0)


def test_sums_do_not_depend_on_the_order_of_the_records(engine):
    rng = np.random.default_rng(3)
    n = 3000
    table = pa.table({"a": rng.integers(0, 7, n), "w": rng.lognormal(4, 1, n)})
    mixed = table.take(rng.permutation(n))
    one, other = (
        riskcore.tabulate(engine.hold(each), ["a"], "w").population_frequency
        for each in (table, mixed)
    )
    np.testing.assert_array_equal(one, other)
    want = riskcore.tabulate(table, ["a"], "w").population_frequency
    np.testing.assert_allclose(one, want, rtol=2**-52)


def test_names_that_differ_by_case(engine):
    table = pa.table({"Age": [1, 2, 1], "age": [5, 5, 6], "w": [2.0, 3.0, 4.0]})
    want = riskcore.tabulate(table, ["Age", "age"], "w")
    if not engine.case_blind:
        got = riskcore.tabulate(engine.hold(table), ["Age", "age"], "w")
        np.testing.assert_array_equal(got.population_frequency, [2.0, 4.0, 3.0])
        np.testing.assert_array_equal(
            got.population_frequency, want.population_frequency
        )
        return
    # An engine that ignores case refuses them, or renames one: nothing is mixed up.
    with pytest.raises(Exception, match=r"(?i)differ only in case|ambiguous|no column"):
        riskcore.tabulate(engine.hold(table), ["Age", "age"], "w")


@pytest.mark.parametrize(
    ("weights", "fault"),
    [
        ([1.0, None, 2.0], "1 missing in 3 records"),
        ([1.0, NAN, None], "2 missing in 3 records"),
        ([1.0, float("inf"), 2.0], "1 infinite in 3 records"),
        ([0.0, -1.0, 2.0], "1 negative in 3 records"),
        ([float("-inf"), -1.0, NAN], "1 missing, 1 infinite, 1 negative"),
        ([None, None, None], "3 missing in 3 records"),
    ],
)
def test_invalid_weights(engine, weights, fault):
    table = pa.table({"a": [1, 1, 2], "w": pa.array(weights, pa.float64())})
    with pytest.raises(ValueError, match=f"weight 'w': {fault}"):
        riskcore.assess(engine.hold(table), ["a"], "w")


def test_weights_whose_sum_overflows(engine):
    table = pa.table({"a": [1, 1, 2], "w": [1.5e308, 1.5e308, 1.0]})
    with pytest.raises(ValueError, match="weight 'w': the sum overflows"):
        riskcore.assess(engine.hold(table), ["a"], "w")


def test_what_is_refused(engine):
    table = pa.table({"a": ["x", None, "y"], "w": ["1", "2", "3"], "v": [1, 2, 3]})
    data = engine.hold(table)
    with pytest.raises(TypeError, match=r"weight 'w': values of type String"):
        riskcore.assess(data, ["v"], "w")
    with pytest.raises(ValueError, match=r"missing key values: 'a' in 1 of 3 records"):
        riskcore.assess(data, ["a"], "v", missing="refuse")
    with pytest.raises(KeyError, match="no column 'b'"):
        riskcore.assess(data, ["b"])
    with pytest.raises(TypeError, match=r"household: .* collect the columns"):
        riskcore.assess(data, ["v"], household="a")
    result = riskcore.assess(data, ["v"])
    with pytest.raises(TypeError, match="collect the columns"):
        _ = result.individual_risk
    with pytest.raises(TypeError, match="collect the columns"):
        result.unsafe(0.5)


def test_no_records(engine):
    data = engine.hold(pa.table({"a": pa.array([], pa.int64())}))
    with pytest.raises(ValueError, match="the data hold no records"):
        riskcore.assess(data, ["a"])
    with pytest.raises(ValueError, match="the data hold no records"):
        riskcore.protect(data, ["a"], threshold=0.5)


def test_a_column_that_is_called_like_a_result(engine):
    data = engine.hold(pa.table({"a": [1, 2], "Individual_Risk": [1.0, 2.0]}))
    result = riskcore.assess(data, ["a"])
    with pytest.raises(ValueError, match="'Individual_Risk' has the name of a result"):
        _ = result.records


def test_doubtful_codes_count_records(engine):
    table = pa.table({"a": ["NA", "NA", "NA", "b"]})
    with pytest.warns(UserWarning, match=r"'NA' \(3 records\)"):
        riskcore.tabulate(engine.hold(table), ["a"])


def test_the_report(engine):
    columns, keys, weight, _ = CASES["plain"]
    table = pa.table(columns)
    pages = []
    for data in (table, engine.hold(table)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = riskcore.assess(data, keys, weight)
            pages.append(result._repr_html_())
    assert pages[0] == pages[1]


def test_two_results_at_once(engine):
    """Relations of one connection share its names: one must not show in another."""
    one = pa.table({"k": [0, 1, 2] * 3, "w": [2.5] * 9})
    other = pa.table({"k": [0, 1] * 2, "w": [7.5] * 4})
    held = [
        riskcore.assess(engine.hold(table), ["k"], "w").records
        for table in (one, other)
    ]
    found = [engine.collect(one)["population_frequency"].to_pylist() for one in held]
    assert found == [[7.5] * 9, [15.0] * 4]
