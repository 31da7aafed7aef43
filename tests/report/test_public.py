"""Classes of risk that may be published: their bounds, and the rates beside them."""

import numpy as np
import pytest

from riskcore import assess
from riskcore.report.public import PublicClasses, View, public_classes, views_of


def test_classes_between_others_may_be_empty():
    data = {"k": list(range(6)), "w": [1.5, 1.6, 1.7, 900.0, 1000.0, 1100.0]}
    found = public_classes(views_of(assess(data, ["k"], "w")))
    assert found.edges.tolist() == [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0]
    assert found.counts[0].tolist() == [3, 0, 0, 0, 0, 0, 3]


@pytest.mark.parametrize("members", [1, 12])
@pytest.mark.parametrize("first", [0, 1])
def test_a_household_that_alone_makes_two_rates_differ(members, first):
    # Twelve records have other risks by the second view: members of one household, or
    # each of its own, which one view knows and the other does not.
    n = 60
    household = np.arange(n)
    household[:members] = 0
    data = {"k": np.arange(n), "w": np.full(n, 3.0), "hh": household}
    paired = {**data, "k": np.where(data["k"] < 12, data["k"] // 2, data["k"])}
    views = [View(assess(data, ["k"], "w")), View(assess(paired, ["k"], "w", "hh"))]
    views = [views[first], views[1 - first]]
    classes = PublicClasses(np.array([0.005, 1.0]), views, (np.array([n]),) * 2)
    before, after = classes.rates()
    assert before == views[0].assessment.reidentification_rate
    known = views[1].assessment.reidentification_rate
    assert after == (known if members == 1 else None)
