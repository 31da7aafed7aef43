"""The command: what it prints, writes and refuses."""

import gzip
import json
import os
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from riskcore import accuracy, assess, check, describe, protect, simulate
from riskcore.assessment.cell_risk import RECORD_COLUMNS
from riskcore.assessment.uniques import estimate_uniques
from riskcore.data.files import formats
from riskcore.disclosure import audit_result
from tests.cli.conftest import ASSESS, ROLES, SURVEY

pytestmark = pytest.mark.usefixtures("folder")

PROTECT = f"protect survey.csv {ROLES} --threshold 0.9"
UNIQUES = "uniques survey.csv --keys age --weight weight"


def assessed(**options):
    return assess("survey.csv", ["region", "age"], "weight", "household", **options)


# What it prints


def test_summary(run):
    status, out, err = run(f"{ASSESS} --rate 1%")
    assert (status, err) == (0, "")
    assert out.startswith("riskcore 0.1.0: survey.csv\n  records ")
    result = assessed()
    assert f"{100 * result.reidentification_rate:.8g} %" in out
    assert f"{100 * result.household_reidentification_rate:.8g} %" in out
    assert f"{result.risk_threshold(rate=0.01):.8g}" in out


def test_json_has_every_bit(figures):
    result = assessed()
    found = figures(f"{ASSESS} --rate 0.7% --unsafe 1 --threshold 0 10% 1")
    assert found["file"] == "survey.csv"
    assert found["max_risk"] == result.max_risk
    assert found["reidentification_rate"] == result.reidentification_rate
    assert found["expected_reidentifications"] == result.expected_reidentifications
    assert found["for_rate"]["rate"] == 0.007
    assert found["for_rate"]["threshold"] == result.risk_threshold(rate=0.007)
    assert found["for_unsafe"]["threshold"] == result.risk_threshold(unsafe=1)
    assert [row["threshold"] for row in found["unsafe_records"]] == [0.0, 0.1, 1.0]
    assert [row["records"] for row in found["unsafe_records"]] == [4, 1, 0]
    households = found["households"]
    assert households["reidentification_rate"] == result.household_reidentification_rate
    assert [row["region"] for row in found["riskiest"]] == ["01", "01", "02"]


@pytest.mark.parametrize("method", ["exact", "series7", "franconi"])
def test_method(figures, method):
    result = assess("survey.csv", ["region"], "weight", method=method)
    found = figures(
        f"assess survey.csv --keys region --weight weight --method {method}"
    )
    assert (found["method"], found["max_risk"]) == (method, result.max_risk)


@pytest.mark.parametrize(
    ("options", "key", "threshold", "records"),
    [
        ("--rate 0", "for_rate", 0.0, 4),
        ("--rate 100%", "for_rate", None, 0),
        ("--rate 99%", "for_rate", None, 0),
        ("--unsafe 0", "for_unsafe", None, 0),
        ("--unsafe 4", "for_unsafe", "min", 4),
    ],
)
def test_ends_of_the_thresholds(figures, options, key, threshold, records):
    found = figures(f"{ASSESS} {options}")
    if threshold == "min":
        threshold = assessed().individual_risk.min()
    assert (found[key]["threshold"], found[key]["records"]) == (threshold, records)


def test_top(run, figures):
    assert len(figures(f"{ASSESS} --top 2")["riskiest"]) == 2
    assert "Riskiest" not in run(f"{ASSESS} --top 0")[1]


@pytest.mark.parametrize("option", ["", "--json", "--quiet"])
def test_population_below_sample_is_never_silent(run, folder, option):
    (folder / "low.csv").write_text("k,w\n1,0.25\n1,0.5\n2,7\n")
    status, out, err = run(f"assess low.csv --keys k --weight w {option}")
    assert status == 0
    assert err.startswith("riskcore: warning: ")
    warned = "in 1 of 2 cells (2 of 3 records) the weights add to less than the records"
    assert warned in err
    assert len(err.splitlines()) == 1
    if option == "--json":
        found = json.loads(out)
        assert (found["cells_below_sample"], found["records_below_sample"]) == (1, 2)
        assert found["max_risk"] == 0.5
    else:
        assert "(F < f) in 1 cell with 2 records: their risk is taken as 1/f" in out


