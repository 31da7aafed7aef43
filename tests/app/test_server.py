"""The server: pages, forms, messages and texts."""

import re
import string
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import riskcore
from riskcore.app.pages import PAGES
from riskcore.app.texts import load_texts
from tests.app import workbenches
from tests.app.client import Client

APP = Path(riskcore.__file__).parent / "app"
ROLES = workbenches.ROLES | {
    "MARSTAT": "sensitive", "CITIZENSHIP": "sensitive", "INCOME": "numeric",
}  # fmt: skip


@pytest.fixture
def bench(opened):
    return opened()


def addresses():
    parts = [(page.name, part) for page in PAGES for part in ("", *page.parts)]
    return [f"/{page}/{part}".rstrip("/") for page, part in parts]


@pytest.mark.parametrize("address", addresses())
@pytest.mark.parametrize("state", ["new", "chosen", "done"])
def test_every_page_shows_every_state(bench, address, state):
    client = Client(bench)
    if state != "new":
        bench.set_roles(ROLES, "roles")
        bench.change(
            "rules",
            recodings={"AGE": "from:15,30,45,65"},
            treat={"INCOME": "round:100"},
            # A model is shown beside the weights, where it does not decide.
            safe={"population": "weights"} if address == "/risk/model" else {},
        )
    if state == "done":
        assert bench.plan().ended.wait(60)
        assert bench.leaks().ended.wait(60)
    answer = client.get(address)
    assert answer.status in (200, 422), answer.text
    if state != "new" and address not in ("/protect/live", "/best/rungs"):  # of fields
        assert answer.status == 200, answer.text
    # The policy of the app lets no style and no script stand in a page.
    assert not re.search(r"<style|<script(?! src)| style=| on[a-z]+=\"", answer.text)


def test_unknown_addresses(bench):
    client = Client(bench)
    for address in ("/nobody", "/columns/nobody", "/static/nobody", "/static/app.html"):
        assert client.get(address).status == 404
    for address in ("/nobody", "/columns/nobody"):
        assert client.post(address).status in (404, 405)


def test_a_form_changes_the_rules_and_says_so(bench):
    client = Client(bench)
    assert bench.description() or bench.jobs.of("describe").ended.wait(60)
    answer = client.post("/columns/roles", {"role-4": "key"})
    assert bench.keys == ["SEX"]
    assert "Role of SEX: key variable." in answer.text
    assert "Role of SEX: key" not in client.get("/columns").text


def test_messages_are_for_the_browser_that_asked(bench):
    client, other = Client(bench), Client(bench)
    other.server._said = client.server._said
    csrf = client.get("/columns").field("csrf")
    client._ask(
        "POST", "/columns/roles", f"csrf={csrf}&back=columns&role-4=key".encode()
    )
    assert "Role of SEX: key" not in other.get("/columns").text
    assert "Role of SEX: key" in client.get("/columns").text


def test_undo_and_redo(bench):
    client = Client(bench)
    bench.set_roles({"SEX": "key"}, "key")
    client.post("/undo")
    assert bench.keys == []
    client.post("/redo")
    assert bench.keys == ["SEX"]


def test_refused_forms_say_why_and_change_nothing(bench):
    client = Client(bench)
    answer = client.post("/columns/roles", {"role-4": "emperor"})
    assert answer.status == 422
    assert "&#39;emperor&#39; is not a role" in answer.text
    assert not bench.history.can_undo


def test_back_leads_to_our_pages_only(bench):
    client = Client(bench)
    csrf = client.get("/columns").field("csrf")
    for back in ("//evil.example/", "https://evil.example", "nobody", "\r\nX: y", ""):
        body = f"csrf={csrf}&back={back}".encode()
        answer = client._ask("POST", "/undo", body)
        assert answer.headers["location"] == "/"


def test_numbers_are_written_as_the_reader_chose(bench, survey):
    assert bench.description() or bench.jobs.of("describe").ended.wait(60)
    german = Client(bench, **{"accept-language": "de-DE,de;q=0.9,en;q=0.5"})
    chosen = '<option value="{}" selected>{}</option>'.format
    assert chosen("de", "1.234,5") in german.get("/columns").text
    german.post("/reader", {"numbers": "fr"})
    assert chosen("fr", "1\u202f234,5") in german.get("/columns").text
    german.post("/reader", {"numbers": "xx"})
    assert chosen("fr", "1\u202f234,5") in german.get("/columns").text


def test_labels_are_text(survey, opened):
    hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{7*7}}\u202e"
    lines = survey.read_text().splitlines()
    lines[0] = lines[0].replace("SEX", f'"{hostile.replace(chr(34), chr(34) * 2)}"')
    survey.write_text("\n".join(lines) + "\n")
    bench = opened()
    bench.set_roles({hostile: "key", "AGE": "key"}, hostile)
    assert bench.plan().ended.wait(60)
    assert bench.leaks().ended.wait(60)
    client = Client(bench)
    for address in addresses():
        text = client.get(address).text
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert "\u202e" not in text
        assert "49" not in re.findall(r"\}?(\d+)\u2026?onerror", text)


def own_code(page):
    """Return the template and the module of a page."""
    paths = [APP / "templates" / f"{page}.html", APP / "pages" / f"{page}.py"]
    return "\n".join(path.read_text() for path in paths if path.exists())


