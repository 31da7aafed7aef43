"""The individual risk with a prior, by Arb, mpmath and its own identities."""

import math
from fractions import Fraction
from importlib import import_module

import mpmath
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import riskcore
from riskcore.core.risk import prior
from riskcore.core.special.floats import BLOCK
from tests import reference

domains = import_module("bench.domains")
references = import_module("bench.references")
search = import_module("bench.search")
CONTRACT = {contract.function: contract.ulps for contract in prior.CONTRACTS}
risk, poisson = riskcore.individual_risk_with_prior, riskcore.individual_risk_poisson
ONE, TWO = 2.0**-51, 2.0**-50  # relative errors that the contract allows, of two risks

SUBJECTS = search.SUBJECTS
regions = [(name, region) for name in CONTRACT for region in SUBJECTS[name].regions]


# --- accuracy ------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "region"), regions)
def test_error_in_every_region(name, region):
    rng = np.random.default_rng([7, *region.encode()])
    points = SUBJECTS[name].regions[region](rng, 120)
    found = search.errors_of(name, points)
    assert len(found) > 40
    error, at = max(found)
    assert error < CONTRACT[name], [x.hex() for x in at]
    assert error > 0.3  # half an ulp of rounding must show


@pytest.mark.slow
@pytest.mark.parametrize(("name", "region"), regions)
def test_error_in_every_region_at_length(name, region):
    points = SUBJECTS[name].regions[region](np.random.default_rng(8), 10_000)
    error, at = max(search.errors_of(name, points))
    assert error < CONTRACT[name], [x.hex() for x in at]


@pytest.mark.parametrize(
    ("name", "at"),
    [
        ("individual_risk_with_prior", (2.046, 18.88, 0.3383)),
        ("individual_risk_with_prior", (4.0, 3.50000012, 0.49997)),
        ("individual_risk_with_prior", (1.01446, 0.54371, 0.50094)),
        ("individual_risk_with_prior", (1.15371754, 58.9855083, 0.93150256)),
        ("log_individual_risk_with_prior", (1.0, 81.6725, 0.99965)),
        ("log_individual_risk_poisson", (1.0, 3.05e-5)),
        ("individual_risk_second_moment_with_prior", (4.0, 62.882, 0.58583)),
        ("individual_risk_second_moment_with_prior", (9309.05, 1.3217, 3.68e-5)),
        ("individual_risk_second_moment_poisson", (13.485, 33.986)),
        ("individual_risk_with_prior", (2.0, 22.0, 1e-45)),
        ("log_individual_risk_with_prior", (0.563, 25.563, 1e-59)),
        ("individual_risk_with_prior", (3e16, 0.1, 5e-17)),
        ("individual_risk_with_prior", (2.0, 1.5036, 0.2893)),
        ("individual_risk_with_prior", (3.0, 2.512, 0.2377)),
        ("individual_risk_second_moment_with_prior", (1.1e15, 0.0122, 3.4e-16)),
        ("individual_risk_second_moment_with_prior", (8e16, 1e-15, 1.3e-17)),
        ("individual_risk_second_moment_with_prior", (1.4495, 1.4495, 6.3e-61)),
        ("individual_risk_poisson", (1.0, 1e-313)),
    ],
)
def test_where_earlier_methods_lost_more(name, at):
    """One ulp and more around these points, with Gauss's fraction in doubles, say.

    At some the result was nan.
    """
    rng = np.random.default_rng(3)
    points = [x * (1 + 1e-3 * rng.uniform(-1, 1, 60)) for x in at]
    if at[0] in (1.0, 2.0, 3.0, 4.0):
        points[0] = np.full(60, at[0])
    if len(at) == 3:
        points[2] = np.minimum(points[2], 0.99999)
    error, worst = max(search.errors_of(name, points))
    assert error < 0.8, [x.hex() for x in worst]


POINTS = [(1.0, 2.5, 0.1), (3.0, 3.25, 0.4), (2.5, 0.7, 0.03), (0.25, 40.0, 0.9),
          (7.0, 3.0, 0.6), (20.0, 90.0, 0.2)]  # fmt: skip


