"""The best recodings: what is typed, searched, stopped and taken over."""

import re
import threading
import tomllib

import pytest

from riskcore import Release
from riskcore.app.jobs import SEARCH
from riskcore.app.pages import best
from riskcore.app.session import RefusedError
from riskcore.cli import main
from riskcore.common.words import sentence
from tests.app.client import Client
from tests.app.workbenches import ROLES, form, waited

AGE = "from:15,30,45,65\nfrom:30,65\nmap:*=all"
PATIENCE = 60


@pytest.fixture
def bench(opened):
    return opened(roles=ROLES, safe={"population": "weights"})


def at(bench, name):
    return bench.names.index(name)


def fields(bench, age=AGE, **more):
    """Return what the form of the page sends."""
    sent = {"loss": "granularity", "price": "1", "time": ""}
    sent |= {f"importance-{at(bench, name)}": "1" for name in bench.keys}
    return sent | {f"ladder-{at(bench, 'AGE')}": age} | more


def begin(bench, **more):
    return best.start(bench, form(**fields(bench, **more)))


def found(bench, **more):
    """Start the search; return the page when it has ended."""
    begin(bench, **more)
    return waited(best.view, bench)


def test_what_is_lacking_is_said_with_a_link(opened, survey):
    page = Client(opened()).get("/best").text
    assert "no column is a key variable yet" in page
    assert 'href="/columns">Choose the roles of the columns</a>' in page
    rules = survey.with_name("release.toml")
    rules.write_text('format = 1\ndata.file = "survey.csv"\ncolumns.keys = ["SEX"]\n')
    page = Client(opened(rules)).get("/best").text
    assert "nothing to protect against" in page
    assert 'href="/protect">Look at the goals' in page


def test_the_ladders_are_those_of_the_rules_or_of_the_values(bench):
    bench.change("ladder", ladder={"AGE": ["from:30", "map:*=all"], "REGION": "r.csv"})
    text = best.view(bench, form())["text"]
    assert text("AGE") == "from:30\nmap:*=all"
    assert text("REGION") == "r.csv"
    assert text("SEX") == "map:*=all"


def test_the_search_is_that_of_the_rules(bench):
    page = found(bench, price="2", **{f"importance-{at(bench, 'SEX')}": "3"})
    assert bench.tables["ladder"]["AGE"] == AGE.split("\n")
    assert {*bench.tables["ladder"]} == {*bench.keys}
    assert bench.tables["best"] == {
        "loss": "granularity", "price": 2.0, "importance": {"SEX": 3.0},
    }  # fmt: skip
    expected = bench.release.best()
    assert page["found"].certificate == expected.certificate
    assert page["found"].rules == expected.rules
    assert page["found"].blanks == expected.blanks
    assert page["found"].gap == 0.0
    # What the page shows.
    answer = Client(bench).get("/best").text
    assert f"{expected.certificate}."[1:] in answer


@pytest.mark.parametrize("language", ["en", "de"])
def test_numbers_are_shown_with_all_their_digits(bench, language):
    best_rules = {"price": 1.23456, "time": 1234.5, "importance": {"AGE": 1e-9}}
    bench.change("best", best=best_rules)
    client = Client(bench, **{"accept-language": language})
    page = client.get("/best")
    names = ["price", "time", *(f"importance-{at(bench, x)}" for x in bench.keys)]
    sent = {x: page.field(x) for x in names}
    client.post("/best/start", sent | {"loss": "granularity"}, "best")
    assert bench.tables["best"] == {**best_rules, "loss": "granularity"}


def test_the_front_is_drawn_and_listed(bench):
    front = found(bench, loss="entropy")["found"].front
    text = Client(bench).get("/best").text
    assert len(front) > 1
    assert text.count("<circle") == len(front)
    rows = re.findall(r"<tr[^>]*><th scope=\"row\" class=\"number\">(\d+)", text)
    assert rows == [str(n) for n in range(1, len(front) + 1)]


def test_a_search_changes_no_plan(bench):
    plan = bench.plan()
    assert plan.ended.wait(PATIENCE)
    begin(bench)
    assert bench.plan() is plan


