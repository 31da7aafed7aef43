"""The files of a release: which are wanted, which are refused, which are written."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from riskcore import protect, simulate
from riskcore.data.files import formats
from riskcore.data.source import Source
from riskcore.protection.release.record import read_record
from riskcore.protection.result import SuppressedValueShows
from riskcore.report.release_files import (
    check_columns,
    check_release_files,
    idle,
    private_record_of,
    write_release,
)
from tests.accepted import ANY_LEAK

KEYS = ["REGION", "SEX", "AGE"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder that holds one survey."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    formats.write("survey.csv", simulate.microdata(300, np.random.default_rng(4)))
    return tmp_path


def protected(**settings):
    """Return a protection of the survey, safe by default."""
    given = {"k": 3, **ANY_LEAK, **settings}
    return protect("survey.csv", given.pop("keys", KEYS), **given)


def check(result, wanted, **more):
    """Check files before they are written."""
    check_release_files(result.source, result.settings, wanted, **more)


def names():
    """Return the names of the files that were made."""
    return {path.name for path in Path().iterdir()} - {"survey.csv"}


def test_all_files_are_written_and_named():
    result = protected(keys=[KEYS, ["SEX", "MARSTAT"]])
    wanted = {
        "file": Path("safe.csv"),
        "record": Path("mine.json"),
        "public_record": Path("public.json"),
        "report": Path("report.html"),
        "report_public": Path("about.html"),
        "form": Path("form.html"),
        "shuffle": True,
        "drop": ["INCOME"],
    }
    check(result, wanted)
    made = write_release(result, wanted)
    assert made.file == Path("safe.csv")
    assert made.private_record == private_record_of(wanted) == Path("mine.json")
    assert made.public_record == Path("public.json")
    assert made.public_report == Path("about.html")
    assert made.form == Path("form.html")
    assert made.reports == (Path("report.html"), Path("report-2.html"))
    assert names() == {
        "safe.csv", "mine.json", "public.json", "about.html", "report.html",
        "report-2.html", "form.html",
    }  # fmt: skip
    assert made.refused == ""
    assert made.figures["safe"] is True
    assert made.record_with_secret == Path("mine.json")
    record = json.loads(Path("mine.json").read_text())
    assert {name: made.record[name] for name in record} == record
    assert made.figures["output"] == {
        "file": "safe.csv", "record": "mine.json", "public_record": "public.json",
        "dropped": ["INCOME"], "shuffled": True, "renumbered": [],
        "formulas_guarded": False,
    }  # fmt: skip
    assert record["output"]["secret"] not in str(made.figures)
    for path in made.reports:
        assert "survey.csv: re-identification risk" in path.read_text()
    assert "INCOME" not in made.public_report.read_text()
    with pytest.raises(FileExistsError):
        check(result, wanted)
    check(result, wanted, overwrite=True)


def test_the_secret_of_a_record_makes_the_same_files():
    settings = {"treat": {"INCOME": "noise:10%"}, "ties": "secret"}
    wanted = {"file": Path("safe.csv"), "shuffle": True}
    made = write_release(protected(**settings), wanted)
    secret = read_record(made.record_with_secret).secret
    again = {**wanted, "file": Path("again.csv")}
    write_release(protected(**settings, secret=secret), again, secret=secret)
    assert Path("again.csv").read_bytes() == Path("safe.csv").read_bytes()
    other = write_release(protected(**settings), wanted, overwrite=True)
    assert Path("again.csv").read_bytes() != other.file.read_bytes()


def test_no_secret_is_needed_if_nothing_is_random():
    made = write_release(protected(), {"file": Path("safe.csv")})
    assert made.private_record == Path("safe.csv.private.json")
    assert made.record_with_secret is None


def test_a_record_is_replaced_only_with_its_own_file():
    wanted = {"file": Path("safe.csv"), "shuffle": True}
    made = write_release(protected(), wanted)
    record = read_record(made.private_record)
    before = made.private_record.read_bytes()
    made.file.unlink()
    result = protected()
    read = [record.path]
    with pytest.raises(ValueError, match="an input file"):
        check(result, wanted, overwrite=True, read=read)
    how = {"overwrite": True, "before": record}
    check(result, wanted, **how)
    again = write_release(result, wanted, secret=record.secret, **how)
    assert made.private_record.read_bytes() == before
    assert again.private_record == made.private_record
    assert again.record["output"] == made.record["output"]
    # Another file is refused, and nothing changes.
    safe = again.file.read_bytes()
    other = protected(k=4)
    with pytest.raises(ValueError, match="would not be the file of"):
        write_release(other, wanted, secret=record.secret, **how)
    assert again.file.read_bytes() == safe
    assert made.private_record.read_bytes() == before
    # Elsewhere it gets a record of its own; other files never take its place.
    for name in ("public_record", "report", "report_public", "form"):
        taken = {**wanted, name: record.path}
        with pytest.raises(ValueError, match=r"an input file|two output files"):
            check(result, taken, overwrite=True, before=record)
    elsewhere = {**wanted, "file": Path("b.csv")}
    check(result, elsewhere, before=record)
    write_release(result, elsewhere, secret=record.secret, before=record)
    assert Path("b.csv.private.json").exists()


def test_of_an_unsafe_file_only_reports_are_written():
    result = protected(k=3, accept=None)
    pages = {"report": Path("r.html"), "form": Path("f.html")}
    wanted = {"file": Path("safe.csv"), **pages}
    with warnings.catch_warnings():
        warnings.simplefilter("error", SuppressedValueShows)
        made = write_release(result, {**wanted, "report_public": Path("p.html")})
    # The goals are met, but leaks are open: there is nothing to publish.
    assert result.goals_met
    assert names() == {"r.html", "f.html"}
    assert made.refused == made.figures["verdict"]
    assert "NOT SAFE" in made.refused
    assert (made.file, made.record, made.private_record) == (None, None, None)
    assert (made.reports, made.public_report) == ((Path("r.html"),), None)
    assert made.form == Path("f.html")
    assert "output" not in made.figures
    unmet = protected(threshold=1e-9)
    assert not unmet.goals_met
    made = write_release(unmet, wanted, overwrite=True)
    assert names() == {"r.html", "f.html"}
    assert made.refused
    made = write_release(unmet, {**wanted, "allow_unsafe": True}, overwrite=True)
    assert made.file.exists()
    assert made.refused == ""
    assert made.figures["safe"] is False


def test_without_a_file_the_file_that_would_be_written_is_judged():
    made = write_release(protected(), {"drop": ["INCOME"]})
    assert names() == set()
    assert made.refused == ""
    assert made.figures["safe"] is True
    leaks = {one["column"] for one in made.figures["leaks"]}
    assert "INCOME" not in leaks
    usual = write_release(protected(), {})
    assert "INCOME" in {one["column"] for one in usual.figures["leaks"]}


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"file": "survey.csv"}, "an input file"),
        ({"file": "safe.csv", "report": "safe.csv"}, "two output files"),
        ({"file": "safe.csv", "record": "rules.toml"}, "an input file"),
        ({"report": "report.pdf"}, "a report is a page of HTML"),
        ({"file": "safe.odd"}, "safe.odd"),
        ({"drop": ["INCOM"]}, "INCOM"),
        ({"renumber": ["AGE"]}, "renumber: 'AGE' is a key"),
        ({"file": "safe.parquet", "guard_formulas": True}, "is not a CSV file"),
    ],
)
def test_files_are_refused_before_any_work(wanted, message):
    Path("rules.toml").write_text("")
    result = protected()
    paths = {
        name: Path(one) if isinstance(one, str) else one for name, one in wanted.items()
    }
    with pytest.raises((ValueError, KeyError), match=message):
        check(result, paths, overwrite=True, read=[Path("rules.toml")])
    assert names() == {"rules.toml"}


def test_columns_that_are_left_out():
    source = Source.of("survey.csv")
    settings = protected(roles={"PERSON": "identifier"}).settings
    dropped, renumbered = check_columns(source, settings, {"drop": ["INCOME"]})
    assert (dropped, renumbered) == (("INCOME", "PERSON"), ())


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, None),
        ({"drop": ["A"], "shuffle": True}, None),
        ({"guard_formulas": True}, "guard_formulas"),
        ({"guard_formulas": True, "file": Path("a.csv")}, None),
        ({"record": Path("r"), "report": Path("b")}, "record"),
    ],
)
def test_names_without_an_effect(wanted, found):
    assert idle(wanted) == found


def test_steps_are_told():
    said = []
    wanted = {"file": Path("safe.csv"), "report": Path("r.html")}
    write_release(protected(), wanted, progress=said.append)
    assert "comparing the file before and after" in said
    assert "reading back what was written" in said
    assert any(one.startswith("writing safe.csv, ") for one in said)
