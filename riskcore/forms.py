"""The published forms of the individual risk: the public names of `core.forms`."""

from riskcore.core.published_forms import __all__ as __all__
from riskcore.core.published_forms import __getattr__ as __getattr__
from riskcore.core.published_forms import adaptive as adaptive
from riskcore.core.published_forms import published_order as published_order
