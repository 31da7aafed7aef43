"""The engine duckdb; `register` lets its queries call the risk as a function."""

from riskcore.data.engines.duckdb.risk_function import register as register
