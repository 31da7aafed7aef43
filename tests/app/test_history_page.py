"""The page of all versions: paging, branches, names, two versions compared."""

import pytest

from riskcore.app.forms import FORMATS
from riskcore.app.pages import history as page
from riskcore.app.session import RefusedError
from tests.app.client import Client
from tests.app.workbenches import form


@pytest.fixture
def bench(opened):
    return opened()


def grown(bench, n):
    """Add versions up to a number, without the disk."""
    bench.history.close()
    bench.history._log = None
    for i in range(len(bench.history.versions), n):
        bench.history.add(f"format = 1\n[safe]\nk = {i + 2}\n", f"change {i}")


def numbers(found):
    return [version.number for version, _ in found["rows"]]


def test_the_first_version(bench):
    found = page.view(bench, form())
    assert numbers(found) == [0]
    assert found["rows"][0][1] == "shown"
    assert (found["newer"], found["older"]) == (None, None)
    assert found["chosen"] == [0, 0]
    assert found["one"] is None
    assert found["two"] is None


def test_pages_have_all_versions_once_the_newest_first(bench):
    grown(bench, 123)
    until, all_numbers = "", []
    for _ in range(10):
        found = page.view(bench, form(until=until))
        all_numbers += numbers(found)
        if found["older"] is None:
            break
        until = str(found["older"])
    assert all_numbers == [*reversed(range(123))]
    assert found["newer"] == 72
    assert page.view(bench, form())["older"] == 72
    assert numbers(page.view(bench, form(until="72")))[0] == 72
    assert page.view(bench, form(until="72"))["newer"] == 122


def test_versions_on_other_branches_are_marked(bench):
    grown(bench, 4)
    bench.history.show(1)
    bench.history.add("four", "")
    bench.history.add("five", "")
    bench.history.undo()
    states = {one.number: state for one, state in page.view(bench, form())["rows"]}
    assert states == {
        0: "path", 1: "path", 2: "branch", 3: "branch", 4: "shown", 5: "undone",
    }  # fmt: skip


def test_states_of_a_page_are_those_of_the_whole_history(bench, monkeypatch):
    grown(bench, 30)
    bench.history.show(7)
    grown(bench, 60)
    bench.history.show(40)
    monkeypatch.setattr(page, "ROWS", 100)
    whole = {one.number: state for one, state in page.view(bench, form())["rows"]}
    assert {*whole.values()} == {"shown", "path", "undone", "branch"}
    monkeypatch.setattr(page, "ROWS", 7)
    for until in range(60):
        for one, state in page.view(bench, form(until=str(until)))["rows"]:
            assert state == whole[one.number]


@pytest.mark.parametrize("name", ["until", "version", "a", "b"])
@pytest.mark.parametrize("text", ["-1", "2", "1.0", "x", "1e3", "\uff11", "9" * 5000])
def test_versions_that_there_are_not(bench, name, text):
    grown(bench, 2)
    with pytest.raises(RefusedError, match="no such version"):
        page.view(bench, form(**{"a": "0", "b": "1", name: text}))


def test_the_rules_of_a_version(bench):
    grown(bench, 3)
    found = page.view(bench, form(version="1"))["one"]
    assert found.text == "format = 1\n[safe]\nk = 3\n"
    assert (found.number, found.parent) == (1, 0)


def test_two_versions(bench):
    bench.change("k", safe={"k": 1005, "threshold": 0.25})
    roles = {"AGE": "numeric", "SEX": "harmless"}
    bench.change("roles", roles=roles, output={"shuffle": True, "drop": ["AGE", "SEX"]})
    found = page.view(bench, form("de", a="0", b="2"))["two"]
    assert found["rules"] == [
        ("safe", "k", "3", "1.005"),
        ("safe", "threshold", None, "0,25"),
        ("roles", "AGE", None, "numeric"),
        ("roles", "SEX", None, "harmless"),
        ("output", "shuffle", None, "yes"),
        ("output", "drop", None, "AGE, SEX"),
    ]
    assert found["figures"] == []
    back = page.view(bench, form("de", a="2", b="0"))["two"]
    assert {(*one[:2], one[3], one[2]) for one in back["rules"]} == {*found["rules"]}
    assert page.view(bench, form(a="1", b="1"))["two"]["rules"] == []
    assert page.view(bench, form(a="1"))["two"] is None


