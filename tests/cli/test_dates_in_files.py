"""Dates in files of each format: described, recoded, shifted and checked."""

import datetime as dt
import re

import numpy as np
import pytest

from riskcore.data.files import formats

FAR = dt.date(9999, 12, 31)
FORMATS = ("csv", "parquet", "sav", "dta", "xlsx")
OPEN = (
    "--weight W --threshold 100% --allow-unsafe --role '*=harmless:test' "
    "--accept '*=test' '(order)=test'"
)


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def written(suffix):
    rng = np.random.default_rng(3)
    ids = np.repeat(np.arange(60), 2)
    births = (np.datetime64("1950-01-01") + rng.integers(0, 18_000, 60))[ids].tolist()
    births[4] = births[5] = FAR
    visits = (np.datetime64("2020-01-01") + rng.integers(0, 700, 120)).tolist()
    if suffix == "csv":
        births = [f"{day:%d.%m.%Y}" for day in births]
    columns = {"ID": ids, "BIRTH": births, "VISIT": visits, "REGION": ids % 3}
    return formats.write(f"a.{suffix}", {**columns, "W": np.full(120, 100.0)})


def days(path, name):
    values = formats.read(path)[name].to_pylist()
    if isinstance(values[0], str):
        form = "%d.%m.%Y" if "." in values[0] else "%Y-%m-%d"
        values = [dt.datetime.strptime(value, form).date() for value in values]
    return [getattr(value, "date", lambda value=value: value)() for value in values]


@pytest.mark.parametrize("suffix", FORMATS)
def test_dates_of_a_file(run, refused, suffix):
    path, name = written(suffix), f"o.{suffix}"
    _, out, _ = run(f"describe {path}")
    row = next(line for line in out.splitlines() if "BIRTH" in line)
    assert "time" in row
    code = "31.12.9999" if suffix == "csv" else "9999-12-31"
    assert re.search(rf"may be codes: {code}\S* \(2 records\)", row)
    protect = f"protect {path} --keys REGION BIRTH {OPEN} --output {name} --overwrite"
    top = f"{protect} --recode BIRTH=top:1990-01-01"
    named = re.search(rf"--na COLUMN=({code}\S*)", refused(top))
    assert not run(f"{top} --na BIRTH={named[1].strip(',')}")[0]
    assert formats.read(name)["BIRTH"].null_count == 2
    assert not run(f"{protect} --recode BIRTH=year")[0]
    years = formats.read(name)["BIRTH"].to_pylist()
    assert [*map(int, years)] == [day.year for day in days(path, "BIRTH")]
    if suffix != "xlsx":
        check = f"check {name} --record {name}.private.json --original {path}"
        assert "The file is the one that the record names" in run(check)[1]


@pytest.mark.parametrize("suffix", FORMATS)
def test_shifted_dates_of_a_file(run, suffix):
    path, name = written(suffix), f"o.{suffix}"
    rule = "--treat BIRTH+VISIT=shift:60:within=ID"
    status, _, err = run(f"protect {path} --keys REGION {OPEN} {rule} --output {name}")
    assert not status
    assert "9999-12-31 may be codes, not dates, and stay" in err
    old, new = ({x: days(file, x) for x in ("BIRTH", "VISIT")} for file in (path, name))
    moved = {
        x: [(b - a).days for a, b in zip(old[x], new[x], strict=True)] for x in old
    }
    assert moved["BIRTH"][4:6] == [0, 0]
    moved["BIRTH"][4:6] = moved["VISIT"][4:6]
    assert moved["BIRTH"] == moved["VISIT"]
    assert moved["BIRTH"][::2] == moved["BIRTH"][1::2]
    assert 0 < min(map(abs, moved["VISIT"])) < max(map(abs, moved["VISIT"])) <= 60
    check = f"check {name} --record {name}.private.json --original {path}"
    assert "The file is the one that the record names" in run(check)[1]


def test_what_is_first_is_asked_for(run, refused):
    texts = ["01.02.1950", "03.04.1960", "05.06.1970"] * 10
    formats.write("a.csv", {"BIRTH": texts, "W": ["1"] * 30})
    assert "is the day first or the month?" in " ".join(
        run("describe a.csv")[1].split()
    )
    protect = f"protect a.csv --keys BIRTH {OPEN} --output o.csv"
    assert "Add :dmy or :mdy" in refused(f"{protect} --recode BIRTH=month")
    assert not run(f"{protect} --recode BIRTH=month:mdy")[0]
    assert set(formats.read("o.csv")["BIRTH"].to_pylist()) == {
        "1950-01",
        "1960-03",
        "1970-05",
    }
