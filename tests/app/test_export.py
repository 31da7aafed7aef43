"""Export: the files, and that running the rules again makes the same ones."""

import hashlib
import os
import re
import subprocess
import sys
import tomllib
from html import unescape
from pathlib import Path

import pytest

import riskcore
from riskcore.app.pages.export import PAGE
from riskcore.app.session import RefusedError
from riskcore.protection.release import writing
from tests.app import workbenches
from tests.app.client import Client
from tests.app.workbenches import form

ROLES = workbenches.ROLES | dict.fromkeys(["MARSTAT", "CITIZENSHIP"], "sensitive")


@pytest.fixture
def bench(opened):
    return opened(
        roles=ROLES, safe={"k": 3, "population": "weights"},
        recodings={"AGE": "from:15,30,45,65", "REGION": "truncate:2"},
        accept={"*": "a test"},
    )  # fmt: skip


def exported(bench, **fields):
    PAGE.actions["write"](bench, form(**fields))
    job = bench.jobs.of("export")
    assert job.ended.wait(120)
    assert job.error == ""
    return job.result


def test_nothing_is_exported_without_roles(opened):
    bench = opened()
    assert PAGE.view(bench, form())["lacking"]
    with pytest.raises(RefusedError, match="no column is a key"):
        PAGE.actions["write"](bench, form(file="safe.csv"))
    bench.set_roles({"SEX": "key"}, "key")
    with pytest.raises(RefusedError, match="10 columns without a role"):
        PAGE.actions["write"](bench, form(file="safe.csv"))
    assert bench.table("output") == {}


def test_the_safe_file_needs_a_name(bench):
    with pytest.raises(RefusedError, match="name the safe file"):
        PAGE.actions["write"](bench, form(report="r.html"))


@pytest.mark.parametrize("fields", [{}, {"shuffle": "1"}], ids=["order", "shuffled"])
def test_running_again_makes_the_same_file(bench, survey, fields):
    done = exported(
        bench, file="safe.csv", report="safe.html", report_public="public.html",
        public_record="public.json", **fields,
    )  # fmt: skip
    folder = survey.parent
    names = {one.path.name for one in done.written}
    assert names == {
        "safe.csv", "safe.csv.private.json", "public.json", "safe.html",
        "public.html", "release.toml",
    }  # fmt: skip
    safe = (folder / "safe.csv").read_bytes()
    public = (folder / "public.html").read_bytes()
    rules = tomllib.loads((folder / "release.toml").read_text())
    assert rules == bench.tables
    assert done.files.record_with_secret is not None  # household ids are new
    (folder / "safe.csv").unlink()
    command = done.shell.replace("riskcore", f"{sys.executable} -m riskcore", 1)
    subprocess.run(command, shell=True, check=True, capture_output=True)
    assert (folder / "safe.csv").read_bytes() == safe
    assert (folder / "public.html").read_bytes() == public


@pytest.mark.parametrize("shuffled", [False, True])
def test_the_file_is_examined_once(bench, survey, monkeypatch, shuffled):
    if shuffled:
        bench.change("shuffled", output={"shuffle": True})
    bench.leaks()
    assert bench.jobs.of("leaks").ended.wait(120)
    examine = writing.examine
    monkeypatch.setattr(writing, "examine", lambda *_, **__: pytest.fail("again"))
    done = exported(bench, file="safe.csv", **({"shuffle": "1"} if shuffled else {}))
    secret = done.files.record["output"]["secret"]
    assert secret is not None  # household ids are new
    monkeypatch.setattr(writing, "examine", examine)
    again = bench.protected().preview(secret=secret, shuffle=shuffled).to_dict()
    assert bench.examination().to_dict() == again
    assert done.files.figures["leaks"] == again["leaks"] != []


def test_the_file_is_what_was_shown(bench, survey):
    exported(bench, file="safe.csv")
    shown = bench.protected()
    written = riskcore.assess(survey.parent / "safe.csv", bench.keys, "WEIGHT")
    assert written.max_risk == shown.sets[0].protected.max_risk