@pytest.mark.parametrize(("f", "s", "p"), POINTS)
def test_references_agree(f, s, p):
    """Arb's 2F1, its integral and mpmath's 2F1 are of one mind."""
    value = reference.individual_risk_with_prior(f, s, p)
    balls = [
        reference(150, f, s, p)
        for reference in (references.with_prior, references.with_prior_by_integral)
    ]
    for ball in balls:
        with mpmath.workprec(200):
            other = mpmath.mpf(ball.mid().str(60, radius=False))
            assert abs(other / value - 1) < 2.0**-85


@pytest.mark.parametrize(("f", "s", "p"), POINTS)
def test_sum_over_population_frequencies(f, s, p):
    last = 60 + int(40 * s / p)
    with mpmath.workprec(200):
        q, term = 1 - mpmath.mpf(p), mpmath.mpf(p) ** s
        total = term / f
        for j in range(last):
            term *= (s + j) * q / (j + 1)
            total += term / (f + j + 1)
    assert risk(f, s, p) == pytest.approx(float(total), rel=1e-14)


def test_poisson_reference():
    for f, mu in [(1.0, 2.0), (2.5, 0.3), (7.0, 30.0)]:
        value = float(reference.individual_risk_poisson(f, mu))
        assert poisson(f, mu) == pytest.approx(value, rel=1e-15)


# --- facts ---------------------------------------------------------------------------

frequencies = st.integers(1, 60).map(float) | st.floats(0.01, 1e9)
shapes = st.floats(1e-3, 1e12) | st.integers(1, 90).map(float)
fractions = (
    st.floats(1e-15, 1.0)
    | st.integers(1, 50).map(lambda k: 2.0**-k)
    | st.integers(1, 53).map(lambda k: 1 - 2.0**-k)
)
means = st.floats(0, 1e18) | st.floats(0, 100)


@given(frequencies, fractions)
def test_shape_f_has_the_bits_of_the_risk_without_prior(f, p):
    assert risk(f, f, p) == riskcore.individual_risk(f, p)
    log_r = riskcore.log_individual_risk_with_prior(f, f, p)
    assert log_r == riskcore.log_individual_risk(f, p)


@given(frequencies.filter(lambda f: f < 2.0**52), fractions)
def test_shape_one_above_f(f, p):
    assume(Fraction(f + 1) == Fraction(f) + 1)
    assert risk(f, f + 1, p) == p / f


@given(frequencies, shapes)
def test_whole_population_in_the_sample(f, s):
    assert risk(f, s, 1.0) == 1 / f
    assert poisson(f, 0.0) == 1 / f
    assert riskcore.cell_fully_sampled_probability(s, 1.0) == 1
    assert riskcore.cell_fully_sampled_probability_poisson(0.0) == 1


@given(frequencies, shapes, fractions)
@example(1.0, 1.0 + 2.0**-52, 0.3)
def test_bounds(f, s, p):
    """1/(f + mean) <= r <= 1/f, by Jensen."""
    r = Fraction(float(risk(f, s, p)))
    x, y, z = Fraction(f), Fraction(s), Fraction(p)
    assert r * (x * z + y * (1 - z)) >= z * (1 - Fraction(ONE))
    assert r * x <= 1 + Fraction(ONE)


@given(frequencies, shapes, fractions, fractions)
def test_risk_rises_with_p(f, s, p1, p2):
    low, high = risk(f, s, sorted([p1, p2]))
    assert low <= high * (1 + TWO)


@given(frequencies, shapes, shapes, fractions)
def test_risk_falls_with_the_shape(f, s1, s2, p):
    high, low = risk(f, sorted([s1, s2]), p)
    assert low <= high * (1 + TWO)


@given(frequencies, frequencies, shapes, fractions)
def test_risk_falls_with_the_sample_frequency(f1, f2, s, p):
    high, low = risk(sorted([f1, f2]), s, p)
    assert low <= high * (1 + TWO)