def test_labels_and_names_cannot_steer_the_terminal(run, folder):
    name = "evil\x1b[31m.csv"
    (folder / name).write_bytes(b"k\x1b[1m,w\n\x1b[2J,2\n\xe2\x80\xaex,3\n")
    status, out, err = run("assess", name, "--keys", "k\x1b[1m", "--weight", "w")
    assert (status, err) == (0, "")
    assert "evil\\x1b[31m.csv" in out
    assert "\\x1b[2J" in out
    assert all(c.isprintable() for c in out.replace("\n", ""))
    for wrong in ("k", "\x1b[7m"):
        _, out, err = run("assess", name, "--keys", wrong)
        assert err.endswith("\n")
        assert err.rstrip("\n").isprintable()


def test_json_keeps_labels_as_they_are(figures, folder):
    (folder / "s.csv").write_bytes("k\n\x1b[2J\né\n".encode())
    riskiest = figures("assess s.csv --keys k")["riskiest"]
    assert {row["k"] for row in riskiest} == {"\x1b[2J", "é"}


# What it reads


def test_semicolons_byte_order_mark_and_gzip(figures, folder):
    (folder / "bom.csv").write_bytes(b"\xef\xbb\xbfsex;w\r\n1;2,5\r\n2;3\r\n")
    assert figures("assess bom.csv --keys sex")["cells"] == 2
    (folder / "s.csv.gz").write_bytes(gzip.compress(SURVEY))
    expected = {**figures(ASSESS), "file": "s.csv.gz"}
    assert figures(f"assess s.csv.gz {ROLES}") == expected


def test_encoding_and_delimiter(figures, folder):
    (folder / "old.csv").write_bytes(b"Stra\xdfe/w\nB\xf6/2\nC/3\n")
    options = "--keys Straße --weight w --encoding cp1252 --delimiter /"
    riskiest = figures(f"assess old.csv {options}")["riskiest"]
    assert {row["Straße"] for row in riskiest} == {"Bö", "C"}


def test_a_tab_can_be_given(run, refused, folder):
    (folder / "t.csv").write_text("k\tw,\n1\t2\n1\t3\n")
    line = "assess t.csv --keys k --delimiter"
    for tab in ("tab", "\\t", "\t"):
        status, out, _ = run(line, tab)
        assert (status, "records                      2\n" in out) == (0, True)
    assert "--delimiter ab: give one ASCII character" in refused(line, "ab")


def test_parquet_keys_of_every_type(figures):
    table = pa.table(
        {
            "date": pa.array([0, 1, 0], pa.date32()),
            "time": pa.array([0, 1, 0], pa.timestamp("ns")),
            "flag": [True, False, True],
            "real": [0.5, float("inf"), 0.5],
            "code": pa.array(["a", "b", "a"]).dictionary_encode(),
            "weight": [2, 3, 4],
        }
    )
    pq.write_table(table, "t.parquet")
    found = figures("assess t.parquet --keys date time flag real code --weight weight")
    assert found["cells"] == 2
    assert found["population"] == 9.0
    assert found["riskiest"][0]["date"] == "1970-01-02"
    assert found["riskiest"][0]["real"] == "inf"


def test_a_column_with_an_empty_name(figures, folder):
    (folder / "r.csv").write_text('"",k\n2,a\n3,b\n')
    assert figures("assess r.csv --keys k --weight ''")["population"] == 5.0


