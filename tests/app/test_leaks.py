"""Leaks: those of the package, their mends, and the verdict on them."""

import threading
from typing import get_args

import pytest

import riskcore
from riskcore.app.forms import Form
from riskcore.app.pages import leaks, mends
from riskcore.app.session import RefusedError
from riskcore.app.texts import said
from riskcore.app.verdict import verdict_of
from riskcore.disclosure.leaks import Kind, Leak
from tests.app import workbenches
from tests.app.client import Client

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
    return sorted(one["leak"].text for one in items)


def accept_all(bench):
    for _ in range(30):
        page = shown(bench)
        if not page["open_leaks"]:
            return page
        columns = [position for position, _ in page["open_leaks"][0]["columns"]]
        leaks.accept(bench, form(*columns, reason="a test"))
    raise AssertionError("leaks stay open")


def test_without_keys_the_page_says_what_to_do(opened):
    assert leaks.view(opened(), form()) == {
        "lacking": "no column is a key variable yet"
    }


def test_the_leaks_are_those_of_the_package(bench, survey):
    page, found = shown(bench), expected(bench, survey).examination
    assert [one["leak"].text for one in page["open_leaks"]] == [
        one.text for one in found.open
    ]
    assert page["accepted"] == []
    assert len(page["open_leaks"]) > 3
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
    assert len(page["open_leaks"]) == len(found.open)
    assert len(page["accepted"]) == len(found.leaks) - len(found.open) > 0


def test_a_leak_of_several_columns_needs_all_reasons_or_one():
    class Reasons:
        def __init__(self, **given):
            self.accepted = given.get

    both = Leak(("a", "b"), "numbers", "", (), of_all=True)
    one = Leak(("a", "b"), "reveals", "", ())
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
    assert len(shown(bench)["open_leaks"]) < len(page["open_leaks"])
    for column in ("order", at(bench, "WEIGHT"), at(bench, "INCOME")):
        leaks.take_back(bench, form(column))
    assert bench.table("accept") == {}
    assert texts(shown(bench)["open_leaks"]) == texts(page["open_leaks"])
    bench.change("all", accept={"*": "a contract"})
    leaks.take_back(bench, form(at(bench, "WEIGHT")))
    assert bench.table("accept") == {}


def mending(bench, at):
    """Return the ways to mend an open leak after all of them were tried."""
    page = leaks.view(bench, form(leak=at))
    while page["mending"]["waits"]:
        for job in bench.jobs.active:
            assert job.ended.wait(120)
        page = leaks.view(bench, form(leak=at))
    assert page["chosen"] == at
    return page["mending"]


def place_of(bench, kind, column=None):
    """Return the place of an open leak of a kind."""
    shown(bench)
    return next(
        at
        for at, one in enumerate(bench.examination().open)
        if one.kind == kind and column in (None, *one.of)
    )


def apply(bench, at, row):
    was = row["mend"].remedy.options
    return leaks.PAGE.actions["mend"](bench, form(leak=at, mend=row["at"], was=was))


def row_of(found, setting):
    return next(x for x in found["rows"] if setting in x["mend"].remedy.settings)


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_kind_of_leak_has_a_name(kind):
    assert said("leaks", f"kind_{kind}")


def test_what_the_preview_says_of_a_mend_is_what_it_does(bench):
    """Each mend of each leak, in a file whose columns have no roles too."""
    bench.set_roles({"PERSON": None, "HHSIZE": None}, "taken")
    bench.change("ids", output={"renumber": []})
    shown(bench)
    before = bench.history.current.number
    kinds = {one.kind for one in bench.examination().open}
    assert {"numbers", "weight", "ids", "reveals"} <= kinds
    applied = set()
    for at in range(len(bench.examination().open)):
        leak = bench.examination().open[at]
        for row in mending(bench, at)["rows"]:
            trial, options = row["trial"], row["mend"].remedy.options
            if trial is None:
                assert row["job"].error
                continue
            apply(bench, at, row)
            assert bench.history.current.number != before
            shown(bench)
            then = bench.examination().open
            same = [x for x in then if x.kind == leak.kind and {*x.of} & {*leak.of}]
            keys = {x.shown and x.shown.key for x in same}
            assert trial.closed == ((leak.shown and leak.shown.key) not in keys), (
                options
            )
            assert trial.open[1] == len(then), options
            assert trial.blanked[1] == sum(bench.protected().suppressed.values())
            applied |= {*row["mend"].remedy.settings}
            bench.history.show(before)
            shown(bench)
    assert {"drop", "renumber", "treat", "household_keys", "shuffle"} <= applied


def test_the_cheapest_mend_that_closes_stands_first(bench):
    at = place_of(bench, "numbers")
    found = mending(bench, at)
    works = [x["trial"].works for x in found["rows"]]
    assert works[0]
    assert works == sorted(works, reverse=True)
    first = found["rows"][0]
    assert first["mend"].changes == {"treat": {"INCOME": "swap:50%"}}
    now, then = first["trial"].found
    assert now > 0.5 > 0.05 > then
    (changed,) = first["trial"].changed
    assert changed.column == "INCOME"
    assert changed.share > 0.5
    assert apply(bench, at, first) == f"Mended. {first['mend'].words}."
    assert (
        "INCOME: exchanged with a record of similar rank"
        in bench.history.current.change
    )
    assert "numbers" not in {one["leak"].kind for one in shown(bench)["open_leaks"]}


