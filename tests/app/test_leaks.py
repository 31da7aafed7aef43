"""Leaks: those of the package, their mends, and the verdict on them."""

import threading
from typing import get_args

import pytest

import riskcore
from riskcore.app.forms import Form
from riskcore.app.pages import leaks
from riskcore.app.session import RefusedError
from riskcore.app.texts import said
from riskcore.app.verdict import verdict_of
from riskcore.disclosure.leaks import Kind, Leak, Shown
from tests.app import workbenches

ROLES = workbenches.ROLES | {"INCOME": "numeric"}


@pytest.fixture
def bench(opened):
    return opened(
        roles=ROLES,
        safe={"population": "weights", "k": 3},
        recodings={"AGE": "from:15,30,45,65"},
    )


def form(*columns, **fields):
    pairs = [("column", one) for one in columns] + [*fields.items()]
    return Form.of([(name, str(value)) for name, value in pairs], Form().numbers)


def at(bench, name):
    return bench.names.index(name)


def shown(bench):
    return workbenches.waited(leaks.view, bench)


def expected(bench, survey):
    return riskcore.protect(survey, **bench.release.arguments())


def texts(items):
    return sorted(one["text"] for one in items)


def mends(bench):
    """Return the mends of all open leaks: what, column, key."""
    name = lambda one: one and one[1]  # noqa: E731
    return {
        (each["does"], name(each["column"]), name(each["key"]))
        for one in shown(bench)["open"]
        for each in one["mends"]
    }


def accept_all(bench):
    for _ in range(30):
        page = shown(bench)
        if not page["open"]:
            return page
        columns = [position for position, _ in page["open"][0]["columns"]]
        leaks.accept(bench, form(*columns, reason="a test"))
    raise AssertionError("leaks stay open")


def test_without_keys_the_page_says_what_to_do(opened):
    assert leaks.view(opened(), form()) == {
        "lacking": "no column is a key variable yet"
    }


def test_the_leaks_are_those_of_the_package(bench, survey):
    page, found = shown(bench), expected(bench, survey).examination
    assert [one["text"] for one in page["open"]] == [one.text for one in found.open]
    assert page["accepted"] == []
    assert len(page["open"]) > 3
    bench.set_roles({"EDUCATION": None}, "taken")
    page = shown(bench)
    assert page["not_examined"] == ["EDUCATION"]
    assert verdict_of(bench)[0] == "open"


@pytest.mark.parametrize(
    "accepted",
    [
        {"WEIGHT": "nobody has it"},
        {"INCOME": "old", "HOUSEHOLD": "new ids", "(order)": "in any order"},
        {"*": "a contract"},
        {"*": "a contract", "WEIGHT": "nobody has it"},
    ],
)
def test_reasons_count_as_in_the_package_and_need_no_new_work(bench, survey, accepted):
    shown(bench)
    job = bench.leaks()
    bench.change("accept", accept=accepted)
    assert bench.leaks() is job
    found, wanted = bench.examination(), expected(bench, survey).examination
    assert found.leaks == wanted.leaks
    assert found.not_examined == wanted.not_examined
    page = leaks.view(bench, form())
    assert len(page["open"]) == len(found.open)
    assert len(page["accepted"]) == len(found.leaks) - len(found.open) > 0


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_kind_of_leak_has_a_name_and_mends(kind):
    assert said("leaks", f"kind_{kind}")
    names = {"column": "AGE", "key": "SEX"}
    assert all(said("leaks", f"does_{one}", **names) for one in leaks.MENDS[kind])


def test_nobody_is_left_over_after_more_blanks(bench):
    roles = dict.fromkeys(("WEIGHT", "HOUSEHOLD"), "identifier")
    bench.set_roles(roles | {"MARSTAT": "harmless"}, "the whole population")
    (item,) = (one for one in shown(bench)["open"] if one["kind"] == "elimination")
    assert [one["does"] for one in item["mends"]] == ["against_insiders"]
    blanks = sum(bench.protected().suppressed.values())
    leaks.PAGE.actions["against_insiders"](bench, form())
    assert "elimination" not in {one["kind"] for one in shown(bench)["open"]}
    assert sum(bench.protected().suppressed.values()) > blanks


def test_people_who_share_a_sensitive_value_can_be_made_to_differ(bench):
    bench.set_roles({"MARSTAT": "sensitive"}, "not known")
    (item,) = (one for one in shown(bench)["open"] if one["kind"] == "attributes")
    assert [one["does"] for one in item["mends"]] == ["diverse", "drop"]
    leaks.PAGE.actions["diverse"](bench, form())
    assert bench.settings().l == 2
    left = [one for one in shown(bench)["open"] if one["kind"] == "attributes"]
    assert all("diverse" not in [x["does"] for x in one["mends"]] for one in left)


