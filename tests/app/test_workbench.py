"""The workbench: rules, roles, and figures that are those of the package."""

import threading

import pytest

import riskcore
from riskcore.app.start import open_workbench
from riskcore.app.workbench import RefusedError

KEYS = ["REGION", "SEX", "AGE", "MARSTAT"]
OTHERS = {
    "HOUSEHOLD": "household", "PERSON": "harmless", "HHSIZE": "harmless",
    "EDUCATION": "sensitive", "CITIZENSHIP": "harmless", "INCOME": "sensitive",
    "WEIGHT": "weight",
}  # fmt: skip


@pytest.fixture
def bench(survey):
    found = open_workbench(survey)
    yield found
    found.close()


@pytest.fixture
def chosen(bench):
    roles = dict.fromkeys(KEYS, "key") | OTHERS
    bench.set_roles(roles, "roles")
    return bench


def arguments(bench):
    return bench.release.arguments()


def test_every_column_has_a_role_before_a_verdict(bench):
    assert bench.verdict()[1].startswith("No verdict yet: no column is a key")
    bench.set_roles(dict.fromkeys(KEYS, "key"), "keys")
    assert "7 columns without a role" in bench.verdict()[1]
    bench.set_roles(OTHERS, "others")
    assert bench.undecided == []
    assert "role" not in bench.verdict()[1]
    assert bench.verdict()[0] == "open"


def test_roles_are_the_rules(chosen):
    assert chosen.keys == KEYS
    assert chosen.tables["columns"] == {
        "keys": KEYS, "weight": "WEIGHT", "household": "HOUSEHOLD",
    }  # fmt: skip
    assert chosen.role_of("INCOME") == "sensitive"
    chosen.set_roles({"AGE": None, "WEIGHT": None, "SEX": "weight"}, "changed")
    assert chosen.keys == ["REGION", "MARSTAT"]
    assert chosen.role_of("SEX") == "weight"
    assert chosen.undecided == ["AGE", "WEIGHT"]


def test_a_new_weight_takes_the_place_of_the_old_one(chosen):
    chosen.set_roles({"INCOME": "weight"}, "changed")
    assert chosen.role_of("INCOME") == "weight"
    assert chosen.undecided == ["WEIGHT"]


def test_keys_stand_in_the_order_of_the_file(bench):
    bench.set_roles({"SEX": "key"}, "one")
    bench.set_roles({"REGION": "key", "AGE": "key"}, "two")
    assert bench.keys == ["REGION", "SEX", "AGE"]


def test_a_key_that_goes_takes_its_costs_along(chosen):
    chosen.change("cost", suppress={"cost": {"SEX": 3, "AGE": "never"}})
    chosen.set_roles({"AGE": "harmless"}, "changed")
    assert chosen.table("suppress")["cost"] == {"SEX": 3}
    chosen.set_roles({"SEX": "harmless"}, "changed")
    assert "cost" not in chosen.table("suppress")


def test_bad_rules_are_refused_and_change_nothing(chosen):
    before = chosen.history.current
    for table, rule in (
        ("safe", {"k": 1}),
        ("safe", {"k": None}),
        ("recodings", {"AGE": "sideways:3"}),
        ("recodings", {"NOBODY": "top:85"}),
        ("suppress", {"cost": {"INCOME": 3}}),
    ):
        with pytest.raises(RefusedError) as caught:
            chosen.change("bad", **{table: rule})
        assert "release.toml" not in str(caught.value)
        assert chosen.history.current is before


def test_the_same_rules_are_no_new_version(chosen):
    before = chosen.history.current
    chosen.change("same", safe={"k": 3})
    assert chosen.history.current is before


@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"recodings": {"AGE": "from:15,30,45,65"}},
        {"safe": {"k": None, "threshold": 0.02}},
        {"safe": {"missing": "argus", "rate": "0.5%", "k": None}},
        {"safe": {"population": "weights", "k": 4}, "treat": {"AGE": "round:5"}},
        {"columns": {"keys": [["REGION", "SEX"], ["SEX", "AGE", "MARSTAT"]]}},
        {"treat": {"WEIGHT": "share-weights:20"}, "safe": {"threshold": 0.05}},
    ],
)
def test_figures_are_those_of_the_package(chosen, survey, rules):
    chosen.change("rules", **rules)
    expected = riskcore.protect(survey, **arguments(chosen))
    prepared = chosen.prepared()
    for one, original, recoded, unsafe in zip(
        expected.sets, prepared.original, prepared.recoded, chosen.unsafe(), strict=True
    ):
        assert original.max_risk == one.original.max_risk
        assert (
            recoded.expected_reidentifications == one.recoded.expected_reidentifications
        )
        assert unsafe == one.recoded.cells.count_of(one.aim.unsafe(one.recoded))
    assert chosen.plan().ended.wait(60)
    found = chosen.protected()
    assert found.suppressed == expected.suppressed
    assert found.data.equals(expected.data)


