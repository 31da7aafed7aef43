"""Copies among released records: by hand, by search, and planted ones found again."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from riskcore.disclosure.copies import CopiedBeside, CopiedShare, copies
from riskcore.disclosure.figures_in_words import percent
from riskcore.disclosure.shared_columns import SharedColumn
from riskcore.models import LatentClass

SIZES = (40, 12, 8, 6, 10)


def shared(*files):
    """Return columns of files, of codes, as the audit has them."""
    return [
        SharedColumn(
            tuple(np.asarray(one, np.uint32) for one in column),
            max(int(np.max(one, initial=0)) for one in column) + 1,
        )
        for column in zip(*files, strict=True)
    ]


def law_of_classes(rng):
    """Return three classes: their shares, and within them those of each key."""
    laws = [rng.dirichlet(np.full(size, 0.4), 3) for size in SIZES]
    return rng.dirichlet(np.full(3, 3.0)), laws


def drawn(law, n, rng):
    share, laws = law
    of = rng.choice(3, n, p=share)
    return [
        (rng.random(n)[:, None] > np.cumsum(each, axis=1)[of, :-1]).sum(axis=1)
        for each in laws
    ]


def alone(columns, rng):
    return [rng.permutation(column) for column in columns]


def with_copies(made, original, share, rng):
    """Return the file with copies in its first records, and their number."""
    n = len(made[0])
    rows = rng.choice(len(original[0]), round(share * n), replace=False)
    mixed = [column.copy() for column in made]
    for column, theirs in zip(mixed, original, strict=True):
        column[: len(rows)] = theirs[rows]
    return mixed, len(rows)


def area(above, below):
    pairs = np.subtract.outer(above, below)
    return np.mean((pairs > 0) + 0.5 * (pairs == 0))


def test_scores_by_hand():
    rng = np.random.default_rng(1)
    original = [rng.integers(0, 3, 50), rng.integers(0, 4, 50)]
    released = [rng.integers(0, 4, 30), rng.integers(0, 4, 30)]
    found = copies(shared(original, released))
    model = LatentClass.fit(released, levels=(4, 4), overdispersion=False)
    people = [*zip(*original, strict=True)]
    for i, record in enumerate(zip(*released, strict=True)):
        cell = [np.flatnonzero(x == y) for x, y in zip(released, record, strict=True)]
        first = np.intersect1d(*cell)[:1]
        law = LatentClass.probability(model, [one[first] for one in released])
        wanted = people.count(record) / 50 / law[0]
        assert found.score[i] == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_share_and_interval_by_search(seed):
    rng = np.random.default_rng(seed)
    scores = np.where(rng.random(200) < 0.7, 0.0, rng.lognormal(1.0, 2.0, 200))
    found = CopiedShare.of(scores)

    def height(share):
        return math.fsum(np.log1p(share * (scores - 1.0)))

    best = minimize_scalar(
        lambda c: -height(c), bounds=(0, 1), method="bounded", options={"xatol": 1e-9}
    )
    assert found.share == pytest.approx(best.x, abs=1e-6)
    low, high = found.interval(0.9)
    assert low <= found.share <= high < 1.0
    for end in (low, high):
        if end > 0.0:
            fall = height(found.share) - height(end)
            assert 2.0 * fall == pytest.approx(2.705543, rel=1e-4)
    wider = found.interval(0.99)
    assert wider[0] <= low < high < wider[1]


def test_shares_at_the_ends():
    nobody = CopiedShare.of(np.zeros(100))
    assert nobody.share == 0.0
    # (1 - c)^100 = exp(-1.96^2/2)
    wanted = 1.0 - math.exp(-(1.959964**2) / 200)
    assert nobody.interval() == (0.0, pytest.approx(wanted, rel=1e-6))
    everybody = CopiedShare.of(np.full(100, 9.0))
    assert everybody.share == 1.0
    assert everybody.interval()[1] == 1.0
    assert everybody.interval()[0] < 1.0
    same = CopiedShare.of(np.ones(5))
    assert same.interval() == (0.0, 1.0)
    assert math.isnan(CopiedShare.of(np.zeros(0)).share)
    with pytest.raises(ValueError, match="level"):
        nobody.interval(1.0)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ratio", [1.0, 3.0, 0.5])
def test_shares_beside_a_holdout_by_search(seed, ratio):
    rng = np.random.default_rng(seed)
    scores = tuple(
        np.where(rng.random(300) < 0.6, 0.0, rng.lognormal(1.0, 1.5, 300))
        for _ in range(2)
    )
    found = CopiedBeside.of(scores, ratio)

    def height(c, d):
        mixed = (1.0 - c - d) + c * scores[0] + d * scores[1]
        return -math.inf if mixed.min() <= 0.0 else math.fsum(np.log(mixed))

    best = minimize(
        lambda x: -height(*x),
        [0.1, 0.1],
        bounds=[(0, 0.6), (0, 0.39)],
        options={"ftol": 1e-14, "gtol": 1e-9},
    )
    there = found.share_there / ratio
    assert height(found.share, there) >= -best.fun - 1e-6
    assert [found.share, there] == pytest.approx(best.x, abs=2e-4)
    assert found.excess == found.share - found.share_there
    top = height(found.share, there)
    for end in found.excess_interval():
        grid = np.linspace(max(0.0, -end / ratio), (1.0 - end) / (1.0 + ratio), 4001)
        profile = max(height(end + ratio * d, d) for d in grid[:-1])
        assert 2.0 * (top - profile) == pytest.approx(1.959964**2, rel=1e-3)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("base", ["margins", "law"])
def test_planted_copies_are_found(seed, base):
    rng = np.random.default_rng([seed, 7])
    law = law_of_classes(rng)
    original, others = drawn(law, 2000, rng), drawn(law, 2000, rng)
    made = alone(original, rng) if base == "margins" else drawn(law, 2000, rng)
    made, planted = with_copies(made, original, 0.05, rng)
    found = copies(shared(original, made, others))
    assert area(found.score[:planted], found.score[planted:]) >= 0.9
    low, high = found.interval(0.999)
    assert low <= 0.05 <= high
    low, high = found.excess_interval(0.999)
    assert 0.0 < low <= 0.05 <= high
    assert found.probability[:planted].mean() > 5 * found.probability[planted:].mean()


@pytest.mark.parametrize("base", ["margins", "law"])
def test_what_copies_nobody_has_a_share_of_zero(base):
    held = {"interval": 0, "excess": 0}
    for seed in range(20):
        rng = np.random.default_rng([seed, 8])
        law = law_of_classes(rng)
        original, others = drawn(law, 1000, rng), drawn(law, 1000, rng)
        made = alone(original, rng) if base == "margins" else drawn(law, 1000, rng)
        found = copies(shared(original, made, others))
        held["interval"] += found.interval()[0] == 0.0
        low, high = found.excess_interval()
        held["excess"] += low <= 0.0 <= high
    assert min(held.values()) >= 18


@pytest.mark.parametrize("part", [1.0, 0.3])
def test_a_holdout_corrects_a_poor_model(part):
    """People at random places of a table: no model of few classes sees them."""
    right = 0
    for seed in range(6):
        rng = np.random.default_rng([seed, 9])
        people = np.repeat(np.arange(3000), rng.zipf(1.7, 3000).clip(1, 60))
        place = rng.choice(20**4, 3000, replace=False)[people]
        rows = rng.permutation(len(people))[:1500]
        original, released, others = np.split(place[rows], 3)
        files = (
            np.unravel_index(one, (20,) * 4) for one in (original, released, others)
        )
        found = copies(shared(*files))
        assert found.interval()[0] > 0.05
        low, high = found.excess_interval()
        right += low <= 0.0 <= high
    assert right >= 5


def test_the_original_itself():
    rng = np.random.default_rng(3)
    original = drawn(law_of_classes(rng), 800, rng)
    found = copies(shared(original, original))
    assert found.share == 1.0
    assert found.interval()[1] == 1.0
    assert found.interval()[0] > 0.9
    assert (found.probability == 1.0).all()


def test_values_of_one_file_only():
    """The release and the holdout have a value that the original lacks."""
    original = [np.array([0, 0, 1, 1, 0]), np.array([0, 1, 0, 1, 1])]
    released = [np.array([2, 0, 1]), np.array([0, 1, 2])]
    others = [np.array([2, 2, 1]), np.array([0, 0, 0])]
    found = copies(shared(original, released, others))
    assert found.score[0] == found.score[2] == 0.0 < found.score[1]
    assert math.isfinite(found.excess)
    assert all(map(math.isfinite, found.excess_interval()))


def test_order_does_not_matter():
    rng = np.random.default_rng(4)
    law = law_of_classes(rng)
    original, made = drawn(law, 300, rng), drawn(law, 200, rng)
    found = copies(shared(original, made))
    rows, order = rng.permutation(300), rng.permutation(200)
    again = copies(shared([x[rows] for x in original], [x[order] for x in made]))
    np.testing.assert_allclose(again.score, found.score[order], rtol=1e-12)
    assert again.share == pytest.approx(found.share, abs=1e-7)


def test_without_an_estimate_it_says_why():
    one_cell = [np.zeros(20, int)] * 2
    found = copies(shared([np.arange(20) % 3, np.arange(20) % 2], one_cell))
    assert "one cell" in found.reason
    assert math.isnan(found.share)
    assert np.isnan(found.score).all()
    assert len(found.score) == 20
    assert found.to_dict()["share"] is None
    assert found.to_dict()["share_interval"] == [None, None]
    assert "unknown: all records are in one cell" in str(found._parts()[0].lines())


def test_files_of_few_records():
    some, nobody = [np.array([0, 1, 1]), np.array([0, 1, 0])], [np.zeros(0, int)] * 2
    empty = copies(shared(some, nobody))
    assert empty.reason == "there are no released records"
    assert len(empty.score) == len(empty.probability) == 0
    assert math.isnan(empty.share)
    assert math.isnan(empty.excess)
    unsampled = copies(shared(nobody, some))
    assert unsampled.share == 0.0
    assert unsampled.score.tolist() == [0.0, 0.0, 0.0]
    alone = copies(shared(some, some, nobody))
    assert alone.share == 1.0
    assert math.isnan(alone.share_there)
    stranger = copies(shared(some, [np.array([2, 3]), np.array([2, 3])], some))
    assert stranger.share == stranger.share_there == 0.0


def test_figures_in_words():
    rng = np.random.default_rng(5)
    law = law_of_classes(rng)
    original, others = drawn(law, 1000, rng), drawn(law, 500, rng)
    made, _ = with_copies(drawn(law, 1000, rng), original, 0.1, rng)
    found = copies(shared(original, made, others))
    low, high = found.interval()
    told = found.to_dict()
    assert told["share_interval"] == [low, high]
    assert told["excess"] == pytest.approx(told_excess(found))
    said = "\n".join(found._parts()[0].lines())
    assert f"{percent(low)} to {percent(high)}" in said
    assert "from the holdout" in said
    without = copies(shared(original, made))
    assert without.share == found.share
    assert without.to_dict()["excess"] is None
    assert "holdout" not in "\n".join(without._parts()[0].lines())


def told_excess(found):
    return found.beside.share - found.share_there
