"""Checks of arguments: what is taken, and what is said of the rest."""

import math
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from riskcore.common import arguments

BEYOND = 10**400


@pytest.mark.parametrize(
    ("interval", "inside", "outside", "within"),
    [
        ("[0, 1]", [0, 1, 0.5, True - 0], [-1e-300, 1 + 2**-52], "in [0, 1]"),
        ("(0, 1)", [5e-324, 1 - 2**-53], [0, 1, -0.0], "in (0, 1)"),
        ("[0, 1)", [0, -0.0, 1 - 2**-53], [1, -5e-324], "in [0, 1)"),
        ("(0, 1]", [1, 5e-324], [0, 1.5], "in (0, 1]"),
        ("[0, inf)", [0, 1e308], [math.inf, -1, BEYOND], ">= 0"),
        ("(0, inf]", [math.inf, 5e-324, BEYOND], [0, -BEYOND], "> 0"),
    ],
)
def test_numbers_in_an_interval(interval, inside, outside, within):
    for value in inside:
        for given in (value, np.float64(value) if abs(value) < BEYOND else value):
            assert arguments.number_in("x", given, interval) == arguments.number(
                "x", value
            )
    for value in [*outside, math.nan, -math.inf]:
        with pytest.raises(ValueError, match="need a share") as caught:
            arguments.number_in("x", value, interval, "a share")
        given = "a int" if abs(value) == BEYOND else repr(value)
        assert str(caught.value) == f"x={given}: need a share {within}"


@pytest.mark.parametrize("value", [None, "1", True, 1j, [1], np.ones(1), np.True_])
@pytest.mark.parametrize(
    "check", [arguments.number, partial(arguments.number_in, interval="[0, 1]")]
)
def test_values_that_are_not_numbers(value, check):
    with pytest.raises(TypeError, match=r"^x=.*: need a number$"):
        check("x", value)


def test_numbers_of_all_kinds():
    for value in (Decimal("0.5"), Fraction(1, 2), np.float32(0.5), np.array(0.5)):
        assert arguments.number_in("x", value, "(0, 1)") == 0.5
    with pytest.raises(ValueError, match=r"^x=2.5: need"):
        arguments.number_in("x", np.float32(2.5), "(0, 1)")


def test_whole_numbers_of_a_range():
    for value in (1, 2**53, np.int8(7), np.uint64(2**53)):
        assert arguments.whole_from("N", value, 1, 2**53) == int(value)
    for value in (0, -1, 2**53 + 1, np.uint64(2**63)):
        message = rf"^N={int(value)}: need people from 1 to 2\^53$"
        with pytest.raises(ValueError, match=message):
            arguments.whole_from("N", value, 1, 2**53, "people")
    with pytest.raises(ValueError, match=r"^N=9: need a whole number from -4 to 8$"):
        arguments.whole_from("N", 9, -4, 8)
    for value in (1.0, True, "1", None, np.float64(1)):
        with pytest.raises(TypeError, match=r"^N=.*: need a whole number$"):
            arguments.whole_from("N", value, 1, 2)


def test_words():
    arguments.one_of("how", "a", ("a", "b"))
    for value in ("c", "", None, ["a"], np.array(["a"])):
        with pytest.raises(ValueError, match=r"^how=.*: use 'a', 'b' or 'c d'$"):
            arguments.one_of("how", value, ("a", "b", "c d"))
    assert str(arguments.not_one_of("how", "x", ["a"])) == "how='x': use 'a'"


def test_generators():
    arguments.generator("rng", np.random.default_rng(1))
    for value in (None, 1, np.random.RandomState(1)):
        with pytest.raises(TypeError, match=r"^rng: need a numpy\.random\.Generator, "):
            arguments.generator("rng", value)


def test_arrays_of_numbers():
    given = np.array([1, 2], np.int8)
    assert arguments.numbers("f", given) is given
    assert arguments.numbers("f", 2.5).tolist() == 2.5
    assert arguments.numbers("f", [1, 2], kinds="iu", dimensions=1).dtype == np.int64
    for values in (["1"], [True], [None], [1j], np.ones(1, "M8[s]")):
        with pytest.raises(TypeError, match=r"^f: need counts, got "):
            arguments.numbers("f", values, "counts")
    with pytest.raises(TypeError, match=r"^f: need numbers, got float64$"):
        arguments.numbers("f", [1.0], kinds="iu")
    for values, dimensions, need in (
        ([[1]], 1, r"one dimension, got shape \(1, 1\)"),
        (1, 1, r"one dimension, got shape \(\)"),
        ([1], 2, r"2 dimensions, got shape \(1,\)"),
    ):
        with pytest.raises(ValueError, match=f"^f: need {need}$"):
            arguments.numbers("f", values, dimensions=dimensions)


def test_values_that_are_bad_are_counted():
    arguments.refuse("f", np.zeros(3, bool), "positive")
    with pytest.raises(ValueError, match=r"^f: 2 of 4 values are not positive$"):
        arguments.refuse("f", np.array([[True, False], [False, True]]), "positive")
    with pytest.raises(ValueError, match=r"^f: 1 of 1 values are not positive$"):
        arguments.refuse("f", True, "positive")
