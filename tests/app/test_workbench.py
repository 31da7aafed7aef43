"""The workbench: rules, roles, and figures that are those of the package."""

import threading

import pytest

import riskcore
from riskcore.app.session import RefusedError
from riskcore.app.verdict import verdict_of
from riskcore.data.files.reading import Reading
from tests.app.workbenches import KEYS, OTHERS, ROLES
from tests.needs import posix


@pytest.fixture
def bench(opened):
    return opened()


@pytest.fixture
def chosen(opened):
    return opened(roles=ROLES)


def arguments(bench):
    return bench.release.arguments()


def test_every_column_has_a_role_before_a_verdict(bench):
    assert verdict_of(bench)[1].startswith("No verdict yet: no column is a key")
    bench.set_roles(dict.fromkeys(KEYS, "key"), "keys")
    assert "7 columns without a role" in verdict_of(bench)[1]
    bench.set_roles(OTHERS, "others")
    assert bench.undecided == []
    assert "role" not in verdict_of(bench)[1]
    assert verdict_of(bench)[0] == "open"


def test_columns_that_rules_leave_out_need_no_role(survey, opened):
    rules = riskcore.Release.of(
        survey,
        KEYS,
        weight="WEIGHT",
        k=2,
        roles={"INCOME": "sensitive"},
        output={"file": "safe.csv", "drop": [*OTHERS][:5]},
    )
    path = survey.with_name("release.toml")
    path.write_text(rules.to_toml())
    bench = opened(path)
    assert bench.undecided == []
    assert "role" not in verdict_of(bench)[1]


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
    stages = prepared.original, prepared.recoded, chosen.tried().unsafe
    for one, original, recoded, unsafe in zip(expected.sets, *stages, strict=True):
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


def test_what_is_made_does_not_wait_for_who_changes_the_rules(chosen):
    # Who changes them may wait for it: neither would go on.
    made = threading.Thread(target=chosen.prepared, daemon=True)
    with chosen.lock:
        made.start()
        made.join(60)
        assert not made.is_alive()


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


def test_a_plan_does_not_wait_for_work_on_older_rules(chosen):
    begun = threading.Event()

    def trials(say):
        begun.set()
        while True:
            say("one more")

    trial = chosen.jobs.start("trial record", "older", trials)
    assert begun.wait(60)
    assert chosen.plan().ended.wait(60)
    assert (trial.state, chosen.plan().state) == ("canceled", "done")
    assert chosen.jobs.of("trial record") is None


def test_the_session_goes_on(survey, chosen, opened):
    chosen.change("k", safe={"k": 5})
    rules, versions = chosen.tables, len(chosen.history.versions)
    chosen.close()
    again = opened()
    assert again.tables == rules
    assert len(again.history.versions) == versions
    again.close()
    anew = opened(survey, new=True)
    assert anew.table("safe") == {"k": 3}
    assert anew.keys == []
    anew.history.undo()
    assert anew.tables == rules


def test_a_file_of_rules_is_opened(survey, tmp_path, opened):
    rules = riskcore.Release.of(survey.name, KEYS, "WEIGHT", threshold=0.02)
    path = rules.write(survey.parent / "release.toml").path
    bench = opened(path)
    assert bench.keys == KEYS
    bench.close()
    path.write_text(path.read_text().replace("0.02", "0.01  # stricter"))
    bench = opened(path)
    assert bench.table("safe")["threshold"] == 0.01
    bench.change("k", safe={"k": 4})
    assert "# stricter" in bench.release.to_toml()
    assert bench.history.can_undo


def test_rules_changed_back_with_an_editor_are_the_newest(survey, opened):
    first = 'format = 1\n[data]\nfile = "survey.csv"\n[safe]\nk = 3\n'
    rules = survey.with_name("release.toml")
    for k in (3, 4, 3, 3):
        rules.write_text(first.replace("3", str(k)))
        bench = opened(rules)
        assert bench.table("safe") == {"k": k}
        bench.close()
    bench = opened(rules)
    bench.change("k", safe={"k": 7})
    bench.close()
    bench = opened(rules)  # nobody has changed the file
    assert bench.table("safe") == {"k": 7}
    assert len(bench.history.versions) == 4


def test_candidates_for_trials_stay_in_the_rules(survey, tmp_path, opened):
    rules = tmp_path / "release.toml"
    tried = "[try.raw.recodings]\nAGE = false  # the office asks for it\n"
    rules.write_text(
        f"format = 1\ndata.file = {str(survey)!r}\ncolumns.keys = ['AGE', 'SEX']\n"
        f"safe.k = 3\nrecodings.AGE = 'top:60'\n{tried}"
    )
    bench = opened(rules)
    bench.change("other goal", safe={"k": 2})
    bench.change("no recoding", recodings={"AGE": None})
    assert tried in bench.release.to_toml()
    assert bench.tables["safe"]["k"] == 2


def test_what_is_not_a_survey_file_is_refused(tmp_path, opened):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        opened(tmp_path / "nobody.csv")
    (tmp_path / "x.toml").write_text("format = 1\n[safe]\nk = 'three'\n")
    with pytest.raises(ValueError, match=r"x\.toml:3:1"):
        opened(tmp_path / "x.toml")
    assert not (tmp_path / "settings" / "sessions").exists()


def planned(bench):
    """Return the verdict after the suppression and the examination."""
    assert bench.plan().ended.wait(60)
    assert bench.leaks().ended.wait(60)
    return verdict_of(bench)


