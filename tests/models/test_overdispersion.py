"""How far cells are from their probabilities: likelihoods, boundaries, recovery."""

import math

import numpy as np
import pytest
from scipy.stats import nbinom, poisson

from riskcore.models import Overdispersion
from riskcore.models import overdispersion as module
from riskcore.models.overdispersion import Seen, fit_overdispersion, likely_laws


def sample(a, b, seed, cells=20_000, n=20_000):
    """Return n pi and f of the cells of a sample whose law is that of the model."""
    rng = np.random.default_rng(seed)
    expected = n * rng.dirichlet(np.full(cells, 0.5))
    shape = a * expected**b
    f = rng.poisson(expected * rng.gamma(shape) / np.where(shape > 0, shape, 1.0))
    return expected, f


def seen(expected, f):
    some = f > 0
    return Seen.of(expected[some], f[some], f[some])


MEANS, RECORDS = np.array([0.1, 0.5, 3.0, 40.0, 2.0]), np.array([1, 3, 2, 5, 4])
WEIGHT = np.array([1, 2, 5, 1, 3])
MANY = Seen.of(MEANS, RECORDS, WEIGHT)


def log_chances(law, m, f, most=5):
    """Return log P of the records of a small cell, from one of them.

    A record is in a cell of f records f times as often as a cell has f records.
    """
    sizes = np.arange(1, most + 1)[:, np.newaxis]
    all_ = np.log((sizes * law.pmf(sizes)).sum(axis=0))
    return law.logpmf(f) + np.log(f) - all_


def negative_binomial(t, m):
    return nbinom(t, t / (t + m))