def test_what_is_taken_over_makes_the_file_of_the_command(bench, survey, capsys):
    bench.change(
        "rules",
        roles={"*": "harmless:a test"},
        accept={"*": "a test"},
        output={"file": "safe.csv", "drop": ["HOUSEHOLD"]},  # no ids at random
    )
    page = found(bench)
    path = survey.with_name("command.toml")
    bench.release.write(path)
    words = ["best", "--rules", str(path), "--output", str(path.with_name("b.toml"))]
    assert main([*words, "--quiet"]) == 0
    assert main(["run", str(path.with_name("b.toml")), "--quiet"]) == 0
    by_command = survey.with_name("safe.csv").read_bytes()
    before = bench.history.current
    assert best.take(bench, form()) == "The best recodings are in the rules."
    assert bench.tables["recodings"] == page["found"].rules
    assert not bench.table("ladder")
    assert not bench.table("best")
    expected = Release.read(path.with_name("b.toml")).tables
    for name in ("recodings", "suppress", "safe"):
        assert bench.tables[name] == expected[name]
    bench.release.write(survey.with_name("taken.toml"))
    options = ["--quiet", "--overwrite"]
    assert main(["run", str(survey.with_name("taken.toml")), *options]) == 0
    assert survey.with_name("safe.csv").read_bytes() == by_command
    # It can be undone, and what was found is there again.
    bench.history.undo()
    assert bench.history.current is before
    assert best.view(bench, form())["found"] is page["found"]
    capsys.readouterr()


