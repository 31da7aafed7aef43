import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore.core.risk.histogram import class_counts, log_edges
from riskcore.core.risk.threshold import RiskDistribution

risks = st.floats(5e-324, 1.0)


@given(risks, risks)
def test_edges_take_in_the_risks_in_few_classes(one, other):
    low, high = min(one, other), max(one, other)
    edges = log_edges(low, high)
    assert 2 <= len(edges) <= 51
    assert np.all(np.diff(edges) > 0)
    assert 0 < edges[0] <= low
    assert high < edges[-1] or high == edges[-1] == 1.0
    assert math.log10(edges[-1]) - math.log10(edges[0]) > 0.99


@pytest.mark.parametrize(
    ("low", "high", "first", "last", "classes"),
    [
        (0.01, 0.105, 0.01, 0.106, 41),  # a decade by R 40
        (0.001, 0.099, 0.001, 0.1, 40),  # two by R 20
        (0.0011, 0.9, 0.001, 1.0, 30),  # three by R 10
        (1e-9, 0.5, 1e-9, 0.63, 44),  # by R 5
        (1e-40, 0.5, 1e-40, 1.0, 40),
        (1e-300, 1.0, 1e-300, 1.0, 30),
        (1.0, 1.0, 0.1, 1.0, 40),
    ],
)
def test_edges_are_preferred_numbers(low, high, first, last, classes):
    edges = log_edges(low, high)
    assert (edges[0], edges[-1], len(edges) - 1) == (first, last, classes)


def test_a_decade_has_the_numbers_of_iso_3():
    # ISO 3:1973, table of the basic series, R 40.
    table = """
        1.00 1.06 1.12 1.18 1.25 1.32 1.40 1.50 1.60 1.70 1.80 1.90 2.00 2.12 2.24 2.36
        2.50 2.65 2.80 3.00 3.15 3.35 3.55 3.75 4.00 4.25 4.50 4.75 5.00 5.30 5.60 6.00
        6.30 6.70 7.10 7.50 8.00 8.50 9.00 9.50
    """
    expected = [float(f"{number}e-2") for number in table.split()]
    assert log_edges(0.01, 0.105).tolist() == [*expected, 0.1, 0.106]


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 0.5), (0.5, 0.2), (0.5, 1.5), (math.nan, 0.5)]
)
def test_edges_need_risks(low, high):
    with pytest.raises(ValueError, match="need 0 < low <= high <= 1"):
        log_edges(low, high)


def test_every_record_is_in_one_class():
    rng = np.random.default_rng(3)
    risk = 10.0 ** rng.uniform(-4, 0, 500)
    risk[:3] = 1.0, 0.001, 0.00125  # on bounds
    frequency = rng.integers(1, 9, 500)
    file = RiskDistribution(risk, frequency)
    edges = log_edges(float(file.risk[0]), 1.0)
    counts = class_counts(file, edges)
    assert counts.dtype == np.int64
    expected, _ = np.histogram(risk, edges, weights=frequency)
    assert counts.tolist() == expected.tolist()
    assert counts.sum() == file.n