def test_a_leak_of_several_columns_needs_all_reasons_or_one():
    class Reasons:
        def __init__(self, **given):
            self.accepted = given.get

    both = Leak(("a", "b"), "numbers", "", "", of_all=True)
    one = Leak(("a", "b"), "reveals", "", "")
    for given, of_both, of_one in (
        ({}, None, None),
        ({"a": "x"}, None, "x"),
        ({"b": "y"}, None, "y"),
        ({"a": "x", "b": "y"}, "x; y", "x"),
        ({"a": "x", "b": "x"}, "x", "x"),
    ):
        assert both.under(Reasons(**given).accepted).accepted == of_both
        assert one.under(Reasons(**given).accepted).accepted == of_one


def test_a_reason_is_required(bench):
    before = bench.history.current
    for reason in ("", "   "):
        with pytest.raises(RefusedError, match="reason"):
            leaks.accept(bench, form(at(bench, "WEIGHT"), reason=reason))
    assert bench.history.current is before


def test_acceptance_is_taken_back(bench):
    page = shown(bench)
    leaks.accept(bench, form("order", reason="it is random"))
    leaks.accept(bench, form(at(bench, "WEIGHT"), at(bench, "INCOME"), reason="known"))
    assert bench.table("accept") == {
        "(order)": "it is random", "WEIGHT": "known", "INCOME": "known"
    }  # fmt: skip
    assert len(shown(bench)["open"]) < len(page["open"])
    for column in ("order", at(bench, "WEIGHT"), at(bench, "INCOME")):
        leaks.take_back(bench, form(column))
    assert bench.table("accept") == {}
    assert texts(shown(bench)["open"]) == texts(page["open"])
    bench.change("all", accept={"*": "a contract"})
    leaks.take_back(bench, form(at(bench, "WEIGHT")))
    assert bench.table("accept") == {}


def test_columns_are_left_out_and_written_again(bench, survey):
    assert ("drop", "INCOME", None) in mends(bench)
    leaks.drop(bench, form(at(bench, "INCOME")))
    page = shown(bench)
    assert page["dropped"] == [(at(bench, "INCOME"), "INCOME")]
    assert not any("INCOME" in one["text"] for one in page["open"])
    leaks.keep(bench, form(at(bench, "INCOME")))
    assert "drop" not in bench.table("output")
    leaks.identifier(bench, form(at(bench, "INCOME")))
    page = shown(bench)
    assert page["dropped"] == [(at(bench, "INCOME"), "INCOME")]
    assert page["identifiers"] == ("INCOME",)


def test_new_ids(bench):
    bench.set_roles({"PERSON": None}, "taken")
    household = (at(bench, "HOUSEHOLD"), "HOUSEHOLD")
    person = (at(bench, "PERSON"), "PERSON")
    assert shown(bench)["renumbered"] == [household]
    leaks.renumber(bench, form(person[0]))
    assert bench.table("output")["renumber"] == ["HOUSEHOLD", "PERSON"]
    leaks.old_ids(bench, form(household[0]))
    assert bench.table("output")["renumber"] == ["PERSON"]
    assert ("renumber", "HOUSEHOLD", None) in mends(bench)
    leaks.drop(bench, form(person[0]))
    page = shown(bench)
    assert page["renumbered"] == []
    assert page["done"]


def test_keys_are_blanked_together(bench):
    bench.set_roles({"HHSIZE": None, "MARSTAT": "harmless"}, "changed")
    leaks.related(bench, form(at(bench, "HHSIZE"), key=at(bench, "SEX")))
    leaks.related(bench, form(at(bench, "EDUCATION"), key=at(bench, "SEX")))
    assert bench.table("suppress")["related"] == {"SEX": ["HHSIZE", "EDUCATION"]}
    leaks.household_key(bench, form(key=at(bench, "REGION")))
    assert bench.table("suppress")["household_keys"] == ["REGION"]
    assert shown(bench)["done"]


def test_switches(bench):
    shown(bench)
    leaks.switch(bench, form(name="shuffle", on=1))
    assert bench.table("output") == {"shuffle": True}
    assert not any(one[0] == "shuffle" for one in mends(bench))
    leaks.switch(bench, form(name="shuffle"))
    assert bench.table("output") == {}
    with pytest.raises(RefusedError):
        leaks.switch(bench, form(name="allow_unsafe", on=1))


def test_every_mend_that_is_offered_can_be_done(bench):
    bench.set_roles({"PERSON": None, "HHSIZE": None}, "taken")
    leaks.old_ids(bench, form(at(bench, "HOUSEHOLD")))
    done = set()
    links = {"treat", "recode", "recode_key"}
    before = bench.history.current.number
    for does, column, key in sorted(mends(bench), key=str):
        if does in links:
            continue
        fields = {} if key is None else {"key": at(bench, key)}
        columns = [] if column is None else [at(bench, column)]
        if does == "shuffle":
            leaks.switch(bench, form(name="shuffle", on=1))
        else:
            leaks.PAGE.actions[does](bench, form(*columns, **fields))
        assert bench.history.current.number != before, does
        assert shown(bench)["done"], (does, column, key)
        bench.history.show(before)
        done.add(does)
    assert {"drop", "renumber", "household_key", "shuffle"} <= done