def test_missing_keys(run, refused, figures, folder):
    (folder / "m.csv").write_text("a,b\n,1\n2,1\n,1\n")
    said = refused("assess m.csv --keys a b --missing refuse")
    assert "'a' in 2 of 3 records" in said
    usual = figures("assess m.csv --keys a b")
    assert usual == figures("assess m.csv --keys a b --missing wildcard")
    assert usual["incomplete_records"] == 2
    # A rule that this command has is the first to be named.
    said = refused("uniques m.csv --keys a --population 9")
    assert "'a' in 2 of 3 records; --missing category counts" in said
    assert "not in suda and in models of the population" in said
    assert figures("assess m.csv --keys a b --missing category")["cells"] == 2
    status, out, _ = run("assess m.csv --keys a --missing category")
    assert status == 0
    assert "(missing)" in out


def test_missing_keys_as_wildcards(run, refused, figures, folder):
    (folder / "m.csv").write_text("a,b,w\n1,1,10\n1,1,20\n2,1,30\n,1,40\n1,,50\n")
    line = "assess m.csv --keys a b --weight w --missing"
    found = figures(f"{line} wildcard --alpha 50%")
    assert (found["missing"], found["alpha"]) == ("wildcard", 0.5)
    assert (found["records"], found["cells"], found["population"]) == (5, 4, 150.0)
    assert found["riskiest"][0]["sample_frequency"] == 1.5
    status, out, _ = run(f"{line} wildcard")
    assert status == 0
    rule = "missing keys                 in 2 records; they match any value, as in sdcM"
    assert rule in out
    assert "mu-Argus" in run(f"{line} argus")[1]
    said = refused(f"{line} argus --alpha 0.5")
    assert "--alpha 0.5 needs --missing wildcard" in said


# What it writes


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.csv.gz", "out.parquet"])
def test_output_has_all_columns_in_record_order(run, name):
    status, out, _ = run(f"{ASSESS} --output {name}")
    assert status == 0
    assert f"The risk of each record is in {name}" in out
    columns = ("region", "age", "weight", "household", "note", *RECORD_COLUMNS)
    assert formats.columns_of(name).names == columns
    written = formats.read(name, numeric=RECORD_COLUMNS)
    assert written["region"].to_pylist() == ["02", "01", "02", "01"]
    assert written["note"].to_pylist() == ["a,b", None, "é", "-"]
    records = assessed().records
    for column in RECORD_COLUMNS:
        assert written[column].to_pylist() == np.asarray(records[column]).tolist()


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_output_of_a_mu_argus_file(run, folder, name):
    (folder / "s.rda").write_text(
        "SEX 1 1 9\n <RECODABLE>\nW 2 5\n <WEIGHT>\nHH 7 2\n <HOUSE_ID>\n"
        "INCOME 9 4 9999\n <NUMERIC>\n"
    )
    (folder / "s.asc").write_text("112.50 7 100\n2 8.0012   5\n1 7.50 79999\n")
    assert run(f"assess s.asc --keys SEX --household HH --output {name}")[0] == 0
    written = formats.read(name, numeric=["W", "INCOME", *RECORD_COLUMNS])
    assert written.column_names == ["SEX", "W", "HH", "INCOME", *RECORD_COLUMNS]
    assert written["SEX"].to_pylist() == ["1", "2", "1"]
    assert written["population_frequency"].to_pylist() == [20.0, 8.0, 20.0]
    result = assess("s.asc", ["SEX"], household="HH")
    assert written["individual_risk"].to_pylist() == result.individual_risk.tolist()
    assert written["household_risk"].to_pylist() == result.household_risk.tolist()


