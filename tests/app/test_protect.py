"""Make safe: goals, the suppression and plans are those of the package."""

import threading

import pytest

import riskcore
from riskcore.app.forms import Form
from riskcore.app.pages import protect
from riskcore.app.session import RefusedError
from riskcore.app.verdict import verdict_of
from tests.app import workbenches
from tests.app.workbenches import KEYS, ROLES, waited


@pytest.fixture
def bench(opened):
    return opened(roles=ROLES, safe={"population": "weights"})


def form(_numbers="en", **fields):
    fields = {name.replace("_", "-"): value for name, value in fields.items()}
    return workbenches.form(_numbers, **fields)


def shown(bench, **query):
    return waited(protect.view, bench, **query)


def typed(bench, name, value, was="", on="1", numbers="en"):
    fields = {"name": name, "value": value, "was": was, **({"on": on} if on else {})}
    return protect.goal(bench, form(numbers, **fields))


def safe(bench):
    return {k: v for k, v in bench.table("safe").items() if k != "population"}


def test_without_keys_the_page_says_what_to_do(opened):
    assert protect.view(opened(), form()) == {
        "lacking": "no column is a key variable yet"
    }


@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"safe": {"threshold": 0.02}},
        {"safe": {"k": None, "household_threshold": 0.1}},
        {"columns": {"keys": [["REGION", "SEX"], ["SEX", "AGE", "MARSTAT"]]}},
        {"recodings": {"AGE": "round:5"}, "suppress": {"cost": {"SEX": "never"}}},
        {"safe": {"k": 30}, "suppress": {"cost": dict.fromkeys(KEYS, "never")}},
    ],
)  # fmt: skip
def test_the_suppression_is_that_of_the_package(bench, survey, rules):
    bench.change("rules", **rules)
    expected = riskcore.protect(survey, **bench.release.arguments())
    found = shown(bench)["found"]
    assert {key: n for key, n, _ in found["blanked"]} == expected.suppressed
    assert found["met"] == expected.goals_met
    assert found["unsafe"] == int(max(one.unsafe.sum() for one in expected.sets))
    assert found["without"] == max(one.without_keys for one in expected.sets)
    assert found["words"] in expected.verdict
    losses = {
        (one.key, one.category): (one.records_before, one.records_after)
        for one in expected.compare().losses
    }
    assert len(found["losses"]) + found["more"] == sum(
        a > b for a, b in losses.values()
    )
    for one in found["losses"]:
        pair = one.records_before, one.records_after
        assert losses[one.key, one.category] == pair
    shares = [one.lost for one in found["losses"]]
    assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize(
    ("numbers", "text"), [("en", "2.5 %"), ("de", "0,025"), ("fr", "2,5 %")]
)
def test_a_goal_is_typed_as_the_reader_writes(bench, numbers, text):
    typed(bench, "threshold", text, "0.1", numbers=numbers)
    assert safe(bench) == {"k": 3, "threshold": 0.025}


def test_a_goal_that_is_typed_is_on(bench):
    typed(bench, "threshold", "0.03", "0.1", on="")
    assert safe(bench)["threshold"] == 0.03


def test_a_goal_is_switched_on_with_what_is_proposed(bench):
    typed(bench, "threshold", "0.1", "0.1")
    assert safe(bench)["threshold"] == 0.1


def test_a_number_that_was_rounded_on_the_page_stays(bench):
    bench.change("third", safe={"threshold": 1 / 3})
    (goal,) = [one for one in protect.view(bench, form())["goals"]
               if one["name"] == "threshold"]  # fmt: skip
    typed(bench, "threshold", goal["text"], goal["text"])
    assert safe(bench)["threshold"] == 1 / 3


def test_one_goal_must_stay(bench):
    before = bench.history.current
    with pytest.raises(RefusedError, match="nothing to protect against"):
        typed(bench, "k", "3", "3", on="")
    assert bench.history.current is before
    typed(bench, "threshold", "0.05", "0.1")
    typed(bench, "k", "3", "3", on="")
    assert safe(bench) == {"threshold": 0.05}


def test_a_rate_takes_the_place_of_a_threshold(bench):
    typed(bench, "threshold", "0.05", "0.1")
    typed(bench, "rate", "0.1 %", "0.001", on="1")
    assert safe(bench) == {"k": 3, "rate": 0.001}
    protect.slide(bench, form(name="threshold", position="-2"))
    assert safe(bench) == {"k": 3, "threshold": 0.01}