def test_a_column_that_tells_a_key_may_be_blanked_with_it(bench):
    for name, key, fits in (
        ("EDUCATION", "SEX", True),
        ("EDUCATION", "INCOME", False),
        ("MARSTAT", "SEX", False),
        ("HOUSEHOLD", "SEX", False),
        ("WEIGHT", "SEX", False),
    ):
        told = Shown(key, name, "equal", 3, 4)
        leak = Leak((name,), "reveals", "", "", shown=told)
        offered = [*leaks.mends_of(bench, bench.settings(), leak)]
        assert fits == any(one["does"] == "related" for one in offered)


# --- the verdict ---


def test_safe_is_said_when_the_package_says_it(bench, survey):
    shown(bench)
    assert verdict_of(bench)[0] == "unsafe"
    assert not expected(bench, survey).safe
    accept_all(bench)
    state, words = verdict_of(bench)
    assert state == "safe"
    assert words.startswith("Safe except for ")
    assert expected(bench, survey).safe


@pytest.mark.parametrize(
    "change",
    [
        {"safe": {"k": 4}},
        {"recodings": {"AGE": None}},
        {"treat": {"INCOME": "round:1000"}},
        {"suppress": {"cost": "entropy"}},
        {"output": {"shuffle": True}},
        {"output": {"renumber": []}},
        {"output": {"drop": ["INCOME"]}},
        {"roles": {"EDUCATION": "identifier"}},
        {"accept": {"WEIGHT": None}},
        {"roles": {"EDUCATION": None}},
        {"columns": {"keys": ["REGION", "SEX"]}},
        {"columns": {"weight": None}},
        {"columns": {"keys": None}},
    ],
)
def test_other_rules_are_not_safe_by_the_verdict_on_these(bench, change):
    accept_all(bench)
    assert verdict_of(bench)[0] == "safe"
    bench.change("other", **change)
    assert verdict_of(bench)[0] != "safe"
    bench.history.undo()
    assert verdict_of(bench)[0] == "safe"


def test_a_report_changes_no_verdict(bench):
    accept_all(bench)
    job = bench.leaks()
    bench.change("report", output={"report": "r.html"}, check={"max_risk": 0.5})
    assert verdict_of(bench)[0] == "safe"
    assert bench.leaks() is job


def test_records_that_remain_unsafe_are_not_safe(bench, survey):
    keys = ["REGION", "SEX", "AGE", "MARSTAT"]
    bench.change("never", suppress={"cost": dict.fromkeys(keys, "never")},
                 accept={"*": "a test"})  # fmt: skip
    shown(bench)
    assert verdict_of(bench) == ("unsafe", "NOT SAFE: the goals are not met.")
    assert not expected(bench, survey).goals_met


def test_rules_that_change_while_the_file_is_examined(bench):
    """The job examines the rules it was begun for, whatever is shown meanwhile."""
    accept_all(bench)
    open_before = len(bench.examination().leaks)
    bench.change("drop", output={"drop": ["INCOME"]})
    gate = threading.Event()
    bench.jobs.start("blocker", None, lambda say: gate.wait(60))
    job = bench.leaks()
    bench.history.undo()
    gate.set()
    assert job.ended.wait(120)
    bench.history.redo()
    assert bench.leaks() is job
    assert len(bench.examination().leaks) < open_before
    assert verdict_of(bench)[0] == "safe"


def test_canceled_work_gives_no_verdict(bench):
    accept_all(bench)
    bench.change("k", safe={"k": 4})
    gate = threading.Event()
    bench.jobs.start("blocker", None, lambda say: gate.wait(60))
    plan, job = bench.plan(), bench.leaks()
    bench.jobs.cancel()
    gate.set()
    assert plan.ended.wait(60)
    assert job.ended.wait(60)
    page = leaks.view(bench, form())
    assert (page["job"].state, page["done"]) == ("canceled", False)
    assert verdict_of(bench)[0] == "open"
    bench.jobs.retry()
    assert shown(bench)["done"]
    assert verdict_of(bench)[0] == "safe"


def test_what_the_model_says_is_said(survey, opened):
    bench = opened(
        roles={**ROLES, "HHSIZE": "key", "EDUCATION": "key"},
        safe={"k": None, "threshold": 0.05, "population": "weights"},
        accept={"*": "a test"},
    )
    shown(bench)
    state, words = verdict_of(bench)
    verdict = expected(bench, survey).verdict
    assert "But " in verdict
    assert state == "safe"
    assert words.partition("But ")[2] == verdict.partition("But ")[2]