def test_metadata_that_declare_households(run, folder):
    (folder / "s.rda").write_text(
        "SEX 1 1\n <RECODABLE>\nW 2 2\n <WEIGHT>\nHH 4 1\n <HOUSE_ID>\n"
    )
    (folder / "s.asc").write_text("112a\n112a\n207b\n120c\n")
    result = assess("s.asc", ["SEX"])
    expected = assess("s.asc", ["SEX"], household="HH")
    assert np.array_equal(result.household_risk, expected.household_risk)
    assess("s.asc", ["SEX"], level="household")
    with pytest.raises(ValueError, match="level='household' needs the household col"):
        assess("s.asc", ["HH"], level="household")
    status, out, _ = run("assess s.asc --keys SEX --report r.html")
    assert (status, "household" in out) == (0, True)
    assert "HH" in (folder / "r.html").read_text()
    roles = {c.profile.name: c.role for c in describe("s.asc").columns}
    assert roles["HH"] == "household"
    assert protect("s.asc", ["SEX"], k=2).settings.household == "HH"
    given = {"roles": {"HH": "identifier"}}
    assert protect("s.asc", ["SEX"], k=2, **given).settings.household is None
    assert check("s.asc", ["SEX"], max_household_risk=1).passed
    with pytest.raises(ValueError, match="household risks needs the household column"):
        check("survey.csv", ["region"], max_household_risk=1)


def test_a_warning_is_said_once(run, folder):
    (folder / "s.rda").write_text("SEX 1 1\n <RECODABLE>\nW 2 2\n <WEIGHT>\n")
    (folder / "s.asc").write_text("112\n208\n107")
    for _ in range(2):  # once for each command
        status, _, err = run("assess s.asc --keys SEX --na SEX=8")
        assert (status, err.count("no line end"), err.count("do not occur")) == (
            0,
            1,
            1,
        )


def test_output_replaces_only_if_asked(run, refused, folder):
    (folder / "out.csv").write_text("mine")
    assert "out.csv: already exists" in refused(f"{ASSESS} --output out.csv")
    assert (folder / "out.csv").read_text() == "mine"
    assert run(f"{ASSESS} --output out.csv --overwrite")[0] == 0
    assert (folder / "out.csv").read_text() != "mine"
    assert sorted(os.listdir()) == ["out.csv", "survey.csv"]


@pytest.mark.parametrize("options", ["--unsafe 5", "--missing x", "--household zip"])
def test_nothing_is_written_if_refused(refused, options):
    refused(f"assess survey.csv --keys region age --output o.csv {options}")
    assert os.listdir() == ["survey.csv"]


@pytest.mark.parametrize("output", ["out.xls", "out"])
def test_output_refused_before_work(refused, output):
    said = refused(f"assess absent.csv --keys k --output {output}")
    assert "can write .csv" in said


def broken(*_, **__):
    raise OSError("disk full")


def test_table_and_report_appear_together(run, refused, folder, monkeypatch):
    for name in ("out.csv", "out.html"):
        (folder / name).write_text("old")
    line = f"{ASSESS} --output out.csv --report out.html --overwrite"
    with monkeypatch.context() as patch:
        patch.setattr("riskcore.report.page.page", broken)
        assert "disk full" in refused(line)
    assert {(folder / name).read_text() for name in ("out.csv", "out.html")} == {"old"}
    assert run(line)[0] == 0
    assert "old" not in {Path(name).read_text() for name in ("out.csv", "out.html")}
    assert sorted(os.listdir()) == ["out.csv", "out.html", "survey.csv"]


@pytest.mark.parametrize("name", ["individual_risk", "Individual_Risk"])
def test_a_column_called_like_a_result(run, refused, folder, name):
    (folder / "s.csv").write_text(f"k,{name}\n1,0.5\n2,0.5\n")
    assert run("assess s.csv --keys k")[0] == 0
    assert repr(name) in refused("assess s.csv --keys k --output o.csv")
    assert repr(name) in refused(f"assess s.csv --keys {name}")


def test_files_written_are_named_in_one_way(run):
    out = run(f"{ASSESS} --output o.csv --report r.html --report-public p.html")[1]
    assert out.endswith(
        "\n\n  The risk of each record is in o.csv.\n  The report is in r.html.\n"
        "  The report for publication is in p.html.\n"
    )
    assert "survey.csv: re-identification risk" in Path("r.html").read_text()


