"""Which engine holds the data: the one door to all of them."""

from __future__ import annotations

from typing import Any

from riskcore.data.engines.base import Engine, refuse_twice
from riskcore.data.engines.duckdb.engine import DuckDB
from riskcore.data.engines.handed_over import hand_over
from riskcore.data.engines.ibis.engine import Ibis
from riskcore.data.engines.polars.engine import Polars
from riskcore.data.engines.spark.engine import Spark

# A new engine is a class in a folder of its own, and its name here.
ENGINES: tuple[type[Engine], ...] = (Polars, DuckDB, Ibis, Spark)
# Packages whose lazy frames are taken; other data are not looked at.
_ENGINE_OF = {package: engine for engine in ENGINES for package in engine.packages}


def engine_of(data: Any) -> Engine | None:
    """Return the engine that holds the data; None if they are in memory.

    Examples
    --------
    >>> import polars
    >>> engine_of(polars.LazyFrame({"sex": ["f", "m"]})).name
    'polars'
    >>> engine_of({"sex": ["f", "m"]})
    """
    if isinstance(data, Engine):
        return data
    if type(data).__module__.startswith("narwhals.") and hasattr(data, "collect"):
        data = data.to_native()
    data = hand_over(data)
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
