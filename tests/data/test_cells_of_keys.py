"""Cells of some keys: they are those that counting the records gives."""

from itertools import combinations

import numpy as np
import pytest

from riskcore.data.cells import tabulate

RULES = [("wildcard", 1.0), ("wildcard", 0.5), ("argus", 1.0), ("category", 1.0)]
KEYS = ["a", "b", "c", "d"]


def records(seed, missing):
    rng = np.random.default_rng(seed)
    data = {}
    for key, levels in zip(KEYS, (2, 3, 5, 9), strict=True):
        values = rng.integers(0, levels, 300).astype(object)
        if missing:
            values[rng.random(300) < 0.1] = None
        data[key] = values
    return {**data, "w": rng.integers(1, 40, 300).astype(float)}


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize(("missing", "alpha"), RULES)
def test_cells_of_some_keys(missing, alpha, weight):
    data = records(1, missing=True)
    cells = tabulate(data, KEYS, weight, missing, alpha)
    for size in (1, 2, 3, 4):
        for some in combinations(range(4), size):
            names = [KEYS[key] for key in some]
            want = tabulate(data, names, weight, missing, alpha)
            got = cells.of_keys(names)
            assert got.keys == want.keys
            assert got.missing_values == want.missing_values
            for name, values in want.to_dict().items():
                np.testing.assert_array_equal(got.to_dict()[name], values)
            for name in ("records", "weight_sum", "inverse"):
                np.testing.assert_array_equal(getattr(got, name), getattr(want, name))
            assert got.totals == want.totals


def test_keys_keep_their_order():
    data = records(2, missing=False)
    cells = tabulate(data, KEYS, "w")
    want = tabulate(data, ["a", "d"], "w")
    got = cells.of_keys(["d", "a"])
    np.testing.assert_array_equal(got.sample_frequency, want.sample_frequency)
    assert got.keys == want.keys
    assert got.row(3) == want.row(3)
