"""The law of the number of independent events, against exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from riskcore.models import PoissonBinomial


def exact_law(chances):
    law = [Fraction(1)]
    for chance in map(Fraction, chances):
        hit = [Fraction(0), *(chance * x for x in law)]
        miss = [*((1 - chance) * x for x in law), Fraction(0)]
        law = [a + b for a, b in zip(hit, miss, strict=True)]
    return law


@pytest.mark.parametrize("events", [0, 1, 2, 63, 64, 65, 150])
def test_probabilities_are_exact_within_their_bound(events):
    rng = np.random.default_rng(events)
    chances = rng.random(events) ** 3
    found, expected = PoissonBinomial.of(chances), exact_law(chances)
    assert found.events == events
    for i, value in enumerate(found.probabilities):
        right = expected[found.first + i]
        error = abs(Fraction(float(value)) - right)
        assert error <= right * Fraction(found.relative_error) + Fraction(
            found.left_out
        )
    inside = expected[found.first : found.first + len(found.probabilities)]
    assert sum(expected) - sum(inside) <= Fraction(found.left_out)
    assert 0 < found.relative_error < 1e-12
    assert found.left_out < 1e-35


def test_what_is_cut_is_counted():
    found = PoissonBinomial.of(np.full(5000, 0.5))
    assert len(found.probabilities) < 2000
    assert 0.0 < found.left_out < 1e-35
    law = stats.binom(5000, 0.5)
    k = found.first + np.arange(len(found.probabilities))
    assert found.probabilities == pytest.approx(law.pmf(k), rel=1e-9, abs=1e-40)
    assert math.fsum(found.probabilities) == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_tails_are_equal(level):
    chances = np.random.default_rng(3).random(120) ** 2
    law = PoissonBinomial.of(chances)
    exact = exact_law(chances)
    low, high = law.interval(level)
    tail = Fraction((1 - level) / 2)
    assert sum(exact[:low]) <= tail < sum(exact[: low + 1])
    assert sum(exact[high + 1 :]) <= tail < sum(exact[high:])


def test_certain_events():
    law = PoissonBinomial.of([1.0] * 70 + [0.0] * 70)
    assert (law.first, law.probabilities.tolist()) == (70, [1.0])
    assert law.interval() == (70, 70)
    assert (law.mean, law.variance) == (70.0, 0.0)


def test_many_events_are_as_moments_say():
    chances = np.random.default_rng(5).random(200_000) ** 4
    law = PoissonBinomial.of(chances)
    k = law.first + np.arange(len(law.probabilities)) - round(law.mean)
    mean = math.fsum(law.probabilities * k)
    assert mean == pytest.approx(law.mean - round(law.mean), abs=1e-7)
    spread = math.fsum(law.probabilities * k * k) - mean**2
    assert spread == pytest.approx(law.variance, rel=1e-9)


@pytest.mark.parametrize(
    ("chances", "error"),
    [([0.5, 1.5], ValueError), ([math.nan], ValueError), (["a"], TypeError)],
)
def test_what_is_no_chance_is_refused(chances, error):
    with pytest.raises(error, match="chances"):
        PoissonBinomial.of(chances)


def test_a_level_is_checked():
    with pytest.raises(ValueError, match="level"):
        PoissonBinomial.of([0.5]).interval(1.0)
