import math

import mpmath
import pytest

from riskcore.special import quadrature
from riskcore.special.quadrature import (
    GAUSS_NODES,
    HALF_LINE_NODES,
    INTERVAL_NODES,
    gauss_node,
    gauss_weight,
    half_line_node,
    half_line_weight,
    interval_node,
    interval_weight,
)

HALF_LINE = [(half_line_node(i), half_line_weight(i)) for i in range(HALF_LINE_NODES)]
INTERVAL = [(interval_node(i), interval_weight(i)) for i in range(INTERVAL_NODES)]


def half_line(function):
    return math.fsum(weight * function(node) for node, weight in HALF_LINE)


def interval(function):
    """Return the integral of function(x, 1 - x) over (0, 1)."""
    (middle, first), *others = INTERVAL
    terms = [first * function(middle, middle)]
    for node, weight in others:
        terms += [weight * function(node, 1 - node), weight * function(1 - node, node)]
    return math.fsum(terms)


def test_nodes_and_weights_are_correctly_rounded():
    with mpmath.workprec(150):
        for i in range(-36, 39):
            t = mpmath.mpf(i) / 10
            x = mpmath.exp(t - mpmath.exp(-t))
            slope = x * (1 + mpmath.exp(-t))
            assert HALF_LINE[i + 36] == (float(x), float(slope / 10))
        for i in range(81):
            t = mpmath.mpf(i) / 24
            u = mpmath.pi * mpmath.sinh(t)
            slope = mpmath.pi * mpmath.cosh(t) / (4 * mpmath.cosh(u / 2) ** 2)
            x = 1 / (1 + mpmath.exp(u))
            assert INTERVAL[i] == (float(x), float(slope / 24))


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


def test_interval():
    assert interval(lambda x, y: 1.0) == pytest.approx(1, rel=2e-16)
    assert interval(lambda x, y: x**-0.5) == pytest.approx(2, rel=2e-9)
    assert interval(lambda x, y: math.log(x)) == pytest.approx(-1, rel=4e-16)
    steep = interval(lambda x, y: 700 * math.exp(-700 * x) / (1 + y))
    with mpmath.workprec(80):
        exact = mpmath.quad(
            lambda x: 700 * mpmath.exp(-700 * x) / (2 - x), [0, 0.01, 0.05, 0.2, 1]
        )
    assert steep == pytest.approx(float(exact), rel=1e-15)


def test_the_rules_are_numbers_only():
    assert all(type(x) is float for x in [*sum(HALF_LINE, ()), *sum(INTERVAL, ())])
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