def test_existing_files_stay_unless_they_may_be_replaced(bench, survey):
    (survey.parent / "safe.csv").write_text("mine")
    PAGE.actions["write"](bench, form(file="safe.csv"))
    job = bench.jobs.of("export")
    assert job.ended.wait(120)
    assert "exists" in job.error
    assert (survey.parent / "safe.csv").read_text() == "mine"
    assert not (survey.parent / "release.toml").exists()
    exported(bench, file="safe.csv", overwrite="1")
    assert (survey.parent / "safe.csv").read_text() != "mine"


def test_other_rules_beside_the_file_stay(bench, survey):
    others = survey.parent / "release.toml"
    others.write_text("format = 1\n")
    PAGE.actions["write"](bench, form(file="safe.csv", rules="release.toml"))
    job = bench.jobs.of("export")
    assert job.ended.wait(120)
    assert "release.toml exists and has other rules" in job.error
    assert not (survey.parent / "safe.csv").exists()
    assert others.read_text() == "format = 1\n"


def test_rules_of_another_survey_beside_it_are_in_nobodys_way(bench, survey):
    others = survey.parent / "release.toml"
    others.write_text("format = 1\n")
    assert PAGE.view(bench, form())["rules"] == "survey-safe.toml"
    done = exported(bench, file="safe.csv")
    assert done.written[-1].path == survey.parent / "survey-safe.toml"
    assert PAGE.view(bench, form())["rules"] == "survey-safe.toml"
    assert others.read_text() == "format = 1\n"


def test_the_survey_file_is_never_replaced(bench, survey):
    before = survey.read_bytes()
    PAGE.actions["write"](bench, form(file=survey.name, overwrite="1"))
    job = bench.jobs.of("export")
    assert job.ended.wait(120)
    assert job.state == "failed"
    assert survey.read_bytes() == before


def test_an_unsafe_file_is_not_written(bench, survey):
    bench.change("no reasons", accept={"*": None})
    done = exported(bench, file="safe.csv")
    assert done.files.refused
    assert not (survey.parent / "safe.csv").exists()
    assert [one.kind for one in done.written] == ["rules"]


def test_the_view_says_what_was_written(bench):
    assert PAGE.view(bench, form())["names"]["file"] == "survey-safe.csv"
    exported(bench, file="safe.csv")
    shown = PAGE.view(bench, form())
    assert shown["current"]
    bench.change("k", safe={"k": 4})
    assert not PAGE.view(bench, form())["current"]
    assert PAGE.view(bench, form())["names"]["file"] == "safe.csv"


def test_a_version_is_written_whole_while_rules_change(bench, survey, monkeypatch):
    from riskcore.app.pages import export

    real = export.check_release_files

    def check(*given, **named):
        bench.change("k", safe={"k": 25})  # another browser
        return real(*given, **named)

    monkeypatch.setattr(export, "check_release_files", check)
    done = exported(bench, file="safe.csv")
    bench.history.show(done.version)
    assert tomllib.loads((survey.parent / "release.toml").read_text()) == bench.tables
    assert bench.tables["safe"]["k"] == 3
    safe = (survey.parent / "safe.csv").read_bytes()
    (survey.parent / "safe.csv").unlink()
    command = done.shell.replace("riskcore", f"{sys.executable} -m riskcore", 1)
    subprocess.run(command, shell=True, check=True, capture_output=True)
    assert (survey.parent / "safe.csv").read_bytes() == safe


@pytest.mark.parametrize("name", ["settings/sessions/own.html"])
@pytest.mark.parametrize("overwrite", [{}, {"overwrite": "1"}])
def test_sessions_are_not_written_over(bench, survey, name, overwrite):
    PAGE.actions["write"](bench, form(file="safe.csv", report=name, **overwrite))
    job = bench.jobs.of("export")
    assert job.ended.wait(120)
    assert "elsewhere" in job.error
    assert not (survey.parent / "safe.csv").exists()
    assert not (survey.parent / name).exists()


def test_an_old_page_takes_nothing_back(bench):
    bench.change("order", output={"shuffle": True})
    exported(bench, **{"file": "safe.csv", "was-shuffle": "no"})
    assert bench.table("output") == {"file": "safe.csv", "shuffle": True}


