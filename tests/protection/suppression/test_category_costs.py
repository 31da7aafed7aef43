"""Costs of single categories: against all plans of small files, and by hand."""

import json
import math
from itertools import combinations

import numpy as np
import polars as pl
import pytest

from riskcore import Recoding, protect, simulate
from riskcore.data.files import formats
from riskcore.protection.settings.settings import Settings
from riskcore.protection.suppression import cheapest_blanks
from riskcore.protection.suppression.cheapest_blanks import sums_of_costs
from tests.fits import least_of_rows
from tests.made_again import made_again

KEYS = ["a", "b", "c", "d"]
ACCEPT = "--role '*=harmless:a test' --accept '*=a test'"
SETS = [["a", "b"], ["b", "c", "d"], ["d", "a"]]
NEVER = math.inf


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


pytestmark = pytest.mark.filterwarnings(
    "ignore::riskcore.protection.result.SuppressedValueShows",
    "ignore::riskcore.protection.protect.HouseholdKeyDiffers",
    "ignore::riskcore.protection.records.on_engine.ColumnsNotChecked",
)


def small(seed, n):
    rng = np.random.default_rng(seed)
    return {key: rng.integers(0, 2 + i % 2, n).tolist() for i, key in enumerate(KEYS)}


def costs(data, seed, *, whole=True, never=True):
    """Return costs of the categories of three keys, and of one key."""
    rng = np.random.default_rng(seed)
    some = [1.0, 2.0, 3.0, 7.0] if whole else [0.1, 0.2, 0.3, 1.7]
    found = {
        key: {str(code): float(rng.choice(some)) for code in sorted(set(data[key]))}
        for key in KEYS[:3]
    }
    if never and "1" in found["b"]:
        found["b"]["1"] = NEVER
    return {**found, "d": float(rng.choice(some))}


def cost_of(cost, key, code):
    one = cost[key]
    return one[str(code)] if isinstance(one, dict) else one


def least_of_record(data, i, sets, k, cost):
    """Return the least cost with which a record is safe by itself; None if none is."""
    found = []
    for size in range(5):
        for lost in combinations(KEYS, size):
            spent = math.fsum(cost_of(cost, key, data[key][i]) for key in lost)
            f = [
                sum(
                    all(data[x][j] == data[x][i] for x in one if x not in lost)
                    for j in range(len(data["a"]))
                )
                for one in sets
            ]
            if spent < NEVER and min(f) >= k:
                found.append(spent)
    return min(found, default=None)


def spent_by_record(result, data, cost):
    return [
        math.fsum(cost_of(cost, x, data[x][i]) for x in KEYS if result.masks[x][i])
        for i in range(len(data["a"]))
    ]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("sets", [[KEYS], SETS], ids=["one set", "three sets"])
@pytest.mark.parametrize("whole", [True, False])
def test_each_record_loses_its_cheapest_values(seed, sets, whole):
    data = small(seed, 30)
    cost = costs(data, seed, whole=whole)
    keys = sets if len(sets) > 1 else KEYS
    result = protect(data, keys, k=4, cost=cost)
    spent, lost = spent_by_record(result, data, cost), 0
    assert max(spent) < NEVER
    for i, one in enumerate(spent):
        least = least_of_record(data, i, sets, 4, cost)
        if least is not None:
            assert one == least, i
            lost += least > 0
    assert lost >= 3


UNEVEN = {"MARSTAT": {"1": 30.0, "4": 90.0}, "SEX": 60.0}


def prices_of(data, keys, cost):
    """Return the cost of each value, 50 where none is given."""
    found = np.full((len(data[keys[0]]), len(keys)), 50.0)
    for i, key in enumerate(keys):
        own = cost.get(key, {})
        if not isinstance(own, dict):
            found[:, i] = own
            continue
        for category, price in own.items():
            found[data[key] == category, i] = price
    return found


def survey(n, seed=1):
    drawn = simulate.microdata(n, np.random.default_rng(seed))
    keys = ["AGE", "MARSTAT", "SEX"]
    return {key: np.asarray(drawn[key])[:n].astype(str) for key in keys}, keys