@pytest.mark.parametrize("b", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("a", [0.3, 2.0])
def test_what_made_the_sample_is_found_again(a, b):
    around = seen(*sample(a, b, 1, 60_000, 60_000))
    found = fit_overdispersion(around)
    assert found.exponent == pytest.approx(b, abs=0.25)
    at = fit_overdispersion(around, exponents=(b,))
    assert at.scale == pytest.approx(a, rel=0.1)
    assert (at.kind, at.reason) == ("power", "")
    one = fit_overdispersion(around, "dirichlet-multinomial")
    assert one == fit_overdispersion(around, "dirichlet-multinomial", (0.0,))
    assert one.exponent == 1.0


@pytest.mark.parametrize("t", [1e-3, 0.7, 50.0, 1e6])
def test_the_likelihood_is_that_of_scipy(t):
    shapes = t * np.array([1.0, 2.0, 0.5, 1.0, 3.0])
    right = log_chances(negative_binomial(shapes, MEANS), MEANS, RECORDS)
    assert MANY.height(shapes) == pytest.approx((WEIGHT * right).sum(), rel=1e-8)


def test_shapes_without_bound_are_the_poisson_law():
    right = (WEIGHT * log_chances(poisson(MEANS), MEANS, RECORDS)).sum()
    assert MANY.height() == pytest.approx(right, rel=1e-12)
    assert MANY.height(np.full(5, 1e15)) == pytest.approx(right, rel=1e-12)


@pytest.mark.parametrize("t", [1e-6, 0.7, 50.0, 1e9])
def test_slopes_are_derivatives(t):
    import mpmath

    def height(m, f, s):
        terms = [mpmath.rf(s + 1, j) / mpmath.factorial(j) * (m / (m + s)) ** j
                 for j in range(5)]  # fmt: skip
        return mpmath.log(terms[f - 1] / mpmath.fsum(terms))

    with mpmath.workdps(60):
        for m, f in zip(MEANS.tolist(), RECORDS.tolist(), strict=True):
            mean = mpmath.mpf(m)
            exact = t * mpmath.diff(lambda s, x=mean, y=f: height(x, y, s), t)
            one = Seen.of(np.array([m]), np.array([f]), np.array([1]))
            assert one.slope(np.array([t])) == pytest.approx(float(exact), rel=1e-7)
    each = [Seen(*(part[i : i + 1] for part in MANY[:3]), MANY.most) for i in range(5)]
    for of in ("height", "slope"):
        sums = math.fsum(getattr(one, of)(np.array([t])) for one in each)
        assert getattr(MANY, of)(np.full(5, t)) == pytest.approx(sums, rel=1e-13)


def test_only_small_cells_are_heard():
    f = np.array([1, 2, 5, 6, 90])
    assert Seen.of(np.ones(5), f, f).records.tolist() == [1, 2, 5]
    # Windows that are all large are not.
    assert Seen.of(np.ones(5), 10 * f, f).records.tolist() == [10, 20, 50]


def test_chance_alone_is_no_overdispersion():
    rng = np.random.default_rng(3)
    expected = np.full(4000, 0.5)
    f = rng.multinomial(2000, expected / 2000)
    f[np.flatnonzero(f > 1)] = 2  # less uneven than chance
    for kind in ("power", "dirichlet-multinomial"):
        found = fit_overdispersion(seen(expected, f), kind)
        assert found.poisson
        assert found.reason.startswith("boundary")
        assert found.kind == kind


def test_no_cell_of_two_records_tells_nothing():
    found = fit_overdispersion(seen(np.full(9, 0.1), np.ones(9, np.int64)))
    assert found.reason.endswith("no cell has two records")


def test_none_is_not_looked_for():
    around = seen(*sample(0.3, 0.0, 4, 500, 500))
    assert fit_overdispersion(around, "none") == Overdispersion()
    assert module.kind_of(False) == "none"
    assert module.kind_of(True) == "power"
    with pytest.raises(ValueError, match="overdispersion='gamma'"):
        fit_overdispersion(around, "gamma")


def test_a_part_of_many_cells_gives_nearly_the_same():
    expected, f = sample(0.5, 0.5, 5, cells=400_000, n=200_000)
    assert (f > 0).sum() > module.MOST_CELLS
    part = module.part_of(f)
    assert len(part) < module.MOST_CELLS
    found = fit_overdispersion(seen(expected[part], f[part]), exponents=(0.5,))
    assert found.scale == pytest.approx(0.5, rel=0.1)


def test_shapes_and_evenness():
    law, expected = Overdispersion(3.0, 0.25), np.array([0.0, 1e-9, 1.0, 7.0])
    assert law.shape(expected) == pytest.approx(3.0 * expected**0.25, rel=1e-15)
    with np.errstate(divide="ignore"):
        assert law.evenness(expected) == pytest.approx(3.0 * expected**-0.75)
    assert Overdispersion(3.0, 1.0).evenness(expected).tolist() == [3.0] * 4
    assert Overdispersion(3.0, 0.0).shape(expected).tolist() == [3.0] * 4


def test_repr():
    assert repr(Overdispersion()) == "<Overdispersion: none, Poisson>"
    lost = Overdispersion(math.nan, 1.0, "power", "why")
    assert repr(lost) == "<Overdispersion: no estimate, why>"


def test_the_part_of_many_cells_is_by_their_place(monkeypatch):
    # Else the fits of a jackknife would each have another part.
    monkeypatch.setattr(module, "MOST_CELLS", 300)
    _, f = sample(0.5, 0.5, 6, cells=3100, n=3000)
    part = module.part_of(f)
    _, place = module.groups_of(np.ones(3100, np.int64), 3100)
    assert part.tolist() == np.flatnonzero((place < 300) & (f > 0)).tolist()
    f[part[0]] = 0
    assert module.part_of(f).tolist() == part[1:].tolist()


@pytest.mark.parametrize(("a", "b"), [(0.3, 0.0), (2.0, 0.0), (2.0, 0.5), (2.0, 1.0)])
def test_few_clusters_that_do_not_matter_hardly_change_the_law(a, b):
    expected, f = sample(a, b, 1)
    cluster = np.random.default_rng(2).integers(0, 40, f.sum())
    pairs = np.unique(np.repeat(np.arange(len(f)), f) * 40 + cluster)
    clusters = np.bincount(pairs // 40, minlength=len(f))
    assert clusters.sum() < 0.96 * f.sum()  # common cells have several by chance
    whole = fit_overdispersion(seen(expected, f))
    around, share = Seen.of_clusters(expected, f, clusters, clusters)
    assert share < 0.96
    found = fit_overdispersion(around).in_records(share)
    assert found.exponent == pytest.approx(whole.exponent, abs=0.25)
    assert found.scale == pytest.approx(whole.scale, rel=0.25)


@pytest.mark.parametrize("size", [1, 3])
def test_clusters_that_are_alike_count_once(size):
    """Each cluster has some records, all of them in one cell."""
    expected, f = sample(0.3, 0.5, 1, 400, 4000)
    expected, f = expected[f > 0], f[f > 0]
    around, share = Seen.of_clusters(size * expected, size * f, f, f)
    assert share == pytest.approx(1.0 / size)
    for found, right in zip(around, seen(expected, f), strict=True):
        assert found == pytest.approx(right, rel=1e-14)


def test_laws_of_clusters_are_said_in_records():
    law = Overdispersion(3.0, 0.5, "power", "why")
    assert law.in_records(1.0) == law
    expected = np.array([0.3, 2.0])
    in_records = law.in_records(0.25)
    assert in_records.shape(expected) == pytest.approx(law.shape(0.25 * expected))
    assert in_records.reason == "why"


def test_what_cannot_have_others_is_not_seen():
    around = Seen.of(np.array([0.0, 1e-40, 1.0]), np.ones(3, int), np.ones(3, int))
    assert [part.tolist() for part in around[:3]] == [[1.0]] * 3


def test_many_rows_are_joined_with_hardly_an_effect():
    around = seen(*sample(0.5, 0.5, 5, cells=40_000))
    few = around.joined()
    assert len(few.expected) < 0.4 * len(around.expected)
    assert few.weight.sum() == around.weight.sum()
    assert few.weight @ few.records == around.weight @ around.records
    assert few.most == around.most
    assert few.weight @ few.expected == pytest.approx(around.weight @ around.expected)
    for t in (0.3, 3.0):
        ratio = around.slope(t * around.expected**0.5) / few.slope(
            t * few.expected**0.5
        )
        assert ratio == pytest.approx(1.0, rel=1e-3)
    assert seen(MEANS, RECORDS).joined().expected.tolist() == MEANS.tolist()


def log_chance(law, m, f):
    """Return the log-likelihood of the records, and of the prior up to a constant."""
    a, b = law.scale, law.exponent
    small = f <= 5
    m, f = m[small], f[small]
    height = (f * log_chances(negative_binomial(a * m**b, m), m, f)).sum()
    return height + math.log(a) - 2.0 * math.log1p(a) + 2.0 * b


@pytest.mark.parametrize("kind", ["power", "dirichlet-multinomial"])
def test_chances_of_laws_are_by_their_likelihood_and_prior(kind):
    expected, f = sample(0.5, 1.0, 4, cells=400, n=60)
    expected, f = expected[f > 0], f[f > 0]
    found = likely_laws(seen(expected, f), kind)
    right = np.array([log_chance(law, expected, f) for law, _ in found])
    chances = np.exp(right - right.max())
    assert [p for _, p in found] == pytest.approx(chances / chances.sum(), rel=1e-9)
    assert {law.kind for law, _ in found} == {kind}
    exponents = {law.exponent for law, _ in found}
    assert exponents <= ({0.0, 0.5, 1.0} if kind == "power" else {1.0})
    assert (len(exponents) > 1) == (kind == "power")


def test_many_records_leave_few_laws():
    found = likely_laws(seen(*sample(2.0, 0.5, 1)), "power")
    assert {(law.scale, law.exponent) for law, _ in found} == {(2.0, 0.5)}
    assert found[0][1] == 1.0