def test_rules_that_were_exported_are_not_news(survey, opened):
    rules = survey.with_name("release.toml")
    roles = "".join(f'{n} = "harmless"\n' for n in ROLES if n != "SEX")
    rules.write_text(
        'format = 1\n[data]\nfile = "survey.csv"\n[columns]\nkeys = ["SEX"]\n'
        f'[safe]\nk = 2\n[accept]\n"*" = "a test"\n[roles]\n{roles}'
    )
    bench = opened(rules)
    exported(bench, file="safe.csv", overwrite="1")
    bench.change("k", safe={"k": 3})
    bench.close()
    bench = opened(rules)
    assert bench.table("safe") == {"k": 3}


# --- fetching what was written ---

ALL = {
    "file": "safe.csv", "public_record": "public.json", "report": "office.html",
    "report_public": "public.html", "form": "form.html",
}  # fmt: skip


@pytest.fixture
def client(bench):
    exported(bench, **ALL)
    return Client(bench)


def links(text):
    return re.findall(r'href="(/export/file[^"]*)"', unescape(text))


def address(bench, at):
    """Return the address of a file of the last export."""
    return f"/export/file?of={bench.jobs.of('export').result.mark}&at={at}"


def test_each_file_can_be_fetched_as_it_was_written(bench, client, survey):
    text = client.get("/export").text
    assert str(survey.parent.resolve()) in text
    fetched = {}
    for link in links(text):
        if "open" in link:
            continue
        answer = client.get(link)
        assert answer.status == 200
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-type"] == "application/octet-stream"
        name = answer.headers["content-disposition"].removeprefix(
            "attachment; filename*=UTF-8''"
        )
        fetched[name] = answer.body
        assert int(answer.headers["content-length"]) == len(answer.body)
    names = {*ALL.values(), "safe.csv.private.json", "release.toml"}
    assert fetched == {name: (survey.parent / name).read_bytes() for name in names}
    public, private = text.split('<h3 id="keep">')
    assert all(f"<bdi>{ALL[x]}" in public for x in ("file", "report_public"))
    kept = ("safe.csv.private.json", "office.html", "form.html", "release.toml")
    assert all(f"<bdi>{name}" in private for name in kept)
    digests = re.findall("[0-9a-f]{64}", fetched["form.html"].decode())
    assert digests == [
        hashlib.sha256(content).hexdigest()
        for content in (survey.read_bytes(), *map(fetched.get, (
            "release.toml", "safe.csv", "safe.csv.private.json",
        )))
    ]  # fmt: skip
    assert not any(f"<bdi>{name}" in public for name in kept)


def test_a_report_is_opened_in_a_sandbox_of_its_own(client):
    opened = [x for x in links(client.get("/export").text) if "open" in x]
    assert len(opened) == 3
    for link in opened:
        answer = client.get(link)
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("sandbox allow-scripts; default-src 'none'")
        assert "allow-same-origin" not in policy
        assert "cross-origin-opener-policy" not in answer.headers
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["content-disposition"] == "inline"
        assert answer.headers["content-type"].startswith("text/html")


def test_data_is_never_opened_as_a_page(bench, client):
    written = bench.jobs.of("export").result.written
    for at, one in enumerate(written):
        answer = client.get(f"{address(bench, at)}&open=1")
        as_page = answer.headers["content-type"].startswith("text/html")
        assert as_page == one.path.name.endswith(".html"), one.kind


def replaced(path):
    path.with_suffix(".new").write_bytes(path.read_bytes())
    path.with_suffix(".new").replace(path)


def linked(path):
    path.rename(path.with_suffix(".moved"))
    path.symlink_to(path.with_suffix(".moved"))


@pytest.mark.parametrize(
    "change",
    [
        Path.unlink,
        lambda path: path.write_text("other"),
        replaced,
        linked,
        lambda path: (path.unlink(), os.mkfifo(path)),
    ],
    ids=["gone", "changed", "replaced", "link", "pipe"],
)
def test_a_file_that_is_another_one_now_is_not_sent(bench, client, survey, change):
    written = bench.jobs.of("export").result.written
    (at,) = (at for at, one in enumerate(written) if one.kind == "file")
    assert client.get(address(bench, at)).status == 200
    change(survey.parent / "safe.csv")
    answer = client.get(address(bench, at))
    assert answer.status == 422
    assert "changed or replaced" in answer.text


