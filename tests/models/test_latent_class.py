"""The latent class model: what the steps do, what is found again, what is refused."""

import math

import numpy as np
import pytest

from riskcore.models import CellTable, LatentClass
from riskcore.models import latent_class as module

KEYS = (3, 2, 4, 3)


def mixture_sample(n, classes, seed):
    """Return codes of records that a mixture makes, and the mixture."""
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.full(classes, 5.0))
    tables = [rng.dirichlet(np.full(size, 0.5), classes) for size in KEYS]
    group = rng.choice(classes, n, p=share)
    codes = [
        (rng.random(n)[:, None] > np.cumsum(table, axis=1)[group]).sum(axis=1)
        for table in tables
    ]
    theta = np.vstack([table.T for table in tables])
    return codes, module.Mixture(share, theta)


@pytest.fixture(scope="module")
def sampled():
    codes, _ = mixture_sample(3000, 3, 1)
    return module.Sample.of(CellTable.of(codes, levels=KEYS), 1)


def start(sample, classes):
    return module.starting_mixtures(sample, classes, 1, None)[0]


def by_definition(table, mixture):
    """Return nu_c prod_j theta_cj of each cell and class."""
    joint = np.repeat(mixture.share[None], len(table), axis=0)
    for row in table.positions.T:
        joint = joint * mixture.theta[row]
    return joint


def test_probabilities_are_those_of_the_definition(sampled):
    table, mixture = sampled.table, start(sampled, 3)
    found = module.probability(table, mixture)
    assert found == pytest.approx(by_definition(table, mixture).sum(axis=1), rel=1e-14)


def test_a_step_is_that_of_the_definition(sampled):
    table, mixture = sampled.table, start(sampled, 3)
    joint = by_definition(table, mixture)
    pi = joint.sum(axis=1)
    expected = joint * (table.records / pi)[:, None]
    moved, likelihood, height = module.em_step(sampled, mixture)
    assert likelihood == pytest.approx(float(table.records @ np.log(pi)), rel=1e-13)
    assert moved.share == pytest.approx(expected.sum(axis=0) / table.n, rel=1e-12)
    margin = table.counts / table.n
    for key, (code, size) in enumerate(zip(table.codes, KEYS, strict=True)):
        rows = slice(table.starts[key], table.starts[key] + size)
        sums = np.array([expected[code == a].sum(axis=0) for a in range(size)])
        right = (sums + margin[rows, None]) / (expected.sum(axis=0) + 1.0)
        assert moved.theta[rows] == pytest.approx(right, rel=1e-12)
    logs = np.log(mixture.theta)
    prior = float((margin[:, None] * logs).sum())
    assert height - likelihood == pytest.approx(prior, rel=1e-9)


def test_a_cell_is_a_pair_of_combinations(sampled):
    table, (first, second) = sampled.table, (sampled.first, sampled.second)
    found = np.hstack([half.positions[half.place] for half in (first, second)])
    right = table.positions[sampled.order]
    assert np.sort(found, axis=1).tolist() == right.tolist()
    assert len(first.positions) + len(second.positions) < len(table) / 2
    assert (np.diff(sampled.begins) > 0).all()
    for row in range(len(first.positions)):
        cells = first.place[sampled.begins[row] : sampled.begins[row + 1]]
        assert (cells == row).all()


def test_halves_have_about_equally_many_combinations():
    assert module.halves_of_keys((12, 2, 99, 4, 6, 8)) == ([2, 3, 1], [0, 5, 4])
    assert module.halves_of_keys((7,)) == ([0], [])


@pytest.mark.parametrize("parts", [1, 3])
def test_cells_of_one_key_and_without_records(parts, monkeypatch):
    monkeypatch.setattr(module, "_PER_PART", 2)
    monkeypatch.setattr(module, "_PARTS", parts)
    table = CellTable.of([[0, 1, 2, 3, 4, 4, 6]], levels=[9])
    records = np.array([1, 0, 1, 3, 0, 1])
    sample = module.Sample.of(table, 2).with_records(records)
    assert len(sample.parts) == parts
    theta = np.arange(1.0, 19.0).reshape(9, 2) / 200
    mixture = module.Mixture(np.array([0.3, 0.7]), theta)
    moved, likelihood, _ = module.em_step(sample, mixture)
    pi = by_definition(table, mixture)
    right = float(records @ np.log(pi.sum(axis=1)))
    assert likelihood == pytest.approx(right, rel=1e-14)
    share = (pi * (records / pi.sum(axis=1))[:, None]).sum(axis=0)
    assert moved.share == pytest.approx(share / records.sum(), rel=1e-14)