@given(frequencies, shapes.filter(lambda s: s < 2.0**51), fractions)
def test_contiguity_in_the_shape(f, s, p):
    """s r(s+1) = p (1 + (s - f) r(s))."""
    assume(Fraction(s + 1) == Fraction(s) + 1)
    r, r_next = (Fraction(float(x)) for x in risk(f, [s, s + 1], p))
    x, y, z = Fraction(f), Fraction(s), Fraction(p)
    slack = Fraction(ONE) * (y * r_next + z * (1 + abs(y - x) * r))
    assert abs(y * r_next - z * (1 + (y - x) * r)) <= slack


@given(frequencies, st.floats(1e-3, 1e6))
def test_poisson_is_the_limit(f, mu):
    s = 1e12
    p = s / (s + mu)
    mean = float(Fraction(s) * (1 - Fraction(p)) / Fraction(p))
    assume(mean > 0)
    # E[1/(f+X)] differs by Var X - mean = mean^2/s, times at most 1/f^2 relative.
    assert risk(f, s, p) == pytest.approx(poisson(f, mean), rel=3 * mean / s + 1e-15)


@given(frequencies, means, means)
def test_poisson_risk_falls_with_the_mean(f, a, b):
    high, low = poisson(f, sorted([a, b]))
    assert low <= high * (1 + TWO)
    assert (1 - ONE) / (f + max(a, b)) <= low


@given(frequencies, shapes, fractions)
def test_logarithm_belongs_to_the_risk(f, s, p):
    log_r = riskcore.log_individual_risk_with_prior(f, s, p)
    assert math.exp(log_r) == pytest.approx(risk(f, s, p), rel=1e-13)


def test_the_logarithm_where_its_error_is_absolute():
    """The worst found where r is near 1 and the shape below f: 2^-55.0."""
    f, s, p = 1.0009747196704668, 0.5940868263971427, 0.8560196336066106
    found = float(riskcore.log_individual_risk_with_prior(f, s, p))
    with mpmath.workdps(50):
        f, s, p = map(mpmath.mpf, (f, s, p))
        risk = p / f * mpmath.hyp2f1(1, f + 1 - s, f + 1, 1 - p)
        assert abs(found - mpmath.log(risk)) < mpmath.mpf(2) ** -55


@pytest.mark.parametrize(
    ("f", "s", "p"),
    [
        # The parts of f r cancel, the more the smaller f: 1.56 and 0.89 ulp were found
        # where p q was a double.
        (0.00199854744, 71.4296121, 0.8498525),
        (0.0056, 71.0, 0.84),
        (0.001, 65.0, 0.5),
        (0.001, 400.0, 0.9),
        # The next double below the smallest shape at which the reflection begins:
        # 7.5 and 8.3 ulp where it was taken for that.
        (0.5, 0.5 - 2.0**-54, 1e-9),
        (0.5 + 2.0**-53, 0.5 - 2.0**-54, 1e-9),
        (1.5, 1.5 - 2.0**-52, 1e-9),
    ],
)
def test_corners_that_a_sweep_found(f, s, p):
    found = float(risk(f, s, p))
    with mpmath.workdps(60):
        x, y, z = map(mpmath.mpf, (f, s, p))
        exact = z / x * mpmath.hyp2f1(1, x + 1 - y, x + 1, 1 - z)
        assert abs(found - exact) <= 0.52 * math.ulp(found)


@given(frequencies.filter(lambda f: f >= 1), shapes, fractions)
def test_second_moment_lies_between_its_bounds(f, s, p):
    """r^2 <= E[1/F^2] <= r/f."""
    r = risk(f, s, p)
    second = riskcore.individual_risk_second_moment_with_prior(f, s, p)
    assert r * r * (1 - 4 * TWO) <= second <= r / f * (1 + 4 * TWO)


@given(st.integers(1, 30).map(float), st.floats(0.01, 1))
def test_second_moment_without_prior(f, p):
    second = riskcore.individual_risk_second_moment_with_prior(f, f, p)
    expected = riskcore.individual_risk_second_moment(f, p)
    assert second == pytest.approx(expected, rel=4e-15)