@pytest.mark.parametrize(
    "query", ["", "at=99", "at=-1", "at=release.toml", "at=..%2Fsurvey.csv", "at=1e3"]
)
def test_only_places_in_the_list_are_sent(bench, client, query):
    mark = bench.jobs.of("export").result.mark
    answer = client.get(f"/export/file?of={mark}&{query}")
    assert answer.status == 422
    assert "content-disposition" not in answer.headers


def test_an_older_page_fetches_no_file_of_a_newer_export(bench, client):
    older = [x for x in links(client.get("/export").text) if "open" not in x]
    exported(bench, file="other.csv", record="keep.json", overwrite="yes")
    assert bench.jobs.of("export").error == ""
    for link in [*older, "/export/file?at=0"]:
        assert client.get(link).status == 422


def test_nothing_is_sent_before_an_export(bench):
    assert Client(bench).get("/export/file?at=0").status == 422


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"file": ".safe.csv"}, "begins with a dot"),
        ({"file": ".ssh/safe.csv"}, "begins with a dot"),
        ({"report": ".r.html"}, "begins with a dot"),
        ({"report": "r.js"}, "must end in .html"),
        ({"report_public": "r.htm"}, "must end in .html"),
        ({"form": "form.pdf"}, "must end in .html"),
        ({"record": "r.txt"}, "must end in .json"),
        ({"public_record": "r"}, "must end in .json"),
        ({"public_record": "release.toml"}, "must end in .json"),
        ({"rules": "rules.txt"}, "must end in .toml"),
        ({"rules": ".toml"}, "begins with a dot"),
        ({"rules": "other/rules.toml"}, "without a folder"),
        ({"rules": "../rules.toml"}, "without a folder"),
    ],
)
def test_names_keep_their_endings_and_are_not_hidden(bench, fields, words):
    before = bench.history.current
    with pytest.raises(RefusedError, match=words):
        PAGE.actions["write"](bench, form(**{"file": "safe.csv", **fields}))
    assert bench.history.current is before
    assert bench.jobs.of("export") is None


@pytest.mark.parametrize(
    "name", ["safe.csv", "safe.csv.private.json", "office.html", "release.toml"]
)
@pytest.mark.parametrize("overwrite", [{}, {"overwrite": "1"}])
def test_a_link_is_not_written_through(bench, survey, name, overwrite):
    elsewhere = survey.parent / "elsewhere"
    elsewhere.write_text("mine")
    (survey.parent / name).symlink_to(elsewhere)
    PAGE.actions["write"](bench, form(**ALL, **overwrite))
    job = bench.jobs.of("export")
    assert job.ended.wait(120)
    assert f"{name} is a link" in job.error
    assert elsewhere.read_text() == "mine"


def test_the_rules_can_have_another_name(bench, survey):
    done = exported(bench, file="safe.csv", rules="my rules.toml")
    path = survey.parent / "my rules.toml"
    assert tomllib.loads(path.read_text()) == bench.tables
    assert not (survey.parent / "release.toml").exists()
    assert "'" + str(path) + "'" in done.shell or "my rules.toml" in done.shell
    assert PAGE.view(bench, form())["rules"] == "my rules.toml"
    safe = (survey.parent / "safe.csv").read_bytes()
    (survey.parent / "safe.csv").unlink()
    command = done.shell.replace("riskcore", f"{sys.executable} -m riskcore", 1)
    subprocess.run(command, shell=True, check=True, capture_output=True)
    assert (survey.parent / "safe.csv").read_bytes() == safe
    # Other rules in this place stay, too.
    bench.change("k", safe={"k": 4})
    path.write_text("format = 1\n")
    PAGE.actions["write"](bench, form(file="other.csv", rules="my rules.toml"))
    job = bench.jobs.of("export")
    assert job.ended.wait(120)
    assert "my rules.toml exists and has other rules" in job.error
