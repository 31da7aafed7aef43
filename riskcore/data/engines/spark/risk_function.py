"""The individual risk as a function of Spark, computed by the executors."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from riskcore.data.engines.risk_of_arrow import NAME
from riskcore.data.files.arrow import import_pyarrow


def register(session: Any) -> Any:
    """Let queries of a session call ``individual_risk(frequency, weight_sum)``.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
        Its executors must have riskcore installed.

    Returns
    -------
    function
        The function for expressions of columns.

    Notes
    -----
    The bits match `riskcore.individual_risk_from_frequencies`. Null gives null;
    arguments outside the domain, 0 < f <= F, give nan.

    Examples
    --------
    .. code-block:: python

        from riskcore.engines.spark import register

        register(session)
        session.sql("SELECT individual_risk(1, 50)").collect()
    """
    return session.udf.register(NAME, function())


def function() -> Any:
    """Return the function of columns, an Arrow UDF."""
    functions = import_module("pyspark.sql.functions")
    return functions.arrow_udf(_typed(), "double")


def _typed() -> Any:
    """Return the function with type hints, by which Spark knows its kind."""
    array = import_pyarrow().Array

    def individual_risk(frequency: Any, weight_sum: Any) -> Any:
        # Imported by the executor, not sent to it.
        from riskcore.data.engines import risk_of_arrow

        return risk_of_arrow.individual_risk(frequency, weight_sum)

    names = "frequency", "weight_sum", "return"
    individual_risk.__annotations__ = dict.fromkeys(names, array)
    return individual_risk
