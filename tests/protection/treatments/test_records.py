"""Treated columns of a file, also with one row for each household."""

import numpy as np
import pytest

import riskcore


def survey(n=60, seed=5):
    """Return persons in households with a region, an income and own earnings."""
    draw = np.random.default_rng(seed)
    household = np.repeat(np.arange(n), draw.integers(1, 5, n))
    region = draw.integers(0, 2, n)[household]
    return {
        "HH": household,
        "REGION": region,
        "INCOME": draw.permutation(n)[household] * 10.0,
        "EARNED": draw.permutation(len(household)) * 1.0,
    }


def protected(frame, treat, level="household"):
    """Return the protected columns of a survey."""
    return riskcore.protect(
        frame, ["REGION"], household="HH", level=level, k=2, treat=treat
    ).data


def once(frame, name):
    """Return a column with one element for each household, which must agree in it."""
    _, first, of = np.unique(frame["HH"], return_index=True, return_inverse=True)
    column = np.asarray(frame[name])
    assert (column == column[first][of]).all()
    return column[first]


@pytest.mark.parametrize("rule", ["swap:50%", "swap:50%:within=REGION"])
def test_values_of_households_are_exchanged_between_households(rule):
    frame = survey()
    safe = protected(frame, {"INCOME": rule})
    before, after = once(frame, "INCOME"), once(safe, "INCOME")
    assert (before != after).mean() > 0.5
    assert (np.sort(before) == np.sort(after)).all()
    with pytest.raises(AssertionError):
        once(protected(frame, {"INCOME": rule}, "record"), "INCOME")


def test_groups_count_households_and_values_of_persons_are_treated_by_person():
    frame = survey()
    safe = protected(frame, {"INCOME": "microaggregate:5", "EARNED": "swap:20%"})
    _, size = np.unique(once(safe, "INCOME"), return_counts=True)
    assert size.min() >= 5
    assert sorted(safe["EARNED"]) == sorted(frame["EARNED"])
    assert (safe["EARNED"] != frame["EARNED"]).mean() > 0.5


def test_strata_that_differ_within_households_are_of_persons():
    frame = survey()
    frame["SEX"] = np.arange(len(frame["HH"])) % 2
    safe = protected(frame, {"INCOME": "swap:50%:within=SEX"})
    for sex in (0, 1):
        mine = frame["SEX"] == sex
        assert sorted(safe["INCOME"][mine]) == sorted(frame["INCOME"][mine])
