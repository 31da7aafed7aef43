"""Treatments of columns: what is checked first, secrets, rules in a row."""

import numpy as np
import pytest

from riskcore.protection.records.treated import treated_columns
from riskcore.protection.treatments.rules import Treatment, parsed_treatments
from tests.secret_of import secret_of

X = np.array([140.0, 160.0, np.nan, 900.0])


def rule(words):
    return Treatment.of("x", words)


def test_rules_of_a_column_apply_in_their_order():
    # Rounded first, the limit of 155 would not be a multiple of 100.
    treat = {("x",): (rule("top:155"), rule("round:100"))}
    found = treated_columns({"x": X}, treat)["x"]
    assert np.array_equal(found, [100, 200, np.nan, 200], equal_nan=True)


def test_only_treated_columns_come_back_and_the_input_stays():
    before = X.copy()
    for words in ("top:5=1", "round:100", "bands:5", "microaggregate:3", "noise:10%"):
        found = treated_columns(
            {"x": X, "y": X}, {("x",): [rule(words)]}, secret=secret_of(1)
        )
        assert list(found) == ["x"]
        assert not np.shares_memory(found["x"], X)
        assert np.array_equal(X, before, equal_nan=True)


def test_random_treatments_differ_by_secret_column_and_step():
    x = np.random.default_rng(1).normal(size=500)
    noise = rule("noise:10%")

    def drawn(seed, treat):
        found = treated_columns({"x": x, "y": x}, treat, secret=secret_of(seed))
        return [found[name] - x for name in found]

    (first,) = drawn(1, {("x",): [noise]})
    assert np.array_equal(first, drawn(1, {("x",): [noise]})[0])
    (second,) = drawn(2, {("x",): [noise]})
    both = drawn(1, {("x",): [noise], ("y",): [noise]})
    assert np.array_equal(first, both[0])
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.2
    assert abs(np.corrcoef(*both)[0, 1]) < 0.2
    (twice,) = drawn(1, {("x",): (noise, noise)})
    assert np.std(twice) == pytest.approx(np.sqrt(2) * np.std(first), rel=0.15)


def test_strata_of_two_columns_are_their_combinations():
    strata = {"A": np.array([1, 1, 2, 2] * 2), "B": np.array([5, 7, 5, 7] * 2)}
    x = np.array([1.0, 10, 100, 1000, 3, 30, 300, 3000])
    found = treated_columns(
        {"x": x}, {("x",): [rule("microaggregate:2:within=A+B")]}, strata=strata
    )["x"]
    assert found.tolist() == [2, 20, 200, 2000] * 2


@pytest.mark.parametrize(
    ("secret", "message"),
    [
        (None, "treat x=swap:50%: a random treatment needs a secret"),
        ("123", "secret: 64 hexadecimal digits needed"),
    ],
)
def test_a_random_treatment_needs_a_secret(secret, message):
    with pytest.raises(ValueError, match=message):
        treated_columns({"x": X}, {("x",): [rule("swap:50%")]}, secret=secret)


def test_no_record_is_fine():
    empty = np.empty(0)
    for words in (
        "top:1%",
        "round:2digits",
        "bands:5=mean",
        "microaggregate:3",
        "swap:5%",
        "noise:10%",
    ):
        found = treated_columns(
            {"x": empty}, {("x",): [rule(words)]}, secret=secret_of(1)
        )
        assert found["x"].size == 0


def test_names_of_columns_need_not_be_text():
    treat = parsed_treatments({5: "noise:10%"}, [5])
    found = treated_columns({5: X}, treat, secret=secret_of(1))
    assert list(found) == [5]
