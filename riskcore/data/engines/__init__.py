"""Data that stay where they are: lazy frames, tables of SQL, clusters, large files.

The engine counts the records of each cell and adds their weights; these two numbers
come here, the keys of the cells only if they are asked for. The engine also computes
the results of each record, blanks and recodes. The engines are polars (lazy frames),
duckdb, ibis and PySpark, a folder each: its class in `engine`, and the risk as a
function of its queries in `risk_function`. `registry` lists them. Datasets of pyarrow,
data frames of dask and large files are handed over to polars.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

# They let queries call the risk as a function; each imports its engine late.
__all__ = ["duckdb", "polars", "spark"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f"riskcore.data.engines.{name}")
    raise AttributeError(f"module 'riskcore.data.engines' has no attribute {name!r}")
