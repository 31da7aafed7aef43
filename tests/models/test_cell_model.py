"""The verbs that all models of cells share, on a model with given probabilities."""

import math
from dataclasses import dataclass, replace

import mpmath
import numpy as np
import pytest
from scipy import stats

from riskcore.models import (
    CellModel,
    CellPrior,
    CellTable,
    Overdispersion,
    PoissonBinomial,
)
from riskcore.models.cell_model import student
from riskcore.models.clusters import groups_of


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Saturated(CellModel):
    """Each cell has the share of its records, or a given one."""

    label = "saturated"

    pi: np.ndarray | None = None

    def _probability(self, table):
        if self.pi is not None:
            return self.pi
        return self.sample.records / self.n

    def _refitted(self, records):
        return replace(self, pi=records / records.sum())


def model(records=(1, 1, 3, 5), weight=10.0, **changes):
    records = np.array(records)
    table = CellTable.of(
        [np.arange(len(records))], frequency=records, weight_sum=weight * records
    )
    return Saturated(sample=table, **changes)


PI = np.array([0.02, 0.001, 0.3, 0.6])


def test_the_poisson_prior():
    found = model(pi=PI).prior()
    assert found.mu == pytest.approx(10 * PI * 9.0, rel=1e-15)
    assert found.shape is found.p is found.population is None
    expected = [math.exp(-1.8), math.exp(-0.09), 0.0, 0.0]
    assert found.unique_probability() == pytest.approx(expected, rel=1e-12)
    assert repr(found) == "<CellPrior: 4 cells, Poisson>"


def test_the_prior_of_the_dirichlet_multinomial_law():
    A, n, W = 25.0, 10, 10.0
    found = model(pi=PI, overdispersion=Overdispersion(A / n, 1.0)).prior()
    assert found.shape == pytest.approx(np.array([1, 1, 3, 5]) + A * PI, rel=1e-15)
    assert found.p == pytest.approx((n + A) / (n * W + A), rel=1e-15)
    expected = found.p[:2] ** found.shape[:2]
    assert found.unique_probability()[:2] == pytest.approx(expected, rel=1e-13)
    assert repr(found) == "<CellPrior: 4 cells, negative binomial>"


def test_the_prior_of_the_power_law():
    law = Overdispersion(2.0, 0.5)
    found = model(pi=PI, overdispersion=law).prior()
    m, t = 10 * PI, 2.0 * np.sqrt(10 * PI)
    assert found.shape == pytest.approx(np.array([1, 1, 3, 5]) + t, rel=1e-12)
    assert found.p == pytest.approx((m + t) / (10.0 * m + t), rel=1e-12)


def test_the_prior_is_the_law_of_the_others_by_simulation():
    rng = np.random.default_rng(1)
    m, t, rate = 0.8, 0.7, 6.0
    people = rng.gamma(t, m / t, 400_000)
    f, others = rng.poisson(people), rng.poisson(people * (rate - 1.0))
    table = CellTable.of([[0, 1]], frequency=[1, 9], weight_sum=[rate, 54.0])
    one = Saturated(
        sample=table,
        pi=np.array([m / 10, 0.5]),
        overdispersion=Overdispersion(t / m**0.5, 0.5),
    )
    expected = one.unique_probability()[0]
    share = (others[f == 1] == 0).mean()
    error = math.sqrt(expected * (1 - expected) / (f == 1).sum())
    assert abs(share - expected) < 5 * error
    prior = one.prior()
    mean = prior.shape[0] * (1 - prior.p[0]) / prior.p[0]
    assert others[f == 1].mean() == pytest.approx(mean, rel=0.02)


def test_overdispersion_without_bound_is_poisson():
    near = model(pi=PI, overdispersion=Overdispersion(1e12, 0.5))
    assert near.tau() == pytest.approx(model(pi=PI).tau(), rel=1e-9)


