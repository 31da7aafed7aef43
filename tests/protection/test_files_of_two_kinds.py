"""Files of one survey in several formats, read together by the options of one."""

import numpy as np
import openpyxl
import pandas
import pytest

from riskcore import Reading, check, protect
from riskcore.data.files import formats
from riskcore.protection.settings.remedies import never_blanked
from tests.accepted import ANY_LEAK

pytestmark = pytest.mark.filterwarnings(
    "ignore::riskcore.protection.records.showing.SuppressedValueShows",
    "ignore::riskcore.data.files.excel.SheetsLeftOut",
)
KEYS = ["region", "sex", "age"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def survey(n=300):
    rng = np.random.default_rng(7)
    return pandas.DataFrame(
        {
            "region": rng.integers(1, 6, n),
            "sex": rng.integers(1, 3, n),
            "age": rng.integers(15, 90, n),
            "w": rng.integers(20, 60, n) / 2.0,
            "income": rng.lognormal(7, 1, n).round(),
        }
    )


def written(data, name):
    if name.endswith(".csv"):
        data.to_csv(name, index=False)
    elif name.endswith(".parquet"):
        data.to_parquet(name)
    elif name.endswith(".xlsx"):
        book = openpyxl.Workbook()
        book.active.append(["note"])
        sheet = book.create_sheet("data")
        for row in [[*data.columns], *data.values.tolist()]:
            sheet.append(row)
        book.save(name)
    else:
        formats.write(name, dict(data.items()))


def released(name, output, reading=None, **how):
    rules = {"recodings": {"age": "from:30,60"}, "k": 3, **ANY_LEAK, **how}
    result = protect(name, KEYS, "w", reading=reading, **rules)
    result.write(output, shuffle=True, drop=["w", "income"])
    return f"{output}.private.json"


def test_the_original_is_read_with_the_missing_codes_of_the_record(run):
    data = survey().astype({"age": object, "income": object})
    data.loc[::7, "age"] = "NA"
    data.loc[::9, "income"] = "-9"
    written(data, "survey.csv")
    codes = Reading(missing_codes={"": ["NA"], "income": ["-9"]})
    record = released("survey.csv", "safe.csv", codes, threshold=0.2, k=None)
    status, said, _ = run(f"check safe.csv --record {record} --original survey.csv")
    assert status == 0, said
    assert "fit no record" not in said
    assert check("safe.csv", record=record, original="survey.csv").passed


def test_each_workbook_has_the_sheet_of_its_own(run):
    written(survey(), "survey.xlsx")
    record = released("survey.xlsx", "safe.xlsx", Reading(sheet="data"))
    beside = f"--record {record} --quiet"
    for line in (
        f"check safe.xlsx --original survey.xlsx {beside}",
        f"check safe.xlsx --original survey.xlsx --sheet data {beside}",
        f"compare survey.xlsx safe.xlsx {beside}",
    ):
        status, said, errors = run(line)
        assert status == 0, said + errors


@pytest.mark.parametrize("name", ["survey.sav", "survey.dta", "survey.parquet"])
def test_text_is_read_as_the_numbers_of_the_original(run, figures, name):
    """Labelled codes count as numbers; ages are text in both files."""
    written(survey(), name)
    record = released(name, "safe.csv")
    assert check("safe.csv", record=record, original=name).passed
    safe = pandas.read_csv("safe.csv", dtype=str)
    # Another file than the record names is examined record by record.
    safe.iloc[::-1].to_csv("again.csv", index=False)
    found = check("again.csv", record=record, original=name)
    assert (found.unknown, [rule.passed for rule in found.rules]) == ((), [True])
    rules = f"{KEYS[0]} {KEYS[1]}"
    for line in (
        f"audit {name} safe.csv --keys {rules} --with again.csv",
        f"audit safe.csv {name} --keys {rules}",
    ):
        assert figures(line)["records"]["original"] == 300


def test_other_text_is_not_taken_for_numbers(refused):
    written(survey(), "survey.parquet")
    data = survey().astype({"region": str})
    data.loc[0, "region"] = "north"
    written(data, "safe.csv")
    said = refused("audit survey.parquet safe.csv --keys region sex")
    assert "'region': numbers in one file and text in another" in said


def test_a_code_is_for_the_files_that_have_the_column(run, refused):
    written(survey(), "survey.csv")
    released("survey.csv", "safe.csv")
    keys = "--keys region sex --quiet"
    for line in (
        f"audit survey.csv safe.csv {keys} --na income=-9",
        f"audit safe.csv survey.csv {keys} --na income=-9",
        f"compare survey.csv safe.csv {keys} --na income=-9",
        f"check safe.csv --original survey.csv {keys} --k 2 --na income=-9",
    ):
        assert run(line)[0] in (0, 1), line
    for command in ("audit survey.csv safe.csv", "compare survey.csv safe.csv"):
        said = refused(f"{command} {keys} --na salary=-9")
        assert "survey.csv: missing codes: no column 'salary'" in said
    released("survey.csv", "early.csv", k=2)
    with open("rules.toml", "w") as file:
        file.write(
            'format = 1\n[data]\nfile = "survey.csv"\nmissing_codes = '
            '{income = ["-9"]}\n[columns]\nkeys = ["region", "sex", "age"]\n'
            'weight = "w"\n[recodings]\nage = "from:30,60"\n[safe]\nk = 3\n'
            '[output]\nfile = "safe.csv"\ndrop = ["w", "income"]\nshuffle = true\n'
        )
    line = "check --rules rules.toml --original survey.csv --with early.csv"
    status, said, errors = run(line)
    assert (status, "both together" in said) == (0, True), said + errors


def test_the_decimal_mark_is_for_the_text(run, refused):
    data = survey()
    data.to_csv("survey.csv", sep=";", decimal=",", index=False)
    data[["region", "sex"]].to_parquet("safe.parquet")
    keys = "--keys region sex --weight w --quiet"
    line = f"audit survey.csv safe.parquet {keys} --decimal ,"
    assert run(line)[0] == 0
    data.to_parquet("survey.parquet")
    said = refused(f"audit survey.parquet safe.parquet {keys} --decimal ,")
    assert (
        "survey.parquet: a Parquet file; only CSV and Excel files have a decimal mark"
        in said
    )
    said = refused(f"audit survey.parquet safe.parquet {keys} --user-missing codes")
    assert "only files of SPSS" in said


def test_files_are_compared_without_weights_that_were_dropped(run, figures):
    written(survey(), "survey.csv")
    record = released("survey.csv", "safe.csv")
    line = f"compare survey.csv safe.csv --record {record}"
    assert figures(line)["weight"] is None
    assert "'w' was left out of safe.csv: compared without weights" in run(line)[2]


def test_franconi_gives_every_record_a_risk(run):
    """Missing keys count by chance: 1 < f < 2, where sdcMicro's formula gives 0."""
    data = survey().astype({"region": object})
    data.loc[::11, "region"] = None
    written(data, "survey.csv")
    line = (
        "protect survey.csv --keys region sex age --weight w --population weights "
        "--method franconi --threshold 2% --report page.html --report-public out.html "
        "--role '*=harmless:a test' --accept '*=a test' --overwrite --quiet"
    )
    status, _, errors = run(line)
    assert status == 0, errors
    result = protect(
        data, KEYS, "w", method="franconi", population="weights", rate=0.5, **ANY_LEAK
    )
    assert result.protected.individual_risk.min() > 0.0


def test_remedies_are_said_as_options(refused):
    written(survey(), "survey.csv")
    said = refused("protect survey.csv --keys region sex --k 3 --l 2")
    assert said.endswith("give --role COLUMN=sensitive")
    said = refused("check survey.csv --keys sex --k 2 --with survey.csv")
    assert said.endswith("--with needs the original: give --original")
    written(survey(), "survey.sav")
    said = refused("assess survey.sav --keys sex --decimal ,")
    assert "survey.sav: an SPSS file; only" in said
    written(survey(), "whole.parquet")
    with open("whole.parquet", "rb") as file, open("cut.parquet", "wb") as cut:
        cut.write(file.read()[:3000])
    said = refused("assess cut.parquet --keys sex")
    assert said.endswith("if the file was cut or damaged, copy or write it again")


def test_a_cost_that_takes_the_place_of_another_says_so():
    for cost, said in (
        ("fewest", ""),
        ("equal", " in place of costs that are 'equal'"),
    ):
        settings = protect(survey(), KEYS, k=3, cost=cost, **ANY_LEAK).settings
        words = f"blank other keys than 'sex'{said}"
        assert str(never_blanked("sex", settings)).startswith(words + ":")