def test_the_report_of_uniques(run, folder, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    status, out, err = run(f"{UNIQUES} --report r.html")
    assert (status, err) == (0, "")
    assert "The report is in r.html." in out
    text = (folder / "r.html").read_text()
    assert "<h1>survey.csv: population uniques</h1>" in text
    assert UNIQUES in text
    # Except for the file and the command it is what Python writes.
    found = estimate_uniques("survey.csv", ["age"], "weight")
    found.report("p.html", title="survey.csv: population uniques")
    command = re.search("<h3>To make this report again</h3>.*?</div>\n", text, re.S)[0]
    row = '<tr><th scope="row" class="text">file</th>'
    file = re.search(f"{row}.*?</tr>\n", text, re.S)[0]
    ours = (folder / "p.html").read_text()
    assert text.replace(command, "").replace(file, "") == ours


def test_the_report_of_sizes_names_no_file(run, folder):
    line = "uniques --sizes 1=40 2=9 --population 9000 --cells 5000"
    assert run(f"{line} --report r.html --json")[0] == 0
    text = (folder / "r.html").read_text()
    assert "<h1>Population uniques</h1>" in text
    assert "49 sample" not in text
    assert "40 sample uniques" in text
    assert '<th scope="row" class="text">file</th>' not in text


# What it refuses


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0.0),
        ("1", 1.0),
        ("0.125%", 0.00125),
        ("0.7%", 0.007),
        ("100 %", 1.0),
        (" 1e-3 ", 0.001),
        ("1e-400", 0.0),
        (".5", 0.5),
    ],
)
def test_fractions(figures, text, value):
    found = figures("assess survey.csv --keys age --threshold", text)
    assert found["unsafe_records"][0]["threshold"] == value


SIZES = "uniques --sizes 1=5"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("protect survey.csv --keys age --threshold 0", "--threshold 0.0: "),
        (
            f"{PROTECT} --household-threshold 1% --household-rate 1%",
            "error: give --household-threshold or --household-rate, not both",
        ),
        (
            f"{SIZES} --cells {2**53 + 1} --population 9",
            "--cells 9007199254740993: need a number of cells",
        ),
        (
            "protect c.csv --keys household_rate --threshold 1% --cost cost=1",
            "error: --cost: 'cost' is not a key; keys are 'household_rate'",
        ),
    ],
)
def test_options_are_called_as_they_are_typed(refused, folder, line, message):
    (folder / "c.csv").write_text("household_rate,cost\n1,2\n")
    assert message in refused(line)


@pytest.mark.usefixtures("no_work", "no_libraries")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"{UNIQUES} --report s.html", "need jinja2: pip install {jit} jinja2 pyarrow"),
        ("demo", "need jinja2, pyarrow: pip install {jit} jinja2 pyarrow"),
        (
            "assess survey.sav --keys a --output o.dta --report r.html",
            "pip install {jit} jinja2 pandas pyarrow pyreadstat",
        ),
        ("run r.toml", "pip install {jit} jinja2 openpyxl pyarrow pyreadstat"),
        (f"{ASSESS} --output o.csv --report r.html", "{jit} jinja2 pyarrow"),
        (f"{PROTECT} --output o.csv --report-public r.html", "{jit} jinja2 pyarrow"),
    ],
)
def test_a_library_that_is_missing_is_named_before_the_work(refused, line, message):
    rules = '[data]\nfile = "s.sav"\n[columns]\nkeys = ["a"]\n[safe]\nk = 3\n[output]\n'
    rules = f'format = 1\n{rules}file = "o.xlsx"\nreport = "r.html"\n'
    Path("r.toml").write_text(rules)
    Path("s.sav").touch()
    assert message.format(jit="'riskcore[jit]'") in refused(line)
    assert sorted(os.listdir()) == ["r.toml", "s.sav", "survey.csv"]