def test_rules_in_words():
    text = """
    format = 1
    [columns]
    keys = [["A", "B"], ["C"]]
    [suppress]
    cost = {A = 2, B = 1.5}
    related = {}
    first = []
    [treat]
    "INCOME" = ["noise:0.1", "round:10"]
    """
    found = page.rules_of(text, FORMATS["de"])
    assert found == {
        ("format", ""): "1",
        ("columns", "keys"): "A, B; C",
        ("suppress", "cost A"): "2",
        ("suppress", "cost B"): "1,5",
        ("suppress", "related"): "empty",
        ("suppress", "first"): "empty",
        ("treat", "INCOME"): "noise:0.1, round:10",
    }


def test_rules_that_cannot_be_read_are_said_to_be(bench):
    bench.history.add("not = = toml", "")
    with pytest.raises(RefusedError, match="cannot be read"):
        page.view(bench, form(a="0", b="1"))


def test_figures_of_two_versions(bench):
    grown(bench, 3)
    bench.history.keep_figures(1, {"safe": True, "share_lost": 0.25, "pmse": "<b>"})
    found = page.view(bench, form(a="1", b="2"))["two"]["figures"]
    values = dict(found)
    assert values["safe"] == [True, None]
    assert values["share_lost"] == [0.25, None]
    assert values["pmse"] == [None, None]


def test_the_page_tells_of_a_version_and_its_figures(bench):
    bench.change("four", safe={"k": 4})
    bench.history.keep_figures(1, {"safe": True, "share_lost": 0.25})
    bench.history.name(1, "one")
    text = Client(bench).get("/history?version=1&a=0&b=1").text
    assert "<b><bdi>one</bdi></b>. four" in text
    assert '<td class="number">25 %</td>' in text
    assert text.count('<tr class="shown" aria-current="true">') == 1
    assert text.count("disabled>Show") == 1 + 1  # above the rules, and in the table


def test_a_version_is_shown_and_named(bench):
    grown(bench, 3)
    assert page.show(bench, form(version="1")) == "Version 1 is shown."
    assert bench.history.current.number == 1
    assert page.name(bench, form(version="2", name=" a {b} ")) == (
        "Version 2 is called a {b}."
    )
    assert bench.history.names == {2: "a {b}"}
    assert page.name(bench, form(version="2", name="")) == "Version 2 has no name now."
    assert bench.history.names == {}
    for text in ("3", "", "-1", "x"):
        with pytest.raises((RefusedError, ValueError), match="no such version"):
            page.show(bench, form(version=text))
        with pytest.raises((RefusedError, ValueError), match="no such version"):
            page.name(bench, form(version=text, name="a"))
    assert bench.history.current.number == 1


def test_damaged_lines_are_told(bench):
    bench.history.unread = 3
    assert page.view(bench, form())["unread"] == 3


def test_a_page_of_a_long_history_looks_at_its_own_versions_only(bench, monkeypatch):
    grown(bench, 2_000)
    bench.history.show(1_900)
    seen = []
    path_to, ahead = type(bench.history).path_to, type(bench.history).ahead

    def noted(function):
        def walk(*given):
            for one in function(*given):
                seen.append(one.number)
                yield one

        return walk

    monkeypatch.setattr(type(bench.history), "path_to", noted(path_to))
    monkeypatch.setattr(type(bench.history), "ahead", noted(ahead))
    page.view(bench, form())
    assert len(seen) < 4 * page.ROWS
