"""The risk as a function of queries, by engine: the public names of `data.engines`."""

from riskcore.data.engines import __all__ as __all__
from riskcore.data.engines import __getattr__ as __getattr__
