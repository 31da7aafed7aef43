"""What other people tell: by exact sums, by search, and over many drawn files."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import riskcore
from riskcore import audit
from riskcore.assessment.population import risk_by
from riskcore.disclosure.other_people import (
    PARTS,
    PopulationDraws,
    by_model,
    expected_claims,
    mean_risks,
    parts_of_records,
)
from riskcore.models import KnownPopulation, LatentClass, LogLinear
from riskcore.models.cell_table import CellTable
from riskcore.models.shares import over_keys

WEIGHT = 25.0
LEVELS = 5, 4, 3


def sample(seed=1, n=150, spread=None):
    """Return cells of records with equal weights, of a mixture if ``spread``."""
    rng = np.random.default_rng(seed)
    each = [rng.dirichlet(np.ones(k)) for k in LEVELS]
    pi = np.einsum("i,j,k->ijk", *each).ravel()
    if spread is not None:
        pi = pi * rng.gamma(spread, 1.0 / spread, len(pi))
    cell = rng.choice(len(pi), n, p=pi / pi.sum())
    codes = np.unravel_index(cell, LEVELS)
    return CellTable.of([*codes], levels=LEVELS, weight_sum=np.full(n, WEIGHT))


def every_cell(table):
    """Return a claim about each combination of values."""
    codes = np.indices(LEVELS).reshape(3, -1)
    ones = np.ones(codes.shape[1])
    return CellTable(tuple(codes), LEVELS, ones, ones * WEIGHT, table.keys)


def sums_by_population(mean, shape):
    """Return the right and the matched claims by the law of the population.

    Of F people in a cell each is sampled with probability 1/WEIGHT; a claim is right
    with probability 1/F if anybody was.
    """
    mean = mean * WEIGHT
    right = matched = 0.0
    for mu, t in zip(mean, np.broadcast_to(shape, mean.shape), strict=True):
        law = stats.poisson(mu) if np.isinf(t) else stats.nbinom(t, t / (t + mu))
        F = np.arange(1, int(law.ppf(1 - 1e-12)) + 20)
        somebody = -np.expm1(F * np.log1p(-1.0 / WEIGHT))
        right += math.fsum(law.pmf(F) * somebody / F)
        matched += math.fsum(law.pmf(F) * somebody)
    return right, matched


def test_a_poisson_law_against_sums_over_the_population():
    table = sample()
    model = replace(LogLinear.fit(table, overdispersion=False), shares=None)
    claims = every_cell(table)
    assert model.prior(claims).shape is None
    found = by_model(claims, table, model)
    mean = model.probability(claims) * table.n
    right, matched = sums_by_population(mean, math.inf)
    assert found.by == "model"
    assert found.right == pytest.approx(right, rel=2e-5)
    assert found.matched == pytest.approx(matched, rel=1e-9)


@pytest.mark.parametrize("overdispersion", [False, True])
def test_a_negative_binomial_law_against_sums_over_the_population(overdispersion):
    """The errors of shares are of the law of people, as overdispersion is."""
    table = sample(3, n=120, spread=0.5)
    model = LogLinear.fit(table, overdispersion=overdispersion)
    claims = every_cell(table)
    # Without cells that can have so many records that they are not told apart.
    claims = claims.some(model.probability(claims) * table.n < 4.0)
    law, shares = model.overdispersion, model.shares
    mean = model.n * model.probability(claims) * over_keys(shares.gain, claims)
    shape = 1.0 / (shares.error_of(claims) + 1.0 / law.shape(mean))
    assert 1e-3 < shape.min() < 20.0
    found = by_model(claims, table, model)
    right, matched = sums_by_population(mean, shape)
    assert found.right == pytest.approx(right, rel=2e-5)
    assert found.matched == pytest.approx(matched, rel=1e-9)


@pytest.mark.parametrize("overdispersion", [False, True])
def test_by_latent_classes_against_sums_over_records_and_others(overdispersion):
    """Its prior leaves out a part of each cell's own records, so F has another law."""
    table = sample(3, n=120, spread=0.5)
    model = LatentClass.fit(table, overdispersion=overdispersion)
    claims = every_cell(table).some(np.arange(0, math.prod(LEVELS), 4))
    drawn, people, others = model.in_another_sample(claims)
    right = squares = 0.0
    X = np.arange(3000)
    for i, (mean, t) in enumerate(zip(drawn.mean, drawn.shape, strict=True)):
        law = stats.nbinom(t, t / (t + mean))
        mu, t = people.mean[i], people.shape[i]
        for f in range(1, int(law.isf(1e-7)) + 1):
            p = (mu + t) / (mu * (others[i] + 1.0) + t)
            risk = math.fsum(stats.nbinom(t + f, p).pmf(X) / (f + X))
            right += law.pmf(f) * risk
            squares += law.pmf(f) * risk * risk
    found = by_model(claims, table, model)
    assert found.right == pytest.approx(right, rel=2e-4)
    assert expected_claims(model, claims, None)[2] == pytest.approx(squares, rel=2e-4)
    assert found.variance >= squares * (1.0 - 2e-4)  # and the chance of its error