def test_steps_where_both_halves_are_scaled():
    # 12 keys with thetas near 1e-9: halves near 1e-54, cells near 1e-108.
    rng = np.random.default_rng(8)
    table = CellTable.of(list(rng.integers(0, 5, (12, 300))))
    small = rng.uniform(1e-10, 1e-8, (60, 3))
    mixture = module.Mixture(np.array([0.2, 0.3, 0.5]), small)
    moved, likelihood, _ = module.em_step(module.Sample.of(table, 1), mixture)
    pi = by_definition(table, mixture)
    right = float(table.records @ np.log(pi.sum(axis=1)))
    assert likelihood == pytest.approx(right, rel=1e-13)
    share = (pi * (table.records / pi.sum(axis=1))[:, None]).sum(axis=0) / table.n
    assert moved.share == pytest.approx(share, rel=1e-11)


def test_small_probabilities_do_not_underflow():
    # 60 keys of 1000 categories: pi is near 1e-180 and far below for the class.
    table = CellTable.of([np.arange(1000)] * 60)
    sample = module.Sample.of(table, 1)
    mixture = module.starting_mixtures(sample, 1, 1, None)[0]
    tiny = module.Mixture(np.array([1.0]), mixture.theta * 1e-3)
    _, likelihood, _ = module.em_step(sample, tiny)
    assert likelihood == pytest.approx(1000 * 60 * math.log(1e-6), rel=1e-13)


@pytest.mark.parametrize("classes", [1, 2, 3, 6])
def test_the_penalised_likelihood_never_falls(sampled, classes):
    for begin in module.starting_mixtures(sampled, classes, 3, None):
        found = module.ascend(sampled, begin, 200)
        gains = np.diff(found.heights)
        assert (gains >= -1e-9 * abs(found.heights[0])).all()
        assert found.converged


def test_cycles_reach_what_plain_steps_reach(sampled):
    begin = start(sampled, 2)
    mixture = begin
    for _ in range(3000):
        mixture, likelihood, _ = module.em_step(sampled, mixture)
    found = module.ascend(sampled, begin, 2000)
    assert found.log_likelihood == pytest.approx(likelihood, abs=0.5)
    assert found.iterations < 300


def test_a_likelihood_that_falls_is_no_fit(sampled):
    begin = start(sampled, 2)
    impossible = module.Mixture(begin.share, begin.theta * 1.0)
    impossible.theta[sampled.table.positions[0, 0]] = 0.0
    found = module.ascend(sampled, impossible, 50)
    assert not found.converged
    assert found.log_likelihood == -math.inf


def test_one_class_is_independence(sampled):
    table = sampled.table
    model = LatentClass.fit(table, classes=1)
    independent = np.ones(len(table))
    for code, start_of in zip(table.codes, table.starts[:-1], strict=True):
        independent *= table.counts[start_of + code] / table.n
    assert model.probability() == pytest.approx(independent, rel=1e-12)
    assert model.parameters == sum(KEYS) - len(KEYS)


def test_the_classes_that_made_the_sample_are_found_again():
    codes, truth = mixture_sample(20_000, 3, 2)
    model = LatentClass.fit(codes, levels=KEYS)
    assert model.classes == 3
    table = model.sample
    right = module.probability(table, truth)
    assert np.abs(model.probability() - right).sum() < 0.03
    for step in model.path:
        assert -np.inf < step.held_out < 0.0
        assert step.parameters == 9 * step.classes - 1
        assert step.iterations > 0
        assert type(step.log_likelihood) is float
    assert [step.classes for step in model.path] == [1, 2, 3, 4, 5, 6]
    assert max(model.path, key=lambda step: step.held_out).classes == 3
    assert model.selected_on == 20_000
    assert [table.shape for table in model.profiles] == [(size, 3) for size in KEYS]


def test_the_number_of_classes_is_chosen_on_a_part():
    codes, _ = mixture_sample(6000, 2, 3)
    model = LatentClass.fit(codes, selection=2000, most_classes=3)
    assert model.selected_on == 2000
    assert model.n == 6000
    assert len(model.path) == 3
    assert model.converged
    assert model.path[0].log_likelihood > model.log_likelihood
    # A category that the part lacks is possible all the same.
    rare = [np.append(code, size) for code, size in zip(codes, KEYS, strict=True)]
    model = LatentClass.fit(rare, selection=50, most_classes=2)
    assert model.converged
    assert (model.probability() > 0.0).all()


def test_large_samples_have_fewer_starts(monkeypatch):
    codes, _ = mixture_sample(2000, 2, 3)

    def paths(**arguments):
        return LatentClass.fit(codes, most_classes=3, **arguments).path

    assert paths() == paths(starts=4)
    monkeypatch.setattr(module, "MANY", 1599)
    assert paths() == paths(starts=2) != paths(starts=4)


