"""The same bits by every way to the same number, and from code for other processors."""

import sys
from importlib import import_module
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import riskcore
from tests import thin

sys.path.append(str(Path(__file__).resolve().parents[2]))
same_bits = import_module("bench.same_bits")

PER_GROUP = 300

RISKS = ["individual_risk", "individual_risk_from_frequencies"]
named = pytest.mark.parametrize("name", same_bits.NAMES)


@pytest.fixture(scope="module")
def expected():
    """Return the hashes of the results of one call with whole arrays."""
    # Every function is compiled here if it is not yet; from the end, for another worker
    # begins at the start meanwhile, and would wait for each.
    names = same_bits.NAMES[::-1]
    return {name: same_bits.digest(results_of(name, "one array")) for name in names}


def results_of(name, way):
    points = same_bits.points(name, same_bits.fewer(name, PER_GROUP))
    return same_bits.WAYS[way](getattr(riskcore, name), points)


@pytest.mark.parametrize("name", RISKS)
def test_points_are_in_every_region(name):
    f, _ = same_bits.points(name, PER_GROUP)
    assert len(f) == PER_GROUP * len(same_bits.GROUPS)
    results = results_of(name, "one array")
    assert 0.02 < np.isnan(results).mean() < 0.2
    for inside in (f < 1, f == 1, f == 2, f % 1 != 0, f > 16, f > 1000, f > 2.0**53):
        assert (inside & ~np.isnan(results)).sum() > 30


@named
def test_few_points_are_outside_the_domain(name):
    assert np.isnan(results_of(name, "one array")).mean() < 0.4


def test_points_down_to_the_smallest_double():
    numbers = same_bits.power(np.random.default_rng(1), -1074, 3, 2000)
    assert 0 < numbers.min() < 2.0**-1060
    assert 4 < numbers.max() <= 8


def doors():
    """Yield every function with every way; few of them are compiled at once."""
    for name in same_bits.NAMES:
        for way in same_bits.WAYS:
            compiles = way in {"in @njit code", "C function"}
            slow = compiles and name != "individual_risk"
            yield pytest.param(name, way, marks=[pytest.mark.slow] * slow)


@pytest.mark.parametrize(("name", "way"), [*doors()])
def test_ways(name, way, expected):
    results = results_of(name, way)
    if results is None:
        assert (name, way) == ("individual_risk_bounds", "C function")
    else:
        assert same_bits.digest(results) == expected[name]


# The slow half is the whole sweep: exact rational arithmetic takes up to half a second
# for one point.
@pytest.mark.parametrize(
    ("name", "part"),
    thin.cases(product(same_bits.NAMES, [5, 15]), lambda name, part: part == 15),
)
def test_interpreted_kernel(name, part):
    function = getattr(riskcore, name)
    arguments = same_bits.points(name, same_bits.fewer(name, PER_GROUP) // part + 1)
    chosen, got = same_bits.interpreted(function, arguments)
    assert chosen.mean() > 0.9
    compiled = same_bits.whole(function, arguments)
    assert same_bits.digest(got) == same_bits.digest(compiled[..., chosen])


def test_one_bit_shows():
    values = np.ones(1000)
    before = same_bits.digest(values)
    values[500] = np.nextafter(1, 2)
    assert same_bits.digest(values) != before


# --- other processors ------------------------------------------------------------

ON_TARGET = """
from bench import same_bits
import riskcore
points = same_bits.points("individual_risk", {n})
print(same_bits.digest(riskcore.individual_risk(*points)))
"""


@pytest.mark.compiles
def test_code_for_the_oldest_processor(python, expected):
    # Vectors of two, and no fused multiply-add of its own.
    processor = same_bits.runnable()[0]
    code = ON_TARGET.format(n=PER_GROUP)
    variables = same_bits.target(processor)
    assert python(code, **variables) == expected["individual_risk"]


@pytest.mark.slow
@pytest.mark.parametrize("processor", same_bits.runnable())
def test_all_code_for_another_processor(processor, expected):
    hashes, _ = same_bits.on_target(processor, PER_GROUP)
    assert hashes == expected
