"""Unsafe is a risk at or above the threshold: tested there and one ulp on either side.

Without weights the risk of a record is 1/f: 0.5, 0.25 and 0.125 are exact.
"""

import re

import numpy as np
import pytest

from riskcore import assess, protect
from riskcore.core.risk.household import households
from riskcore.core.risk.threshold import RiskDistribution
from riskcore.data.cells import tabulate
from riskcore.protection.result import SuppressedValueShows
from riskcore.protection.suppression.cheapest_blanks import Margins, plan
from riskcore.protection.suppression.suppress import Aim
from riskcore.report.office_charts import risk_curve
from riskcore.report.page import page

pytestmark = pytest.mark.filterwarnings(
    "ignore::riskcore.protection.result.SuppressedValueShows"
)
assert issubclass(SuppressedValueShows, UserWarning)

NEVER = {"a": np.inf}
BELOW, AT, ABOVE = range(3)
# Whether a record of this risk is unsafe, by where the threshold stands.
UNSAFE = {BELOW: True, AT: True, ABOVE: False}


def around(risk, where):
    """Return the threshold at a risk, or one ulp to a side of it."""
    return float([np.nextafter(risk, 0), risk, np.nextafter(risk, 1)][where])


# Cells of 2, 2, 4 and 8 records, and the same households of two for each.
SIZES = {"p": 2, "q": 2, "r": 4, "s": 8}


