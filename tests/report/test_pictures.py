"""The curve of the risk chart is exact at its thresholds; the drawing shows it."""

import re
from fractions import Fraction

import numpy as np
import pytest

from riskcore import assess, protect
from riskcore.chart import figure, risk_curve
from riskcore.common.html import intervals
from riskcore.core.risk.threshold import RiskDistribution
from riskcore.report import page_charts
from riskcore.report.public import public_classes, views_of


@pytest.fixture(scope="module")
def many():
    rng = np.random.default_rng(7)
    risk = np.minimum(10.0 ** rng.normal(-3, 0.7, 20000), 1.0)
    return RiskDistribution(risk, rng.integers(1, 6, 20000))


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(8)
    data = {
        "age": rng.integers(0, 90, 600),
        "region": rng.integers(0, 6, 600),
        "w": rng.uniform(2, 80, 600),
        "hh": rng.integers(0, 250, 600),
    }
    return assess(data, ["age", "region"], "w", "hh")


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
        assert curve.capped_rate[k] == many.capped_rate(t)
        assert curve.safe_rate[k] == many.safe_rate(t)
        exact = exact_sum_below(many, t)
        assert curve.risk_below[k] == float(exact)
        words = Fraction(curve.risk_below[k]) + Fraction(curve.risk_below_rest[k])
        assert abs(words - exact) <= exact / 2**95
    assert (curve.n, curve.max_risk) == (many.n, many.max_risk)
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


def bars(axes):
    return next(
        patch for patch in axes.patches if hasattr(patch, "get_data")
    ).get_data()


@pytest.mark.parametrize("household", [False, True])
def test_figure_shows_classes_curve_and_threshold(result, household):
    drawn = figure(result, threshold=0.05, household=household)
    left, right = drawn.axes
    groups = result.households if household else result
    file = groups.distribution
    shown = bars(left)
    assert shown.values.sum() == file.n
    assert left.get_xscale() == "log"
    # The share is known at the bounds of the classes, no risk is in the drawing.
    line = right.lines[0].get_xydata()
    assert line[:, 0].tolist() == shown.edges.tolist()
    above = [file.unsafe_count(edge) / file.n for edge in shown.edges.tolist()]
    assert line[:, 1].tolist() == pytest.approx([100 * one for one in above])
    title = left.get_title(loc="left")
    assert f"{file.unsafe_count(0.05):,} of {file.n:,} records unsafe" in title
    assert f"{file.capped_rate(0.05):.4%}" in title
    drawn.canvas.draw()


@pytest.mark.parametrize("household", [False, True])
def test_a_figure_to_publish_shows_the_public_classes(result, household):
    found = public_classes(views_of(result))
    drawn = figure(result, threshold=0.0512345, household=household, public=True)
    left, right = drawn.axes
    shown = bars(left)
    assert shown.edges.tolist() == found.edges.tolist()
    assert shown.values.tolist() == found.counts[household].tolist()
    assert not set(shown.values.tolist()) & {1, 2}
    line = right.lines[0].get_xydata()
    assert line[:, 0].tolist() == found.edges.tolist()
    title = left.get_title(loc="left")
    least, most = found.reaching(int(household), 0.052)
    assert title.startswith(f"threshold 0.052: {least} to {most} of 600 records unsafe")
    assert re.fullmatch(r"rate [\d.]{2,4} %", title.split("\n")[1])
    drawn.canvas.draw()


def test_a_figure_of_a_protected_file_shows_its_rate_in_steps(result):
    safe = protect(result.data, ["region", "age"], "w", threshold=0.1).protected
    (axes, _) = figure(safe, threshold=0.1, public=True).axes
    shown = axes.get_title(loc="left").split("\n")[1]
    percent = re.fullmatch(r"rate at most 0?\.?0*[125]0* %", shown)
    assert percent, shown
    rate = float(shown.split()[3]) / 100
    assert rate / 2.5 < safe.reidentification_rate <= rate


def test_what_cannot_be_published_is_not_drawn(result):
    with pytest.raises(ValueError, match="stages"):
        figure(result, public=True, stages={"original": result})
    few = assess({"k": [1, 2], "w": [3.0, 4.0]}, ["k"], "w")
    with pytest.raises(ValueError, match="too small"):
        figure(few, public=True)


def test_figure_compares_stages_and_draws_where_it_is_told(result):
    from matplotlib.figure import Figure

    coarse = assess(result.data, ["region"], "w", "hh")
    axes = Figure().subplots()
    drawn = figure(coarse, stages={"original": result}, ax=axes)
    assert drawn is axes.figure
    legend = axes.get_legend()
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["the file itself", "original"]
    # It lies on nothing that is drawn.
    axes.figure.canvas.draw()
    assert legend.get_window_extent().y0 >= axes.get_window_extent().y1
    low, high = axes.get_xlim()
    assert low <= coarse.distribution.risk[0]
    assert high >= result.max_risk
    outlines = [p.get_data().values for p in axes.patches if hasattr(p, "get_data")]
    assert [values.sum() for values in outlines] == [600, 600]
    assert axes.get_ylim()[1] > max(values.max() for values in outlines)


@pytest.mark.parametrize("threshold", [0.0, 5.0, np.inf])
def test_thresholds_beyond_the_risks_are_drawn(result, threshold):
    figure(result, threshold=threshold).canvas.draw()


def test_figure_needs_households_and_matplotlib(result, monkeypatch):
    alone = assess(result.data, ["region"], "w")
    with pytest.raises(ValueError, match="no household risks"):
        figure(alone, household=True)
    with pytest.raises(ValueError, match="threshold"):
        figure(alone, threshold=-1.0)
    monkeypatch.setattr("riskcore.common.needs.find_spec", lambda _: None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        figure(alone)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "0.5"), (1e-4, "0.0001"), (1e-5, "10⁻⁵"), (2e-12, "2·10⁻¹²")],
)
def test_a_power_of_ten_is_written_as_one(value, text):
    assert page_charts._power(value) == text


def test_estimates_are_drawn_with_their_intervals():
    rows = [("a", 3.0, 2.0, 5.0), ("b", 4.0, np.nan, np.nan)]
    drawing = intervals(rows, "x")
    assert (drawing.count("<circle"), drawing.count("<line")) == (2, 1)