def test_the_same_bits_whatever_the_threads(monkeypatch):
    monkeypatch.setattr(module, "_PER_PART", 8)
    codes, _ = mixture_sample(4000, 3, 4)
    one, three = (LatentClass.fit(codes, threads=threads) for threads in (1, 3))
    assert len(module.Sample.of(one.sample, 1).parts) > 4
    assert one.mixture.theta.tobytes() == three.mixture.theta.tobytes()
    assert one.probability().tobytes() == three.probability().tobytes()
    assert one.path == three.path
    assert one.tau() == three.tau()


def test_the_order_of_records_does_not_matter():
    codes, _ = mixture_sample(1000, 2, 5)
    there, back = (LatentClass.fit([c[::step] for c in codes]) for step in (1, -1))
    assert there.mixture.theta.tobytes() == back.mixture.theta.tobytes()


def test_one_cell_tells_nothing():
    model = LatentClass.fit([[1, 1, 1], [0, 0, 0]])
    assert not model.converged
    assert model.reason.startswith("all records are in one cell")
    assert np.isnan(model.probability()).all()
    assert math.isnan(model.tau())
    assert np.isnan(model.tau_interval()).all()
    assert "no estimate" in repr(model)


def test_what_did_not_converge_says_so(monkeypatch):
    for cycles in ("_CYCLES", "_FIRST", "_ON_PATH"):
        monkeypatch.setattr(module, cycles, 1)
    codes, _ = mixture_sample(1000, 3, 6)
    model = LatentClass.fit(codes, classes=8, starts=1)
    assert not model.converged
    assert "no convergence" in model.reason
    assert math.isnan(model.tau())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"classes": 0}, "classes=0"),
        ({"classes": 257}, "classes=257"),
        ({"most_classes": 0}, "most_classes"),
        ({"selection": 1}, "selection"),
        ({"starts": 0}, "starts"),
        ({"overdispersion": "gamma"}, "overdispersion='gamma'"),
    ],
)
def test_arguments_are_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        LatentClass.fit([[0, 1], [0, 1]], **arguments)


def test_leaving_records_out_moves_the_fit_as_a_new_fit_does():
    codes, _ = mixture_sample(3000, 2, 7)
    model = LatentClass.fit(codes, classes=2, overdispersion=False)
    cell = int(np.argmax(model.sample.records))
    records = model.sample.records.copy()
    records[cell] //= 2
    again = model._refitted(records)
    anew = LatentClass.fit(
        model.sample.codes, classes=2, overdispersion=False, frequency=records
    )
    was, moved, right = (m.probability()[cell] for m in (model, again, anew))
    assert abs(moved - right) < 0.1 * abs(was - right)
    assert again.n == model.n


@pytest.mark.parametrize("part", [0.0, 0.5, 1.0])
def test_the_prior_leaves_out_a_part_of_a_record(sampled, part, monkeypatch):
    monkeypatch.setattr(module, "OWN", part)
    table = sampled.table
    model = LatentClass.fit(table, classes=2, overdispersion=False)
    share, theta = model.mixture
    joint = by_definition(table, model.mixture)
    gone = part * joint / joint.sum(axis=1, keepdims=True)
    size = table.n * share
    expected = (size - gone) / (table.n - part)
    for row in table.positions.T:
        seen = theta[row] * (size + 1.0) - gone
        seen = np.maximum(seen, sampled.prior[row][:, None])
        expected *= seen / (size - gone + 1.0)
        of_key = (table.counts[row] / table.n * (table.n + 2) - part) / (
            table.n + 2 - part
        )
        expected /= (of_key / (table.counts[row] / table.n))[:, None]
    others = model.n * expected.sum(axis=1) * (table.weight_sum / table.records * 4 - 1)
    weighted = module.replace(table, weight_sum=4.0 * table.weight_sum)
    model = module.replace(model, shares=None)
    assert model.prior(weighted).mu == pytest.approx(others, rel=1e-11)


def test_what_is_left_out_is_not_left_out_again(sampled):
    table = sampled.table
    model = LatentClass.fit(table, classes=2, overdispersion=False)
    cell = int(np.flatnonzero(table.unique)[0])
    records = table.records.copy()
    records[cell] = 0
    again = model._refitted(records)
    assert again._prior_probability(table)[cell] == pytest.approx(
        again.probability()[cell]
    )
    assert again._prior_probability(table)[0] != again.probability()[0]
    part = table.some(table.unique)
    assert (
        again._prior_probability(part).tolist()
        == again._prior_probability(table)[table.unique].tolist()
    )