def small():
    a = [name for name, size in SIZES.items() for _ in range(size)]
    return {"a": a, "b": ["x"] * 16, "hh": np.arange(16) // 2}


@pytest.fixture(scope="module")
def weighted():
    rng = np.random.default_rng(3)
    n = 400
    data = {
        "a": rng.integers(0, 9, n),
        "b": rng.integers(0, 4, n),
        "w": np.round(rng.uniform(2, 30, n), 1),
        "hh": rng.integers(0, 150, n),
    }
    return assess(data, ["a", "b"], "w", "hh")


def by_size(of_two, of_four, of_eight=False):
    """Return a value for each record of `small`, by the size of its cell."""
    return [of_two] * 4 + [of_four] * 4 + [of_eight] * 8


@pytest.mark.parametrize("where", UNSAFE)
def test_records(weighted, where):
    risks = weighted.individual_risk.tolist()
    for risk in sorted(set(risks))[::3]:
        t = around(risk, where)
        expected = [one >= t for one in risks]
        count = sum(expected)
        assert count == sum(r > risk for r in risks) + UNSAFE[where] * risks.count(risk)
        assert weighted.unsafe(t).tolist() == expected
        assert weighted.unsafe_count(t) == count
        for alone in (RiskDistribution(risks), weighted.distribution):
            assert alone.unsafe_count(t) == count
            curve = risk_curve(alone, 4, include=[t])
            if min(risks) <= t <= max(risks):
                (place,) = np.flatnonzero(curve.threshold == t)
                assert curve.unsafe[place] == count
            safe = sum(r for r in risks if r < t)
            assert alone.safe_rate(t) == pytest.approx(safe / len(risks), rel=1e-12)
        # Of the other thresholds of as many unsafe records it is one.
        again = weighted.risk_threshold(unsafe=count)
        assert weighted.unsafe_count(again) == count
        if where == AT:
            assert again == t
            assert weighted.distribution.actual_threshold(around(t, ABOVE)) == t
            assert weighted.distribution.actual_threshold(t) < t


@pytest.mark.parametrize("where", UNSAFE)
def test_households(weighted, where):
    groups = weighted.households
    for risk in np.unique(groups.risk)[::7]:
        t = around(risk, where)
        expected = [one >= t for one in groups.risk.tolist()]
        assert groups.unsafe(t).tolist() == expected
        assert weighted.unsafe_household_count(t) == sum(expected)
        members = [expected[g] for g in groups.inverse]
        assert weighted.unsafe_households(t).tolist() == members
        assert groups.distribution.unsafe_count(t) == sum(members)
        aim = Aim(np.inf, t)
        assert aim.unsafe_households(weighted) == sum(expected)
    assert households([0.25], [1]).unsafe(around(0.25, where)).tolist() == [
        UNSAFE[where]
    ]


@pytest.mark.parametrize("where", UNSAFE)
def test_aims(where):
    risks = assess(small(), ["a"], household="hh")
    t = around(0.25, where)
    aim = Aim(t, np.inf)
    assert aim.limit(risks).tolist() == [t] * 16
    assert aim.unsafe(risks).tolist() == by_size(True, UNSAFE[where])
    # Households of 0.5 and 0.5, 0.25 and 0.25, 0.125 and 0.125.
    assert risks.households.risk.tolist() == [0.75] * 2 + [0.4375] * 2 + [0.234375] * 4
    # By the share of a member: h/2 is 0.25, though the household is below h.
    h = around(0.5, where)
    aim = Aim(np.inf, h)
    assert aim.limit(risks).tolist() == by_size(h / 2, np.inf, np.inf)
    assert aim.unsafe(risks).tolist() == by_size(True, False)
    # By the risk of the household: then its members are above their share.
    aim = Aim(np.inf, around(0.4375, where))
    assert aim.unsafe(risks).tolist() == by_size(True, UNSAFE[where])
    assert aim.unsafe_households(risks) == 2 + 2 * UNSAFE[where]


@pytest.mark.parametrize("where", UNSAFE)
def test_members_at_their_share_within_unsafe_households(where):
    # A household of 0.5 and 0.25: 0.625 is above h = 0.5, and 0.25 is half of h.
    data = {**small(), "hh": [0, 1, 2, 3, 0, 4, 5, 6, *range(7, 15)]}
    risks = assess(data, ["a"], household="hh")
    assert risks.households.risk[0] == 0.625
    unsafe = Aim(np.inf, around(0.5, where)).unsafe(risks)
    assert unsafe[0]
    assert unsafe[4] == UNSAFE[where]


# Planning

# Cells of 2 and of 2 more with another b, one of 8 with another a as well.
ROWS = [("1", "1")] * 2 + [("1", "2")] * 2 + [("2", "1")] * 6 + [("2", "2")] * 6


@pytest.mark.parametrize("method", ["exact", "argus"])
@pytest.mark.parametrize("where", UNSAFE)
def test_plans(method, where):
    data = dict(zip("ab", zip(*ROWS, strict=True), strict=True))
    cells = tabulate(data, ["a", "b"])
    margins = Margins(cells, lambda f, F: 1 / f)

    def planned(threshold, cost):
        return int(plan(margins, cells.inverse[:1], threshold, cost, method)[0])

    # The record's own risk is 0.5: at the threshold it must lose a key.
    assert (planned(around(0.5, where), [2, 1]) != 0) == UNSAFE[where]
    # By a alone 0.25, by b alone 0.125: b is cheaper, and not enough at the threshold.
    expected = {BELOW: 0b01, AT: 0b01, ABOVE: 0b10}[where]
    assert planned(around(0.25, where), [2, 1]) == expected
    # All of b's share at 0.125 is at the threshold, and of the whole file 0.0625.
    expected = {BELOW: 0b11, AT: 0b11, ABOVE: 0b01}[where]
    assert planned(around(0.125, where), [2, 1]) == expected
    # What may not be blanked stays, also if the rest is not enough at the threshold.
    assert planned(around(0.25, where), [np.inf, 1]) == 0b10


# The whole path


@pytest.mark.parametrize("suppression", ["exact", "argus"])
@pytest.mark.parametrize("where", UNSAFE)
def test_protected(suppression, where):
    data = dict(zip("ab", zip(*ROWS, strict=True), strict=True))

    def protected(t, b=1, a=2, **options):
        how = {"suppression": suppression, "cost": {"a": a, "b": b}}
        return protect(data, ["a", "b"], threshold=t, **how, **options)

    t = around(0.5, where)
    result = protected(t)
    blanked = np.logical_or(*result.masks.values())
    assert blanked.tolist() == [UNSAFE[where]] * 4 + [False] * 12
    assert result.goals_met
    # Blanked enough: verified by the risk itself.
    assert result.protected.individual_risk.max() < t
    nothing = protected(t, b=np.inf, a=np.inf)
    assert nothing.unsafe.tolist() == blanked.tolist()
    assert nothing.goals_met == (not UNSAFE[where])
    stages = nothing.sets[0].comparison()
    assert stages["original"]["unsafe_records"] == 4 * UNSAFE[where]
    said = "With the keys a x b, 4" in nothing.verdict
    assert said == UNSAFE[where]
    # A record whose other key would leave it at the threshold loses more.
    t = around(0.25, where)
    result = protected(t)
    assert result.suppressed == (
        {"a": 4, "b": 0} if UNSAFE[where] else {"a": 0, "b": 4}
    )
    assert result.goals_met
    # Where the key that would do may not be blanked, the verdict says so.
    result = protected(t, a=np.inf)
    assert result.goals_met == (not UNSAFE[where])
    assert result.unsafe.sum() == 4 * UNSAFE[where]


@pytest.mark.parametrize("where", UNSAFE)
def test_rates(where):
    # g(0.25) = (2 * 4 * 0.25 + 8 * 0.125) / 16: the rate gives the risk itself.
    result = protect(small(), ["a"], rate=around(3 / 16, where), cost=NEVER)
    t = result.sets[0].aim.threshold
    assert [t < 0.25, t == 0.25, t > 0.25][where]
    assert result.unsafe.tolist() == by_size(True, UNSAFE[where])
    # Of households: two at 0.75, two at 0.4375, four at 0.234375.
    rate = around((8 * 0.4375 + 8 * 0.234375) / 16, where)
    result = protect(small(), ["a"], None, "hh", household_rate=rate, cost=NEVER)
    t = result.sets[0].aim.household_threshold
    assert [t < 0.4375, t == 0.4375, t > 0.4375][where]
    assert result.unsafe.tolist() == by_size(True, UNSAFE[where])
    stages = result.sets[0].comparison()["original"]
    assert stages["unsafe_households"] == 2 + 2 * UNSAFE[where]
    assert not result.goals_met


@pytest.mark.parametrize("count", range(17))
def test_counts(count):
    t = assess(small(), ["a"]).risk_threshold(unsafe=count)
    result = protect(small(), ["a"], threshold=min(t, 1.0), cost=NEVER)
    unsafe = max(n for n in (0, 4, 8, 16) if n <= count)
    assert result.unsafe.sum() == unsafe
    assert result.goals_met == (unsafe == 0)


@pytest.mark.parametrize("where", UNSAFE)
def test_protected_households(where):
    # One key more, without which all are alike.
    data = {**small(), "c": ["y"] * 16}
    keys, h = ["a", "c"], around(0.4375, where)
    result = protect(data, keys, None, "hh", household_threshold=h)
    # Without key a the risk is 1/16, and half of h is above 0.125.
    lost = by_size(True, UNSAFE[where])
    assert result.masks["a"].tolist() == lost
    assert result.goals_met
    assert result.protected.household_risk.max() < h
    # A household whose risk is at the threshold is not safe.
    never = dict.fromkeys(keys, np.inf)
    how = {"household_threshold": around(0.75, where), "cost": never}
    assert protect(data, keys, None, "hh", **how).goals_met == (not UNSAFE[where])


# The page


def slot(text, name):
    return re.search(rf'data-slot="{name}">([^<]*)<', text).group(1)


@pytest.mark.parametrize("where", UNSAFE)
def test_the_page(where):
    result = assess(small(), ["a"], household="hh")
    t = around(0.25, where)
    text = page({"original": result}, title="", threshold=t)
    unsafe = 4 + 4 * UNSAFE[where]
    assert slot(text, "count") == str(unsafe)
    assert re.search(r'id="count"[^>]*value="(\d+)"', text).group(1) == str(unsafe)
    h = around(0.4375, where)
    text = page({"original": result}, title="", threshold=t, household_threshold=h)
    rows = dict(
        re.findall(r"<tr><th[^>]*>(Unsafe [a-z]+),[^<]*</th><td[^>]*>(\d+)", text)
    )
    assert rows == {
        "Unsafe records": str(unsafe),
        "Unsafe households": str(2 + 2 * UNSAFE[where]),
    }


@pytest.mark.parametrize("where", UNSAFE)
def test_the_rate_of_the_file_itself(where):
    # (4 * 0.5 + 4 * 0.25 + 8 * 0.125) / 16: a file that has this rate needs nothing.
    result = protect(small(), ["a"], rate=around(0.25, where), cost=NEVER)
    t = result.sets[0].aim.threshold
    assert [t < 0.5, t == np.inf, t == np.inf][where]
    assert result.unsafe.tolist() == by_size(where == BELOW, False)
    assert result.goals_met == (where != BELOW)