def test_a_cell_that_cannot_be_has_nobody_else():
    none = np.array([0.0, 0.0, 0.4, 0.6])
    for law in (Overdispersion(), Overdispersion(2.0, 0.5)):
        chance = model(pi=none, overdispersion=law).unique_probability()
        assert chance[:2].tolist() == [1.0, 1.0]
    # But for the Dirichlet-multinomial law: there the record itself is a sign of more.
    found = model(pi=none, overdispersion=Overdispersion(2.5, 1.0)).prior()
    assert found.p[0] == pytest.approx(35.0 / 125.0)


def test_a_file_without_weights_is_the_population():
    assert model(weight=1.0, pi=PI).unique_probability().tolist() == [1, 1, 0, 0]
    law = Overdispersion(2.0, 0.5)
    below = model(weight=0.5, pi=PI, overdispersion=law)
    assert below.prior().p.tolist() == [1.0] * 4
    assert below.tau() == 2.0


def test_each_cell_has_its_own_rate():
    table = CellTable.of([[0, 1]], frequency=[1, 1], weight_sum=[2.0, 50.0])
    found = Saturated(sample=table).prior()
    assert found.mu.tolist() == [1.0, 49.0]


def test_known_frequencies():
    prior = CellPrior(
        np.array([1.0, 1.0, 2.0, 1.0]),
        mu=np.array([0.5, 0.5, 0.5, 0.5]),
        population=np.array([1.0, 4.0, 2.0, math.nan]),
    )
    chance = prior.unique_probability()
    assert chance == pytest.approx([1.0, 0.0, 0.0, math.exp(-0.5)])
    assert repr(prior) == "<CellPrior: 4 cells, 3 known, Poisson>"


def test_tau_and_its_law():
    one = model(pi=PI)
    chances = one.unique_probability()
    assert one.tau() == pytest.approx(chances.sum(), rel=1e-15)
    law = PoissonBinomial.of(chances[one.sample.unique])
    assert law.events == 2
    assert law.mean == pytest.approx(one.tau(), rel=1e-15)
    assert one.tau_interval(groups=0) == law.interval()


def test_cells_of_another_file():
    one = model(pi=PI)
    same = CellTable.of([[0, 2]], frequency=[1, 1], weight_sum=[10.0, 10.0])
    assert len(one.sample) != len(same)
    saturated = model()
    with pytest.raises(ValueError, match="key 0"):
        saturated.probability([[7]])


def test_the_error_of_the_fit_widens_the_interval():
    records = np.ones(400, np.int64)
    records[:40] = 4
    one = model(records)
    low, high = one.tau_interval(groups=0)
    wide_low, wide_high = one.tau_interval(groups=10)
    assert wide_low <= low <= one.tau() <= high <= wide_high
    assert (wide_low, wide_high) != (low, high)
    assert one.tau_interval(groups=10) == (wide_low, wide_high)
    assert one.tau_interval(level=0.5, groups=10)[0] >= wide_low


def test_the_jackknife_is_that_of_a_mean():
    # pi of one cell is the mean of an indicator over records: its error is known.
    one = model([300, 700])
    figure = lambda fitted: float(fitted.probability()[0])  # noqa: E731
    below, above = one._error(figure, 0.95, 1000, 0.0)
    assert below == above
    found = below / student(0.95, 999)
    assert found == pytest.approx(math.sqrt(0.3 * 0.7 / 999), rel=1e-6)


def test_at_the_border_the_interval_allows_for_hidden_overdispersion():
    one = model(records=np.ones(40, int), pi=np.full(40, 0.002)).with_overdispersion()
    assert one.overdispersion.poisson
    plain = one.with_overdispersion(False)
    laws = one._likely_laws()
    assert math.fsum(p for _, p in laws) == pytest.approx(1.0)
    tau = one.tau()
    off = [(replace(one, overdispersion=law).tau() - tau, p) for law, p in laws]
    below, above = one._border_errors(lambda fitted: fitted.tau())
    for found, side in ((below, -1.0), (above, 1.0)):
        squares = [p * d * d for d, p in off if d * side > 0.0]
        assert found == pytest.approx(math.sqrt(sum(squares)), rel=1e-12)
    assert below > 0.0
    assert plain._border_errors(lambda fitted: fitted.tau()) == (0.0, 0.0)
    assert one.tau() == plain.tau()
    (low, high), (least, most) = one.tau_interval(), plain.tau_interval()
    assert low < least
    assert high >= most
    assert one.tau_interval(groups=0) == plain.tau_interval(groups=0)
    settled = replace(one, overdispersion=replace(one.overdispersion, scale=3.0))
    assert settled._border_errors(lambda fitted: fitted.tau()) == (0.0, 0.0)