@pytest.mark.parametrize("spread", [None, 0.5])
def test_against_samples_drawn_from_the_law(spread):
    """Draw people and samples of them, and count the claims that are right."""
    rng = np.random.default_rng(2)
    table = sample(4, n=300, spread=spread)
    model = LogLinear.fit(table, overdispersion=spread is not None)
    claims = every_cell(table).some(np.arange(0, math.prod(LEVELS), 2))
    law = model.in_another_sample(claims)[0]
    draws = 20_000
    spread = rng.gamma(law.shape, 1.0 / law.shape, (draws, len(claims)))
    mean = law.mean * WEIGHT * spread
    people = rng.poisson(mean, (draws, len(claims)))
    drawn = rng.binomial(people, 1.0 / WEIGHT)
    right = np.where(drawn > 0, 1.0 / np.maximum(people, 1), 0.0).sum(axis=1)
    found = by_model(claims, table, model)
    error = right.std() / math.sqrt(draws)
    assert abs(found.right - right.mean()) < 4.5 * error
    assert error < 0.01 * right.mean()
    hits = np.count_nonzero(drawn, axis=1)
    assert abs(found.matched - hits.mean()) < 4.5 * hits.std() / math.sqrt(draws)


def test_cells_of_many_records_are_not_left_out():
    """Of cells with far more records than are looked at one by one."""
    table = CellTable.of([[0] * 300 + [1], [0] * 301], levels=(2, 1))
    table = table.scaled(WEIGHT)
    model = LatentClass.fit(
        CellTable.of([[0] * 300 + [1] * 3, [0, 1] * 150 + [0, 1, 0]]).scaled(WEIGHT),
        overdispersion=False,
    )
    claims = CellTable.of([[0], [0]], levels=(2, 2)).scaled(WEIGHT)
    found = by_model(claims, table, model)
    people = float(model.probability(claims)[0]) * model.n * WEIGHT
    assert found.matched == pytest.approx(1.0, rel=1e-12)
    assert found.right == pytest.approx(1.0 / people, rel=0.05)


def test_by_weights_the_mean_risk_of_cells_with_as_many_records():
    rng = np.random.default_rng(6)
    n = 120
    sizes = dict(zip("abc", LEVELS, strict=True))
    data = {name: rng.integers(0, k, n) for name, k in sizes.items()}
    weight = rng.uniform(2.0, 40.0, n)
    made = {name: rng.integers(0, k + 1, 70) for name, k in sizes.items()}
    found = audit({**data, "w": weight}, made, [*"abc"], "w", population="weights")
    cells = CellTable.of({**data, "w": weight}, [*"abc"], weight="w")
    law = LatentClass.fit(cells, overdispersion=False)
    risks = riskcore.individual_risk_from_frequencies(
        cells.records.astype(float), cells.weight_sum
    )
    claims = CellTable.of(made, [*"abc"])
    claims = claims.some(claims.unique & claims.known_in(cells)).coded_as(cells)
    people = law.in_another_sample(claims)[0]
    t, expected = people.shape, people.mean
    right = squares = 0.0
    for f in range(1, 30):
        has = cells.records == f
        risk = float(
            risks[has].mean()
            if has.any()
            else riskcore.individual_risk_from_frequencies(f, f * weight.mean())
        )
        chance = stats.nbinom(t, t / (t + expected)).pmf(f)
        right += math.fsum(chance * risk)
        squares += math.fsum(chance * risk * risk)
    of_claims = expected_claims(law, claims, mean_risks(cells))
    assert of_claims[2] == pytest.approx(squares, rel=1e-5)
    others = found.identity.others
    assert others.right == pytest.approx(right, rel=1e-5)
    assert others.variance >= squares * (1.0 - 1e-5)
    assert others.matched == pytest.approx(
        math.fsum(1.0 - (t / (t + expected)) ** t), rel=1e-9
    )


