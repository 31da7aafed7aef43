"""Export: the files, and that running the rules again makes the same ones."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import riskcore
from riskcore.app.pages.export import PAGE
from riskcore.app.session import RefusedError
from tests.app import workbenches
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
    names = {path.name for _, path in done.paths}
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
    (survey.parent / "release.toml").write_text("format = 1\n")
    PAGE.actions["write"](bench, form(file="safe.csv"))
    job = bench.jobs.of("export")
    assert job.ended.wait(120)
    assert "release.toml exists and has other rules" in job.error
    assert not (survey.parent / "safe.csv").exists()


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
    assert [name for name, _ in done.paths] == ["rules"]


def test_the_view_says_what_was_written(bench):
    exported(bench, file="safe.csv")
    shown = PAGE.view(bench, form())
    assert shown["current"]
    bench.change("k", safe={"k": 4})
    assert not PAGE.view(bench, form())["current"]
    assert Path(shown["usual"]["file"]).name == "survey-safe.csv"


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


@pytest.mark.parametrize("name", ["release.toml", "settings/sessions/own.html"])
@pytest.mark.parametrize("overwrite", [{}, {"overwrite": "1"}])
def test_rules_and_sessions_are_not_written_over(bench, survey, name, overwrite):
    place = {"report": name.replace(".toml", ".html")}
    if name == "release.toml":
        place = {"public_record": name}
    PAGE.actions["write"](bench, form(file="safe.csv", **place, **overwrite))
    job = bench.jobs.of("export")
    assert job.ended.wait(120)
    assert "name another file" in job.error or "elsewhere" in job.error
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