def test_an_engine_and_parts_of_the_costs_plan_alike(monkeypatch):
    data, keys = survey(600)
    settings = {"k": 3, "cost": UNEVEN}
    memory = protect(data, keys, **settings)
    lazy = protect(pl.LazyFrame(data), keys, **settings)
    assert lazy.suppressed == memory.suppressed
    # few costs at once
    monkeypatch.setattr(cheapest_blanks, "_MOST_SUMS", 1 << 5)
    parts = protect(data, keys, **settings)
    assert all(np.array_equal(parts.masks[key], memory.masks[key]) for key in keys)


def test_categories_are_those_after_recoding():
    data = {"age": [15, 16, 17, 31, 32, 45], "sex": list("ffmmfm")}
    groups = {"age": Recoding.intervals([30], ["young", "old"], closed="left")}
    settings = {"k": 2, "recodings": groups}
    cost = {"age": {"young": 500}, "sex": 60}
    result = protect(data, ["age", "sex"], cost=cost, **settings)
    # the young lose their sex, the old their age at the cost of 50
    assert result.masks["sex"].tolist() == [False, False, True, False, False, False]
    assert result.masks["age"].tolist() == [False, False, False, False, True, False]
    with pytest.raises(ValueError, match=r"'15' is not a category .* old, young"):
        protect(data, ["age", "sex"], cost={"age": {15: 1}}, **settings)


def test_numbers_name_their_categories():
    data = {"a": [1.0, 1.0, 2.5, 2.5, None], "b": [1, 1, 1, 2, 2]}
    for given in ({1: 7.0}, {1.0: 7.0}, {"1": 7.0}):
        result = protect(data, ["a", "b"], k=2, cost={"a": given})
        assert result.settings.cost == {"a": {"1": 7.0}}


def test_household_keys_cost_what_all_members_lose():
    # Household 1 of two members, whose region "x" costs little except for both.
    data = {
        "home": [1, 1, 2, 3, 4, 5],
        "region": list("xxyyyy"),
        "job": list("pqqqqq"),
    }
    settings = {"k": 2, "household": "home", "household_keys": ["region"]}
    cost = {"region": {"x": 30}, "job": 50}
    dear = protect(data, ["region", "job"], cost=cost, **settings)
    assert dear.masks["job"].tolist() == [True, True, False, False, False, False]
    cheap = protect(
        data, ["region", "job"], cost={"region": {"x": 20}, "job": 50}, **settings
    )
    assert cheap.masks["region"].tolist() == [True, True, False, False, False, False]


def test_a_category_that_is_never_blanked_keeps_related_keys():
    data = {"land": list("aabbcc"), "born": list("aabbcd"), "sex": list("fmfmfm")}
    keys, related = ["land", "born", "sex"], {"land": ["born"]}
    cost = {"born": {"d": NEVER}, "sex": 90}
    result = protect(data, keys, k=2, cost=cost, related=related)
    assert not result.masks["born"][5]
    assert not result.masks["land"][5]
    assert result.masks["land"].any()
    # and with several sets of keys
    result = protect(
        data, [["land", "sex"], ["born", "sex"]], k=2, cost=cost, related=related
    )
    assert not result.masks["born"][5]
    assert not result.masks["land"][5]
    assert result.masks["land"].any()


def test_sums_are_rounded_once():
    subsets = [s for size in (1, 2, 3) for s in combinations(range(3), size)]
    rng = np.random.default_rng(1)
    for rows in (rng.integers(0, 1 << 40, (50, 3)) * 1.0, rng.random((50, 3))):
        rows[7, 1] = np.inf
        expected = [[math.fsum(row[i] for i in s) for s in subsets] for row in rows]
        assert sums_of_costs(rows, subsets).tolist() == expected


