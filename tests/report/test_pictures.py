"""The curve of the risk chart is exact at its thresholds; the drawing shows it."""

from fractions import Fraction

import numpy as np
import pytest

from riskcore.common.html import intervals
from riskcore.core.risk.threshold import RiskDistribution
from riskcore.report import page_charts
from riskcore.report.office_charts import risk_curve


@pytest.fixture(scope="module")
def many():
    rng = np.random.default_rng(7)
    risk = np.minimum(10.0 ** rng.normal(-3, 0.7, 20000), 1.0)
    return RiskDistribution(risk, rng.integers(1, 6, 20000))


SCALE = 2**1074  # every double is a whole number over it


def exact_sum_below(file, t):
    safe = zip(file.risk.tolist(), file.frequency.tolist(), strict=True)
    ratios = ((f, *r.as_integer_ratio()) for r, f in safe if r < t)
    return Fraction(
        sum(f * top * (SCALE // bottom) for f, top, bottom in ratios), SCALE
    )


def test_all_distinct_risks_if_they_are_few(many):
    few = RiskDistribution(many.risk[:300], many.frequency[:300])
    curve = risk_curve(few, most=300, include=[1e-4])
    assert curve.complete
    assert curve.threshold.tolist() == few.risk.tolist()
    assert not risk_curve(few, most=299).complete


@pytest.mark.parametrize("most", [4, 50, 2000])
def test_every_number_is_that_of_the_distribution(many, most):
    curve = risk_curve(many, most)
    for k in np.linspace(0, len(curve.threshold) - 1, 40).astype(int):
        t = float(curve.threshold[k])
        assert curve.unsafe[k] == many.unsafe_count(t)
        exact = exact_sum_below(many, t)
        assert curve.risk_below[k] == float(exact)
        words = Fraction(curve.risk_below[k]) + Fraction(curve.risk_below_rest[k])
        assert abs(words - exact) <= exact / 2**95
    assert curve.n == many.n
    assert curve.rate == many.reidentification_rate
    assert curve.counts.sum() == many.n


def test_thinned_thresholds_are_even_over_risk_and_records(many):
    asked = 0.00123456
    curve = risk_curve(many, 2000, include=[asked, 2.0, 1e-9])
    t = curve.threshold
    assert not curve.complete
    assert 1500 < len(t) <= 2001
    assert (t[0], t[-1]) == (many.risk[0], many.max_risk)
    assert np.all(np.diff(t) > 0)
    assert asked in t
    # Over log risk: every decimal number of two digits.
    assert {0.00011, 0.0012, 0.0013, 0.099, 0.25} <= set(t.tolist())
    # Over the riskiest: each of the 500 largest risks.
    assert set(many.risk[-500:].tolist()) <= set(t.tolist())
    # Over records: no two neighbors have more than a two-hundredth between them.
    assert np.max(-np.diff(curve.unsafe)) < many.n / 200


def test_range_of_hundreds_of_decades_stays_within_the_number():
    file = RiskDistribution(10.0 ** np.linspace(-300, 0, 5000))
    assert len(risk_curve(file, 2000).threshold) <= 2000
    assert len(risk_curve(file, 100).threshold) <= 100


def test_too_few_thresholds_and_risks_of_zero_are_refused(many):
    with pytest.raises(ValueError, match="most=3"):
        risk_curve(many, 3)
    with pytest.raises(ValueError, match="0 < low"):
        risk_curve(RiskDistribution([0.0, 0.5]))


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "0.5"), (1e-4, "0.0001"), (1e-5, "10⁻⁵"), (2e-12, "2·10⁻¹²")],
)
def test_a_power_of_ten_is_written_as_one(value, text):
    assert page_charts.power_of_ten(value) == text


def test_estimates_are_drawn_with_their_intervals():
    rows = [("a", 3.0, 2.0, 5.0), ("b", 4.0, np.nan, np.nan)]
    drawing = intervals(rows, "x")
    assert (drawing.count("<circle"), drawing.count("<line")) == (2, 1)
