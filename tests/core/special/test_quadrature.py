import math

import mpmath
import pytest

from riskcore.core.special import quadrature
from riskcore.core.special.quadrature import (
    GAUSS_NODES,
    HALF_LINE_NODES,
    gauss_node,
    gauss_weight,
    half_line_node,
    half_line_weight,
)

HALF_LINE = [(half_line_node(i), half_line_weight(i)) for i in range(HALF_LINE_NODES)]


def half_line(function):
    return math.fsum(weight * function(node) for node, weight in HALF_LINE)


def test_nodes_and_weights_are_correctly_rounded():
    with mpmath.workprec(150):
        for i in range(-36, 39):
            t = mpmath.mpf(i) / 10
            x = mpmath.exp(t - mpmath.exp(-t))
            slope = x * (1 + mpmath.exp(-t))
            assert HALF_LINE[i + 36] == (float(x), float(slope / 10))


@pytest.mark.parametrize("power", range(6))
def test_half_line(power):
    found = half_line(lambda x: x**power * math.exp(-x))
    # What lies past the last node, at 43.7, is some exp(-43.7) 43.7^power.
    past = math.exp(-41) * 41.0**power
    assert abs(found - math.factorial(power)) < 4e-16 * math.factorial(power) + past


@pytest.mark.parametrize("steepness", [0.03, 0.5, 1.0])
def test_half_line_of_a_gaussian(steepness):
    exact = math.sqrt(math.pi / steepness) / 2
    found = half_line(lambda x: math.exp(-steepness * x * x))
    assert found == pytest.approx(exact, rel=4e-16)


def test_half_line_with_a_pole_beside_it():
    exact = float(mpmath.exp(2) * mpmath.e1(2))
    assert half_line(lambda x: math.exp(-x) / (2 + x)) == pytest.approx(
        exact, rel=3e-16
    )


def test_the_rules_are_numbers_only():
    assert all(type(x) is float for x in sum(HALF_LINE, ()))
    assert quadrature.HALF_LINE_NODES == len(HALF_LINE) == 75


def test_gauss_nodes_and_weights_are_correctly_rounded():
    rule = [(gauss_node(i), gauss_weight(i)) for i in range(GAUSS_NODES)]
    assert len({node for node, _ in rule}) == GAUSS_NODES
    with mpmath.workprec(200):
        for node, weight in rule:
            x = mpmath.findroot(lambda x: mpmath.legendre(2 * GAUSS_NODES, x), node)
            slope = mpmath.diff(lambda x: mpmath.legendre(2 * GAUSS_NODES, x), x)
            assert float(x) == node
            assert float(2 / ((1 - x * x) * slope**2)) == weight