def test_households_are_prepared_as_they_are_protected(chosen, survey):
    chosen.change(
        "level", columns={"keys": ["REGION", "HHSIZE"]}, roles={"HHSIZE": None},
        safe={"level": "household", "k": 3},
    )  # fmt: skip
    expected = riskcore.protect(survey, **arguments(chosen))
    assert chosen.plan().ended.wait(60)
    assert chosen.protected().suppressed == expected.suppressed
    (one,) = expected.sets
    assert chosen.prepared().recoded[0].max_risk == one.recoded.max_risk


def test_a_goal_changes_no_risk(chosen):
    before = chosen.prepared()
    chosen.change("goal", safe={"threshold": 0.01, "k": 5})
    chosen.change("cost", suppress={"cost": "entropy"}, accept={"INCOME": "because"})
    assert chosen.prepared() is before
    chosen.change("recode", recodings={"AGE": "round:5"})
    assert chosen.prepared() is not before


def test_a_reason_changes_no_blank(chosen):
    assert chosen.plan().ended.wait(60)
    before = chosen.protected()
    chosen.change("accept", accept={"INCOME": "the register is not public"})
    after = chosen.protected()
    assert after.masks is before.masks
    assert after.settings.accept == {"INCOME": "the register is not public"}
    assert set(after.numbers) == set(before.numbers)


def test_numbers_known_follow_the_roles(chosen, survey):
    assert chosen.plan().ended.wait(60)
    chosen.set_roles({"INCOME": "numeric"}, "known")
    expected = riskcore.protect(survey, **arguments(chosen))
    found = chosen.protected()
    assert found.numbers.keys() == expected.numbers.keys()
    for name, numbers in expected.numbers.items():
        assert (found.numbers[name] == numbers).all()


def test_the_leaks_are_those_of_the_package(chosen, survey):
    assert chosen.leaks().ended.wait(120)
    expected = riskcore.protect(survey, **arguments(chosen)).examination
    found = chosen.leaks().result
    assert [one.text for one in found.leaks] == [one.text for one in expected.leaks]
    assert found.not_examined == expected.not_examined


def test_a_newer_plan_cancels_the_older(chosen):
    gate = threading.Event()
    blocker = chosen.jobs.start("blocker", None, lambda say: gate.wait(60))
    first = chosen.plan()
    chosen.change("k", safe={"k": 5})
    second = chosen.plan()
    gate.set()
    for job in (blocker, first, second):
        assert job.ended.wait(60)
    assert (first.state, second.state) == ("canceled", "done")


def test_the_session_goes_on(survey, chosen):
    chosen.change("k", safe={"k": 5})
    rules, versions = chosen.tables, len(chosen.history.versions)
    chosen.close()
    again = open_workbench(survey)
    assert again.tables == rules
    assert len(again.history.versions) == versions
    again.close()
    anew = open_workbench(survey, new=True)
    assert anew.table("safe") == {"k": 3}
    assert anew.keys == []
    anew.history.undo()
    assert anew.tables == rules
    anew.close()


def test_a_file_of_rules_is_opened(survey, tmp_path):
    rules = riskcore.Release.of(survey.name, KEYS, "WEIGHT", threshold=0.02)
    path = rules.write(survey.parent / "release.toml").path
    bench = open_workbench(path)
    assert bench.keys == KEYS
    bench.close()
    path.write_text(path.read_text().replace("0.02", "0.01  # stricter"))
    bench = open_workbench(path)
    assert bench.table("safe")["threshold"] == 0.01
    bench.change("k", safe={"k": 4})
    assert "# stricter" in bench.release.to_toml()
    assert bench.history.can_undo
    bench.close()


def test_what_is_not_a_survey_file_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        open_workbench(tmp_path / "nobody.csv")
    (tmp_path / "x.toml").write_text("format = 1\n[safe]\nk = 'three'\n")
    with pytest.raises(ValueError, match=r"x\.toml:3:1"):
        open_workbench(tmp_path / "x.toml")
    assert not (tmp_path / "settings" / "sessions").exists()
