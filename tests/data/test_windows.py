"""Records within a tolerance, against a count of all pairs."""

import numpy as np
import pytest

from riskcore.data.cells import tabulate
from riskcore.data.files.reading import Reading

TOLERANCES = [
    {"age": 0},
    {"age": 2},
    {"age": 2, "income": "5%"},
    {"income": "5%"},
    {"age": 1.5, "income": 100, "hours": "20%"},
    {"hours": 1000},
]


def people(n, seed, *, missing=False):
    rng = np.random.default_rng(seed)
    data = {
        "sex": rng.choice(["f", "m"], n),
        "age": rng.integers(0, 30, n).astype(float),
        "income": np.round(rng.lognormal(7, 1, n) * rng.choice([-1, 1, 1, 1], n)),
        "region": rng.integers(0, 3, n),
        "hours": rng.integers(0, 40, n) / 2,
    }
    if missing:
        for key in ("age", "region"):
            data[key] = data[key].astype(float)
            data[key][rng.random(n) < 0.1] = np.nan
    return data, rng.lognormal(2, 1, n)


def within(x, y, tolerance):
    """Return whether each y matches the known x; missing matches missing."""
    if isinstance(tolerance, str):
        tolerance = float(tolerance.rstrip("%")) / 100 * abs(x)
    return (np.abs(y - x) <= tolerance) | (np.isnan(x) & np.isnan(y))


def reference(data, weight, tolerance):
    """Return f and F of each record by looking at all other ones."""
    n = len(weight)
    f, F = np.zeros(n, int), np.zeros(n)
    for i in range(n):
        match = np.ones(n, bool)
        for key, values in data.items():
            if key in tolerance:
                match &= within(values[i], values, tolerance[key])
            else:
                same = values == values[i]
                if values.dtype.kind == "f":
                    same |= np.isnan(values) & np.isnan(values[i])
                match &= same
        f[i], F[i] = match.sum(), np.sum(weight[match])
    return f, F


@pytest.mark.parametrize("tolerance", TOLERANCES, ids=str)
@pytest.mark.parametrize("keys", ["age income", "sex income hours age region", "hours"])
@pytest.mark.parametrize("missing", [False, True])
def test_windows_hold_what_all_pairs_say(tolerance, keys, missing):
    data, weight = people(600, 5, missing=missing)
    data = {key: data[key] for key in keys.split()}
    tolerance = {key: x for key, x in tolerance.items() if key in data}
    cells = tabulate(
        {**data, "w": weight}, list(data), "w", "category", tolerance=tolerance
    )
    f, F = reference(data, weight, tolerance)
    assert f.max() > 1 or ("income" in data and "income" not in tolerance)
    np.testing.assert_array_equal(cells.sample_frequency[cells.inverse], f)
    np.testing.assert_allclose(
        cells.population_frequency[cells.inverse], F, rtol=4e-16 * len(f)
    )
    assert cells.shared == any(x != 0 for x in tolerance.values())


def test_tolerance_0_gives_the_bits_of_equal_numbers():
    data, weight = people(2000, 1)
    data = {**data, "w": weight}
    keys = ["sex", "age", "region"]
    plain = tabulate(data, keys, "w")
    exact = tabulate(data, keys, "w", tolerance={"age": 0})
    assert np.array_equal(plain.sample_frequency, exact.sample_frequency)
    assert np.array_equal(plain.population_frequency, exact.population_frequency)
    assert not exact.shared


def test_windows_that_are_cells_give_their_bits():
    data, weight = people(2000, 1)
    data = {**data, "w": weight}
    plain = tabulate(data, ["age", "region"], "w")
    for tolerance in ({"age": 0.5}, {"age": 0.5, "region": 0.5}):
        moved = tabulate(data, ["age", "region"], "w", tolerance=tolerance)
        assert np.array_equal(plain.population_frequency, moved.population_frequency)


def test_order_of_records_changes_nothing():
    data, weight = people(3000, 2)
    weight = np.round(weight * 16)  # sums are exact
    order = np.random.default_rng(0).permutation(3000)
    tolerance = {"age": 3, "income": "30%"}
    keys = ["sex", "income", "age"]
    one = tabulate({**data, "w": weight}, keys, "w", tolerance=tolerance)
    other = {key: values[order] for key, values in data.items()}
    other = tabulate({**other, "w": weight[order]}, keys, "w", tolerance=tolerance)
    assert np.array_equal(one.sample_frequency, other.sample_frequency)
    assert np.array_equal(one.population_frequency, other.population_frequency)


def test_small_weights_survive_beside_large_ones():
    weight = np.array([1e300, 1.0, 2.0, 1e300, 4.0])
    data = {"age": np.array([1, 4, 5, 9, 11]), "w": weight}
    as_it_is = Reading(weight_scale=1)
    cells = tabulate(data, ["age"], "w", reading=as_it_is, tolerance={"age": 2})
    assert cells.population_frequency.tolist() == [1e300, 3.0, 3.0, 1e300, 1e300]


def test_decimals_within_a_tenth():
    data = {"x": [1.0, 1.1, 1.2, 1.4, -0.3, -0.2]}
    cells = tabulate(data, ["x"], tolerance={"x": 0.1})
    assert cells.sample_frequency.tolist() == [2, 2, 2, 3, 2, 1]


def test_a_share_is_of_the_known_number():
    cells = tabulate({"x": [95, 100, 105]}, ["x"], tolerance={"x": "5%"})
    # 100 is 5.3 % from 95 and 4.8 % from 105.
    assert cells.sample_frequency.tolist() == [1, 3, 2]


def test_threads_change_no_bit(monkeypatch):
    data, weight = people(15_000, 3)
    given = {**data, "w": weight}
    found = []
    for threads in (1, 2, 5):
        monkeypatch.setattr("riskcore.data.windows.usual_threads", lambda t=threads: t)
        cells = tabulate(
            given, ["age", "income"], "w", tolerance={"age": 2, "income": "3%"}
        )
        found.append(cells.population_frequency)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


@pytest.mark.parametrize(
    ("tolerance", "error", "message"),
    [
        ({"sex": 1}, TypeError, "'sex' does not hold numbers but text"),
        ({"year": 1}, ValueError, "'year' is not one of the keys"),
        ({"age": -1}, ValueError, "tolerance of 'age'=-1"),
        ({"age": "5"}, ValueError, "'5': give a number >= 0"),
        ({"age": "100%"}, ValueError, "share of its value"),
        ({"age": "-5%"}, ValueError, "share of its value"),
        ({"age": "x%"}, ValueError, "share of its value"),
        ({"age": float("inf")}, ValueError, "need a number >= 0"),
        ({"age": None}, TypeError, "need a number"),
        (2, TypeError, "mapping of keys"),
        ({"big": 1}, ValueError, r"numbers of 2\^53"),
        ({"flag": 1}, TypeError, "values of type bool"),
        ({"gap": 1}, ValueError, "'gap' is missing in 1 records.*category"),
    ],
    ids=str,
)
def test_tolerances_are_checked(tolerance, error, message):
    data = {
        "sex": ["f", "m", "f"],
        "age": [1, 2, 3],
        "big": [2**60, 1, 2],
        "flag": [True, False, True],
        "gap": [1.0, float("nan"), 2.0],
    }
    keys = ["sex", "age"]
    if isinstance(tolerance, dict):
        keys += [key for key in tolerance if key in data and key not in keys]
    with pytest.raises(error, match=message):
        tabulate(data, keys, tolerance=tolerance)