def test_a_category_that_the_original_lacks_is_nobody_elses_either():
    data = {"a": [1, 2, 1, 2, 3, 3, 1], "b": [1, 1, 2, 2, 1, 2, 1]}
    made = {"a": [1, 9], "b": [2, 1]}
    (one,) = [
        audit({**data, "w": [5.0] * 7}, part, ["a", "b"], "w").identity.others.right
        for part in ({"a": [1], "b": [2]},)
    ]
    both = audit({**data, "w": [5.0] * 7}, made, ["a", "b"], "w")
    assert both.claims == 2
    assert both.identity.others.right == one


def people_of(rng, N):
    """Return a register of N people, by cell."""
    pi = rng.dirichlet(np.full(math.prod(LEVELS), 0.4))
    F = rng.multinomial(N, pi)
    codes = np.unravel_index(np.flatnonzero(F), LEVELS)
    columns = dict(zip("abc", codes, strict=True))
    return {**columns, "population_frequency": F[F > 0]}


@pytest.mark.parametrize("weighted", [True, False])
def test_a_known_population_against_exact_samples(weighted):
    rng = np.random.default_rng(8)
    N, n = 3000, 120
    register = people_of(rng, N)
    F = register["population_frequency"]
    cell = np.repeat(np.arange(len(F)), F)[rng.choice(N, n, replace=False)]
    data = {name: register[name][cell] for name in "abc"} | {"w": np.full(n, N / n)}
    made = {name: register[name] for name in "abc"}  # a claim about each cell
    found = audit(data, made, [*"abc"], "w" if weighted else None, population=register)
    others = found.identity.others
    binomial = -np.expm1(F * math.log1p(-n / N))
    assert others.right == pytest.approx(math.fsum(binomial / F), rel=1e-12)
    assert others.matched == pytest.approx(math.fsum(binomial), rel=1e-12)
    assert others.variance == pytest.approx(math.fsum(binomial / F / F), rel=1e-12)
    drawn = 1.0 - stats.hypergeom(N, F, n).pmf(0)
    assert others.right == pytest.approx(math.fsum(drawn / F), rel=0.01)
    held = 1.0 / F[np.unique(cell)]
    assert found.expected_right_claims == pytest.approx(math.fsum(held), rel=1e-12)


def matches(record, other):
    pairs = zip(record, other, strict=True)
    return all(x is None or y is None or x == y for x, y in pairs)


def drawn(rng, n, missing):
    columns = {name: rng.integers(0, 4, n).tolist() for name in "abc"}
    return {
        name: [None if rng.random() < missing else value for value in values]
        for name, values in columns.items()
    }


@pytest.mark.parametrize("population", ["weights", "latent-class"])
@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("seed", range(3))
def test_a_holdout_by_search_through_all_pairs(seed, missing, population):
    rng = np.random.default_rng(seed)
    sizes = 60, 14 if missing else 40, 25
    lacking = 0.0, missing, missing
    original, made, holdout = map(drawn, [rng] * 3, sizes, lacking)
    if not missing:  # made from the original, not another sample
        made = {name: rng.choice(original[name], 40).tolist() for name in "abc"}
    weight = rng.uniform(2.0, 9.0, 60)
    found = audit(
        {**original, "w": weight}, made, [*"abc"], "w", holdout=holdout,
        population=population,
    )  # fmt: skip
    records, released, people = (
        [*zip(*data.values(), strict=True)] for data in (original, made, holdout)
    )
    people = [one for one in people if None not in one]
    cells = found.identity.model and found.identity.model.sample
    by_f = {}
    for cell in set(records):
        f = records.count(cell)
        W = math.fsum(w for w, one in zip(weight, records, strict=True) if one == cell)
        risk = float(riskcore.individual_risk_from_frequencies(f, W))
        by_f.setdefault(f, []).append(risk)
    right = []
    hits = 0
    for record in released:
        if sum(matches(record, other) for other in released) > 1:
            continue
        f = sum(matches(record, person) for person in people)
        hits += f > 0
        if f and cells is None:
            right.append(
                sum(by_f[f]) / len(by_f[f])
                if f in by_f
                else float(
                    riskcore.individual_risk_from_frequencies(f, f * weight.mean())
                )
            )
        elif f:
            known = [w for w, one in zip(weight, records, strict=True)
                     if matches(record, one)]  # fmt: skip
            each = math.fsum(known) / len(known) if known else weight.mean()
            table = CellTable.of(
                riskcore.tabulate(
                    {name: [value] for name, value in zip("abc", record, strict=True)},
                    [*"abc"],
                ),
                any_value=True,
            )
            if table.known_in(cells)[0]:
                table = replace(
                    table, records=np.array([f]), weight_sum=np.array([f * each])
                )
                right.append(float(risk_of(found.identity.model, table)))
    others = found.identity.others
    scale = 60 / len(people)
    assert hits > 0
    assert others.by == "holdout"
    assert others.matched == pytest.approx(scale * hits, rel=1e-14)
    assert others.right == pytest.approx(scale * math.fsum(right), rel=1e-9)
    squares = scale * scale * math.fsum(one * one for one in right)
    if hits < 20:  # chance reaches as far as that of the claims about the original
        squares = max(squares, scale * math.fsum(found.identity.right**2))
    assert others.variance == pytest.approx(squares, rel=1e-9)


