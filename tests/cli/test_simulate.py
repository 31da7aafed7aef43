"""The command ``riskcore simulate``: the laws, the truth, and what it refuses."""

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from riskcore import simulate
from riskcore.data.files import formats

ZIPF = ["zipf", "--population", "5000", "--cells", "700", "--exponent", "0.9"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(run):
    """Run ``riskcore simulate``; return its status, output and errors."""
    return partial(run, "simulate")


def test_a_population_and_a_sample(run):
    status, out, err = run(*ZIPF, "--sample", 900, "--seed", 5, "--output", "z.csv")
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
    "law",
    [
        ["dirichlet-multinomial", "--population", 900, "--cells", 80, "--alpha", 0.5],
        ["pitman", "--population", 900, "--theta", 30, "--sigma", 0.2],
        ["pitman", "--population", 900, "--theta", 30, "--sigma", 0],
    ],
)
def test_laws(run, law):
    status, out, _ = run(*law, "--output", "p.parquet")
    assert status == 0
    assert "900 people in" in out
    assert sum(formats.read("p.parquet").to_pydict()["population_frequency"]) == 900
    assert run(*law)[1] == out


def test_microdata(run):
    status, out, _ = run("microdata", "--records", 300, "--output", "m.csv")
    assert status == 0
    expected = simulate.microdata(300, np.random.default_rng(2004))
    written = formats.read("m.csv").to_pydict()
    assert written["AGE"] == list(map(str, expected["AGE"]))
    assert f"{len(expected['AGE'])} records" in out


@pytest.mark.parametrize("name", ["h.dta", "h.sav", "h.csv"])
def test_a_household_survey_has_its_labels_where_the_file_can(run, name):
    status, out, _ = run("household-survey", "--households", 40, "--output", name)
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["zipf", "--population", "10"], "zipf needs --cells"),
        ([*ZIPF, "--theta", "3"], "zipf does not use --theta"),
        ([*ZIPF, "--sample", "6000"], "6000"),
        (["microdata", "--records", "10"], "microdata needs --output"),
        (["household-survey"], "household-survey needs --households"),
        (["household-survey", "--households", "9"], "household-survey needs --output"),
        (["microdata", "--records", "10", "--households", "3"], "not use --households"),
        (["microdata", "--records", "10", "--sample", "3"], "a sample already"),
        (["gauss"], "invalid choice: 'gauss'"),
        (["pitman", "--population", "9", "--theta", "1", "--sigma", "1"], "sigma"),
        ([*ZIPF, "--output", "z.xls"], "z.xls: can write"),
    ],
)
def test_refusals(run, arguments, message):
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert not list(Path.cwd().iterdir())


def test_from_a_population_to_estimates_in_one_step(run):
    status, out, err = run(*ZIPF, "--sample", 900, "--uniques")
    assert (status, err) == (0, "")
    both = re.search(r"^([\d,]+) unique in both$", out, re.M)[1]
    assert re.search(rf"^  truth +{both} unique in both$", out, re.M)
    assert re.search(r"^    Pitman +\d", out, re.M)
    assert re.search(r"^  possible cells +700$", out, re.M)
    words = ["pitman", "--population", 5000, "--theta", 50, "--sigma", 0.3]
    status, out, _ = run(*words, "--sample", 900, "--uniques")
    assert status == 0
    assert "  Smallest AIC: " in out


def test_uniques_need_a_sample(run):
    for words in (ZIPF, ["microdata", "--records", "50", "--output", "m.csv"]):
        status, _, err = run(*words, "--uniques")
        assert status == 2
        assert "--uniques needs a population of cells and --sample" in err
