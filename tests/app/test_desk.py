"""The desk and the pages of files and data: what is opened, and how it is read."""

import asyncio
import os
import threading

import pandas as pd
import pytest

from riskcore.app.desk import Desk
from riskcore.app.pages import data
from riskcore.data.files.reading import Reading
from tests.app.client import Client
from tests.app.served import LONG
from tests.app.workbenches import ROLES, form, waited
from tests.needs import posix


@pytest.fixture
def desk(survey):
    """Return a desk with nothing on it."""
    desk = Desk(survey.parent)
    yield desk
    desk.close()


@pytest.fixture
def client(desk):
    """Return a browser in front of a desk."""
    return Client(desk)


def test_without_a_file_every_page_leads_to_the_files(client, survey):
    for page in ("", "data", "columns", "export", "risk/keys"):
        assert "<h1>Files</h1>" in client.get(f"/{page}").text
    assert survey.name in client.get("/start").text


def test_a_file_is_opened_by_a_click(client, desk, survey):
    answer = client.post("/start/open", {"file": str(survey)}, page="start")
    assert "<h1>Data</h1>" in answer.text
    assert desk.bench.source.path == survey
    assert survey.name in client.get("/start").text.partition("Recent work")[2]


def test_a_file_that_is_refused_is_read_in_another_way(client, desk, tmp_path):
    path = tmp_path / "latin.csv"
    path.write_bytes("Größe;Ort\n1;Köln\n".encode("cp1252"))
    fields = {"file": str(path), "encoding": "utf-8", "reads": "yes"}
    answer = client.post("/start/open", fields, page="start")
    assert "not utf-8" in answer.text
    assert "Größe" in answer.text
    assert not desk.is_open
    assert answer.field("file") == str(path)
    assert "could not be opened" not in client.get("/start").text
    answer = client.post("/start/open", {**fields, "encoding": "cp1252"}, page="start")
    assert desk.bench.names == ["Größe", "Ort"]
    assert desk.bench.table("data")["encoding"] == "cp1252"