def risk_of(model, table):
    from riskcore.assessment.population import risk_by

    return risk_by(model.prior(table))[0]


def test_a_holdout_beside_a_known_population():
    register = {"a": [1, 2, 3], "population_frequency": [4, 5, 2]}
    found = audit(
        {"a": [1, 2, 2]}, {"a": [1, 2, 3]}, ["a"], population=register,
        holdout={"a": [3, 3, 1, 1, 1, 1]},
    )  # fmt: skip
    assert isinstance(found.identity.model, KnownPopulation)
    assert found.identity.others.right == pytest.approx(0.5 * (1 / 4 + 1 / 2))
    assert found.identity.others.matched == 1.0


# Over many drawn files: the original and a holdout of one population, and a release
# drawn from the margins of the original, or that with copies of a fifth.
NAMES, SIZES = "abcd", (9, 8, 7, 4)
N, n = 2000, 200


def drawn_files(seed, how, copies=False):
    """Audit a file drawn from margins; return the claims of identity."""
    rng = np.random.default_rng(seed)
    first = rng.random(N) < 0.4
    people = {
        name: np.where(first, *(rng.choice(k, N, p=rng.dirichlet(np.full(k, 2.0)))
                                for _ in range(2)))
        for name, k in zip(NAMES, SIZES, strict=True)
    }  # fmt: skip
    rows = rng.permutation(N)
    original, holdout = (
        {name: column[part] for name, column in people.items()}
        for part in (rows[:n], rows[n : 2 * n])
    )
    made = {name: rng.choice(column, n) for name, column in original.items()}
    if copies:
        for name, column in made.items():
            column[: n // 5] = original[name][: n // 5]
    options = {"population": "weights"}
    if how == "holdout":
        options["holdout"] = holdout
    if how == "register":
        options["population"] = {**people, "population_frequency": np.ones(N)}
    return audit(
        {**original, "w": np.full(n, N / n)}, made, [*NAMES], "w", **options
    ).identity


@pytest.mark.parametrize(
    ("how", "files"), [("model", 20), ("holdout", 200), ("register", 200)]
)
def test_intervals_over_many_files(how, files, monkeypatch):
    monkeypatch.setattr("riskcore.disclosure.audit.copies", lambda _: None)
    inside, scores = 0, []
    for seed in range(files):
        found = drawn_files(seed, how)
        low, high = found.excess_interval()
        inside += low <= 0.0 <= high
        scores.append(found.excess * 2.0 / (high - low))
    assert inside >= 0.9 * files
    assert abs(np.mean(scores)) < 0.15  # no bias: halves of an interval
    assert np.std(scores) > 0.25  # and it is not so wide that it says nothing
    many = 12 if how == "model" else 20
    found = sum(
        drawn_files(seed, how, copies=True).excess_interval()[0] > 0.0
        for seed in range(1000, 1000 + many)
    )
    assert found >= (0.5 if how == "model" else 0.75) * many


def test_parts_hold_each_record_once():
    records = np.array([1, 0, 5, 2, 9, 1])
    parts = [*parts_of_records(records)]
    assert len(parts) == PARTS
    assert np.sum(parts, axis=0).tolist() == records.tolist()
    assert {int(part.sum()) for part in parts} == {6}
    again = [*parts_of_records(records)]
    assert all(map(np.array_equal, parts, again))
    assert [one.tolist() for one in parts_of_records(np.array([1]))] == [[1], [0], [0]]


@pytest.mark.parametrize("seed", range(3))
def test_people_of_a_holdout_count_whose_categories_the_original_has_not(seed):
    # Three samples of one population; a third of the towns are in the first only.
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 5_000, 20_000)
    sex = rng.integers(0, 2, 20_000)
    taken = rng.permutation(20_000)[:6_000].reshape(3, 2_000)
    original, released, holdout = ({"town": town[i], "sex": sex[i]} for i in taken)
    assert np.mean(~np.isin(holdout["town"], original["town"])) > 0.6
    found = riskcore.audit(
        original,
        released,
        ["town", "sex"],
        holdout=holdout,
        sampling_fraction=0.1,
        population="latent-class",
    ).identity
    assert found.others.right == pytest.approx(found.expected_right, rel=0.2)
    low, high = found.excess_interval()
    assert low <= 0.0 <= high


