"""The command ``riskcore simulate``: the laws, the truth, and what it refuses."""

import os
import re

import numpy as np
import pytest

from riskcore import simulate
from riskcore.data.files import formats

ZIPF = "simulate zipf --population 5000 --cells 700 --exponent 0.9"
PITMAN = "simulate pitman --population 900 --theta 30"


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_a_population_and_a_sample(run):
    status, out, err = run(f"{ZIPF} --sample 900 --seed 5 --output z.csv")
    assert (status, err) == (0, "")
    random = np.random.default_rng(5)
    F = simulate.zipf_population(5000, 700, 0.9, random)
    f = simulate.sample(F, 900, random)
    table = formats.read("z.csv").to_pydict()
    assert list(map(int, table["population_frequency"])) == F.tolist()
    assert list(map(int, table["sample_frequency"])) == f.tolist()
    assert table["cell"] == list(map(str, range(1, 701)))
    truth = simulate.uniques(F, f)
    numbers = [int(n.replace(",", "")) for n in re.findall(r"([\d,]+) unique", out)]
    assert numbers == [truth.population, truth.sample, truth.both]


@pytest.mark.parametrize(
    "line",
    [
        "simulate dirichlet-multinomial --population 900 --cells 80 --alpha 0.5",
        f"{PITMAN} --sigma 0.2",
        f"{PITMAN} --sigma 0",
    ],
)
def test_laws(run, line):
    status, out, _ = run(f"{line} --output p.parquet")
    assert status == 0
    assert "900 people in" in out
    assert sum(formats.read("p.parquet").to_pydict()["population_frequency"]) == 900
    assert run(line)[1] == out


def test_microdata(run):
    status, out, _ = run("simulate microdata --records 300 --output m.csv")
    assert status == 0
    expected = simulate.microdata(300, np.random.default_rng(2004))
    written = formats.read("m.csv").to_pydict()
    assert written["AGE"] == list(map(str, expected["AGE"]))
    assert f"{len(expected['AGE'])} records" in out


@pytest.mark.parametrize("name", ["h.dta", "h.sav", "h.csv"])
def test_a_household_survey_has_its_labels_where_the_file_can(run, name):
    status, out, _ = run(f"simulate household-survey --households 40 --output {name}")
    assert status == 0
    expected = simulate.household_survey(40, np.random.default_rng(2004))
    written = formats.read(name).to_pydict()
    assert [int(v) for v in written["AGEYRS"]] == expected["AGEYRS"].tolist()
    assert "40 households" in out
    labels = formats.format_of(name).labels
    if name.endswith(".csv"):
        assert labels is None
        return
    known = simulate.household_survey_labels()
    assert labels.variables == {name: one["label"] for name, one in known.items()}
    for column, values in labels.values.items():
        occurring = {str(code) for code in expected[column].tolist()}
        shown = known[column]["values"]
        assert values == {code: shown[code] for code in shown if code in occurring}


NO_CELLS = "--uniques needs a population of cells and --sample"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"{ZIPF} --output z.xls", "z.xls: can write"),
        (f"{ZIPF} --uniques", NO_CELLS),
        ("simulate microdata --records 9 --sample 3 --output m.csv", "already"),
        ("simulate microdata --records 10 --households 3", "not use --households"),
        ("simulate microdata --records 50 --output m.csv --uniques", NO_CELLS),
        ("simulate household-survey", "household-survey needs --households"),
        ("simulate household-survey --households 9", "household-survey needs --output"),
    ],
)
def test_refusals(refused, line, message):
    assert message in refused(line)
    assert os.listdir() == []


def test_from_a_population_to_estimates_in_one_step(run):
    status, out, err = run(f"{ZIPF} --sample 900 --uniques")
    assert (status, err) == (0, "")
    both = re.search(r"^([\d,]+) unique in both$", out, re.M)[1]
    assert re.search(rf"^  truth +{both} unique in both$", out, re.M)
    assert re.search(r"^    Pitman +\d", out, re.M)
    assert re.search(r"^  possible cells +700$", out, re.M)
    pitman = "simulate pitman --population 5000 --theta 50 --sigma 0.3"
    status, out, _ = run(f"{pitman} --sample 900 --uniques")
    assert status == 0
    assert "  Smallest AIC: " in out