def test_k_of_each_set_of_keys(bench):
    bench.change("sets", columns={"keys": [["REGION", "SEX"], ["AGE", "MARSTAT"]]})
    typed(bench, "k", "3; 5", "3")
    assert safe(bench) == {"k": [3, 5]}
    (goal,) = [
        one for one in protect.view(bench, form())["goals"] if one["name"] == "k"
    ]
    assert goal["text"] == "3; 5"
    typed(bench, "k", "3; 5", "3; 5")
    assert safe(bench) == {"k": [3, 5]}


@pytest.mark.parametrize(
    ("name", "position", "value"),
    [("threshold", "-1.5", 0.032), ("k", "7", 7), ("household_threshold", "-1", 0.1)],
)
def test_a_slider_sets_a_goal(bench, name, position, value):
    words = protect.slide(bench, form(name=name, position=position))
    assert safe(bench)[name] == value
    assert f"{value}" in words


@pytest.mark.parametrize("position", ["1", "-9", "nan", "much", ""])
def test_a_position_beyond_the_slider_is_refused(bench, position):
    with pytest.raises(RefusedError):
        protect.slide(bench, form(name="threshold", position=position))


def test_a_moving_slider_counts_without_a_change(bench):
    before = bench.history.current
    (recoded,) = bench.prepared().recoded
    for position, threshold in (("-2", 0.01), ("-1", 0.1), ("0", 1.0)):
        found = protect.live(bench, form(name="threshold", position=position))
        assert found["alone"] == (recoded.unsafe_count(threshold), 0)
        assert found["all"][0] >= max(found["alone"][0], recoded.below(3).records)
    for k in (2, 5, 20):
        found = protect.live(bench, form(name="k", position=str(k)))
        assert found["alone"] == found["all"] == (recoded.below(k).records, 0)
    found = protect.live(bench, form(name="household_threshold", position="-1"))
    assert found["alone"][1] == recoded.unsafe_household_count(0.1) > 0
    assert protect.live(bench, form(name="threshold"))["alone"] is None
    assert bench.history.current is before


def test_ways_are_rules_without_their_defaults(bench):
    protect.ways(bench, form(cost="equal", missing="wildcard"))  # fmt: skip
    assert bench.table("suppress") == {"cost": "equal"}
    assert safe(bench) == {"k": 3}
    protect.ways(bench, form(cost="fewest", missing="category"))  # fmt: skip
    assert bench.table("suppress") == {}
    assert safe(bench) == {"k": 3, "missing": "category"}
    before = bench.history.current
    protect.ways(bench, form(cost="fewest", shares_were="no"))
    assert bench.history.current is before
    with pytest.raises(RefusedError):
        protect.ways(bench, form(fraction="0", was_fraction=""))


def test_costs_of_keys(bench):
    protect.costs(bench, form(cost_0="never", cost_1="2.5", cost_2="", cost_3=""))
    assert bench.table("suppress")["cost"] == {"REGION": "never", "SEX": 2.5}
    page = protect.view(bench, form())
    assert [one["text"] for one in page["costs"]] == ["never", "2.5", "", ""]
    assert [way["value"] for way in page["ways"] if way["name"] == "cost"] == ["own"]
    protect.costs(bench, form(cost_0="", was_cost_0="never", cost_1="2.5",
                              was_cost_1="2.5"))  # fmt: skip
    assert bench.table("suppress")["cost"] == {"SEX": 2.5}
    protect.costs(bench, form(cost_1="", was_cost_1="2.5"))
    assert "cost" not in bench.table("suppress")
    with pytest.raises(ValueError, match=r"^SEX: 'many' is not a number"):
        protect.costs(bench, form(cost_1="many", was_cost_1=""))


def test_strata_and_subsets(bench, survey):
    position = str(bench.names.index("HHSIZE"))
    protect.strata(bench, form(stratum=[position]))
    assert bench.table("safe")["strata"] == ["HHSIZE"]
    assert bench.role_of("HHSIZE") == "key"
    expected = riskcore.protect(survey, **bench.release.arguments())
    found = shown(bench)["found"]
    assert {key: n for key, n, _ in found["blanked"]} == expected.suppressed
    bench.set_roles({"HHSIZE": "harmless"}, "no stratum")
    assert "strata" not in bench.table("safe")
    protect.subsets(bench, form(subsets="2"))
    assert len(bench.settings().keys) == 6
    protect.subsets(bench, form(subsets=""))
    assert len(bench.settings().keys) == 1


