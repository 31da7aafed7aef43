"""The published forms of the risk: the public names of `core.published_forms`."""

from riskcore.core.published_forms import __all__ as __all__
from riskcore.core.published_forms import __getattr__ as __getattr__
from riskcore.core.published_forms import adaptive as adaptive
from riskcore.core.published_forms import published_order as published_order
