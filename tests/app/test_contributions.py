"""What each key contributes: the figures are those of the file without the key."""

from dataclasses import replace

import numpy as np
import pytest

import riskcore
from riskcore.app.contributions import contributions, risk_by
from riskcore.protection.suppression.suppress import Aim
from tests.app.workbenches import KEYS

GOALS = [
    {"k": 3},
    {"threshold": 0.05, "k": None},
    {"rate": 0.01, "k": None},
    {"k": 2, "threshold": 0.08},
    {"household_threshold": 0.1, "k": None},
    {"household_rate": 0.05, "k": 3},
]


@pytest.fixture
def bench(opened):
    roles = dict.fromkeys(KEYS, "key") | {"WEIGHT": "weight", "HOUSEHOLD": "household"}
    return opened(roles=roles, safe={"population": "weights"})


def unsafe_without(bench, keys, goals):
    """Return the unsafe records of a full assessment by some of the keys."""
    result = riskcore.assess(bench.source.path, keys, "WEIGHT", "HOUSEHOLD")
    settings = replace(bench.settings(), keys=(tuple(keys),), k=(goals.get("k"),))
    return int(Aim.of(result, settings).unsafe(result).sum()), result


@pytest.mark.parametrize("goals", GOALS, ids=str)
def test_a_key_left_out_is_the_file_without_it(bench, goals):
    bench.change("goals", safe=goals)
    (aim,), (one,) = bench.tried().aims, bench.prepared().recoded
    found = contributions(one, aim, bench.settings())
    assert [each.key for each in found] == KEYS
    unsafe = set()
    for each in found:
        without = [key for key in KEYS if key != each.key]
        for keys, risk in ((without, each.without), ([each.key], each.alone)):
            count, result = unsafe_without(bench, keys, goals)
            assert risk.unsafe == count
            assert risk.uniques == result.cells.totals.uniques
            assert risk.expected == pytest.approx(
                result.expected_reidentifications, rel=1e-13
            )
            unsafe.add(count)
    assert len(unsafe) > 3


def test_all_keys_are_the_file(bench):
    (aim,), (one,) = bench.tried().aims, bench.prepared().recoded
    risk = risk_by(one, aim, bench.settings(), KEYS)
    assert risk.unsafe == bench.tried().unsafe[0]
    assert risk.expected == pytest.approx(one.expected_reidentifications, rel=1e-13)


def test_strata_stay(bench):
    bench.change("strata", columns={"keys": KEYS[1:]}, safe={"strata": ["REGION"]})
    (aim,), (one,) = bench.tried().aims, bench.prepared().recoded
    found = contributions(one, aim, bench.settings())
    assert [each.key for each in found] == KEYS[1:]
    count, _ = unsafe_without(bench, ["AGE", "REGION"], {"k": 3})
    assert found[1].alone.unsafe == count


def test_one_key_has_no_file_without_it(bench):
    bench.change("one", columns={"keys": ["AGE"]})
    (aim,), (one,) = bench.tried().aims, bench.prepared().recoded
    assert contributions(one, aim, bench.settings()) == []


def test_a_model_would_have_to_be_fitted_again(bench):
    bench.change("model", safe={"population": "latent-class", "threshold": 0.1})
    (aim,), (one,) = bench.tried().aims, bench.prepared().recoded
    found = contributions(one, aim, bench.settings())
    assert {(each.without.unsafe, each.alone.expected) for each in found} == {
        (None, None)
    }
    want = riskcore.tabulate(bench.source.data, KEYS[1:])
    assert found[0].without.uniques == np.count_nonzero(want.sample_frequency == 1)