def test_canceled_work_is_said_and_begun_again(bench):
    gate = threading.Event()
    bench.jobs.start("blocker", None, lambda say: gate.wait(60))
    plan = bench.plan()
    bench.jobs.cancel()
    gate.set()
    assert plan.ended.wait(60)
    page = protect.view(bench, form())
    assert (page["plan"].state, page["found"]) == ("canceled", None)
    assert verdict_of(bench)[0] == "open"
    bench.jobs.retry()
    assert shown(bench)["found"]["met"]


def test_random_bits_are_the_same_for_the_same_rules(bench):
    bench.change("secret", suppress={"ties": "secret"})
    shown(bench)
    first = bench.protected()
    for k in (4, 5, 6, 7):
        bench.change("k", safe={"k": k})
        shown(bench)
        assert bench.protected().secret != first.secret
    bench.change("k", safe={"k": 3})
    shown(bench)
    again = bench.protected()
    assert again is not first
    assert again.secret == first.secret
    for name, mask in first.masks.items():
        assert (again.masks[name] == mask).all()


def test_keys_of_whole_households_are_chosen(bench):
    offered = shown(bench)["household_keys"]
    assert [one["name"] for one in offered] == bench.keys
    assert not any(one["on"] for one in offered)
    at = str(offered[0]["position"])
    protect.household_keys(bench, Form({"key": (at,)}))
    assert bench.table("suppress")["household_keys"] == [bench.keys[0]]
    assert [one["on"] for one in shown(bench)["household_keys"]][:2] == [True, False]
    protect.household_keys(bench, Form())
    assert "household_keys" not in bench.table("suppress")


@pytest.fixture
def argus(tmp_path, opened):
    """Return a workbench of a file of mu-Argus, whose metadata have costs of keys."""
    (tmp_path / "s.asc").write_text("111\n121\n211\n221\n112\n" * 3)
    (tmp_path / "s.rda").write_text(
        "A 1 1\n<RECODABLE>\n<SUPPRESSWEIGHT> 30\n"
        "B 2 1\n<RECODABLE>\n<SUPPRESSWEIGHT> 70\n"
        "C 3 1\n<RECODABLE>\n<HOUSEHOLD>\n"
    )  # fmt: skip
    roles = {"A": "key", "B": "key", "C": "sensitive"}
    return opened(tmp_path / "s.asc", roles=roles)


def way_of_costs(bench):
    return next(one for one in protect.view(bench, form())["ways"]
                if one["name"] == "cost")["value"]  # fmt: skip


def test_costs_of_metadata_are_shown_and_changed(argus):
    assert way_of_costs(argus) == "own"
    protect.costs(argus, form(cost_0="5", was_cost_0="30"))
    assert argus.settings().cost == {"A": 5.0, "B": 70.0}
    argus.history.undo()
    protect.ways(argus, form(cost="fewest", was_cost="own"))
    assert (way_of_costs(argus), argus.settings().cost) == ("fewest", "fewest")
    argus.history.undo()
    fields = {"cost_0": "", "was_cost_0": "30", "cost_1": "", "was_cost_1": "70"}
    protect.costs(argus, form(**fields))
    assert argus.settings().cost == "fewest"


def test_an_old_page_takes_nothing_back(bench):
    protect.ways(bench, form(cost="equal", was_cost="fewest", suppression="exact"))
    old = {"cost": "fewest", "was_cost": "fewest", "was_suppression": "exact"}
    protect.ways(bench, form(suppression="argus", **old))
    assert bench.table("suppress") == {"cost": "equal", "suppression": "argus"}
    place = {name: str(bench.names.index(name)) for name in bench.names}
    protect.strata(bench, form(stratum=[place["HHSIZE"]], was=""))
    protect.strata(bench, form(stratum=[place["EDUCATION"]], was=""))
    assert bench.table("safe")["strata"] == ["HHSIZE", "EDUCATION"]
    protect.strata(bench, form(was=place["HHSIZE"]))
    assert bench.table("safe")["strata"] == ["EDUCATION"]
    for key in ("SEX", "AGE"):
        protect.household_keys(bench, form(key=[place[key]], was=""))
    assert bench.table("suppress")["household_keys"] == ["SEX", "AGE"]
