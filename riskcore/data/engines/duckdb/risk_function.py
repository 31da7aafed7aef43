"""The individual risk as a function of SQL, for duckdb."""

from __future__ import annotations

from typing import Any

from riskcore.data.engines import risk_of_arrow


def register(connection: Any) -> None:
    """Let queries of a connection call ``individual_risk(frequency, weight_sum)``.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        It refuses a second registration of the same name.

    Notes
    -----
    The bits match `riskcore.individual_risk_from_frequencies`. Null gives null;
    arguments outside the domain, 0 < f <= F, give nan.

    Examples
    --------
    .. code-block:: python

        import duckdb
        from riskcore.engines.duckdb import register

        connection = duckdb.connect()
        register(connection)
        connection.sql("SELECT individual_risk(1, 50)").fetchall()
    """
    name, function = risk_of_arrow.NAME, risk_of_arrow.individual_risk
    numbers = ["DOUBLE", "DOUBLE"]
    connection.create_function(name, function, numbers, "DOUBLE", type="arrow")
