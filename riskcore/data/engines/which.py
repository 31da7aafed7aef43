"""The one door: which engine holds the data."""

from __future__ import annotations

from typing import Any

from riskcore.data.engines import lazy
from riskcore.data.engines.base import Engine
from riskcore.data.engines.handed_over import handed_over


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
    return lazy.engine_of(handed_over(data))
