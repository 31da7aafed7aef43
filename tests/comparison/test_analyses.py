"""Overlaps, changes and verdicts of models and tables of users."""

from dataclasses import replace

import pytest

from riskcore.comparison.analyses import Coefficient, ModelComparison, Z, overlap


def test_overlap_of_intervals():
    assert overlap((0, 2), (1, 3)) == 0.5
    assert overlap((0, 4), (1, 3)) == 0.75
    assert overlap((0, 1), (0, 1)) == 1
    assert overlap((0, 1), (2, 3)) == -1
    assert overlap((0, 1), (0, 0)) is None
    one = Coefficient("x", 1.0, 0.5, 1.5, 0.25)
    assert one.interval_after == (1.5 - Z * 0.25, 1.5 + Z * 0.25)
    # The second lies in the first except for 0.5 - 0.25 Z/... of its upper half.
    common = min(1 + 0.5 * Z, 1.5 + 0.25 * Z) - max(1 - 0.5 * Z, 1.5 - 0.25 * Z)
    assert one.overlap == pytest.approx((common / (Z * 1) + common / (Z * 0.5)) / 2)
    assert one.difference == 1.0


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ((1, 0.1), (2, 0.1), ""), ((1, 0.1), (-1, 0.1), "sign"),
        ((1, 0.1), (0.1, 0.1), "significance"), ((0.1, 0.1), (-1, 0.1), "significance"),
        ((0.1, 0.1), (-0.1, 0.1), ""), ((1, 0.1), (None, None), "estimate"),
        ((None, None), (None, None), ""),
    ],
)  # fmt: skip
def test_what_changes(before, after, change):
    assert Coefficient("x", *before, *after).change == change


def model_of(*coefficients, reason=""):
    start = Coefficient("(intercept)", 1.0, 0.1, 1.0, 0.1)
    return ModelComparison(
        "y ~ x", "linear", "y", ("y", "x"), False, {}, 9, 9, 0, 0,
        (start, *coefficients), (), reason,
    )  # fmt: skip


def test_verdicts_in_words():
    kept = Coefficient("a", 1.0, 0.1, 1.1, 0.1)
    turned = Coefficient("b", 1.0, 0.1, -1.0, 0.1)
    far = Coefficient("c", 1.0, 0.1, 9.0, 0.1)
    assert model_of(kept).verdict == (
        "conclusions unchanged: the coefficient keeps its sign and significance, its "
        "intervals overlap by 74.5 %"
    )
    two = model_of(kept, replace(kept, term="d", after=1.2))
    assert two.verdict == (
        "conclusions unchanged: all 2 coefficients keep their sign and significance, "
        "their intervals overlap by at least 49 % (d)"
    )
    assert model_of(kept, turned).verdict == (
        "1 of 2 coefficients changes sign or significance: b"
    )
    found = model_of(kept, turned, far)
    assert found.status == "changed"
    assert (found.changed, found.disjoint) == ((turned,), (far,))
    assert found.verdict.endswith(
        "; 1 of 3 coefficients keeps its conclusion, but its intervals before and "
        "after do not overlap: c"
    )
    many = model_of(*(replace(turned, term=f"t{i}") for i in range(7)))
    assert many.verdict == (
        "7 of 7 coefficients change sign or significance: t0, t1, t2, t3, t4 and 2 more"
    )
    assert model_of(reason="the fit failed").verdict == "no verdict: the fit failed"
