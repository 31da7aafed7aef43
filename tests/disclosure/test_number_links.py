"""Links by keys and numbers, right if what the linked row tells is right."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import riskcore
from riskcore.disclosure.fitting_rows import NEXT, Runs, nearest_rows
from riskcore.disclosure.leaks import by_chance, too_many
from riskcore.disclosure.number_links import (
    KnownNumbers,
    extremes,
    number_links,
    precision,
)

N = 1_500


def survey(seed=1):
    """Return three keys, and three numbers that depend on each other."""
    rng = np.random.default_rng(seed)
    keys = [rng.integers(0, k, N) for k in (2, 8, 10)]
    income = np.round(rng.lognormal(10, 0.8, N))
    debts = np.round(rng.lognormal(8, 1, N))
    rent = np.round(0.2 * income + rng.normal(0, 200, N))
    return keys, {"income": income, "debts": debts, "rent": rent}, rng


def links(keys, before, after, others=None, own=None, as_released=None):
    """Return the links of a file whose keys are as they were, by what they are."""
    given_ = KnownNumbers(
        {k: (one, one) for k, one in enumerate(keys)},
        {name: (before[name], after[name]) for name in after},
        others or {},
        own,
        as_released or {},
    )
    return {(one.known, one.told, one.among): one for one in number_links(given_)}


def leaking(found):
    return {which for which, one in found.items() if one.leaks}


def moved_within(keys, columns, rng, groups=None):
    """Return columns whose rows change places together, within cells."""
    cell = np.unique(np.stack(keys), axis=1, return_inverse=True)[1].reshape(-1)
    order = np.lexsort((rng.random(N), cell))
    to = np.empty(N, np.int64)
    to[np.argsort(cell, kind="stable")] = order
    return [one[to] for one in columns]


# The kernel, by its definition


def by_definition(people, rows, told, tells, within, own, keys, released):
    """Return what is found of one person: candidates, ties, own, and agreement."""
    fits = [
        j
        for j in range(len(rows))
        if all(
            theirs in (-1, ours) for ours, theirs in zip(keys, released[j], strict=True)
        )
        and not np.isnan(rows[j]).any()
    ]
    gap = {j: float(((rows[j] - people) ** 2).sum()) for j in fits}
    if not fits:
        return 0, 0, 0, [0] * len(told), [0] * len(told), [0] * len(told)
    nearest = [j for j in fits if gap[j] == min(gap.values())]
    beyond = sorted(gap[j] for j in fits if j not in nearest)[:NEXT]
    following = [
        j for j in fits if j not in nearest and beyond and gap[j] <= beyond[-1]
    ]
    right = lambda j, k: abs(tells[j][k] - told[k]) <= within[k]  # noqa: E731
    columns = range(len(told))
    share = lambda some, k: sum(right(j, k) for j in some) / max(len(some), 1)  # noqa: E731
    return (
        len(fits),
        len(nearest),
        int(own in nearest),
        [sum(right(j, k) for j in nearest) for k in columns],
        [share(fits, k) for k in columns],
        [share(following, k) for k in columns],
    )


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 2), st.integers(0, 2))
def test_nearest_rows_by_the_definition(seed, n, d, c):
    rng = np.random.default_rng(seed)
    keys = [rng.integers(-1, 2, n) for _ in range(2)]
    released = [np.where(rng.random(n) < 0.3, -1, one) for one in keys]
    people = rng.integers(0, 4, (n, d)).astype(float)
    rows = np.where(rng.random((n, d)) < 0.1, np.nan, rng.integers(0, 4, (n, d)))
    told = rng.integers(0, 3, (n, c)).astype(float)
    tells = np.where(rng.random((n, c)) < 0.1, np.nan, rng.integers(0, 3, (n, c)))
    within = np.array([0.0, 1.0])[:c]
    own = rng.permutation(n)
    found = nearest_rows(
        Runs.of(keys, released, n), (people, rows), (told, tells), within, own
    )
    for i in range(n):
        theirs = np.stack(released, axis=1).tolist()
        ours = [one[i] for one in keys]
        expected = by_definition(
            people[i], rows, told[i], tells, within, own[i], ours, theirs
        )
        for one, other in zip(found, expected, strict=True):
            assert np.allclose(one[i], other)


# What is found, and what is not


def test_the_own_row_counts_where_it_is_known():
    keys, before, rng = survey()
    income = {"income": before["income"]}
    same = links(keys, income, income, own=np.arange(N))
    assert same[("income",), None, "all"].right == N
    assert len(leaking(same)) == 3
    drawn = {"income": rng.permutation(before["income"])}
    assert leaking(links(keys, income, drawn, own=np.arange(N))) == set()


def test_columns_that_moved_together_tell_each_other():
    keys, before, rng = survey()
    together = dict(zip(before, moved_within(keys, before.values(), rng), strict=True))
    found = links(keys, before, together, own=np.arange(N))
    # Rows are not those of the persons, but what they tell is right.
    assert not found[("income",), None, "all"].leaks
    assert found[("income",), "debts", "all"].right == N
    assert (("debts",), "rent", "largest") in leaking(found)
    apart = {name: moved_within(keys, [one], rng)[0] for name, one in before.items()}
    assert leaking(links(keys, before, apart, own=np.arange(N))) == set()


def test_rows_that_tie_tell_what_they_share():
    """In two bands many rows are nearest, and all of them tell the same."""
    keys, before, rng = survey()
    income = before["income"]
    band = (income > np.median(income)).astype(float)
    ill = (sum(keys) + 2.0 * band) % 4.0
    released = {"income": 1e4 * band}
    others = {"ill": (ill, ill)}
    found = links(keys, {"income": income}, released, others, np.arange(N), released)
    assert found[("income",), "ill", "all"].right == N
    assert found[("income",), "ill", "all"].leaks
    drawn = {"income": rng.permutation(released["income"])}
    found = links(keys, {"income": income}, drawn, others, np.arange(N), released)
    assert not found[("income",), "ill", "all"].leaks


def test_numbers_that_moved_within_all_keys_are_still_there():
    keys, before, rng = survey()
    moved = {"income": moved_within(keys, [before["income"]], rng)[0]}
    found = links(keys, {"income": before["income"]}, moved)
    assert found[("income",), "income", "all"].right == N
    assert found[("income",), "income", "all"].leaks
    shuffled = {"income": rng.permutation(before["income"])}
    assert leaking(links(keys, {"income": before["income"]}, shuffled)) == set()


@pytest.mark.parametrize("known", [True, False])
def test_noise_finds_the_largest(known):
    """By the own row, or without it by an unaltered column that the row tells."""
    keys, before, rng = survey()
    income, job = before["income"], rng.integers(0, 9, N).astype(float)
    noisy = income + rng.normal(0, 0.1 * income.std(), N)
    own = np.arange(N) if known else None
    found = links(keys, {"income": income}, {"income": noisy}, {"job": (job, job)}, own)
    told = None if known else "job"
    largest = found[("income",), told, "largest"]
    assert largest.right > 17
    assert largest.leaks
    assert found[("income",), told, "all"].leaks


def test_keys_that_were_altered_do_not_hide_a_number_that_was_not():
    keys, before, rng = survey()
    other = [rng.permutation(keys[0]), *keys[1:]]
    pairs = dict(zip("abc", zip(keys, other, strict=True), strict=True))
    income = before["income"]
    found = number_links(
        KnownNumbers(pairs, {"income": (income, income)}, {}, np.arange(N))
    )
    right = {one.without: one.right for one in found if one.among == "all"}
    assert right[()] < 0.6 * N
    assert right["a",] == N
    assert "by the keys without a and 'income'" in str(found[-1])


def test_a_relation_between_columns_is_no_link():
    """Rich people are likely to own a house, in a file of other people, too."""
    keys, before, _ = survey()
    others_keys, others, _ = survey(seed=2)
    owns = [
        (one["income"] > np.quantile(one["income"], 0.7)).astype(float)
        for one in (before, others)
    ]
    given_ = KnownNumbers(
        dict(enumerate(zip(keys, others_keys, strict=True))),
        {"income": (before["income"], others["income"])},
        {"owns": (owns[0], owns[1])},
        None,
    )
    found = {one.among: one for one in number_links(given_)}
    assert found["all"].right > 0.85 * N
    assert not any(one.leaks for one in found.values())


def test_the_extremes_are_those_beyond_the_twenty_first():
    values = np.array([*range(100), np.nan], float)
    assert extremes(values).tolist() == [*range(20)]
    assert extremes(-values).tolist() == [*range(80, 100)]
    assert extremes(np.zeros(50)).tolist() == []


def test_the_precision_is_half_the_unit():
    assert precision(np.array([1500.0, -2000.0, np.nan])) == 250.0
    assert precision(np.array([0.1, 7.27])) == 0.005
    assert precision(np.array([3.0, 4.0])) == 0.5
    assert precision(np.array([1 / 3, 2**0.5])) < 1e-9
    assert precision(np.array([0.0, np.nan])) == 0.0


def test_limits():
    assert [too_many(x, 20_000) for x in (3, 4)] == [False, True]
    assert [too_many(x, 100) for x in (1, 2)] == [False, True]
    assert by_chance(5.0, 5.0, 1)
    assert by_chance(4.0, 1.0, 1)
    assert not by_chance(40.0, 10.0, 1_000)
    assert not by_chance(12.0, 1.0, 1)
    # At the level, by simulation: luck is rarer than one in a thousand.
    drawn = np.random.default_rng(1).poisson(5.0, 10**5)
    assert np.mean([not by_chance(x, 5.0, 1) for x in drawn]) < 1e-3


def test_many_people_are_a_sample_of_all():
    rng = np.random.default_rng(3)
    n = 50_000
    key, income = rng.integers(0, 500, n), rng.permutation(n).astype(float)
    half = np.where(rng.random(n) < 0.5, income, -1.0 - income)
    found = number_links(
        KnownNumbers({"a": (key, key)}, {"x": (income, half)}, {}, np.arange(n))
    )
    everybody = next(one for one in found if one.among == "all")
    assert everybody.looked_at < everybody.people == n
    exact = np.count_nonzero(half == income)
    assert everybody.right == pytest.approx(exact, rel=0.03)
    assert everybody.leaks


# The leaks of a protected file


def frame(keys, numbers):
    names = ("sex", "age", "area")
    return dict(zip(names, keys, strict=True)) | numbers


def protected(data, treat, **options):
    roles = {name: "numeric" for name in ("income", "debts", "rent") if name in data}
    return riskcore.protect(
        data, ["sex", "age", "area"], k=2, roles=roles | options.pop("roles", {}),
        treat=treat, secret="1" * 64, sampling_fraction=0.1, **options,
    )  # fmt: skip


def kinds(result):
    return {one.kind for one in result.examination.open}


@pytest.mark.filterwarnings("ignore::riskcore.protection.treatments.strata.SmallStrata")
def test_a_swap_within_all_keys_has_no_effect():
    keys, before, _ = survey()
    data = frame(keys, {"income": before["income"]})
    # A person alone in a cell changes with others who are.
    within = protected(data, {"income": "swap:99%:within=sex+age+area"})
    assert "no effect" in kinds(within)
    (leak,) = [one for one in within.examination.open if one.kind == "no effect"]
    assert "protects nothing" in leak.text
    assert leak.column == "income"
    assert kinds(protected(data, {"income": "swap:99%"})) == set()
    accepted = protected(
        data, {"income": "swap:99%:within=sex+age+area"}, accept={"income": "a test"}
    )
    assert kinds(accepted) == set()


def test_noise_on_incomes_is_a_leak_for_the_largest():
    keys, before, _ = survey()
    data = frame(keys, {"income": before["income"]})
    (leak,) = protected(data, {"income": "noise:10%"}).examination.open
    assert leak.kind == "numbers"
    assert "of the people with the 20 largest numbers" in leak.text


def test_a_few_unique_values_in_a_large_file_are_too_many():
    n = 20_000
    rng = np.random.default_rng(5)
    data = {
        "sex": rng.integers(0, 2, n),
        "code": np.concatenate([np.arange(190) + 10, rng.integers(0, 5, n - 190)]),
    }
    result = riskcore.protect(data, ["sex"], k=2)
    assert [one.kind for one in result.examination.open] == ["unique"]
    data["code"] = np.where(data["code"] > 12, 1, data["code"])
    assert riskcore.protect(data, ["sex"], k=2).examination.open == ()
