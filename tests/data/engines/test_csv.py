"""CSV files read by an engine give the same results as by their path."""

from importlib import import_module

import numpy as np
import pyarrow.dataset
import pytest

import riskcore
from riskcore.assessment.cell_risk import RECORD_COLUMNS
from tests import needs

RECORDS = 500


def spark(path, request):
    session = request.getfixturevalue("session")
    return session.read.csv(str(path), header=True, inferSchema=True)


READERS = {
    "polars": lambda path, _: import_module("polars").scan_csv(path),
    "duckdb": lambda path, _: import_module("duckdb").connect().read_csv(str(path)),
    "ibis": lambda path, _: import_module("ibis").duckdb.connect().read_csv(path),
    "dask": lambda path, _: import_module("dask.dataframe").read_csv(
        path, blocksize=2000
    ),
    "dataset": lambda path, _: pyarrow.dataset.dataset(path, format="csv"),
    "spark": spark,
}


@pytest.fixture
def survey(tmp_path):
    """A file with a quoted text, and numbers that are missing in some records."""
    rng = np.random.default_rng(3)
    path = tmp_path / "survey.csv"
    lines = ["region,age,weight"]
    for i in range(RECORDS):
        region = rng.choice(['"north, west"', "south", "east"])
        age = "" if i % 11 == 4 else rng.integers(20, 60)
        lines.append(f"{region},{age},{rng.uniform(1, 90):.3f}")
    path.write_text("\n".join(lines) + "\n")
    return path


# ibis calls duckdb by an old name.
@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=needs.engine(name) if name != "dataset" else ())
        for name in READERS
    ],
)
def test_the_same_as_from_the_path(survey, request, name):
    options = {"keys": ["region", "age"], "weight": "weight", "missing": "category"}
    want = riskcore.assess(survey, **options)
    found = riskcore.assess(READERS[name](survey, request), **options)
    lines = {"intake": want.figures["intake"]}  # of the file, which the engine reads
    assert {**found.figures, **lines} == want.figures
    risks = np.sort(want.individual_risk)
    np.testing.assert_array_equal(np.sort(found.cells.sample_frequency),
                                  np.sort(want.cells.sample_frequency))  # fmt: skip
    np.testing.assert_array_equal(
        np.sort(np.repeat(found.cell_risk, found.cells.records)), risks
    )


@needs.engine("dask")
def test_arrays_of_dask(survey):
    import dask.array as da

    columns = {
        "sex": np.arange(90) % 2, "age": np.arange(90) % 7, "w": np.arange(90) + 1.5
    }  # fmt: skip
    want = riskcore.assess(columns, ["sex", "age"], "w")
    lazy = {name: da.from_array(column, chunks=20) for name, column in columns.items()}
    found = riskcore.assess(lazy, ["sex", "age"], "w")
    for name in RECORD_COLUMNS[:4]:
        np.testing.assert_array_equal(found.records[name], want.records[name])
