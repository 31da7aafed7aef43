import functools
import math
from collections import defaultdict
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskcore.core.risk.file_risk import sum_of_products
from riskcore.core.risk.threshold import RiskDistribution
from tests import needs, thin

# Few distinct values, so that ties and zeros are common; none so small that a prefix
# sum of two doubles is not exact.
risks = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(2.0**-40, 1.0))
cells = st.lists(st.tuples(risks, st.integers(0, 5)), min_size=1, max_size=12).filter(
    lambda pairs: any(f for _, f in pairs)
)


def columns(cells):
    return tuple(list(column) for column in zip(*cells, strict=True))


def records_of(cells):
    return sorted(r for r, f in cells for _ in range(f))


def exact_capped_sum(records, t):
    return sum((Fraction(min(r, t)) for r in records), Fraction(0))


@settings(deadline=None)
@given(cells, st.one_of(risks, st.floats(0.0, math.inf)))
def test_counts_and_rates_agree_with_every_record_looked_at(cells, t):
    file, records = RiskDistribution(*columns(cells)), records_of(cells)
    safe = [r for r in records if r < t]
    assert file.n == len(records)
    assert file.max_risk == max(records)
    assert file.unsafe_count(t) == sum(r >= t for r in records)
    assert file.capped_rate(t) == float(exact_capped_sum(records, t)) / file.n
    assert file.safe_rate(t) == float(sum(map(Fraction, safe))) / file.n
    assert file.safe_rate(t) <= file.capped_rate(t) <= file.reidentification_rate
    assert file.actual_threshold(t) == max(safe, default=0.0)
    exact = float(exact_capped_sum(records, math.inf))
    assert file.reidentification_rate == exact / file.n


@thin.examples(100, thorough=300)
@given(cells, risks)
def test_threshold_for_rate_inverts_the_capped_rate(cells, rate):
    file, records = RiskDistribution(*columns(cells)), records_of(cells)
    t = file.threshold_for_rate(rate)
    if rate >= file.reidentification_rate:
        assert t == math.inf
        return
    assert 0.0 <= t <= file.max_risk
    # The exact inverse lies within one rounding of t.
    below, above = math.nextafter(t, -1.0), math.nextafter(t, 2.0)
    assert exact_capped_sum(records, below) <= Fraction(rate) * file.n
    assert exact_capped_sum(records, above) >= Fraction(rate) * file.n


@thin.examples(100, thorough=300)
@given(cells)
def test_every_kink_of_the_capped_rate_is_found_again(cells):
    records = records_of(cells)
    file = RiskDistribution(records)
    for t in file.risk[:-1]:
        rate = file.capped_rate(t)
        if rate < file.reidentification_rate:
            # The rounding of the rate is multiplied by n/(records above t).
            assert file.threshold_for_rate(rate) == pytest.approx(
                t, rel=1e-15 * file.n, abs=1e-300
            )


@thin.examples(100, thorough=300)
@given(cells, risks)
def test_observed_threshold_agrees_with_exhaustive_search(cells, rate):
    file, records = RiskDistribution(*columns(cells)), records_of(cells)
    t = file.observed_threshold_for_rate(rate)
    if file.reidentification_rate < rate:
        assert t == math.inf
    else:
        exact_rate = Fraction(rate) * file.n
        serving = [r for r in records if exact_capped_sum(records, r) < exact_rate]
        assert t == max(serving, default=0.0)


@settings(deadline=None)
@given(cells)
def test_threshold_for_every_number_of_unsafe_records(cells):
    file, records = RiskDistribution(*columns(cells)), records_of(cells)
    for count in range(len(records) + 1):
        serving = [t for t in records if sum(r >= t for r in records) <= count]
        t = file.threshold_for_unsafe(count)
        assert t == min(serving, default=math.inf)
        assert file.unsafe_count(t) <= count
    assert file.threshold_for_unsafe(0) == math.inf
    assert file.threshold_for_unsafe(file.n) == min(records)


