"""The panel: where the file stands, what comes next, and that it computes nothing."""

import hashlib
import json
import re
import tomllib
from types import SimpleNamespace

import pytest

from riskcore.app.panel import panel_of
from riskcore.app.session import RefusedError
from tests.app.client import Client
from tests.app.test_server import APP, ROLES


@pytest.fixture
def bench(opened):
    return opened()


def seen(bench):
    return SimpleNamespace(**panel_of(bench, bench.history.current))


def ended(job):
    assert job.ended.wait(60)
    return job.result


def test_the_panel_leads_from_the_roles_to_the_export(bench):
    new = seen(bench)
    assert (new.headline, new.next) == ("no_keys", ("columns", "roles", 11))
    assert new.steps["columns"] == new.steps["protect"] == "open"
    bench.set_roles(ROLES, "roles")
    assert (seen(bench).headline, seen(bench).next[0]) == ("unknown", "risk")
    state = bench.tried()
    before = seen(bench)
    assert before.headline == "before"
    assert before.unsafe == (state.any_unsafe, None)
    assert before.expected == (state.expected[0], None)
    assert before.next == ("protect", "protect", 0)
    assert before.steps["risk"] == "done"
    plan = bench.plan()
    protected = ended(plan)
    planned = seen(bench)
    assert planned.headline == "before_and_after"
    assert planned.unsafe == (state.any_unsafe, 0)
    assert planned.expected[1] == protected.sets[0].protected.expected_reidentifications
    assert planned.blanked == sum(protected.suppressed.values()) > 0
    assert (planned.leaks, planned.next) == (None, ("leaks", "examine", 0))
    found = ended(bench.leaks())
    examined = seen(bench)
    assert examined.leaks == len(found.under(bench.settings()).open) > 0
    assert examined.next == ("leaks", "leaks", examined.leaks)
    assert examined.steps["leaks"] == "attention"
    assert examined.state == "unsafe"


def test_a_safe_file_leads_to_the_export(bench):
    bench.set_roles(ROLES, "roles")
    bench.change("accepted", accept={"*": "a test"})
    ended(bench.plan())
    ended(bench.leaks())
    safe = seen(bench)
    assert (safe.state, safe.leaks) == ("safe", 0)
    assert safe.next == ("export", "export", 0)
    assert safe.steps["protect"] == safe.steps["leaks"] == "done"
    bench.change("missed", safe={"threshold": 1e-5}, suppress={
        "cost": dict.fromkeys(bench.keys, "never")
    })  # fmt: skip
    ended(bench.plan())
    missed = seen(bench)
    assert missed.unsafe[1] > 0
    assert missed.next == ("protect", "goals", 0)
    assert missed.steps["protect"] == "attention"


def test_results_of_other_rules_are_to_be_made_again(bench):
    bench.set_roles(ROLES, "roles")
    ended(bench.plan())
    ended(bench.leaks())
    bench.change("k", safe={"k": 5})
    changed = seen(bench)
    assert changed.steps["protect"] == changed.steps["leaks"] == "changed"
    assert (changed.unsafe, changed.blanked, changed.leaks) == (
        (None, None),
        None,
        None,
    )
    bench.history.undo()
    assert seen(bench).steps["protect"] == "done"


def test_of_several_sets_a_record_counts_once(bench):
    bench.set_roles(ROLES, "roles")
    bench.change("sets", columns={"keys": [["REGION", "AGE"], ["REGION", "SEX"]]})
    state = bench.tried()
    assert max(state.unsafe) <= seen(bench).unsafe[0] <= sum(state.unsafe)
    assert (
        f"{seen(bench).unsafe[0]:,} of 401 records" in Client(bench).get("/risk").text
    )


def test_the_panel_starts_and_computes_nothing(bench, monkeypatch):
    bench.set_roles(ROLES, "roles")

    def never(*_, **__):
        raise AssertionError

    for name in ("tried", "prepared", "plan", "leaks", "protect", "description"):
        monkeypatch.setattr(bench, name, never)
    assert seen(bench).headline == "unknown"
    assert bench.jobs.of("plan") is None


def test_rules_with_a_fault_have_a_panel(bench, monkeypatch):
    bench.set_roles(ROLES, "roles")

    def refuse(_):
        raise RefusedError("a fault")

    monkeypatch.setattr(bench, "rules_of", refuse)
    assert (seen(bench).headline, seen(bench).state) == ("unknown", "open")


def test_a_page_says_once_where_the_file_stands(bench):
    bench.set_roles(ROLES, "roles")
    ended(bench.plan())
    text = Client(bench).get("/risk").text
    panel = re.search(r"<aside.*?</aside>", text, re.DOTALL)[0]
    assert f"{bench.tried().any_unsafe} unsafe before blanking, 0 after" in panel
    assert text.count('id="verdict"') == panel.count('id="verdict"') == 1
    main = re.search(r"<main.*?</main>", text, re.DOTALL)[0]
    assert "Before blanking, " in main
    assert "safe: " not in main.lower().replace("unsafe", "")


def test_the_panel_tells_a_page_that_work_has_ended(bench):
    client = Client(bench)
    bench.set_roles(ROLES, "roles")
    assert bench.description() or bench.jobs.of("describe").ended.wait(60)
    bench.tried()
    page = client.get("/risk?set=0").text
    address = re.search(r'hx-get="(/status[^"]*)"', page)[1].replace("&amp;", "&")
    same = client.get(address)
    assert "hx-trigger" not in same.headers
    assert f'hx-get="{address.replace("&", "&amp;")}"' in same.text
    ended(bench.plan())
    assert client.get(address).headers["hx-trigger"] == "ended"
    assert 'id="stale" class="stale" hidden' in same.text
    bench.history.undo()
    assert 'id="stale" class="stale">' in client.get(address).text
    for odd in ("?seen=x&ended=y&back=//evil", "?seen=" + "9" * 5000, ""):
        answer = client.get(f"/status{odd}")
        assert answer.status == 200
        assert 'id="stale" class="stale">' in answer.text
        assert "evil" not in answer.text


def test_the_libraries_are_those_of_the_registry_and_may_do_little(bench):
    folder = APP / "static" / "vendor"
    said = tomllib.loads((folder / "vendor.toml").read_text())
    scripts = {path.name for path in folder.glob("*.js")}
    assert scripts == {*said}
    for name, of in said.items():
        code = (folder / name).read_bytes()
        assert hashlib.sha256(code).hexdigest() == of["sha256"]
        assert (
            "Zero-Clause BSD"
            in (folder / f"{of['package'].split('.')[0]}.LICENSE").read_text()
        )
    text = Client(bench).get("/columns").text
    config = json.loads(re.search(r"name=\"htmx-config\" content='([^']*)'", text)[1])
    assert config["selfRequestsOnly"] is True
    assert config["historyCacheSize"] == 0
    for off in ("allowEval", "allowScriptTags", "includeIndicatorStyles"):
        assert config[off] is False
    policy = Client(bench).get("/columns").headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "script-src 'self';" in policy