def test_a_record_gives_the_same_file(folder, run):
    data, keys = survey(500)
    formats.write("survey.csv", data)
    line = (
        "protect survey.csv --keys AGE MARSTAT SEX --k 3 "
        f"--cost MARSTAT[1]=20 MARSTAT[4]=never SEX=30 {ACCEPT}"
    )
    assert run(f"{line} --output safe.csv")[0] == 0
    record = json.loads((folder / "safe.csv.private.json").read_text())
    assert record["settings"]["cost"] == {
        "SEX": 30.0,
        "MARSTAT": {"1": 20.0, "4": "never"},
    }
    settings = Settings.from_dict(record["settings"])
    assert settings.cost["MARSTAT"] == {"1": 20.0, "4": NEVER}
    assert Settings.from_dict(settings.to_dict()) == settings
    again = made_again("survey.csv", "safe.csv.private.json", "again.csv")
    assert again == (folder / "safe.csv").read_bytes()
    result = protect(data, keys, k=3, cost=settings.cost)
    four = data["MARSTAT"] == "4"
    assert not result.masks["MARSTAT"][four].any()
    assert result.masks["MARSTAT"].any()
    for value in ({"SEX": {"1": "x"}}, {"SEX": {"1": [1]}}, {"SEX": [1]}):
        with pytest.raises(ValueError, match=r"settings.cost.SEX.*: need a number"):
            Settings.from_dict({**record["settings"], "cost": value})


def test_options_name_categories(folder, run, refused):
    formats.write(
        "survey.csv",
        {"a[1]": list("ppqq"), "b": ["<=5", "<=5", ">5", "x"], "c": list("uuuv")},
    )
    line = f"protect survey.csv --keys a[1] b c --k 2 {ACCEPT} --output safe.csv"
    line += " --overwrite"

    def costs_of(words):
        assert run(f"{line} --cost {words}")[0] in (0, 1)
        record = json.loads((folder / "safe.csv.private.json").read_text())
        return record["settings"]["cost"]

    assert costs_of("a[1]=7 b[<=5]=9") == {"a[1]": 7.0, "b": {"<=5": 9.0}}
    assert costs_of("a[1][p]=7") == {"a[1]": {"p": 7.0}}
    for words, why in (
        ("b[<=5]=9 b[<=5]=8", "'<=5' appears twice"),
        ("b=9 b[x]=8", "'b' appears twice"),
        ("b[x]=dear", "'dear' is not a number"),
        ("b[y]=8", "'y' is not a category after recoding; categories are"),
        ("d[y]=8", "'d' is not a key"),
        ("fewest b=1", "KEY[CATEGORY]=NUMBER"),
    ):
        assert why in refused(f"{line} --cost {words}")


@pytest.mark.parametrize(
    ("given", "error", "why"),
    [
        ({"cost": {"a": {"1": -1}}}, ValueError, "category '1': -1.0, need a number"),
        ({"cost": {"a": {"1": math.nan}}}, ValueError, "need a number >= 0"),
        ({"cost": {"a": {"1": "x"}}}, TypeError, "category '1'='x': need a number"),
    ],
)
def test_refused(given, error, why):
    with pytest.raises(error, match=why):
        protect(small(1, 10), KEYS, k=2, **given)


def test_households_as_rows_count_once():
    rng = np.random.default_rng(3)
    home = np.repeat(np.arange(150), rng.integers(1, 5, 150))
    data = {
        "home": home,
        "size": np.bincount(home)[home],
        "tenure": rng.choice(list("pqr"), 150, p=[0.9, 0.07, 0.03])[home],
        "region": rng.choice(8, 150)[home],
    }
    keys = ["size", "tenure", "region"]
    settings = {"k": 3, "household": "home", "level": "household"}
    cost = {"size": 60.0, "tenure": {"q": 70.0, "r": 20.0}}
    result = protect(data, keys, cost=cost, **settings)
    first = np.unique(home, return_index=True)[1]
    rows = {key: data[key][first].astype(str) for key in keys}
    prices = prices_of(rows, keys, cost)
    lost = np.stack([result.masks[key][first] for key in keys], axis=1)
    least = least_of_rows(np.stack([rows[key] for key in keys], axis=1), prices, 3)
    assert result.goals_met
    assert (prices * lost).sum(axis=1).tolist() == least.tolist()
    assert least.sum() > 0


@pytest.mark.parametrize("settings", [{"ties": "secret"}, {"suppression": "argus"}])
def test_other_rules_take_the_costs_of_categories(settings):
    data, keys = survey(600)
    result = protect(data, keys, k=3, cost=UNEVEN, **settings)
    usual = protect(data, keys, k=3, cost=UNEVEN)
    assert result.goals_met
    prices = prices_of(data, keys, UNEVEN)
    spent, least = (
        sum((prices[:, i] * one.masks[key]).sum() for i, key in enumerate(keys))
        for one in (result, usual)
    )
    if "ties" in settings:
        assert spent == least
    else:
        assert spent >= least