def test_all_texts_are_used_and_all_used_texts_exist():
    code = "\n".join(
        path.read_text() for path in APP.rglob("*") if path.suffix in (".py", ".html")
    )
    for page, texts in load_texts().items():
        for name, text in texts.items():
            [*string.Formatter().parse(text)]
            assert not hasattr(dict, name), f"{page}.{name}: a template finds a method"
            # Some names are made of a prefix or a suffix and the name of a setting.
            plain = re.escape(name.removesuffix("_note"))
            parts = [*map(re.escape, name.split("_"))]
            first = "|".join("_".join(parts[:at]) for at in range(1, len(parts)))
            ways = (
                rf"[.\"'\[]{plain}\b",
                rf"[\"']({first})_(\{{|[\"']\s*[~+])",
                rf"(\}}|~ [\"'])_{parts[-1]}[\"']",
            )
            used = any(re.search(way, code) for way in ways)
            used = used or re.search(r"~ \"_\" ~|\}_\{", own_code(page))
            assert used or page in ("roles", "pages", "types", "package"), (
                f"{page}.{name}"
            )
    for page in PAGES:
        template = (APP / "templates" / f"{page.name}.html").read_text()
        for name in set(re.findall(r"\bp\.(\w+)", template)):
            assert name in load_texts()[page.name], f"{page.name}.{name}"


def test_a_page_of_an_older_version_says_so(bench, monkeypatch):
    bench.set_roles({"SEX": "key"}, "key")
    before = bench.history.current.number
    page = next(page for page in PAGES if page.name == "history")

    def view(bench, form):
        found = page.view(bench, form)
        bench.set_roles({"AGE": "key"}, "another browser")
        return found

    changed = [replace(x, view=view) if x is page else x for x in PAGES]
    monkeypatch.setattr("riskcore.app.server.PAGES", changed)
    text = Client(bench).get("/history").text
    assert bench.history.current.number == before + 1
    assert f"-{before}&" in text
    assert "9 columns without a role" not in text
    assert "10 columns without a role" in text


def test_what_a_form_would_do_is_asked_without_an_address(bench):
    assert bench.description() or bench.jobs.of("describe").ended.wait(60)
    bench.set_roles({"SEX": "key", "AGE": "key"}, "keys")
    client = Client(bench)
    fields = {"column": str(bench.names.index("SEX")), "way": "merge", "map": "1=2"}
    answer = client.post("/recode/preview", fields)
    assert answer.status == 200
    assert "map:1=2" in answer.text
    assert "recodings" not in bench.tables
    script = client.get("/static/app.js").text
    assert "dataset.live}?" not in script


def test_roles_are_not_accepted_before_they_are_proposed(bench, monkeypatch):
    monkeypatch.setattr(type(bench), "description", lambda self: None)
    answer = Client(bench).post("/columns/accept", page="history")
    assert answer.status == 422
    assert "being looked at" in answer.text


def test_warnings_with_values_stay_off_the_terminal(survey, monkeypatch, recwarn):
    from riskcore.app import serve
    from riskcore.cli import main

    def serving(make, **options):
        warnings.warn("value 4711 of the data", UserWarning, stacklevel=1)
        return 0

    monkeypatch.setattr(serve, "serve", serving)
    assert main(["app", str(survey)]) == 0
    assert not [one for one in recwarn if "4711" in str(one.message)]


@pytest.fixture
def slow(bench, monkeypatch):
    """Let the preparation of the records end when a test says so."""
    begun, go = threading.Event(), threading.Event()
    state = type(bench)._state

    def wait(self, rules, say):
        begun.set()
        assert go.wait(60)
        say("")
        return state(self, rules, say)

    monkeypatch.setattr("riskcore.app.workbench._MOMENT", 0.0)
    monkeypatch.setattr(type(bench), "_state", wait)
    bench.set_roles(ROLES, "roles")
    yield SimpleNamespace(begun=begun, go=go)
    go.set()


def test_a_page_waits_for_the_records_and_shows_them_then(bench, slow):
    client = Client(bench)
    text = client.get("/risk").text
    assert "<h1>Keys and risk</h1>" in text
    assert "data-waits" in text
    assert "being recoded" in client.get("/risk/keys").text
    slow.go.set()
    assert bench.jobs.of("prepare").ended.wait(60)
    assert "data-waits" not in client.get("/risk").text


def test_a_preparation_is_canceled_and_begun_again(bench, slow):
    client = Client(bench)
    assert "data-waits" in client.get("/risk").text
    assert slow.begun.wait(60)
    client.post("/cancel", page="history")
    slow.go.set()
    assert bench.jobs.of("prepare").ended.wait(60)
    text = client.get("/risk").text
    assert "This was canceled." in text
    assert 'action="/retry"' in text
    client.post("/retry", page="history")
    client.get("/risk")
    assert bench.jobs.of("prepare").ended.wait(60)
    assert "data-waits" not in client.get("/risk").text


def test_a_treatment_is_added_while_its_effect_is_computed(bench, slow):
    client = Client(bench)
    column = bench.names.index("INCOME")
    fields = {"column": column, "kind": "round", "base": "100"}
    answer = client.post("/treat/add", fields, page="treat")
    assert answer.status == 200
    assert bench.table("treat") == {"INCOME": "round:100"}
    assert "data-waits" in client.get(f"/treat/effect?column={column}").text
    slow.go.set()
    assert bench.jobs.of("try").ended.wait(60)
    assert (
        "Figures before and after" in client.get(f"/treat/effect?column={column}").text
    )


def test_two_browsers_change_the_rules_one_after_the_other(bench, monkeypatch):
    bench.set_roles(ROLES, "roles")
    change = type(bench).change

    def slow_change(self, words, **tables):
        time.sleep(0.3)
        return change(self, words, **tables)

    monkeypatch.setattr(type(bench), "change", slow_change)
    column = bench.names.index("INCOME")

    def add(client, base):
        fields = {"column": column, "kind": "round", "base": base}
        assert client.post("/treat/add", fields, page="treat").status == 200

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(add, [Client(bench), Client(bench)], ["100", "1000"]))
    assert sorted(bench.table("treat")["INCOME"]) == ["round:100", "round:1000"]