def test_taking_over_keeps_comments_and_other_costs(opened, survey):
    rules = survey.with_name("release.toml")
    rules.write_text(
        'format = 1\n[data]\nfile = "survey.csv"\n[columns]\n'
        'keys = ["SEX", "AGE", "REGION"]  # neighbors\n[safe]\nk = 3\n'
        '[suppress]\ncost = {SEX = "never"}\n'
    )
    bench = opened(rules)
    page = found(bench)
    best.take(bench, form())
    assert "# neighbors" in bench.release.to_toml()
    assert bench.tables["suppress"]["cost"]["SEX"] == "never"
    assert "SEX" not in page["found"].blanks
    assert waited(lambda b, f: b.protected(), bench).suppressed == {
        "SEX": 0, **dict.fromkeys(("AGE", "REGION"), 0), **page["found"].blanks,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"age": "from:30,65\nfrom:15,30"}, "'AGE': from:15,30 separates"),
        ({"age": "map:*=all\nround"}, "'AGE': 'round': not a rule in words"),
        ({"age": "from:x"}, "recodings of 'AGE'"),
        ({"age": "nowhere.csv"}, "'AGE': .*nowhere.csv: No such file"),
        ({"age": "/dev/zero"}, "'AGE': /dev/zero: a pipe"),
        ({"price": "0.5"}, "price"),
        ({"price": "much"}, "Price of a blank: 'much' is not a number"),
        ({"time": "0"}, "time"),
        ({"loss": "much"}, "loss"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(bench, more, message):
    before = bench.history.current
    with pytest.raises(ValueError, match=message):
        begin(bench, **more)
    assert bench.history.current is before
    assert bench.jobs.of(SEARCH) is None


def test_an_importance_is_above_zero(bench):
    with pytest.raises(ValueError, match=r"best.importance.SEX: need a number above 0"):
        begin(bench, **{f"importance-{at(bench, 'SEX')}": "0"})


def test_the_groups_of_a_ladder_are_counted_while_it_is_typed(bench):
    client, place = Client(bench), at(bench, "AGE")
    sent = fields(bench) | {"field": f"ladder-{place}"}
    answer = client.post("/best/rungs", sent, "best")
    assert re.findall("<li>(.*)</li>", answer.text)[1:] == [
        "5 groups", "3 groups", "all in one group",
    ]  # fmt: skip
    answer = client.post("/best/rungs", sent | {f"ladder-{place}": "top:x"}, "best")
    assert answer.status == 422
    assert "data-refused" in answer.text
    assert "AGE" in answer.text
    assert "ladder" not in bench.tables
    assert "19 groups" in client.get(f"/best/rungs?field=ladder-{place}").text


def test_a_hierarchy_is_a_ladder(bench, survey):
    lines = [
        f"{code};{'together' if code < 3 else 'not'};all\n" for code in range(1, 5)
    ]
    survey.with_name("marstat.csv").write_text("".join(lines))
    place = at(bench, "MARSTAT")
    page = found(bench, **{f"ladder-{place}": "marstat.csv"})
    assert bench.tables["ladder"]["MARSTAT"] == "marstat.csv"
    assert len(page["found"].ladders["MARSTAT"].rules) == 2
    shown = best.rungs(bench, form(field=f"ladder-{place}"))
    assert shown["groups"] == [4, 2, 1]


def test_a_recoding_stays_and_has_no_ladder(bench):
    bench.change("rules", recodings={"AGE": "from:40"}, ladder={"AGE": ["from:30"]})
    text = Client(bench).get("/best").text
    assert "This key keeps its recoding. Intervals that begin at 40." in text
    assert f'name="ladder-{at(bench, "AGE")}"' not in text
    page = found(bench)
    assert "AGE" not in bench.tables["ladder"]
    best.take(bench, form())
    assert bench.tables["recodings"]["AGE"] == "from:40"
    assert page["found"].settings.recodings["AGE"]


def test_a_key_that_is_none_any_more_takes_its_ladder_along(bench):
    begin(bench, **{f"importance-{at(bench, 'AGE')}": "2"})
    bench.set_roles({"AGE": "sensitive"}, "role")
    assert "AGE" not in bench.tables["ladder"]
    assert "importance" not in bench.tables["best"]
    assert found(bench)["found"].gap == 0.0


class Gate:
    """A search waits until a test lets it go on: at first, or once it has a node."""

    def __init__(self, monkeypatch, with_node=False):
        self.reached, self.go = threading.Event(), threading.Event()
        self.with_node = with_node
        monkeypatch.setattr("riskcore.protection.best.best.sentence", self.sentence)

    def sentence(self, template, *values):
        has_node = template.startswith("{met}") and values[3] != "-"
        if has_node >= self.with_node and not self.go.is_set():
            self.reached.set()
            assert self.go.wait(PATIENCE)
        return sentence(template, *values)


@pytest.mark.parametrize("with_node", [False, True])
def test_a_search_that_is_stopped_keeps_what_it_has(bench, monkeypatch, with_node):
    gate = Gate(monkeypatch, with_node)
    begin(bench)
    assert gate.reached.wait(PATIENCE)
    client = Client(bench)
    assert "The search is running." in client.get("/best").text
    client.post("/cancel", {}, "best")
    gate.go.set()
    page = waited(best.view, bench)
    text = client.get("/best").text
    if with_node:
        assert page["found"].gap > 0.0
        assert "the least may be up to" in text
        assert "With more time it may find less loss." in text
        assert best.take(bench, form())
    else:
        assert page["job"].state == "canceled"
        assert "was stopped before it had recodings" in text
        with pytest.raises(RefusedError, match="start it again"):
            best.take(bench, form())


def test_a_search_goes_on_beside_other_work(bench, monkeypatch):
    gate = Gate(monkeypatch)
    begin(bench)
    assert gate.reached.wait(PATIENCE)
    plan = bench.plan()
    assert plan.ended.wait(PATIENCE)
    assert plan.state == "done"
    assert bench.jobs.of(SEARCH).active
    bench.change("goal", safe={"k": 4})
    assert "A search by earlier rules is running." in Client(bench).get("/best").text
    gate.go.set()
    waited(best.view, bench)
    assert "The rules have changed since this search" in Client(bench).get("/best").text


@pytest.mark.parametrize(
    ("rules", "more", "message"),
    [
        ({"cost": dict.fromkeys(("REGION", "SEX", "AGE", "MARSTAT"), "never")},
         {"age": "from:40"}, "no recodings meet the goals"),
        ({}, {"time": "1e-9"}, "in time: give more time"),
    ],
)  # fmt: skip
def test_what_was_not_found_is_said_with_what_to_do(bench, rules, more, message):
    bench.change("rules", suppress=rules, safe={"k": 390 if rules else 3})
    page = found(bench, **more, **{f"ladder-{at(bench, 'SEX')}": "map:1=1,2=2"})
    assert page["found"] is None
    text = Client(bench).get("/best").text
    assert message in text
    assert "Let each ladder end with map:*=all" in text


def test_households_are_searched(opened):
    roles = ROLES | {"AGE": "sensitive", "SEX": "sensitive", "MARSTAT": "sensitive"}
    safe = {"population": "weights", "level": "household"}
    bench = opened(roles=roles | {"HHSIZE": "key"}, safe=safe)
    begin(bench, age="")
    page = waited(best.view, bench)
    best.take(bench, form())
    plan = waited(lambda b, f: b.protected(), bench)
    assert plan.goals_met
    assert {x: n for x, n in plan.suppressed.items() if n} == page["found"].blanks


def test_the_page_works_in_each_language(bench):
    found(bench)
    for language, word in (("de", "Suche"), ("fr", "recherche"), ("es", "búsqueda")):
        client = Client(bench, **{"accept-language": language})
        page = client.get("/best").text
        assert f"{word}" in page
        assert "least loss" not in page


def test_from_the_form_to_the_next_page(bench):
    client = Client(bench)
    assert 'href="/best"' in client.get("/protect").text
    answer = client.post("/best/start", fields(bench), "best")
    assert "The search has begun." in answer.text
    assert bench.jobs.of(SEARCH).ended.wait(PATIENCE)
    answer = client.post("/best/take", {"back": "protect"}, "best")
    assert "The best recodings are in the rules." in answer.text
    assert "<h1>Make safe</h1>" in answer.text
    text = tomllib.loads(bench.release.to_toml())
    assert text["recodings"]
