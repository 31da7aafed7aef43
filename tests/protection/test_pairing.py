"""A released file beside its original is examined as `protect` examines it."""

import numpy as np
import pytest

import riskcore
from riskcore.data.files import formats

pytestmark = pytest.mark.filterwarnings("ignore")

N = 300


@pytest.fixture
def survey(tmp_path):
    """Return a file of persons in households, with twins that only keys tell apart."""
    rng = np.random.default_rng(7)
    household = np.sort(rng.integers(0, 120, N))
    data = {
        "hh": household,
        "sex": rng.integers(1, 3, N),
        "age": rng.integers(0, 9, N),
        "region": rng.integers(0, 4, 120)[household],
        "health": rng.integers(0, 3, N),
        "income": rng.lognormal(8, 1, N).round(),
        "note": rng.integers(0, 2, N),
        "w": rng.integers(20, 90, 120)[household] * 1.5,
    }
    return formats.write(tmp_path / "survey.csv", data)


def leaks_of(found):
    """Return the kinds and columns of leaks, of a written file or a checked one."""
    leaks = found["leaks"] if isinstance(found, dict) else found.leaks
    plain = [one if isinstance(one, dict) else one.to_dict() for one in leaks]
    return {(one["kind"], one["column"]) for one in plain}


def beside(path, survey, change):
    """Return the check of a changed file beside the original."""
    other = path.with_name("other.csv")
    table = formats.read(path)
    columns = {name: table[name].to_numpy() for name in table.column_names}
    columns = change(columns)
    lines = [",".join(columns)]
    lines += [
        ",".join(x or "" for x in row) for row in zip(*columns.values(), strict=True)
    ]
    other.write_text("\n".join(lines) + "\n")
    return riskcore.check(other, record=f"{path}.private.json", original=survey)


def shuffled(columns):
    """Return the records in another order."""
    order = np.random.default_rng(1).permutation(N)
    return {name: one[order] for name, one in columns.items()}


GIVEN = {
    "plain": {},
    "households": {"household": "hh", "roles": {"health": "sensitive"}},
    "a household left out": {"household": "hh", "drop": ["hh"]},
    "numbers": {"roles": {"income": "numeric", "health": "sensitive"}},
    "noise": {"treat": {"income": "noise:10%"}, "secret": "1" * 64},
    "a random key": {"treat": {"sex": "pram:0.8"}, "secret": "2" * 64},
    "swapped": {"treat": {"income": "swap:20%"}, "secret": "3" * 64},
    "households by their weights": {
        "weight": "w", "treat": {"w": "share-weights:40"}, "drop": ["hh"],
        "roles": {"*": "harmless:a test"},
    },
    "rounded": {"treat": {"income": "round:1000"}},
    "rounded and left out": {"treat": {"income": "round:1000"}, "drop": ["income"]},
    "coded without effect": {"treat": {"note": "bottom:2n", "w": "round:0.5"}},
}  # fmt: skip


@pytest.mark.parametrize("how", GIVEN)
def test_a_shuffled_file_has_the_leaks_of_the_file_that_was_written(survey, how):
    given = {**GIVEN[how]}
    drop = given.pop("drop", [])
    keys = ["sex", "age", "region"]
    result = riskcore.protect(survey, keys, k=4, population="weights", **given)
    path = survey.with_name("safe.csv")
    written = result.write(path, drop=drop, shuffle=True, allow_unsafe=True)
    found = beside(path, survey, shuffled)
    assert found.unknown == ()
    assert leaks_of(found) == leaks_of(written["examined"])
    assert ("composition", "hh") in leaks_of(found) or "weight" not in given


def test_a_sorted_file_tells_by_its_order(survey):
    keys = ["sex", "age", "region"]
    result = riskcore.protect(survey, keys, k=6, cost={"age": 0.1})
    path = survey.with_name("safe.csv")
    result.write(path, allow_unsafe=True)
    assert result.suppressed["age"] > 20

    def by_age(columns):
        age = np.array([int(one) for one in formats.read(survey)["age"].to_numpy()])
        order = np.argsort(age, kind="stable")
        return {name: one[order] for name, one in columns.items()}

    assert ("reveals", None) in leaks_of(beside(path, survey, by_age))
    assert ("reveals", None) not in leaks_of(beside(path, survey, shuffled))


def test_records_that_do_not_pair_are_not_judged(survey):
    result = riskcore.protect(survey, ["sex", "age"], k=3, roles={"income": "numeric"})
    path = survey.with_name("safe.csv")
    result.write(path, allow_unsafe=True)

    def another(columns):
        return {**columns, "sex": np.roll(columns["sex"], 1)}

    found = beside(path, survey, another)
    assert "numbers that find people" in found.unknown
    assert not found.passed
    assert any("The rules alone do not make" in note for note in found.notes)


def replaced(name, values):
    """Return a change that gives a column other values, or adds it."""
    return lambda columns: {**columns, name: np.array(values).astype(str)}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (replaced("passport", range(N)), "'passport' (not in the original)"),
        (replaced("health", range(N)), "'health' (changed by no rule)"),
        (replaced("health", [1] * N), "'health' (changed by no rule)"),
    ],
)
def test_columns_that_no_rule_explains_are_not_judged(survey, change, said):
    given = {
        "k": 3,
        "roles": {"health": "sensitive", "*": "harmless: a test"},
        "accept": {"*": "a test"},
    }
    path = survey.with_name("safe.csv")
    riskcore.protect(survey, ["sex", "age"], **given).write(path)
    assert said in beside(path, survey, change).unknown
    rules = riskcore.Release.of(survey, ["sex", "age"], output=path, **given)
    assert rules.check(path, original=survey).passed
    found = rules.check(path.with_name("other.csv"), original=survey)
    assert found.unknown == (said,)
    assert found.state == "not examined"
    assert found.verdict_in_public == "NOT EXAMINED: not all was examined."


def test_households_without_ids_are_judged_by_the_record_alone(survey):
    """Which of several equal records was in which household the file does not tell."""
    given = {
        "household": "hh",
        "weight": "w",
        "household_threshold": 0.4,
        "roles": {"*": "harmless: a test"},
        "accept": {"*": "a test"},
    }
    path = survey.with_name("safe.csv")
    layout = {"drop": ["hh", "w"], "shuffle": True}
    result = riskcore.protect(survey, ["sex", "age"], **given)
    result.write(path, **layout)
    recorded = riskcore.check(path, record=f"{path}.private.json", original=survey)
    (goal,) = [one for one in recorded.rules if one.rule == "household_threshold"]
    assert goal.recorded
    assert goal.found == result.sets[0].protected.households.risk.max()
    assert recorded.passed
    output = {"file": path, **layout}
    rules = riskcore.Release.of(survey, ["sex", "age"], output=output, **given)
    alone = rules.check(path, original=survey)
    assert not alone.passed
    assert "household" in alone.verdict


def test_new_ids_of_households_rename_each_household_once(survey):
    result = riskcore.protect(survey, ["sex", "age"], k=2, household="hh")
    path = survey.with_name("safe.csv")
    result.write(path, allow_unsafe=True)
    old, new = (formats.read(one)["hh"].to_pylist() for one in (survey, path))
    pairs = {*zip(old, new, strict=True)}
    assert len(pairs) == len({*old}) == len({*new})
    ranked = [one for _, one in sorted((int(a), int(b)) for a, b in pairs)]
    assert ranked != sorted(ranked)