def test_nothing_outside_the_start_folder_is_opened(client, desk, tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    desk.folders.start = inner
    for place in ("../survey.csv", "/etc/passwd", str(tmp_path / "survey.csv")):
        answer = client.post("/start/open", {"file": place}, page="start")
        assert "files are opened below" in answer.text
        assert not desk.is_open
    assert client.get("/start?folder=..").status == 422
    rules = inner / "release.toml"
    rules.write_text('format = 1\n[data]\nfile = "../survey.csv"\n')
    answer = client.post("/start/open", {"file": str(rules)}, page="start")
    assert "files are opened below" in answer.text
    assert not desk.is_open


def test_a_file_is_not_taken_away_while_it_is_written(client, desk, survey):
    send(client, "survey.csv", survey.read_bytes())
    path, end = desk.bench.source.path, threading.Event()
    desk.bench.jobs.start("export", 0, lambda say: end.wait(60))
    for address in ("open", "demo", "remove", "read"):
        fields = {"file": str(path), "missing_codes": "SEX=1", "reads": "yes"}
        answer = client.post(f"/start/{address}", fields, page="start")
        assert "is being written" in answer.text, address
    assert desk.bench.source.path == path
    end.set()
    assert desk.bench.jobs.of("export").ended.wait(60)
    desk.demo()


def test_a_file_that_has_changed_is_not_safe(client, desk, survey):
    desk.open(survey, None)
    survey.write_text(survey.read_text() + "1,1,1,1,1,1\n")
    assert "The file has changed since it was opened" in client.get("/columns").text
    desk.open(survey, None)
    assert "The file has changed" not in client.get("/columns").text


def test_a_page_of_an_earlier_file_changes_nothing(client, desk, survey):
    client.post("/start/open", {"file": str(survey)}, page="start")
    number = desk.number
    desk.demo()
    answer = client.post("/columns/roles", {"role-4": "key", "work": str(number)})
    assert answer.status == 422
    assert "another file was opened" in answer.text
    assert desk.bench.keys == []


def test_a_file_is_read_in_another_way_and_undo_leads_back(client, desk, tmp_path):
    path = tmp_path / "codes.csv"
    path.write_text("SEX,AGE\n1,99\n2,30\n2,99\n")
    desk.open(path, None)
    desk.bench.set_roles({"SEX": "key"}, "a key")
    assert waited(data.view, desk.bench)["rows"][0] == ["1", "99"]
    client.post("/start/read", {"missing_codes": "AGE=99", "reads": "yes"}, "data")
    assert desk.bench.keys == ["SEX"]
    assert waited(data.view, desk.bench)["rows"][0] == ["1", ""]
    client.post("/undo", page="data")
    assert waited(data.view, desk.bench)["rows"][0] == ["1", "99"]
    client.post("/redo", page="data")
    assert waited(data.view, desk.bench)["rows"][0] == ["1", ""]


def test_other_columns_begin_without_rules(desk, tmp_path):
    path = tmp_path / "semicolons.csv"
    path.write_text("A;B,C\n1;2,5\n")
    desk.open(path, Reading(delimiter=","))
    desk.bench.set_roles({"A;B": "key"}, "a key")
    desk.read(Reading(delimiter=";"))
    assert desk.bench.names == ["A", "B,C"]
    assert desk.bench.keys == []
    assert desk.bench.table("safe") == {"k": 3}


def test_a_reading_that_does_not_fit_changes_nothing(client, desk, survey):
    client.post("/start/open", {"file": str(survey)}, page="start")
    for fields in ({"encoding": "klingon"}, {"metadata": "/etc/passwd"},
                   {"missing_codes": '"NA'}, {"weight_scale": "-1"}):  # fmt: skip
        answer = client.post("/start/read", {**fields, "reads": "yes"}, "data")
        assert answer.status == 422, fields
    assert len(desk.bench.history.versions) == 1


def test_the_same_file_is_opened_again_and_goes_on(desk, survey):
    desk.open(survey, None)
    desk.bench.set_roles({"SEX": "key"}, "a key")
    desk.open(survey, None)
    assert desk.bench.keys == ["SEX"]
    desk.open(survey, None, new=True)
    assert desk.bench.keys == []


def test_a_refused_file_leaves_the_one_before(desk, survey, tmp_path):
    desk.open(survey, None)
    with pytest.raises(FileNotFoundError):
        desk.open(tmp_path / "nothing.csv", None)
    assert desk.bench.source.path == survey
    assert desk.bench.description() or desk.bench.jobs.of("describe").ended.wait(60)


def test_the_demo_is_opened_from_a_private_folder(client, desk):
    answer = client.post("/start/demo", page="start")
    assert "These are simulated persons" in answer.text
    assert desk.bench.path.parent.parent == desk.folders.uploads
    client.post("/start/demo", page="start")
    assert len(desk.folders.sent()) == 1


def send(client, name, body, **headers):
    """Send a file as the script of the start page does."""
    csrf = client.get("/start").field("csrf")
    usual = {"content-type": "application/octet-stream", "x-csrf": csrf}
    headers = {**usual, "x-name": name, **headers}
    return client._ask("POST", "/start/send", body, headers)


def test_a_file_is_sent_and_opened(client, desk, survey):
    answer = send(client, "my%20survey.csv", survey.read_bytes())
    assert answer.headers["location"] == "/data"
    assert desk.bench.source.path.name == "my survey.csv"
    assert "my survey.csv" in client.get("/start").text


def test_a_sent_file_is_removed_with_its_history(client, desk, survey, settings_folder):
    send(client, "survey.csv", survey.read_bytes())
    path = desk.bench.source.path
    desk.bench.set_roles({"SEX": "key"}, "a key")
    sessions = settings_folder / "sessions"
    assert len([*sessions.iterdir()]) == 1
    answer = client.post("/start/remove", {"file": str(path)}, page="start")
    assert "The file was removed" in answer.text
    assert not desk.is_open
    assert not path.parent.exists()
    assert [*sessions.iterdir()] == []
    assert client.post("/start/remove", {"file": str(survey)}, "start").status == 422
    assert survey.exists()


@pytest.mark.parametrize(
    "name",
    ["..%2Fx.csv", "x.exe", "", "%00.csv", "a%2Fb.csv", "%C3%A9" * 99 + ".csv"],
)
def test_odd_names_are_refused(client, desk, name):
    assert send(client, name, b"a\n1\n").status == 422
    assert not desk.is_open
    assert desk.folders.sent() == []


def test_files_without_the_secret_or_too_large_are_refused(client, desk):
    assert send(client, "x.csv", b"a\n1\n", **{"x-csrf": "0" * 64}).status == 403
    huge = {"content-length": str(1 << 40)}
    assert send(client, "x.csv", b"a\n1\n", **huge).status == 413
    assert send(client, "x.csv", b"a", **{"content-type": "text/csv"}).status == 415
    assert desk.folders.sent() == []


def test_a_browser_that_hangs_up_leaves_nothing(desk):
    client = Client(desk)
    csrf = client.get("/start").field("csrf")
    scope = client.scope("POST", "/start/send", b"x" * 10) | {}
    scope["headers"] += [(b"x-csrf", csrf.encode()), (b"x-name", b"x.csv")]
    scope["headers"] = [
        (name, b"application/octet-stream" if name == b"content-type" else value)
        for name, value in scope["headers"]
    ]
    messages = [
        {"type": "http.request", "body": b"a\n", "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent = []

    async def receive():
        return messages.pop(0)

    async def note(message):
        sent.append(message)

    asyncio.run(client.application(scope, receive, note))
    assert sent[0]["status"] == 400
    assert [*desk.folders.uploads.iterdir()] == []


def test_an_earlier_page_reads_no_other_file_otherwise(client, desk, survey):
    client.post("/start/open", {"file": str(survey)}, page="start")
    number = desk.number
    desk.demo()
    fields = {"missing_codes": "SEX=1", "reads": "yes", "work": str(number)}
    assert client.post("/start/read", fields, "data").status == 422
    assert "missing_codes" not in desk.bench.table("data")


def test_the_same_file_stays_open_if_it_is_refused(client, desk, survey):
    desk.open(survey, None)
    desk.bench.set_roles({"SEX": "key"}, "a key")
    fields = {"file": str(survey), "encoding": "utf-16", "reads": "yes"}
    assert "not utf-16" in client.post("/start/open", fields, page="start").text
    assert desk.bench.keys == ["SEX"]


def test_a_file_that_may_not_be_removed_stays_open(client, desk, survey):
    desk.open(survey, None)
    fields = {"file": str(survey)}
    assert client.post("/start/remove", fields, page="start").status == 422
    assert desk.is_open


def test_a_folder_is_removed_with_all_histories(client, desk, survey, settings_folder):
    send(client, "survey.csv", survey.read_bytes())
    path = desk.bench.source.path
    rules = desk.bench.release.write(path.parent / "release.toml").path
    desk.open(rules, None)
    assert len([*(settings_folder / "sessions").iterdir()]) == 2
    assert client.get("/start").text.count('action="/start/remove"') == 1
    client.post("/start/remove", {"file": str(path)}, page="start")
    assert not desk.is_open
    assert [*(settings_folder / "sessions").iterdir()] == []


@pytest.fixture
def households(tmp_path):
    """Return the path of a file of persons, beside one of their households."""
    (tmp_path / "households.csv").write_text("HID,ROOMS\n1,2\n2,3\n")
    path = tmp_path / "persons.csv"
    path.write_text("HID,SEX,AGE\n1,1,30\n1,2,40\n2,1,50\n")
    return path


def test_undo_does_not_lead_to_a_file_that_is_gone(client, desk, households):
    desk.open(
        households, Reading(household_file=households.with_name("households.csv"))
    )
    desk.read(Reading())
    (households.with_name("households.csv")).unlink()
    answer = client.post("/undo", page="data")
    assert answer.status == 422
    assert "households.csv: no such file" in answer.text
    for page in ("start", "data", "columns", "history"):
        assert client.get(f"/{page}").status == 200
    assert desk.bench.names == ["HID", "SEX", "AGE"]


def test_a_file_is_opened_without_one_that_is_gone(client, desk, households):
    beside = households.with_name("households.csv")
    desk.open(households, Reading(household_file=beside))
    desk.close()
    beside.unlink()
    fields = {"file": str(households)}
    answer = client.post("/start/open", fields, page="start")
    assert "households.csv: no such file" in answer.text
    client.post("/start/open", {**fields, "reads": "yes"}, page="start")
    assert desk.bench.table("data") == {"file": households.name}


def test_a_file_opened_with_other_columns_begins_without_rules(desk, tmp_path):
    path = tmp_path / "semicolons.csv"
    path.write_text("A;B,C\n1;2,5\n")
    desk.open(path, Reading(delimiter=","))
    desk.bench.set_roles({"A;B": "key"}, "a key")
    desk.close()
    desk.open(path, Reading(delimiter=";"))
    assert desk.bench.names == ["A", "B,C"]
    assert desk.bench.keys == []


@posix
@pytest.mark.parametrize("place", ["pipe.toml", "names.toml", "survey.csv"])
def test_no_pipe_is_waited_for(client, desk, survey, place):
    folder = survey.parent
    os.mkfifo(folder / "pipe.toml")
    named = "format = 1\n[data]\nfile = 'survey.csv'\nmetadata = 'pipe.toml'\n"
    (folder / "names.toml").write_text(named)
    fields = {"file": place}
    if place == survey.name:
        fields |= {"reads": "yes", "metadata": "pipe.toml"}
    answers = []

    def ask():
        answers.append(client.post("/start/open", fields, "start").text)

    asking = threading.Thread(target=ask, daemon=True)  # nobody writes into the pipe
    asking.start()
    asking.join(LONG)
    assert "a device or pipe" in answers[0]


# --- tables of the columns ---


@pytest.fixture
def bench(desk, tmp_path):
    """Return a workbench of a few records with missing values."""
    path = tmp_path / "few.csv"
    frame = pd.DataFrame({"A": ["x", "y", "x", None], "B": ["1", "1", "2", "2"]})
    frame.to_csv(path, index=False)
    desk.open(path, None)
    return desk.bench


def test_a_table_of_one_column(bench):
    table = waited(data.view, bench, column=0)["table"]
    assert table["heads"] == []
    assert [(head[0], total) for head, _, total in table["rows"]] == [
        ("x", 2), ("y", 1), (None, 1),
    ]  # fmt: skip
    assert (table["of"], table["most"], table["more"]) == (4, 2, 0)


def test_a_table_of_two_columns(bench):
    table = waited(data.view, bench, column=0, by=1)["table"]
    assert [head[0] for head in table["heads"]] == ["1", "2"]
    assert [(row[0][0], row[1], row[2]) for row in table["rows"]] == [
        ("x", [1, 1], 2), ("y", [1, 0], 1), (None, [0, 1], 1),
    ]  # fmt: skip
    assert table["totals"] == [2, 2]


def test_the_most_frequent_of_many_categories_are_shown(bench, monkeypatch):
    monkeypatch.setattr(data, "_MOST", {1: (1, 1), 2: (60, 15)})
    table = waited(data.view, bench, column=0)["table"]
    assert [row[0][0] for row in table["rows"]] == ["x"]
    assert table["more"] == 2


def test_tables_that_cannot_be_made_are_refused(bench, monkeypatch):
    assert waited(data.view, bench)["table"] is None
    with pytest.raises(ValueError, match="two different columns"):
        data.view(bench, form(column=0, by=0))
    with pytest.raises(ValueError, match="no such column"):
        data.view(bench, form(column=7))
    monkeypatch.setattr(data, "_LARGEST", 3)
    with pytest.raises(ValueError, match="too many categories together"):
        data.view(bench, form(column=0, by=1))


def test_a_file_that_was_sent_is_released_beside_itself(client, desk, survey):
    send(client, "survey.csv", survey.read_bytes())
    desk.bench.set_roles(ROLES, "roles")
    fields = {"file": "safe.csv", "allow_unsafe": "1", "rules": "release.toml"}
    client.post("/export/write", fields, page="export")
    job = desk.bench.jobs.of("export")
    assert job.ended.wait(60)
    assert job.error == ""
    answer = client.get(f"/export/file?of={job.result.mark}&at=0")
    assert answer.body == (desk.bench.path.parent / "safe.csv").read_bytes()
    other = desk.folders.new_folder() / "x.csv"
    client.post("/export/write", {**fields, "file": str(other)}, page="export")
    assert desk.bench.jobs.of("export").ended.wait(60)
    assert "the folder of your keys" in desk.bench.jobs.of("export").error