@pytest.mark.parametrize(
    "fault",
    [IndexError("list index out of range"), KeyError("age\x1b[2J"), AttributeError()],
)
def test_a_defect_is_not_a_refusal(run, monkeypatch, fault):
    """An error of our own is reported as one: the file may be fine."""

    def fail(*_, **__):
        raise fault

    monkeypatch.setattr("riskcore.assessment.assess.tabulate_coded", fail)
    status, out, err = run(ASSESS)
    assert (status, out) == (70, "")
    assert "Traceback" in err
    assert "in fail" in err
    assert "\x1b" not in err
    last = err.splitlines()[-1]
    assert last.startswith("riskcore: error: this is a defect of riskcore")
    assert type(fault).__name__ in last


# Help and demo


def test_help_teaches(run):
    status, out, _ = run("--help")
    assert status == 0
    for command in ("assess", "demo", "error-table", "compare", "try"):
        assert command in out


TAUGHT = {
    "assess": ["FILE --keys COLUMN", "riskcore assess survey.csv", "E[1/F | f]", "0.1%",
               *RECORD_COLUMNS],
    "audit": ["ORIGINAL RELEASED --keys COLUMN", "E[1/F | f]", "--holdout FILE",
              *audit_result.RECORD_COLUMNS],
    "describe": ["identifier", "question mark", "--role", "proposal"],
    "error-table": ["--forms FORM", "1:1000:20:whole", "multi-precision",
                    *(form.partition(":")[0] for form in accuracy.FORMS)],
}  # fmt: skip


@pytest.mark.parametrize("command", TAUGHT)
def test_the_help_of_a_command_teaches(run, command):
    status, out, _ = run(f"{command} --help")
    assert status == 0
    assert out.startswith(f"usage: riskcore {command} ")
    for word in ("exit status", *TAUGHT[command]):
        assert word in out
    assert max(map(len, out.splitlines())) <= 88
    assert command in run("--help")[1]


def test_usage_without_a_command(run):
    status, out, err = run()
    assert (status, out) == (2, "")
    usage, said = err.splitlines()
    assert usage == "usage: riskcore [-h] [--version] COMMAND ..."
    assert said == "riskcore: error: give a COMMAND; riskcore --help lists them"


def test_demo(run, monkeypatch):
    for module in ("release.writing", "protect"):
        name = f"riskcore.protection.{module}.new_secret"
        monkeypatch.setattr(name, lambda: "5" * 64)
    status, out, err = run("demo --records 3000 --seed 3")
    assert status == 0
    # In so small a file an order may reveal two or three values by luck.
    few = (" suppressed values of ", "disagree about what is safe")
    assert all(any(one in line for one in few) for line in err.splitlines())
    lines = [line for line in out.splitlines() if line.startswith("$ riskcore ")]
    commands = [line.removeprefix("$ riskcore ") for line in lines]
    assert [command.split()[:2] for command in commands] == [
        ["assess", "riskcore-demo.csv"],
        ["protect", "riskcore-demo.csv"],
    ]
    survey = simulate.microdata(3000, np.random.default_rng(3))
    written = pyarrow.csv.read_csv("riskcore-demo.csv")
    assert written["WEIGHT"].to_pylist() == survey["WEIGHT"].tolist()
    # The commands shown are those run.
    again = zip(lines, commands, strict=True)
    assert "\n".join(f"{line}\n\n{run(words)[1]}" for line, words in again) == out
    assert "is small" not in out


def test_nothing_shows_in_the_demo(run):
    status, out, err = run("demo --records 6000")
    assert status == 0
    assert all("disagree about what is safe" in line for line in err.splitlines())
    assert "SEX 0" not in " ".join(out.split())


def test_demo_refused(refused, folder):
    assert "survey.csv: already exists" in refused("demo --file survey.csv")
    (folder / "other.html").touch()
    assert "other.html: already exists" in refused("demo --file other.csv")
    assert (folder / "survey.csv").read_bytes() == SURVEY


def test_numbers_that_are_known_have_a_role(figures, folder):
    (folder / "n.csv").write_text("a,pay,b\n1,10,x\n2,20,y\n")
    found = figures("assess n.csv --keys a --numeric pay")
    assert [one["column"] for one in found["not_examined"]] == ["b"]
