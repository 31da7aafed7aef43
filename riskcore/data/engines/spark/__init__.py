"""The engine Spark; `register` lets its queries call the risk as a function."""

from riskcore.data.engines.spark.risk_function import function as function
from riskcore.data.engines.spark.risk_function import register as register
