"""One opening of data in memory and of files."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import riskcore
from riskcore import cli
from riskcore.data.files import formats
from riskcore.data.files.reading import Reading
from riskcore.data.source import Source


def test_options_of_reading_need_a_path():
    data = {"k": ["1"], "w": [2.0]}
    with pytest.raises(TypeError, match="the data are in memory: leave it out"):
        riskcore.assess(data, ["k"], "w", reading=Reading())
    with pytest.raises(TypeError, match=r"give a riskcore\.Reading"):
        riskcore.tabulate("a.csv", ["k"], reading={"encoding": "cp1252"})


def test_every_function_of_records_takes_a_path(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a;b;w\n1;x;10,5\n2;y;10\n1;NA;20\n")
    reading = Reading(decimal=",", missing_codes={"b": "NA"})
    cells = riskcore.tabulate(path, ["a"], "w", reading=reading)
    assert cells.population_frequency.tolist() == [30.5, 10.0]
    found = riskcore.estimate_uniques(
        str(path), ["a", "b"], "w", missing="category", reading=reading
    )
    assert (found.sizes[1], found.population) == (3, 40)
    safe = riskcore.protect(path, ["a", "b"], "w", threshold=0.9, reading=reading)
    assert safe.source.intake.records == 3


def by_region():
    """Return households whose number is of a region, and one of all regions."""
    rng = np.random.default_rng(3)
    of = np.repeat(np.arange(120), rng.integers(1, 5, 120))
    data = {"REG": np.array([*"NSEW"])[of % 4], "HH": of // 4, "SEX": of * 7 % 5 % 2}
    return pd.DataFrame(data), of


KINDS = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "arrow": pa.Table.from_pandas,
    "lists": lambda frame: frame.to_dict("list"),
    "text": lambda frame: frame.astype({"HH": str}),
    "nullable": lambda frame: frame.astype({"HH": "Int64"}),
    **dict.fromkeys(["csv", "sav", "dta", "parquet"]),
}
TWO = ["REG", "HH"]


@pytest.mark.parametrize("kind", KINDS)
def test_several_names_of_a_household(tmp_path, kind):
    frame, of = by_region()
    if KINDS[kind] is None:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        data = formats.write(tmp_path / f"a.{kind}", table)
    else:
        data = KINDS[kind](frame)
    alone = riskcore.assess(frame.assign(HH=of), ["REG", "SEX"], None, "HH")
    both = riskcore.assess(data, ["REG", "SEX"], None, TWO)
    assert both.household_risk.tolist() == alone.household_risk.tolist()
    with_one = riskcore.assess(data, ["REG", "SEX"], None, "HH")
    assert with_one.household_risk.max() > both.household_risk.max()
    assert riskcore.describe(data, household=TWO).columns[1].profile.distinct == 120
    accepted = {"roles": {"*": "harmless:x"}, "accept": {"*": "x"}}
    result = riskcore.protect(data, ["REG", "SEX"], None, TWO, k=3, **accepted)
    safe = tmp_path / f"s.{kind}" if KINDS[kind] is None else tmp_path / "s.csv"
    result.write(safe)
    assert result.source.to_dict()["reading"]["household_id"] == TWO
    ids = np.array(formats.read(safe).to_pydict()["HH"])
    assert len({*ids}) == 120 == len({*zip(ids, of, strict=True)})
    how = {"original": data if KINDS[kind] is None else frame}
    assert riskcore.check(safe, record=f"{safe}.private.json", **how).passed
    asked = {"max_household_risk": float(both.household_risk.max()), **how}
    assert riskcore.check(safe, ["REG", "SEX"], None, TWO, **asked).passed


def test_several_names_of_a_household_by_command_and_rules(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    frame, of = by_region()
    frame.to_csv("a.csv", index=False)
    frame.assign(HH=of).to_csv("one.csv", index=False)
    words = "a.csv --keys REG SEX --household REG HH"

    def run(line):
        assert cli.main([*line.split(), "--quiet"]) == 0
        return capsys.readouterr().out

    printed = run(f"assess {words}")
    with pytest.raises(SystemExit):
        cli.main(["assess", "--keys", "SEX", "--household", "HH", "a.csv"])
    assert "takes columns: name a.csv before it" in capsys.readouterr().err
    one = run("assess one.csv --keys REG SEX --household HH")
    assert printed.replace("a.csv", "one.csv") == one
    accept = "--role *=harmless:x --accept *=x --k 3 --output s.csv"
    Path("r.toml").write_text(run(f"protect {words} {accept} --print-rules"))
    run("run r.toml")
    assert len({*formats.read("s.csv").to_pydict()["HH"]}) == 120
    run("check --rules r.toml --original a.csv")
    run("check s.csv --household REG HH --keys REG SEX --max-household-risk 1")


# The same error for a missing column at every door


SURVEY = {"sex": ["f", "m"], "age": ["1", "2"], "w": ["10", "20"]}
DOORS = {
    "tabulate": lambda data, key: riskcore.tabulate(data, [key]),
    "assess": lambda data, key: riskcore.assess(data, [key]),
    "assess, household": lambda data, key: riskcore.assess(data, ["sex"], None, key),
    "protect": lambda data, key: riskcore.protect(data, [key], threshold=0.5),
    "protect, recode": lambda data, key: riskcore.protect(
        data, ["sex"], threshold=0.5, recodings={key: riskcore.Recoding.truncation(1)}
    ),
    "uniques": lambda data, key: riskcore.estimate_uniques(data, [key], population=9),
    "source": lambda data, key: Source.of(data).check(["sex", key]),
}


def argus(folder):
    (folder / "s.rda").write_text("sex 1 1\nage 2 1\nw 3 2\n")
    (folder / "s.asc").write_text("f110\nm220\n")
    return folder / "s.asc"


HOLDERS = {
    "mapping": lambda _: SURVEY,
    "pandas": lambda _: pd.DataFrame(SURVEY),
    "polars": lambda _: pl.DataFrame(SURVEY),
    "Arrow": lambda _: pa.table(SURVEY),
    "CSV": lambda folder: formats.write(folder / "s.csv", SURVEY),
    "Parquet": lambda folder: formats.write(folder / "s.parquet", SURVEY),
    "mu-Argus": argus,
}


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("door", DOORS)
def test_a_missing_column(tmp_path, door, holder):
    data = HOLDERS[holder](tmp_path)
    where = f"{data}: " if isinstance(data, Path) else ""
    columns = "columns are 'sex', 'age', 'w'"
    hints = {"AGE": f"did you mean 'age'? The {columns}", "income": f"the {columns}"}
    for name, hint in hints.items():
        with pytest.raises(KeyError) as caught:
            DOORS[door](data, name)
        assert caught.value.args == (f"{where}no column '{name}'; {hint}",)


# What a source tells and reads


def test_data_in_memory_are_given_back():
    source = Source.of(SURVEY)
    assert source.names == ("sex", "age", "w")
    assert source.read(["age"], "w") == (SURVEY, None)
    assert source.data is SURVEY
    assert (source.weight, source.format, source.intake) == (None, None, None)
    assert (source.paths, source.variables, source.numbers("w")) == ((), {}, None)


def test_a_file_is_read_when_it_is_asked_for(tmp_path):
    source = Source.of(tmp_path / "s.csv")
    with pytest.raises(FileNotFoundError, match=r"s\.csv: no such file"):
        _ = source.names
    formats.write(tmp_path / "s.csv", SURVEY)
    assert source.names == ("sex", "age", "w")
    data, intake = source.read(["w", None, "sex"], "w")
    assert data.to_pydict() == {"w": [10.0, 20.0], "sex": ["f", "m"]}
    assert intake.records == 2
    assert source.data.to_pydict() == SURVEY
    assert source.data is source.data
    assert source.numbers("w").to_pylist() == [10.0, 20.0]
    assert source.paths == (tmp_path / "s.csv",)


def replaced(path):
    """Put another file in the place of one, as large and as old."""
    shutil.copy2(path, path.with_name("other")).replace(path)


@pytest.mark.parametrize("holder", ["CSV", "Parquet", "mu-Argus"])
def test_a_file_that_changes_is_refused(tmp_path, holder):
    path = HOLDERS[holder](tmp_path)
    for ask in (
        lambda source: source.data,
        lambda source: source.numbers("w"),
        lambda source: source.read(["sex"]),
    ):
        source = Source.of(path)
        assert source.names == ("sex", "age", "w")
        replaced(path)
        with pytest.raises(ValueError, match="has changed since it was first opened"):
            ask(source)
    source = Source.of(path)
    assert len(source.data["sex"]) == 2
    replaced(path)
    with pytest.raises(ValueError, match="has changed since"):
        source.numbers("w")


def test_a_file_that_changes_while_it_is_read(tmp_path, monkeypatch):
    path = HOLDERS["CSV"](tmp_path)
    read = formats.FileFormat.read

    def meanwhile(*given, **how):
        found = read(*given, **how)
        replaced(path)
        return found

    monkeypatch.setattr(formats.FileFormat, "read", meanwhile)
    for ask in (lambda source: source.data, lambda source: source.read(["sex"])):
        with pytest.raises(ValueError, match="has changed since it was first opened"):
            ask(Source.of(path))


def test_metadata_that_change(tmp_path):
    path = argus(tmp_path)
    source = Source.of(path)
    assert source.names == ("sex", "age", "w")
    replaced(path.with_suffix(".rda"))
    with pytest.raises(ValueError, match=r"s\.rda: has changed"):
        _ = source.data


def test_the_weight_that_metadata_declare(tmp_path):
    path = argus(tmp_path)
    assert Source.of(path).weight is None
    path.with_suffix(".rda").write_text("sex 1 1\nage 2 1\nw 3 2\n<WEIGHT>\n")
    source = Source.of(path)
    assert source.weight == "w"
    assert list(source.variables) == ["sex", "age", "w"]
    assert source.paths == (path, path.with_suffix(".rda"))
    # As text for the file that is written, as numbers for the risk.
    assert source.data["w"].tolist() == ["10", "20"]
    assert source.numbers("w").tolist() == [10.0, 20.0]
    cells = riskcore.tabulate(path, ["sex"]), riskcore.assess(path, ["sex"]).cells
    assert [one.population_frequency.tolist() for one in cells] == [[10.0, 20.0]] * 2


def test_a_folder_that_gets_another_file_has_changed(tmp_path):
    folder = tmp_path / "survey"
    folder.mkdir()
    for i in range(2):
        pq.write_table(pa.table({"a": [i, i]}), folder / f"{i}.parquet")
    source = Source.of(folder)
    source.refuse_changed()
    pq.write_table(pa.table({"a": [2]}), folder / "2.parquet")
    with pytest.raises(ValueError, match="survey: its files have changed since"):
        source.refuse_changed()