def test_there_are_no_more_groups_than_records():
    one = model(pi=PI)
    assert one.tau_interval(groups=500) == one.tau_interval(groups=10)
    assert len(one._replicates(10)) == 10


def test_an_interval_of_a_sum_over_records():
    one = model(records=np.repeat([1, 3], [300, 30]))
    total, low, high = one.interval(None, lambda prior: 1.0 / (1.0 + prior.mu))
    prior = one.prior()
    each = one.sample.records / (1.0 + prior.mu)
    assert total == pytest.approx(each.sum(), rel=1e-12)
    assert low < total < high
    assert high - total == pytest.approx(total - low)
    known = one.interval(None, lambda prior: 1.0 / (1.0 + prior.mu), groups=0)
    assert known == (total, total, total)
    more = one.interval(
        None, lambda prior: prior.records, groups=0, deviation=lambda p: 0.5 / p.records
    )
    expected = stats.norm.ppf(0.975) * 0.5 * math.sqrt(330)
    assert more[2] - more[0] == pytest.approx(expected, rel=1e-12)


def test_criteria():
    one = model(log_likelihood=-50.0, parameters=4)
    assert one.aic == 108.0
    assert one.bic == pytest.approx(100.0 + 4 * math.log(10))


def test_overdispersion_can_be_added():
    one = model([4, 1, 1, 1, 1, 4], pi=np.full(6, 0.01))
    found = one.with_overdispersion()
    assert found.overdispersion.kind == "power"
    assert not found.overdispersion.poisson
    plain = found.with_overdispersion(False)
    assert plain.overdispersion.poisson
    assert plain.tau() == one.tau()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"level": 1.0}, ValueError),
        ({"groups": 1}, ValueError),
        ({"groups": 2.5}, TypeError),
    ],
)
def test_arguments_are_checked(arguments, error):
    with pytest.raises(error, match=next(iter(arguments))):
        model(pi=PI).tau_interval(**arguments)


def test_groups_are_balanced_scattered_and_always_the_same():
    cell, group = groups_of(np.full(100, 50), 20)
    assert (np.bincount(group) == 250).all()
    assert (np.bincount(cell) == 50).all()
    table = np.zeros((100, 20))
    np.add.at(table, (cell, group), 1)
    assert stats.chi2_contingency(table).pvalue > 0.001
    assert group[:8].tolist() == groups_of(np.full(100, 50), 20)[1][:8].tolist()
    assert groups_of(np.array([1, 2]), 3)[1].tolist() != [0, 0, 0]


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 9, 19, 29, 30, 99])
@pytest.mark.parametrize("level", [0.01, 0.5, 0.9, 0.95, 0.999])
def test_students_law(freedom, level):
    exact = stats.t(freedom).ppf((1 + level) / 2)
    within = 1e-9 if freedom < 30 else 1e-4
    assert student(level, freedom) == pytest.approx(exact, rel=within)


@pytest.mark.parametrize("p", [1e-300, 1e-12, 1e-6, 0.3, 0.7, 1 - 1e-12])
def test_the_chance_of_a_unique_keeps_all_digits(p):
    q = float(1 - mpmath.mpf(p))
    known = CellPrior(np.ones(1), np.full(1, 1.5), np.array([p]), np.array([q]))
    exact = mpmath.mpf(p) ** 1.5
    assert known.unique_probability()[0] == pytest.approx(float(exact), rel=1e-12)