def test_treatments_that_stand_there_stay_before_a_mend(bench):
    bench.change("treat", treat={"INCOME": "round:10"})
    at = place_of(bench, "numbers")
    rows = mending(bench, at)["rows"]
    treats = [x["mend"].changes["treat"]["INCOME"] for x in rows if not x["mend"].drops]
    assert len(treats) > 3
    assert all(rules[0] == "round:10" and len(rules) == 2 for rules in treats)


def test_if_only_leaving_out_closes_a_leak_the_page_says_so(bench, monkeypatch):
    monkeypatch.setattr(mends, "_OF_NUMBERS", ("round:FINE",))
    at = place_of(bench, "numbers")
    found = mending(bench, at)
    assert found["none"]
    assert [x["mend"].drops for x in found["rows"] if x["trial"].works] == [True]
    text = Client(bench).get(f"/leaks?leak={at}").text
    assert said("leaks", "no_mend") in text


def test_codes_are_not_treated_as_numbers(bench):
    """A code and 30 % of noise would be no code."""
    leak = Leak(("EDUCATION",), "unique", "", ())
    assert mends.mends_of(bench, leak) == []
    treated = Leak(("INCOME",), "unique", "", ())
    workbenches.waited(leaks.view, bench)
    assert mends.mends_of(bench, treated) != []
    bench.change("k", columns={"keys": ["SEX", "INCOME"]}, roles={"INCOME": None})
    assert mends.mends_of(bench, treated) == []


def test_nobody_is_left_over_after_more_blanks(bench):
    roles = dict.fromkeys(("WEIGHT", "HOUSEHOLD"), "identifier")
    bench.set_roles(roles | {"MARSTAT": "harmless"}, "the whole population")
    at = place_of(bench, "elimination")
    (row,) = mending(bench, at)["rows"]
    assert row["mend"].changes == {"suppress": {"against_insiders": True}}
    now, then = row["trial"].blanked
    assert then > now
    apply(bench, at, row)
    assert "elimination" not in {one["leak"].kind for one in shown(bench)["open_leaks"]}


def test_people_who_share_a_sensitive_value_can_be_made_to_differ(bench):
    bench.set_roles({"MARSTAT": "sensitive"}, "not known")
    at = place_of(bench, "attributes")
    row = row_of(mending(bench, at), "l")
    now, then = row["trial"].found
    assert now > then
    apply(bench, at, row)
    assert bench.settings().l == 2


def test_a_mend_of_a_page_that_is_old_is_refused(bench):
    at = place_of(bench, "numbers")
    rows = mending(bench, at)["rows"]
    before = bench.history.current
    for fields in (
        {"leak": at, "mend": rows[0]["at"], "was": "--drop OTHER"},
        {"leak": at, "mend": 99, "was": rows[0]["mend"].remedy.options},
        {"leak": 99, "mend": 0, "was": rows[0]["mend"].remedy.options},
    ):
        with pytest.raises(RefusedError, match="not there any more"):
            leaks.PAGE.actions["mend"](bench, form(**fields))
    assert bench.history.current is before


def test_a_failed_trial_says_why(bench):
    """Rounded to so much, weights would become 0."""
    rows = mending(bench, place_of(bench, "weight"))["rows"]
    failed = [one["job"].error for one in rows if one["trial"] is None]
    assert len(failed) == 1
    assert "could become 0" in failed[0]


def test_trials_change_no_rules_and_leave_the_verdict(bench):
    shown(bench)
    before, verdict = bench.history.current, verdict_of(bench)
    mending(bench, place_of(bench, "numbers"))
    assert bench.history.current is before
    assert verdict_of(bench) == verdict


def test_columns_are_left_out_and_written_again(bench):
    shown(bench)
    at = place_of(bench, "numbers")
    apply(bench, at, row_of(mending(bench, at), "drop"))
    page = shown(bench)
    assert page["dropped"] == [(bench.names.index("INCOME"), "INCOME")]
    assert not any("INCOME" in one["leak"].text for one in page["open_leaks"])
    income = (bench.names.index("INCOME"), "INCOME")
    assert income not in page["kept"]
    leaks.keep(bench, form(income[0]))
    assert "drop" not in bench.table("output")
    assert income in shown(bench)["kept"]
    leaks.drop(bench, form(income[0]))
    assert shown(bench)["dropped"] == [income]


def test_new_ids(bench):
    household = (bench.names.index("HOUSEHOLD"), "HOUSEHOLD")
    assert shown(bench)["renumbered"] == [household]
    leaks.old_ids(bench, form(household[0]))
    assert bench.table("output")["renumber"] == []
    at = place_of(bench, "ids")
    (row,) = mending(bench, at)["rows"]
    apply(bench, at, row)
    assert bench.table("output")["renumber"] == ["HOUSEHOLD"]
    assert shown(bench)["done"]


def test_switches(bench):
    shown(bench)
    leaks.switch(bench, form(name="shuffle", on=1))
    assert bench.table("output") == {"shuffle": True}
    leaks.switch(bench, form(name="shuffle"))
    assert bench.table("output") == {}
    with pytest.raises(RefusedError):
        leaks.switch(bench, form(name="allow_unsafe", on=1))


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
