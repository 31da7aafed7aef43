"""Which engine holds the data: the one door to all of them.

A dataset of pyarrow is handed over to polars, or to duckdb if polars is not installed;
a data frame of dask to polars, one partition at a time. Results are frames of these.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from riskcore.data.engines.base import Engine, refuse_twice
from riskcore.data.engines.duckdb.engine import DuckDB
from riskcore.data.engines.ibis.engine import Ibis
from riskcore.data.engines.polars.engine import Polars
from riskcore.data.engines.polars.scan import scan
from riskcore.data.engines.spark.engine import Spark
from riskcore.data.files.arrow import import_pyarrow, in_plain_layouts

# A new engine is a class in a folder of its own, and its name here.
ENGINES: tuple[type[Engine], ...] = (Polars, DuckDB, Ibis, Spark)
# Packages whose lazy frames are taken; other data are not looked at.
_ENGINE_OF = {package: engine for engine in ENGINES for package in engine.packages}

_INSTALL = 'pip install "riskcore[engines]"'
# The defaults read more of a dataset ahead than its cells take.
_AHEAD = {"batch_size": 1 << 17, "batch_readahead": 2, "fragment_readahead": 1}


def engine_of(data: Any) -> Engine | None:
    """Return the engine that holds the data; None if they are in memory."""
    if isinstance(data, Engine):
        return data
    if type(data).__module__.startswith("narwhals.") and hasattr(data, "collect"):
        data = data.to_native()
    data = _handed_over(data)
    engine = _ENGINE_OF.get(type(data).__module__.partition(".")[0])
    if engine is None:
        return None
    import narwhals.stable.v2 as nw

    frame = nw.from_native(data, pass_through=True)
    if not isinstance(frame, nw.LazyFrame):
        return None
    if engine is not Polars:  # which has no two columns of one name
        refuse_twice(frame.to_native().columns)
    return engine(frame)


def _handed_over(data: Any) -> Any:
    """Return a dataset or dask frame as a lazy frame or relation; others as given."""
    # Data can only come from modules that have been imported.
    datasets = sys.modules.get("pyarrow.dataset")
    if datasets is not None and isinstance(data, datasets.Dataset):
        return _of_dataset(data)
    frames = sys.modules.get("dask.dataframe")
    if frames is not None and isinstance(data, frames.DataFrame):
        return _of_dask(data)
    return data


def _of_dataset(dataset: Any) -> Any:
    """Return a lazy frame of polars that reads a dataset, else a relation of duckdb."""
    names = dataset.schema.names
    refuse_twice(names)
    try:
        import_module("polars")
    except ImportError:
        try:
            duckdb = import_module("duckdb")
        except ImportError as error:
            raise ImportError(
                "a pyarrow dataset needs polars or duckdb, and neither is installed: "
                f"{_INSTALL}"
            ) from error
        refuse_twice(name.lower() for name in names)  # one name to duckdb
        return duckdb.from_arrow(dataset)
    pyarrow = import_pyarrow()

    def tables(schema: Any) -> Iterator[Any]:
        for batch in dataset.to_batches(columns=schema.names, **_AHEAD):
            table = in_plain_layouts(pyarrow.Table.from_batches([batch]))
            yield table.cast(schema)

    schema = in_plain_layouts(dataset.schema.empty_table()).schema
    return scan(schema, tables)


def _of_dask(frame: Any) -> Any:
    """Return a lazy frame of polars that computes the partitions in turn, no index."""
    names = list(frame.columns)
    refuse_twice(names)
    odd = [name for name in names if not isinstance(name, str)]
    if odd:
        raise TypeError(f"column {odd[0]!r} of a dask DataFrame: a name must be text")
    try:
        import_module("polars")
    except ImportError as error:
        raise ImportError(
            f"a dask DataFrame needs polars, which is not installed: {_INSTALL}"
        ) from error
    pyarrow = import_pyarrow()
    fields = []
    for name, kind in frame.dtypes.items():
        try:
            empty = frame._meta[[name]]
            fields += pyarrow.Schema.from_pandas(empty, preserve_index=False)
        except (pyarrow.ArrowException, TypeError) as error:
            raise TypeError(
                f"column {name!r} of a dask DataFrame, {kind}: {error}"
            ) from error

    def tables(schema: Any) -> Iterator[Any]:
        for part in frame[schema.names].to_delayed():
            partition = part.compute()
            try:
                table = pyarrow.Table.from_pandas(
                    partition, schema, preserve_index=False
                )
            except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
                raise TypeError(
                    "a dask DataFrame: the values of a partition do not have the type "
                    f"that the frame declares: {error}; set the type by .astype, or "
                    "write the data to Parquet and give the folder to polars"
                ) from error
            yield table

    return scan(pyarrow.schema(fields), tables)