@pytest.mark.parametrize("overdispersion", [False, True])
def test_draws_weigh_the_law_of_people_by_their_number(overdispersion):
    """P(F | f) F q^(F - 1): one of F was drawn, and none of the others."""
    table = sample(3, n=120, spread=0.5)
    model = LogLinear.fit(table, overdispersion=overdispersion)
    claims = every_cell(table).some(model.probability(every_cell(table)) * 120 < 3.0)
    _, people, others = model.in_another_sample(claims)
    fraction, F = 0.2, np.arange(4000)
    for f in (1, 2, 5):
        records = np.full(len(claims), float(f))
        prior = people.given(records, others)
        gain, factor = PopulationDraws(1.0, fraction).told(people, records, others)
        half = PopulationDraws(0.5, fraction).told(people, records, others)
        risk = risk_by(prior)
        for i in range(len(claims)):
            law = stats.nbinom(prior.shape[i], prior.p[i]).pmf(F)
            weights = law * (1.0 - fraction) ** F
            mean = math.fsum(weights * (f + F)) / math.fsum(weights)
            assert factor[i] * risk[i] == pytest.approx(1.0 / mean, rel=1e-6)
            expected = people.mean[i] * (1.0 + others[i])
            assert gain[i] == pytest.approx(math.fsum(law * (f + F)) / expected)
            assert half[0][i] == pytest.approx((1.0 + gain[i]) / 2.0)
            drawn = gain[i] / (1.0 + gain[i])
            mixed = (1.0 - drawn) * risk[i] + drawn / mean
            assert half[1][i] * risk[i] == pytest.approx(mixed, rel=1e-6)


SHAPE = 40, 12, 10, 8, 6


def town(rng, N=20_000):
    """Return people of four classes, as the code of each key."""
    laws = [rng.dirichlet(np.full(k, 0.4), 4) for k in SHAPE]
    of = rng.integers(0, 4, N)
    upto = [np.cumsum(law, axis=1)[of, :-1] for law in laws]
    return [(rng.random(N)[:, None] > part).sum(axis=1) for part in upto]


def released_by(how, people, rows, rng):
    n = len(rows)
    if how == "second sample":
        others = rng.choice(len(people[0]), n, replace=False)
        return [column[others] for column in people]
    if how == "margins":
        return [rng.choice(column[rows], n) for column in people]
    copied = rng.choice(rows, n)
    return [column[copied] for column in people]


@pytest.mark.parametrize("how", ["second sample", "margins", "resampled"])
def test_claims_about_draws_from_the_population_against_its_people(how):
    right = truth = copied = 0.0
    more = drawn = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        people = town(rng)
        cell = np.ravel_multi_index(people, SHAPE)
        rows = rng.choice(len(cell), 1000, replace=False)
        made = released_by(how, people, rows, rng)
        data = {name: x[rows] for name, x in zip("abcde", people, strict=True)}
        found = audit(
            data, dict(zip("abcde", made, strict=True)), [*"abcde"],
            sampling_fraction=0.05, population="latent-class",
        ).identity  # fmt: skip
        F = np.bincount(cell, minlength=math.prod(SHAPE))
        claimed = np.ravel_multi_index(made, SHAPE)[found.rows[found.found]]
        truth += math.fsum(1.0 / F[claimed])
        right += found.expected_right
        copied += math.fsum(found.right[found.found] / found.factor)
        more += found.excess_interval()[0] > 0.0
        drawn += found.draws.share > 0.4
        assert found.draws.share == 0.0 or how == "second sample"
    assert right == pytest.approx(truth, rel=0.1)
    assert (copied > 1.1 * right) == (how == "second sample")
    assert drawn >= 7 or how != "second sample"
    assert more == 8 if how == "resampled" else more <= (how == "second sample")
