"""The engine polars; `register` lets its queries call the risk as a function."""

from riskcore.data.engines.polars.risk_function import register as register
