"""Counting what has too few records, against counting by hand."""

import numpy as np
import pytest

from riskcore.core.risk.anonymity import Below, short_of
from riskcore.data.cells import tabulate


@pytest.fixture(scope="module")
def holes():
    """Return keys of which some values are missing."""
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 12, (2, 300)).tolist()
    b = [None if i % 17 == 3 else value for i, value in enumerate(b)]
    return {"a": a, "b": b}


@pytest.mark.parametrize("missing", ["category", "wildcard", "argus"])
def test_records_and_cells_by_every_rule(holes, missing):
    cells = tabulate(holes, ["a", "b"], missing=missing)
    f = cells.sample_frequency[cells.inverse].tolist()
    cell = cells.inverse.tolist()
    for k in (1, 2, 3, 5, 1000):
        short = [i for i in range(300) if f[i] < k]
        of = len({cell[i] for i in short})
        assert cells.below(k) == Below(k, len(short), of)
    assert cells.below(3).records > cells.below(3).cells > cells.below(2).cells > 0
    assert cells.k_anonymity == min(f)
    assert type(cells.k_anonymity) is int


def test_f_of_holes_that_count_in_part_is_real(holes):
    cells = tabulate(holes, ["a", "b"], missing="wildcard", alpha=0.25)
    assert cells.k_anonymity == cells.sample_frequency.min()
    assert (
        cells.below(2).records
        > tabulate(holes, ["a", "b"], missing="wildcard").below(2).records
    )


def test_an_f_that_is_below_k_by_rounding_is_not_below_it():
    # 100 records with a hole count 0.29 each, and 0.28999999999999998 is what 0.29 is
    # among doubles.
    data = {"a": [1] * 101, "b": [1] + [None] * 100}
    cells = tabulate(data, ["a", "b"], missing="wildcard", alpha=0.29)
    f = cells.sample_frequency[cells.inverse[0]]
    assert 30 - 1e-12 < f < 30
    assert cells.below(30) == Below(30, 0, 0)
    assert cells.below(31) == Below(31, 1, 1)  # the holes: 100 of their own
    tiny = np.nextafter(3.0, 0)
    assert short_of(np.array([tiny, 2.99, 3.0]), 3).tolist() == [False, True, False]


@pytest.mark.parametrize("k", [2, 3, 10**9, 2**40, 2**53])
def test_whole_numbers_are_compared_exactly(k):
    f = np.array([k - 1, k])
    assert short_of(f, k).tolist() == [True, False]
    assert short_of(f.astype(np.float64), k).tolist() == [True, False]


@pytest.mark.parametrize(
    ("k", "error"), [(0, ValueError), (2.0, TypeError), (True, TypeError)]
)
def test_no_k(k, error):
    with pytest.raises(error, match="k="):
        tabulate({"a": [1, 2]}, ["a"]).below(k)