def test_order_of_cells_and_merging_do_not_change_a_bit():
    rng = np.random.default_rng(5)
    risk = np.repeat(rng.random(500) ** 9, 3)
    frequency = rng.integers(0, 9, 1500)
    one = RiskDistribution(risk, frequency)
    rates = np.linspace(0, one.reidentification_rate, 50)
    for _ in range(3):
        order = rng.permutation(1500)
        for other in (
            RiskDistribution(risk[order], frequency[order]),
            RiskDistribution(rng.permutation(np.repeat(risk, frequency))),
        ):
            assert np.array_equal(one.risk, other.risk)
            assert np.array_equal(one.frequency, other.frequency)
            for rate in rates:
                assert one.threshold_for_rate(rate) == other.threshold_for_rate(rate)


@pytest.mark.parametrize("most", [3, 2**20])
@pytest.mark.parametrize("kind", ["spread", "ties", "one", "near"])
def test_many_risks_in_place(most, kind):
    """Numbers of records of 32 and of 64 bits, against sorts and sums of NumPy."""
    rng = np.random.default_rng(6)
    K = 50_000
    risk = {
        "spread": 10.0 ** rng.uniform(-300, 0, K),
        "ties": rng.integers(0, 5000, K) / 5000,
        "one": np.full(K, 0.25),
        "near": 0.5 + rng.integers(0, 999, K) * 2.0**-53,
    }[kind]
    counts = rng.integers(0, most, K)
    assert (counts.sum() < 2**31) == (most == 3)
    want, inverse = np.unique(risk[counts > 0], return_inverse=True)
    records = np.bincount(inverse, counts[counts > 0]).astype(np.int64)
    own = counts.astype(np.int32 if most == 3 else np.int64)
    for file in (
        RiskDistribution(risk, counts),
        RiskDistribution.of_own(risk.copy(), own),
    ):
        np.testing.assert_array_equal(file.risk, want)
        np.testing.assert_array_equal(file.frequency, records)
        assert file.n == counts.sum()
        for k in {0, len(want) // 3, len(want) // 2, len(want) - 1}:
            t = want[k]
            assert file.unsafe_count(t) == records[k:].sum()
            assert file.threshold_for_unsafe(int(records[k:].sum())) == t
            if kind != "spread":  # sums of two doubles are exact for these
                exact = sum(
                    int(f) * Fraction(r)
                    for r, f in zip(want[:k].tolist(), records, strict=False)
                )
                assert file.sum_below(t) == exact
        total = sum_of_products(risk, counts)
        assert file.reidentification_rate == total / file.n


def test_prefix_sums_keep_what_plain_sums_lose():
    # 1e16 times smaller than the first term, and 20 000 of them.
    risk = np.concatenate([np.full(20_000, 2.0**-54), [0.5]])
    risk[:20_000] *= 1 + np.arange(20_000) * 2.0**-40
    frequency = np.full(20_001, 2**36)
    file = RiskDistribution(risk, frequency)
    below = sum(map(Fraction, risk[:-1].tolist()), Fraction(0)) / 20_001
    assert file.safe_rate(0.5) == float(below)


def test_risks_of_every_size():
    file = RiskDistribution([1e-320, 1e-300, 1e-200, 1e-100, 1.0])
    for t in file.risk[:-1]:
        assert file.threshold_for_rate(file.capped_rate(t)) == pytest.approx(
            t, rel=1e-15, abs=1e-323
        )
        assert file.safe_rate(t) < file.capped_rate(t) < file.reidentification_rate


def test_the_ends():
    file = RiskDistribution([0.5, 0.125], frequency=[1, 7])
    xi = 0.171875
    assert file.reidentification_rate == xi
    assert file.threshold_for_rate(0.0) == 0.0
    assert 0.49 < file.threshold_for_rate(math.nextafter(xi, 0.0)) <= 0.5
    assert file.threshold_for_rate(xi) == math.inf
    assert file.threshold_for_rate(1.0) == math.inf
    assert file.observed_threshold_for_rate(0.0) == 0.0
    assert file.observed_threshold_for_rate(0.125) == 0.0
    assert file.observed_threshold_for_rate(xi) == 0.125
    assert file.observed_threshold_for_rate(math.nextafter(xi, 1.0)) == math.inf
    assert file.unsafe_count(0.0) == 8
    assert file.unsafe_count(0.5) == 1
    assert file.unsafe_count(math.nextafter(0.5, 1.0)) == 0
    assert file.unsafe_count(math.inf) == 0
    # 6 records cannot be unsafe: 7 are alike.
    assert file.threshold_for_unsafe(6) == 0.5
    assert file.capped_rate(0.25) == (7 * 0.125 + 0.25) / 8
    assert file.capped_rate(math.inf) == xi
    assert file.actual_threshold(0.125) == 0.0
    assert repr(file) == "<RiskDistribution of 8 records: rate 0.171875, max risk 0.5>"


def test_a_rate_between_the_exact_and_the_rounded_one():
    file = RiskDistribution([0.5, 0.23], [1, 18])
    rate = math.nextafter(file.reidentification_rate, 0.0)
    exact = exact_capped_sum([0.5] + [0.23] * 18, 1.0)
    assert Fraction(rate) * file.n > exact
    assert file.threshold_for_rate(rate) == file.max_risk


def test_four_risks_with_a_rate_below_the_smallest():
    # Where the search among observed risks fails, the continuous one does not.
    file = RiskDistribution([0.1, 0.2, 0.3, 0.4])
    assert file.threshold_for_rate(0.02) == 0.02
    assert file.observed_threshold_for_rate(0.02) == 0.0


@pytest.mark.parametrize("risk", [0.0, -0.0, 5e-324, 0.3, 1.0])
def test_one_cell(risk):
    file = RiskDistribution([risk], [7])
    assert file.reidentification_rate == risk
    assert file.threshold_for_rate(risk) == math.inf
    assert file.threshold_for_unsafe(6) == math.inf
    assert file.threshold_for_unsafe(7) == risk
    assert math.copysign(1.0, file.max_risk) == 1.0


@pytest.fixture(scope="module")
def demodata():
    """The cells of mu-Argus's demonstration file, with exact risks."""
    cells = defaultdict(lambda: [0, Fraction(0)])
    for line in (needs.DEMODATA / "Demodata.asc").read_text().splitlines():
        cell = cells[line[0:4], line[4], line[5:7], line[7]]
        cell[0] += 1
        cell[1] += Fraction(line[43:49].strip())
    return RiskDistribution(
        [exact_risk(f, F) for f, F in cells.values()], [f for f, _ in cells.values()]
    )


@functools.cache
def exact_risk(f, F):
    with mpmath.workdps(30):
        p = f / (mpmath.mpf(F.numerator) / F.denominator)
        return float(p / f * mpmath.hyp2f1(1, 1, f + 1, 1 - p))


@needs.demodata
def test_printed_figures_of_demodata(demodata):
    assert demodata.n == 4000
    assert demodata.max_risk == pytest.approx(0.04229838335762, rel=1e-12)
    assert demodata.expected_reidentifications == pytest.approx(78.255, abs=5e-4)
    assert demodata.reidentification_rate == pytest.approx(0.019563754, abs=5e-10)
    assert demodata.threshold_for_rate(0.00125) == pytest.approx(
        0.0012519035, abs=5e-11
    )
    assert demodata.unsafe_count(0.00125) == 3968
    actual = demodata.actual_threshold(0.00125)
    assert actual == pytest.approx(0.0011942283, abs=5e-11)
    assert demodata.capped_rate(actual) == pytest.approx(0.00119279, abs=5e-9)
    assert demodata.unsafe_count(actual) == 3971
    assert demodata.threshold_for_unsafe(3968) == pytest.approx(0.0014064757, abs=5e-11)
