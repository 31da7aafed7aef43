"""Uses of the public names that mypy checks: results keep the type of their data.

An ignored error that is not there is an error, too.
"""

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any, assert_type

import narwhals as nw
import polars
import xarray
from pyarrow.lib import Table

import riskcore


class Frame:
    """Stands for the frame of a package without types, such as pandas."""


def records_of_an_assessment(
    frame: Frame,
    eager: polars.DataFrame,
    lazy: polars.LazyFrame,
    dataset: xarray.Dataset,
    narwhal: nw.DataFrame[polars.DataFrame],
    lazy_narwhal: nw.LazyFrame[polars.LazyFrame],
    columns: Mapping[str, list[int]],
    unknown: Any,
) -> None:
    keys = ["sex", "age"]
    result = riskcore.assess(eager, keys, weight="w", level="household")
    assert_type(result, riskcore.Assessment[polars.DataFrame])
    assert_type(result.records, polars.DataFrame)
    result.records.select("sex")
    result.records.no_method_of_polars()  # type: ignore[attr-defined]
    assert_type(riskcore.assess(frame, keys).records, Frame)
    assert_type(riskcore.assess(lazy, keys).records, polars.LazyFrame)
    assert_type(riskcore.assess(dataset, keys).records, xarray.Dataset)
    assert_type(riskcore.assess(narwhal, keys).records, polars.DataFrame)
    assert_type(riskcore.assess(lazy_narwhal, keys).records, polars.LazyFrame)
    assert_type(riskcore.assess(columns, keys).records, dict[Hashable, Any])
    assert_type(riskcore.assess({"sex": [1, 2]}, keys).records, dict[Hashable, Any])
    assert_type(riskcore.assess("survey.csv", keys).records, Table)
    assert_type(riskcore.assess(Path("survey.csv"), keys).records, Table)
    assert_type(riskcore.assess(unknown, keys), riskcore.Assessment[Any])
    riskcore.assess(eager, keys, tolerence=2)  # type: ignore[call-arg]


def frames_of_other_results(eager: polars.DataFrame, other: Frame) -> None:
    protected = riskcore.protect(eager, ["sex"], k=3)
    assert_type(protected, riskcore.Protected[polars.DataFrame])
    data: polars.DataFrame = protected.data
    data.no_method_of_polars()  # type: ignore[attr-defined]
    assert_type(riskcore.protect("survey.sav", ["sex"], k=3).data, Table)
    assert_type(riskcore.audit(other, data, ["sex"]).released_records, polars.DataFrame)
    assert_type(riskcore.audit(data, "s.csv", ["sex"]).released_records, Table)
    assert_type(riskcore.suda(data, ["sex"]).records, polars.DataFrame)
    assert_type(riskcore.diversity(data, ["sex"], "job").records, polars.DataFrame)
    assert_type(riskcore.recode(data, {}), polars.DataFrame)
    assert_type(riskcore.recode({"sex": [1]}, {}), dict[Hashable, Any])


def of_any_data(
    assessment: riskcore.Assessment,
    waves: riskcore.WaveAssessment[polars.DataFrame],
    protected: riskcore.Protected,
) -> None:
    assert_type(assessment.records, Any)
    assert_type(waves.records, polars.DataFrame)
    assert_type(protected.data, Any)