def test_rules_of_another_file_get_no_verdict(survey, opened):
    lines = survey.read_text().splitlines(keepends=True)
    survey.with_name("other.csv").write_text("".join([lines[0], *lines[1:30] * 9]))
    rules = survey.with_name("release.toml")
    others = [name for name in lines[0].strip().split(",") if name != "SEX"]
    text = 'format = 1\n[data]\nfile = "{}"\n[columns]\nkeys = ["SEX"]\n'
    text += "[safe]\nk = 3\n[roles]\n"
    text += "".join(f'{name} = "harmless"\n' for name in others)
    for name in ("survey.csv", "other.csv"):
        rules.write_text(text.format(name))
        bench = opened(rules)
        bench.close()
    bench = opened(rules)
    assert bench.source.path.name == "other.csv"
    assert planned(bench)[0] == "safe"
    bench.history.show(0)
    assert bench.release.file("data") == survey
    with pytest.raises(RefusedError, match="in another way"):
        bench.plan()
    with pytest.raises(RefusedError, match="in another way"):
        bench.set_roles({"AGE": "key"}, "key")
    state, words = verdict_of(bench)
    assert (state, "in another way" in words) == ("open", True)


def test_rules_that_name_the_first_file_again_show_it(survey, opened):
    survey.with_name("other.csv").write_text(survey.read_text())
    rules = survey.with_name("release.toml")
    for name in ("survey.csv", "other.csv", "survey.csv"):
        rules.write_text(f'format = 1\n[data]\nfile = "{name}"\n')
        bench = opened(rules)
        assert bench.source.path.name == name
        bench.close()


def test_a_session_goes_on_with_another_way_of_reading(survey, opened):
    bench = opened()
    bench.set_roles({"SEX": "key"}, "key")
    bench.close()
    reading = Reading(missing_codes={"SEX": ["1"]})
    bench = opened(survey, reading)
    assert bench.keys == ["SEX"]
    assert bench.coded_column("SEX").missing > 0
    assert bench.history.can_undo
    bench.close()
    bench = opened()
    assert bench.coded_column("SEX").missing > 0


@pytest.mark.parametrize("name", ["*", "(order)"])
def test_a_column_named_like_all_leaks_accepts_no_others(survey, name, opened):
    survey.write_text(survey.read_text().replace("PERSON", name, 1))
    bench = opened()
    bench.set_roles({"SEX": "key"}, "key")
    with pytest.raises(RefusedError, match="rename the column"):
        bench.change("accept", accept={name: "a reason"})
    assert bench.table("accept") == {}


@posix
@pytest.mark.parametrize("rule", ["{}", "hierarchy:{}:1"])
def test_rules_in_a_pipe_are_not_waited_for(chosen, survey, rule):
    import os

    pipe = survey.with_name("pipe")
    os.mkfifo(pipe)
    with pytest.raises(RefusedError, match="name a file"):
        chosen.tried(recodings={"REGION": rule.format(pipe)})
    with pytest.raises(RefusedError, match="name a file"):
        chosen.change("totals", treat={"WEIGHT": f"rake:{pipe}"})


def test_a_recode_file_that_changes_takes_the_verdict_away(chosen, survey):
    codes = sorted(map(str, chosen.coded_column("SEX").labels))
    file = survey.with_name("sex.grc")
    file.write_text("".join(f"{one}: {one}\n" for one in codes))
    chosen.change("file", recodings={"SEX": "sex.grc"}, accept={"*": "a test"})
    assert planned(chosen)[0] == "safe"
    assert len(chosen.prepared().recoded[0].cells.categories[1]) == 2
    file.write_text(f"1: {', '.join(codes)}\n")
    assert verdict_of(chosen)[0] == "open"
    assert planned(chosen)[0] == "safe"
    assert len(chosen.prepared().recoded[0].cells.categories[1]) == 1


def test_the_verdict_is_that_of_one_version(chosen):
    chosen.change("accept", accept={"*": "a test"})
    assert planned(chosen)[0] == "safe"
    safe = chosen.history.current
    chosen.set_roles({"INCOME": None}, "taken")
    assert planned(chosen)[0] == "open"
    assert "INCOME" in verdict_of(chosen)[1]
    assert planned(chosen)[0] == "open"
    assert "INCOME" not in verdict_of(chosen, safe)[1]
    chosen.history.show(safe.number)
    assert planned(chosen)[0] == "safe"


def test_columns_are_looked_at_again_after_a_cancel(bench):
    job = bench.jobs.start("describe", None, lambda say: say("") or 1)
    assert job.ended.wait(60)
    job.state = "canceled"
    assert bench.description() is not None or bench.jobs.of("describe") is not job


def test_rules_of_an_office_stay_those_of_the_office(survey, opened):
    path = survey.parent / "release.toml"
    path.write_text(
        "format = 1\npreset = 'netherlands-research'\ndata.file = 'survey.csv'\n"
        "columns.weight = 'WEIGHT'\n[classes]\nidentifier = ['HOUSEHOLD', 'PERSON']\n"
        "region = ['REGION']\nvisible = ['SEX']\nidentifying = ['AGE', 'MARSTAT']\n"
    )
    bench = opened(path)
    sets = [["REGION", "SEX", "AGE"], ["REGION", "SEX", "MARSTAT"], ["REGION"]]
    assert bench.release.key_sets == sets
    bench.change("recode", recodings={"AGE": "from:30,60"})
    assert bench.tables["safe"] == {"min_population": [100, 100, 10_000]}
    assert "min_population" not in bench.history.current.text
    with pytest.raises(RefusedError, match="50 is less than 100, which the preset"):
        bench.change("less", safe={"min_population": 50})
    bench.change("more", safe={"k": 3}, columns={"keys": [["AGE", "SEX"]]})
    assert bench.release.key_sets == [["AGE", "SEX"], *sets]
    assert bench.tables["safe"]["k"] == [3] * 4
