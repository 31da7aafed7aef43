"""Every door gives one file one state: a test draws settings and compares them."""

import json
from collections import Counter

import numpy as np
import pytest

import riskcore
from riskcore.data.files import formats
from riskcore.protection.release_toml import Release
from riskcore.protection.result import UnsafeError

pytestmark = pytest.mark.filterwarnings("ignore")

N = 90
KEYS = ("sex", "age", "region", "job")
SETTINGS = 120
# The first words of the sentences, inside and in public; public ones have no figures.
SAID = {
    "safe": ("Safe: no leak", "Safe: no leak"),
    "safe except": ("Safe except for", "Safe except for accepted leaks."),
    "goals met": ("NOT SAFE: the goals are met, but ",) * 2,
    "not examined": ("NOT EXAMINED: ", "NOT EXAMINED: not all was examined."),
    "not safe": ("NOT SAFE: the goals are not met.",) * 2,
}


def kind_of(state):
    """Return the kind of a state."""
    return next(one for one in reversed(SAID) if state.startswith(one))


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """Return a small file with ids, numbers, a copy, weights and households."""
    rng = np.random.default_rng(45)
    household = np.sort(rng.integers(0, 40, N))
    region = rng.integers(0, 4, 40)[household]
    data = {
        "hh": household, "sex": rng.integers(1, 3, N), "age": rng.integers(0, 6, N),
        "region": region, "job": rng.integers(0, 3, N), "copy": region + 10,
        "income": rng.lognormal(8, 1, N).round(), "flag": rng.integers(0, 2, N),
        "w": rng.integers(20, 25, N) * 10.0,
    }  # fmt: skip
    folder = tmp_path_factory.mktemp("doors")
    return formats.write(folder / "survey.csv", data)


def with_household_goal(given, rng):
    """Add a goal on households, perhaps; return their column if it is dropped."""
    if "household" not in given or rng.random() < 0.6:
        return []
    given["household_threshold"] = float(rng.choice([0.02, 0.3]))
    return ["hh"] * (rng.random() < 0.5)


def drawn(seed):
    """Return arguments of `protect` and the layout of the file."""
    rng = np.random.default_rng(seed)

    def maybe(share=0.5):
        return rng.random() < share

    keys = [str(one) for one in rng.permutation(KEYS)[: rng.integers(2, 4)]]
    given = {"keys": keys, "population": "weights", "roles": {}, "accept": {}}
    goal = ("k", "threshold", "rate")[rng.integers(3)]
    given[goal] = {
        "k": int(rng.integers(2, 5)),
        "threshold": float(rng.choice([0.002, 0.01, 0.05])),
        "rate": 0.01,
    }[goal]
    if maybe():
        given["weight"] = "w"
    if maybe():
        given["household"] = "hh"
    free = [one for one in (*KEYS, "copy", "flag", "income") if one not in keys]
    if "weight" not in given:
        free.append("w")
    for name in free:
        if maybe(0.85):
            given["roles"][name] = str(rng.choice(["sensitive", "harmless"]))
    if maybe(0.3):
        given["roles"]["*"] = "harmless:a test"
    if maybe(0.2):
        given["cost"] = dict.fromkeys(keys, float("inf"))
    for name in ("*", "(order)", "copy", "w"):
        if maybe(0.3):
            given["accept"][name] = "a test"
    if maybe(0.2) and "income" not in given["roles"]:
        given["treat"] = {"income": "round:500"}
    layout = {"shuffle": True} if maybe() else {}
    drop = [one for one in ("hh", "copy", "income") if maybe(0.4)]
    drop = [one for one in drop if one not in given.values()]
    drop += with_household_goal(given, rng)
    return given, {**layout, **({"drop": drop} if drop else {})}


@pytest.mark.parametrize("seed", range(SETTINGS))
def test_doors(survey, run, seed):
    given, layout = drawn(seed)
    keys = given.pop("keys")
    folder = survey.parent / str(seed)
    folder.mkdir()
    output, public = folder / "safe.csv", folder / "public.json"
    result = riskcore.protect(survey, keys, **given)
    how = {**layout, "public_record": public}
    found = result.write(output, **how, allow_unsafe=True)["examined"]
    state = found["state"]
    kind = kind_of(state)
    assert found["verdict"].startswith(SAID[kind][0])
    assert found["verdict_in_public"].startswith(SAID[kind][1])
    assert found["safe"] == (kind in ("safe", "safe except"))
    # In public.
    record = json.loads(public.read_text())
    assert record["verdict"] == found["verdict_in_public"]
    assert record["safe"] == found["safe"]
    private = json.loads((folder / "safe.csv.private.json").read_text())
    assert (private["safe"], private["verdict"]) == (record["safe"], record["verdict"])
    compare_with_record(survey, output, found)
    # What examines the file again takes longest: one of five doors by turns.
    door = seed % 5
    if door == 0:
        # The file that leaves, or the reason why not.
        again = folder / "leaves.csv"
        try:
            figures = result.write(again, **layout)["examined"]
        except UnsafeError as error:
            figures = error.figures
        assert figures["state"] == state
        assert again.exists() == found["safe"]
        return
    if door == 1:
        # In memory, if the file is written as it stands there.
        if not layout:
            assert result.state == state
            assert result.to_dict()["state"] == state
            assert state in repr(result)
        return
    if door == 2:
        # A trial of the same file.
        trial = riskcore.try_out(survey, keys, {"a": given}, layout=layout)["a"]
        assert (trial.state, trial.safe) == (state, found["safe"])
        return
    if door == 3:
        compare_beside_original(survey, output, found)
        return
    # The same rules, by the command.
    wanted = {**layout, "file": "again.csv"}
    rules = Release.of(survey.name, keys, output=wanted, **given)
    text = rules.to_toml().replace(survey.name, f"../{survey.name}")
    (folder / "release.toml").write_text(text)
    status, out, _ = run(f"run {folder / 'release.toml'} --json --quiet")
    told = json.loads(out)
    assert (told["state"], told["safe"]) == (state, found["safe"])
    assert status == (0 if found["safe"] else 1)
    assert (folder / "again.csv").exists() == found["safe"]


def compare_with_record(survey, output, found):
    """The file that was written, with its record, alone and beside the original."""
    record = f"{output}.private.json"
    for more in ({}, {"original": survey}):
        checked = riskcore.check(output, record=record, **more)
        assert checked.same_file
        assert (checked.state, checked.passed) == (found["state"], found["safe"])


def compare_beside_original(survey, output, found):
    """Another file of the same records has the same leaks beside the original."""
    other = output.with_name("other.csv")
    other.write_bytes(output.read_bytes().replace(b"\n", b"\r\n"))
    beside = riskcore.check(other, record=f"{output}.private.json", original=survey)
    assert {(one.kind, one.column) for one in beside.leaks} == {
        (one["kind"], one["column"]) for one in found["leaks"]
    }
    assert [*map(str, beside.not_examined)] == found["not_examined"]
    assert (beside.unknown, beside.same_file) == ((), False)


def test_all_states_are_drawn(survey, tmp_path):
    """The comparison sees each state, and several files that may leave."""
    seen = Counter()
    for seed in range(SETTINGS):
        given, layout = drawn(seed)
        result = riskcore.protect(survey, given.pop("keys"), **given)
        written = result.write(tmp_path / f"{seed}.csv", **layout, allow_unsafe=True)
        seen[kind_of(written["examined"]["state"])] += 1
        if len(seen) == len(SAID) and min(seen.values()) >= 5:
            return
    pytest.fail(f"only {seen}")