@given(shapes.filter(lambda s: s < 1e6), fractions)
def test_nobody_outside_the_sample(s, p):
    value = riskcore.cell_fully_sampled_probability(s, p)
    with mpmath.workprec(300):
        exact = mpmath.mpf(p) ** mpmath.mpf(s)
    assert abs(value - exact) <= exact * 2.0**-52 + 5e-324
    # A risk is at least this probability over f.
    assert risk(1.0, s, p) >= value * (1 - TWO)


# --- the same bits -------------------------------------------------------------------


@pytest.fixture(scope="module")
def mixed():
    """Cells of every region in one array, some outside the domain."""
    rng = np.random.default_rng(9)
    parts = [draw(rng, 3 * BLOCK // 4) for draw in domains.PRIOR.values()]
    f, s, p = rng.permutation(np.hstack(parts).T).T.copy()
    s[::17] = f[::17]
    s[3::19] = f[3::19] + 1
    p[5::23] = 1.0
    f[::50], p[7::50], s[11::50] = -1.0, np.nan, np.inf
    return f, s, p


def same_bits(a, b):
    a, b = np.asarray(a, float), np.asarray(b, float)
    return a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("size", [1, 2, 7, BLOCK - 1, BLOCK + 1])
def test_pieces_do_not_matter(mixed, size):
    n = len(mixed[0])
    pieces = [risk(*(x[i : i + size] for x in mixed)) for i in range(0, n, size)]
    assert same_bits(np.concatenate(pieces), risk(*mixed))


def test_interpreted_kernel_and_loop(mixed):
    f, s, p = (x[:120] for x in mixed)
    inside = np.flatnonzero(~np.isnan(risk(f, s, p)))[:60]
    f, s, p = f[inside], s[inside], p[inside]
    source = prior.UFUNCS["individual_risk_with_prior"]
    one_by_one = [
        source.scalar(*map(float, cell)) for cell in zip(f, s, p, strict=True)
    ]
    assert same_bits(one_by_one, risk(f, s, p))


def test_out_over_an_argument(mixed):
    f, s, p = (x.copy() for x in mixed)
    expected = risk(f, s, p)
    assert same_bits(risk(f, s, p, out=s), expected)


# --- domain --------------------------------------------------------------------------

NOTHING = [-1.0, 0.0, math.nan, math.inf, -math.inf, 5e-324]
OF_THREE = [
    "individual_risk_with_prior",
    "log_individual_risk_with_prior",
    "individual_risk_second_moment_with_prior",
]


@pytest.mark.parametrize("name", OF_THREE)
def test_nan_outside_the_domain(name):
    function = getattr(riskcore, name)
    with np.errstate(all="raise"):
        for wrong in NOTHING:
            assert np.isnan(function(wrong, 2.0, 0.5))
            assert np.isnan(function(2.0, 2.0, [wrong, wrong])).all()
        for wrong in NOTHING[:-1]:
            assert np.isnan(function(2.0, [wrong, wrong], 0.5)).all()
        assert np.isnan(function(2.0, 2.0, 1 + 2.0**-52))
        assert np.isnan(function([2.0**-11, 2.0**61], 1.0, 0.5)).all()


@pytest.mark.parametrize(
    "name",
    [
        "individual_risk_poisson",
        "log_individual_risk_poisson",
        "individual_risk_second_moment_poisson",
    ],
)
def test_nan_outside_the_domain_of_poisson(name):
    function = getattr(riskcore, name)
    assert np.isnan(function(NOTHING, 1.0)).all()
    assert np.isnan(function(1.0, [-1.0, math.nan, math.inf, 2.0**101])).all()


def test_nan_outside_the_domain_of_probabilities():
    function = riskcore.cell_fully_sampled_probability
    assert np.isnan(function([*NOTHING[:-1], 1.0, 1.0], [0.5] * 5 + [0.0, 1.5])).all()
    function = riskcore.cell_fully_sampled_probability_poisson
    assert np.isnan(function([-1.0, math.nan, math.inf])).all()
    assert function(800.0) == 0
